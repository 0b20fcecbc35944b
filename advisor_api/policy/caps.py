"""How many nodes may be kept from a job?

Caps (reference: attribution section 7.2, traps 15 and 16): not more nodes per incident than the policy says,
not more than its share of the partition (but at least its minimum, so that a pool of four nodes works too), of
these not more than a share by what one user's jobs alone have written (a job writes its own log, and could forge
it), and never fewer available nodes than the job needs: the weakest exclusions give way, a new one is not made.
"""

from math import ceil

from advisor_api.policy.facts import Facts
from advisor_api.policy.values import Policy
from advisor_api.policy.wording import counted


def sure_nodes(facts: Facts, policy: Policy) -> tuple[str, ...]:
    """The named nodes that are sure enough to be excluded and are not out of use already."""
    return tuple(
        node.host for node in facts.named if node.confidence >= policy.exclude_confidence and not node.drained
    )


def drained_nodes(facts: Facts, policy: Policy) -> tuple[str, ...]:
    """The named nodes that are sure enough and that somebody has drained: the scheduler keeps jobs off them."""
    return tuple(node.host for node in facts.named if node.confidence >= policy.exclude_confidence and node.drained)


def left_out(facts: Facts, policy: Policy) -> tuple[str, ...]:
    """The sure nodes that may be excluded: all, or the surest of them as far as the caps allow.

    Where more are named than one incident may name, surely or not, nobody is sure of any.
    """
    sure = sure_nodes(facts, policy)
    if _too_many(facts, policy):
        return ()
    witnessed = tuple(node.host for node in facts.named if node.host in sure and node.witnessed)
    parts = (some[:count] for some in (sure, witnessed) for count in range(len(some), 0, -1))
    return next((part for part in parts if not cap_on(part, facts, policy)), ())


def cap_reached(facts: Facts, policy: Policy) -> str:
    """Which cap forbids to exclude all of the sure nodes, in words; `""` when none does."""
    return cap_on(sure_nodes(facts, policy), facts, policy)


def checks(facts: Facts, policy: Policy) -> tuple[tuple[str, bool], ...]:
    """Each cap with whether all of the sure nodes keep within it; nothing where none is sure enough."""
    sure = sure_nodes(facts, policy)
    if not sure:
        return ()
    own = _by_own_log(sure, facts)
    return (
        ("max_nodes", not _too_many(facts, policy)),
        ("job_need", _left_without(facts, sure) >= facts.node_count),
        ("partition_share", _total(sure, facts) <= _allowed(facts, policy) or not _new(sure, facts)),
        ("user_share", own <= max(_allowed_by_own_log(facts, policy), _by_own_log((), facts))),
    )


def cap_on(sure: tuple[str, ...], facts: Facts, policy: Policy) -> str:
    """Which cap forbids to exclude these of the named nodes, in words; `""` when none does."""
    if _too_many(facts, policy):
        named = len(facts.named)
        are = "is" if named == 1 else "are"
        return f"{counted(named, 'node')} {are} named, at most {policy.max_nodes_per_incident} may go at once"
    left = _left_without(facts, sure)
    if sure and left < facts.node_count:
        return f"{counted(left, 'node')} would be left for a job that needs {facts.node_count}"
    if not _new(sure, facts):
        return ""
    allowed, total = _allowed(facts, policy), _total(sure, facts)
    if total > allowed:
        return f"{total} of {counted(facts.partition_size, 'node')} would be excluded, at most {allowed} may be"
    own, most = _by_own_log(sure, facts), _allowed_by_own_log(facts, policy)
    if own > most and own > _by_own_log((), facts):
        nodes = counted(own, "node")
        return f"{nodes} would be excluded by what logs of its user's jobs alone say, at most {most} may be"
    return ""


def _new(sure: tuple[str, ...], facts: Facts) -> list[str]:
    """Those that are not excluded already."""
    return [host for host in sure if host not in {excluded.node for excluded in facts.excluded}]


def _total(sure: tuple[str, ...], facts: Facts) -> int:
    return len(facts.excluded) + len(_new(sure, facts))


def _allowed(facts: Facts, policy: Policy) -> int:
    return max(policy.min_exclusions, int(policy.max_excluded_share * facts.partition_size))


def _by_own_log(sure: tuple[str, ...], facts: Facts) -> int:
    """How many nodes nothing but logs of its user's jobs speaks against, with those of `sure` that are new."""
    own = {node.host for node in facts.named if not node.witnessed}
    return sum(one.by_own_log for one in facts.excluded) + len(own.intersection(_new(sure, facts)))


def _allowed_by_own_log(facts: Facts, policy: Policy) -> int:
    return max(1, ceil(round(policy.max_excluded_user_share * _allowed(facts, policy), 6)))


def kept_out(facts: Facts, new: tuple[str, ...] = ()) -> tuple[str, ...]:
    """All nodes that a restart leaves out: `new` ones, and the active exclusions as far as the need allows.

    Where too few nodes would be left, the exclusions of the least weight give way first, of equal ones the older.
    """
    kept = list(new)
    left = _left_without(facts, new)
    for excluded in sorted(facts.excluded, key=lambda one: -one.weight):
        if excluded.node in kept:
            continue
        if excluded.available and left - 1 < facts.node_count:
            break
        left -= excluded.available
        kept.append(excluded.node)
    return tuple(sorted(kept))


def _too_many(facts: Facts, policy: Policy) -> bool:
    """Whoever is named counts, surely or not: to be less sure of one must not cost the others their place."""
    return len(facts.named) > policy.max_nodes_per_incident


def _left_without(facts: Facts, hosts: tuple[str, ...]) -> int:
    return facts.partition_available - sum(1 for node in facts.named if node.host in hosts and node.available)
