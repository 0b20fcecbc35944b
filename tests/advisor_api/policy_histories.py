"""What can happen to a job, and what can be known of it? Facts and histories of attempts for property tests."""

from dataclasses import asdict, dataclass, field, replace
from datetime import timedelta

from hypothesis import strategies as st

from advisor_api.policy.decision import Decision, decide_untraced
from advisor_api.policy.facts import Excluded, Facts, NamedNode
from advisor_api.policy.history import Past, count
from advisor_api.policy.operation import Operation
from advisor_api.policy.values import Policy
from detectors.attribution.action import VerdictAction
from detectors.attribution.evidence_status import EvidenceStatus
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from schedulers.states import FAILURES, JobState
from tests.advisor_api.policy_cases import NOW
from workloads.mode import Mode

SURE = st.sampled_from([0.0, 0.3, 0.79, 0.8, 0.84, 0.85, 0.95, 1.0])
FEW = st.integers(0, 4)
SELDOM = st.sampled_from([False, False, False, True])

policies = st.builds(
    Policy,
    max_restarts_per_cause=st.integers(0, 5),
    confirmation_restarts=st.integers(0, 3),
    max_attempts_without_checkpoint=st.integers(0, 5),
    max_requeues=st.integers(0, 12),
    exclude_confidence=st.sampled_from([0.5, 0.8, 0.99]),
    stop_confidence=st.sampled_from([0.5, 0.85, 1.0]),
    max_excluded_share=st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    min_exclusions=st.integers(0, 2),
    max_excluded_user_share=st.sampled_from([0.0, 0.5, 1.0]),
    max_nodes_per_incident=st.integers(0, 3),
    storm_restarts=st.integers(0, 5),
    max_user_restarts=st.integers(0, 8),
    max_attempts_in_window=st.integers(0, 8),
)


@st.composite
def pools(draw: st.DrawFn) -> dict[str, object]:
    """The partition, the nodes that are named and those that are excluded, such as they can be at one moment."""
    size = draw(st.sampled_from([0, 1, 4, 8, 20, 200]))
    usable = [draw(st.booleans()) if place < 6 else True for place in range(size)]
    names = [f"n{place}" for place in range(min(size, 6))]
    named = draw(st.lists(st.sampled_from(names), unique=True, max_size=4)) if names else []
    excluded = draw(st.lists(st.sampled_from(names), unique=True, max_size=4)) if names else []
    nodes = [NamedNode(name, draw(SURE), usable[int(name[1:])], draw(SELDOM)) for name in named]
    nodes = [
        replace(
            node,
            available=node.available and not node.drained,
            witnessed=draw(st.sampled_from([True, True, False])),
        )
        for node in nodes
    ]
    for node in nodes:
        usable[int(node.host[1:])] = node.available
    return {
        "partition_size": size,
        "partition_available": sum(usable),
        "node_count": draw(st.integers(1, max(1, min(size, 8)))),
        "named": tuple(sorted(nodes, key=lambda node: (-node.confidence, node.host))),
        "excluded": tuple(
            Excluded(name, usable[int(name[1:])], by_own_log=draw(st.booleans())) for name in excluded
        ),
    }


@st.composite
def facts(draw: st.DrawFn) -> Facts:
    """Facts of any kind, consistent in the nodes that they speak of."""
    return Facts(
        label="100-0",
        state=draw(st.sampled_from(JobState)),
        word=draw(st.sampled_from(["FAILED", "{facts}", ""])),
        partition="main",
        ended_at=NOW,
        listed=not draw(SELDOM),
        newer_attempt=draw(SELDOM),
        command_given=draw(SELDOM),
        own=draw(SELDOM),
        maintained=draw(st.sampled_from([(), (), ("n1",)])),
        kind=draw(st.sampled_from(AnomalyKind)),
        layer=draw(st.sampled_from(Layer)),
        action=draw(st.sampled_from(VerdictAction)),
        evidence_status=draw(st.sampled_from(EvidenceStatus)),
        confidence=draw(SURE),
        newer_verdict=draw(SELDOM),
        judged_seconds=draw(st.sampled_from([0.0, 60.0, 1200.0, 3601.0])),
        progressed_since=draw(SELDOM),
        jobs_struck=draw(FEW),
        requeues=draw(st.integers(0, 12)),
        attempts_without_checkpoint=draw(FEW),
        restarts_for_cause=draw(FEW),
        failures_at_this_step=draw(FEW),
        attempts_in_window=draw(st.integers(0, 7)),
        kill_failed=draw(st.sampled_from([(), (), ("n1",)])),
        outer_retries=draw(FEW),
        resubmitted=draw(SELDOM),
        requeue_allowed=not draw(SELDOM),
        max_requeue_times=draw(st.sampled_from([None, 0, 2, 99])),
        mode=draw(st.sampled_from(Mode)),
        cannot_see=draw(SELDOM),
        blind=draw(SELDOM),
        min_job_age_seconds=draw(st.sampled_from([None, 120, 300])),
        partition_restarts=draw(FEW),
        user_restarts=draw(st.integers(0, 8)),
        jitter=draw(st.sampled_from([-0.2, 0.0, 0.2])),
        **draw(pools()),  # type: ignore[arg-type]
    )


@st.composite
def failures(draw: st.DrawFn) -> Facts:
    """A failure in which no guard is closed: what is left is to stop, to ask, or to restart."""
    state = draw(st.sampled_from([*sorted(FAILURES), JobState.RUNNING]))
    crash = [AnomalyKind.CRASH, AnomalyKind.CRASH, AnomalyKind.NAN]
    return Facts(
        label="100-0",
        state=state,
        ended_at=NOW,
        kind=draw(st.sampled_from([AnomalyKind.HANG, AnomalyKind.NAN] if state is JobState.RUNNING else crash)),
        layer=draw(st.sampled_from([Layer.UNKNOWN, Layer.HARDWARE_GPU, Layer.HARDWARE_NETWORK, Layer.APPLICATION])),
        action=draw(st.sampled_from([VerdictAction.RESTART, VerdictAction.RESTART_EXCLUDE, VerdictAction.STOP])),
        evidence_status=draw(st.sampled_from(EvidenceStatus)),
        confidence=draw(SURE),
        requeues=draw(FEW),
        attempts_without_checkpoint=draw(st.integers(0, 2)),
        restarts_for_cause=draw(st.integers(0, 2)),
        mode=draw(st.sampled_from(Mode)),
        jitter=draw(st.sampled_from([-0.2, 0.0, 0.2])),
        **draw(pools()),  # type: ignore[arg-type]
    )


@dataclass(frozen=True)
class Happened:
    """What befalls one attempt: how it ends, what is known of it, and how far it came."""

    state: JobState
    kind: AnomalyKind
    layer: Layer
    action: VerdictAction
    confidence: float
    fingerprint: str
    node: int
    sure: float
    saved: int | None
    readable: bool
    minutes: int  # that it lived
    flags: dict[str, bool] = field(default_factory=dict)


events = st.builds(
    Happened,
    state=st.sampled_from(sorted(FAILURES) * 3 + [JobState.RUNNING, JobState.CANCELLED, JobState.TIMEOUT]),
    kind=st.sampled_from([AnomalyKind.CRASH] * 3 + [AnomalyKind.HANG, AnomalyKind.NAN]),
    layer=st.sampled_from(Layer),
    action=st.sampled_from([VerdictAction.RESTART] * 3 + [VerdictAction.RESTART_EXCLUDE, VerdictAction.STOP]),
    confidence=SURE,
    fingerprint=st.sampled_from(["", "a", "b", "c"]),
    node=st.integers(0, 7),
    sure=SURE,
    saved=st.sampled_from([None, None, 0, 10, 20, 30]),
    readable=st.sampled_from([True, True, False]),
    minutes=st.integers(1, 90),
    flags=st.dictionaries(st.sampled_from(["cannot_see", "blind", "newer_verdict"]), SELDOM, max_size=1),
)


@dataclass(frozen=True)
class Step:
    """One attempt of a history: what was known, and what was decided."""

    facts: Facts
    decision: Decision


def live_through(happened: list[Happened], policy: Policy, own_cap: int | None = None) -> list[Step]:
    """A job of four nodes in a pool of eight, restarted as often as the policy says so."""
    steps: list[Step] = []
    past: list[Past] = []
    excluded: list[str] = []
    blamed: set[str] = set()
    begun: list[timedelta] = []
    clock = timedelta()
    for index, each in enumerate(happened):
        host = f"n{each.node}"
        begun.append(clock)
        clock += timedelta(minutes=each.minutes)
        new_host = each.layer.domain == "hardware" and host not in blamed
        past.append(
            Past(
                index,
                each.fingerprint,
                None,
                None,
                each.saved if each.readable else None,
                each.readable,
                new_host,
            )
        )
        blamed |= {host} if each.layer.domain == "hardware" else set()
        known = Facts(
            label=f"100-{index}",
            state=each.state,
            word=each.state.name,
            node_count=4,
            ended_at=NOW,
            kind=each.kind,
            layer=each.layer,
            action=each.action,
            confidence=each.confidence,
            named=(NamedNode(host, each.sure),) if each.action is VerdictAction.RESTART_EXCLUDE else (),
            requeues=index,
            **asdict(count(past)),
            attempts_in_window=sum(
                1 for at in begun if clock - at < timedelta(seconds=policy.attempts_window_seconds)
            ),
            max_requeue_times=own_cap,
            mode=Mode.ACTION,
            partition_size=8,
            partition_available=8,
            excluded=tuple(Excluded(name) for name in reversed(excluded)),
            **each.flags,  # type: ignore[arg-type]
        )
        decision = decide_untraced(known, policy, NOW + clock)
        steps.append(Step(known, decision))
        if decision.operation is not Operation.RESTART:
            break
        excluded += [name for name in decision.new_exclusions if name not in excluded]
    return steps
