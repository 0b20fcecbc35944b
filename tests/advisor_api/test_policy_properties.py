"""Do the rules that protect the cluster (design, section 5) hold whatever happens, under whatever limits?"""

from dataclasses import replace
from datetime import timedelta

from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from advisor_api.policy.backoff import MOST_SECONDS
from advisor_api.policy.caps import sure_nodes
from advisor_api.policy.decision import Decision, decide_untraced
from advisor_api.policy.facts import Excluded, Facts, NamedNode
from advisor_api.policy.history import Past, count
from advisor_api.policy.limits import requeue_cap
from advisor_api.policy.operation import Operation
from advisor_api.policy.values import Policy
from detectors.catalogue.kind import AnomalyKind
from schedulers.states import NOT_A_FAILURE, WAITING, JobState
from tests.advisor_api.policy_cases import FAILED, NOW
from tests.advisor_api.policy_histories import Happened, events, facts, failures, live_through, policies

# The same search each time: what is rare would else be missed once in many runs.
thorough = settings(
    max_examples=20_000,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
often = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
histories = st.lists(events, min_size=1, max_size=16)
LESS = st.sampled_from([1.0, 1.0, 0.95, 0.5, 0.0])
ACTS = (Operation.RESTART, Operation.TERMINATE, Operation.RELEASE)


def decided(known: Facts, policy: Policy) -> Decision:
    return decide_untraced(known, policy, NOW)


@often
@given(facts(), policies)
def test_unknown_is_not_failed(known: Facts, policy: Policy) -> None:
    for unseen in (
        replace(known, cannot_see=True),
        replace(known, state=JobState.UNKNOWN),
        replace(known, state=JobState.GONE),
        replace(known, listed=False),
    ):
        assert decided(unseen, policy).operation is None


@often
@given(facts(), policies)
def test_silence_that_nobody_hears_leads_to_nothing(known: Facts, policy: Policy) -> None:
    assert decided(replace(known, kind=AnomalyKind.HANG, blind=True), policy).operation is None
    assert decided(replace(known, kind=AnomalyKind.BLIND), policy).operation is None


@often
@given(facts(), policies, st.sampled_from(sorted(NOT_A_FAILURE | WAITING | {JobState.REQUEUED})))
def test_only_what_was_meant(known: Facts, policy: Policy, state: JobState) -> None:
    """Cancels, limits, preemptions, and what waits or went well are never repaired."""
    assert decided(replace(known, state=state), policy).operation is None


@often
@given(facts(), policies)
def test_a_planned_end_is_left_alone(known: Facts, policy: Policy) -> None:
    if not known.live:
        assert decided(replace(known, maintained=("n1",)), policy).operation is None


@often
@given(facts(), policies)
def test_one_action_for_each_attempt(known: Facts, policy: Policy) -> None:
    for done in ({"command_given": True}, {"newer_attempt": True}, {"newer_verdict": True}, {"own": True}):
        assert decided(replace(known, **done), policy).operation is None


@often
@given(facts(), policies)
def test_a_healthy_job_is_never_touched(known: Facts, policy: Policy) -> None:
    for healthy in (AnomalyKind.EARLY_WARNING, AnomalyKind.STRAGGLER, AnomalyKind.NO_CHECKPOINT):
        found = decided(replace(known, kind=healthy, state=JobState.RUNNING), policy)
        if healthy is AnomalyKind.EARLY_WARNING:
            assert found.operation not in ACTS
        assert found.operation is not Operation.RESTART
        assert not found.new_exclusions


@often
@given(st.one_of(failures(), failures(), facts()), policies)
def test_caps_on_exclusions_hold(known: Facts, policy: Policy) -> None:
    found = decided(known, policy)
    there = {one.node for one in known.excluded}
    assert len(found.new_exclusions) <= policy.max_nodes_per_incident
    assert set(found.new_exclusions) <= set(sure_nodes(known, policy))
    if set(found.new_exclusions) - there:
        most = max(policy.min_exclusions, int(policy.max_excluded_share * known.partition_size))
        assert len(there | set(found.new_exclusions)) <= most


@often
@given(st.one_of(failures(), failures(), facts()), policies)
def test_logs_of_one_user_alone_fill_no_more_than_their_share(known: Facts, policy: Policy) -> None:
    found = decided(known, policy)
    said = {node.host for node in known.named if not node.witnessed}
    alone = said.intersection(found.new_exclusions) - {one.node for one in known.excluded}
    if alone:
        allowed = max(policy.min_exclusions, int(policy.max_excluded_share * known.partition_size))
        own = sum(one.by_own_log for one in known.excluded) + len(alone)
        assert own <= max(1, -int(-policy.max_excluded_user_share * allowed // 1))


@often
@given(st.one_of(failures(), failures(), facts()), policies)
def test_a_restart_never_leaves_fewer_nodes_than_the_job_needs(known: Facts, policy: Policy) -> None:
    found = decided(known, policy)
    usable = {one.node for one in known.excluded if one.available} | {
        node.host for node in known.named if node.available
    }
    if found.operation is Operation.RESTART and known.partition_available >= known.node_count:
        assert known.partition_available - len(usable & set(found.excluded_nodes)) >= known.node_count


@often
@given(st.one_of(failures(), failures(), facts()), policies)
def test_drained_nodes_are_nobodys_to_exclude(known: Facts, policy: Policy) -> None:
    drained = {node.host for node in known.named if node.drained}
    assert not drained & set(decided(known, policy).new_exclusions)


@often
@given(st.one_of(failures(), failures(), facts()), policies)
def test_times_stand_in_their_order_and_are_bounded(known: Facts, policy: Policy) -> None:
    found = decided(known, policy)
    assert NOW <= found.not_before <= NOW + timedelta(seconds=MOST_SECONDS)
    assert found.hold_until > found.not_before
    assert found.operation is None or found.again_at is None


def harshness(found: Decision) -> tuple[bool, int]:
    """A stop is harsher than any restart, and a restart that leaves out more nodes than one that leaves out fewer.

    To start again on the same nodes needs a certain end, and not a certain cause (decisions 20).
    """
    return found.operation is Operation.TERMINATE, len(found.new_exclusions)


@often
@given(
    st.one_of(failures(), failures(), facts()),
    policies,
    st.floats(0, 1),
    st.lists(st.floats(0, 1), min_size=4, max_size=4),
)
def test_less_confidence_is_never_harsher(known: Facts, policy: Policy, share: float, shares: list[float]) -> None:
    weaker = replace(
        known,
        confidence=known.confidence * share,
        named=tuple(
            replace(node, confidence=node.confidence * part)
            for node, part in zip(known.named, shares, strict=False)
        ),
    )
    before, after = decided(known, policy), decided(weaker, policy)
    assert harshness(after) <= harshness(before)
    assert (before.operation is None) is (after.operation is None)


@often
@given(histories, policies, st.sampled_from([None, 0, 1, 3, 99]))
def test_retries_are_bounded_whatever_the_history(
    happened: list[Happened], policy: Policy, own_cap: int | None
) -> None:
    steps = live_through(happened, policy, own_cap)
    restarts = [step for step in steps if step.decision.operation is Operation.RESTART]
    assert len(restarts) <= requeue_cap(steps[0].facts, policy)
    for step in restarts:
        assert step.facts.attempts_without_checkpoint < policy.max_attempts_without_checkpoint
        assert step.facts.restarts_for_cause < policy.max_restarts_per_cause
        assert step.facts.attempts_in_window < policy.max_attempts_in_window


@often
@given(histories, policies)
def test_exclusions_of_a_whole_history_stay_below_the_caps(happened: list[Happened], policy: Policy) -> None:
    most = max(policy.min_exclusions, int(policy.max_excluded_share * 8))
    for step in live_through(happened, policy):
        assert len(step.facts.excluded) <= max(most, 0)
        assert 8 - len(step.decision.excluded_nodes) >= 4 or step.decision.operation is not Operation.RESTART


def test_these_facts_reach_what_is_tested() -> None:
    """Properties of decisions that are never made would hold for nothing."""
    pool = st.tuples(failures(), policies)
    for wanted in (Operation.RESTART, Operation.TERMINATE, Operation.WAIT):
        find(pool, lambda pair, wanted=wanted: decided(*pair).operation is wanted, settings=thorough)
    find(pool, lambda pair: len(decided(*pair).new_exclusions) > 1, settings=thorough)
    find(histories, lambda happened: len(live_through(happened, Policy())) > 4, settings=thorough)


def test_to_be_less_sure_of_one_node_does_not_cost_the_others_their_place() -> None:
    three = (NamedNode("a", 0.9), NamedNode("b", 0.9), NamedNode("c", 0.81))
    known = replace(FAILED, named=three, partition_size=200, partition_available=200)
    weaker = replace(known, named=(*three[:2], NamedNode("c", 0.7)))
    assert decided(known, Policy()).new_exclusions == decided(weaker, Policy()).new_exclusions == ()


def test_what_is_excluded_already_gives_way_to_the_need_too() -> None:
    tight = replace(
        FAILED,
        named=(NamedNode("n03", 0.95),),
        excluded=(Excluded("n03"),),
        partition_size=4,
        partition_available=3,
    )
    assert (decided(tight, Policy()).rule, decided(tight, Policy()).excluded_nodes) == ("cap_reached", ())


pasts = st.builds(
    Past,
    index=st.just(0),
    fingerprint=st.sampled_from(["", "a", "b"]),
    first_step=st.sampled_from([None, 0, 100]),
    last_step=st.sampled_from([None, 0, 5, 100, 115]),
    last_checkpoint_step=st.sampled_from([None, 0, 10, 20, 30]),
    readable=st.booleans(),
    names_new_host=st.booleans(),
)
chains = st.lists(pasts, min_size=1, max_size=10)


@often
@given(chains, st.integers(0, 9))
def test_unknown_progress_neither_counts_nor_resets(chain: list[Past], place: int) -> None:
    """Trap 21: an attempt of which nobody could read anything changes no count, wherever it stands."""
    unknown = Past(0, readable=False)
    at = min(place, len(chain) - 1)
    before, after = count(chain), count([*chain[:at], unknown, *chain[at:]])
    assert replace(after, failures_at_loading=0) == replace(before, failures_at_loading=0)
    assert after.failures_at_loading <= before.failures_at_loading


@often
@given(chains)
def test_a_real_advance_resets_every_count(chain: list[Past]) -> None:
    further = Past(0, "a", last_step=10_000, last_checkpoint_step=10_000)
    found = count([*chain, further])
    assert (found.attempts_without_checkpoint, found.restarts_for_cause) == (0, 0)


@often
@given(chains)
def test_a_repeat_that_saves_nothing_never_lowers_a_count(chain: list[Past]) -> None:
    before = count(chain)
    again = replace(chain[-1], last_step=None, last_checkpoint_step=None, readable=True, names_new_host=False)
    after = count([*chain, again])
    assert after.attempts_without_checkpoint >= before.attempts_without_checkpoint
    assert after.restarts_for_cause >= before.restarts_for_cause
