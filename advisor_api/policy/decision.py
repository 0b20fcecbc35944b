"""What should happen next to one attempt, by which rule, and what did every other rule say?"""

import enum
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from datetime import datetime, timedelta
from typing import Any, cast

from advisor_api.policy.caps import cap_reached, drained_nodes, kept_out, left_out, sure_nodes
from advisor_api.policy.facts import Facts
from advisor_api.policy.limits import requeue_cap, storm_limit
from advisor_api.policy.operation import Operation
from advisor_api.policy.rule import Rule
from advisor_api.policy.rules import RULES
from advisor_api.policy.turning import turns
from advisor_api.policy.values import Policy
from advisor_api.policy.wording import RuleSentence
from detectors.catalogue.spans import spoken
from workloads.mode import Mode

ASK_SECONDS = 86400  # a question to a person stays open for a day
MIN_JOB_AGE_SECONDS = 300  # Slurm's own default, where the installation's is not known
VANISH_MARGIN_SECONDS = 60  # decisions 13: an approval ends this long before the job vanishes


@dataclass(frozen=True)
class Said:
    """What one row said. `inputs`: the facts and policy values that it looked at.

    `wins_if`: the smallest change of one fact with which this row would have decided; `None` when there is none.
    """

    rule: str
    then: str  # the operation, or "" for nothing
    applied: bool
    chosen: bool
    because: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    wins_if: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Decision:
    """The outcome. `operation=None`: no advice; then with `again_at` it is looked at again.

    `new_exclusions` are the nodes named now, `excluded_nodes` all nodes that the restart leaves out.
    """

    operation: Operation | None
    rule: str
    because: str
    not_before: datetime
    hold_until: datetime
    expires_at: datetime
    excluded_nodes: tuple[str, ...] = ()
    new_exclusions: tuple[str, ...] = ()
    again_at: datetime | None = None
    trace: tuple[Said, ...] = ()

    def stored_trace(self) -> list[dict[str, Any]]:
        """The JSON of `Advice.trace`."""
        return [dict(asdict(said)) for said in self.trace]


class Watched:
    """Stands for facts or a policy and remembers what was read of it."""

    def __init__(self, behind: object, prefix: str, read: dict[str, Any]) -> None:
        self._behind, self._prefix, self._read = behind, prefix, read

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._behind, name)
        self._read[f"{self._prefix}.{name}"] = as_json(value)
        return value


def decide(facts: Facts, policy: Policy, now: datetime, rules: Sequence[Rule] = RULES) -> Decision:
    """Look at every row of `rules`; the first that applies wins. The last row always applies."""
    reads: list[dict[str, Any]] = []
    applied = []
    for rule in rules:
        read: dict[str, Any] = {}
        watched_facts = cast(Facts, Watched(facts, "facts", read))
        watched_policy = cast(Policy, Watched(policy, "policy", read))
        applied.append(rule.applies(watched_facts, watched_policy))
        reads.append(read)
    decision = decide_untraced(facts, policy, now, rules)
    others = turns(facts, policy, rules, reads, decision.rule)
    trace = tuple(
        Said(
            rule=rule.name,
            then=rule.then.value if rule.then else "",
            applied=applies,
            chosen=rule.name == decision.rule,
            because=sentence(rule, facts, policy),
            inputs=read,
            wins_if=as_json(others[rule.name]) if rule.name in others else None,
        )
        for rule, applies, read in zip(rules, applied, reads, strict=True)
    )
    return replace(decision, trace=trace)


def decide_untraced(facts: Facts, policy: Policy, now: datetime, rules: Sequence[Rule] = RULES) -> Decision:
    """The same decision without its trace: for many at once."""
    winner = next((rule for rule in rules if rule.applies(facts, policy)), None)
    if winner is None:
        raise AssertionError("the last rule always applies")
    return _decision(winner, facts, policy, now)


def sentence(rule: Rule, facts: Facts, policy: Policy) -> str:
    """A rule's `because` with what was found filled in."""
    sure, out = sure_nodes(facts, policy), left_out(facts, policy)
    stay = ", ".join(node for node in sure if node not in out)
    return RuleSentence().format(
        rule.because,
        facts=facts,
        policy=policy,
        sure=", ".join(sure) or _no_node(facts, policy),
        sure_are=_are(sure),
        left_out_are=_are(out),
        stays=f"; {stay} too, and stays: {cap_reached(facts, policy)}" if stay else "",
        drained_are=_are(drained_nodes(facts, policy)),
        cap=cap_reached(facts, policy),
        cap_on_requeues=requeue_cap(facts, policy),
        storm_limit=storm_limit(facts, policy),
        maintained_are=_are(facts.maintained),
        kill_failed=", ".join(facts.kill_failed),
        judged_age=spoken(facts.judged_seconds),
        outer_try=facts.outer_retries + 1,
    )


def as_json(value: Any) -> Any:
    """Facts, times, enums and tuples as JSON holds them."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return {name: as_json(item) for name, item in asdict(value).items()}
    if isinstance(value, Mapping):
        return {str(name): as_json(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [as_json(item) for item in value]
    return value


def _decision(rule: Rule, facts: Facts, policy: Policy, now: datetime) -> Decision:
    restarts = rule.then is Operation.RESTART
    new = (left_out if restarts else sure_nodes)(facts, policy) if rule.names_nodes else ()
    excluded = kept_out(facts, new) if rule.then is Operation.RESTART else new
    not_before = now + timedelta(seconds=rule.back_off(facts, policy) if rule.then is Operation.RESTART else 0)
    expires_at = _expires_at(rule, facts, policy, not_before, now)
    held_from = max(not_before, expires_at) if facts.mode is Mode.APPROVE else not_before
    return Decision(
        operation=rule.then,
        rule=rule.name,
        because=sentence(rule, facts, policy),
        not_before=not_before,
        hold_until=held_from + timedelta(seconds=policy.hold_seconds),
        expires_at=expires_at,
        excluded_nodes=excluded,
        new_exclusions=new if rule.then is Operation.RESTART else (),
        again_at=None if rule.again_seconds is None else now + timedelta(seconds=rule.again_seconds),
    )


def _expires_at(rule: Rule, facts: Facts, policy: Policy, not_before: datetime, now: datetime) -> datetime:
    """Until when it may be carried out (decisions 13): an approval ends before the finished job vanishes."""
    if rule.then is Operation.WAIT:
        return now + timedelta(seconds=ASK_SECONDS)
    until = now + timedelta(seconds=policy.advice_seconds)
    if facts.mode is not Mode.APPROVE:
        return max(until, not_before + timedelta(seconds=policy.hold_seconds))
    if facts.live or facts.ended_at is None:
        return until
    age = facts.min_job_age_seconds if facts.min_job_age_seconds is not None else MIN_JOB_AGE_SECONDS
    return min(until, facts.ended_at + timedelta(seconds=age - VANISH_MARGIN_SECONDS))


def _no_node(facts: Facts, policy: Policy) -> str:
    """None is to be left out; those that are out of use already are named, as no job gets there anyway."""
    drained = ", ".join(drained_nodes(facts, policy))
    return f"no other node: no job is placed on {drained} as it is" if drained else "no node"


def _are(hosts: tuple[str, ...]) -> str:
    return f"{', '.join(hosts) or 'no node'} {'are' if len(hosts) > 1 else 'is'}"
