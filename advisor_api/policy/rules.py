"""Which rules lead from facts to an operation? The first row that applies wins.

Guards come first (nothing is to be done), then what asks for a stop, then what asks for a restart; asking a
person is last. `docs/policy.md` is generated from this table.
"""

from collections.abc import Callable
from dataclasses import dataclass

from advisor_api.policy.backoff import known_cause_seconds, no_seconds, unknown_cause_seconds
from advisor_api.policy.caps import drained_nodes, left_out, sure_nodes
from advisor_api.policy.facts import Facts
from advisor_api.policy.operation import Operation
from advisor_api.policy.values import Policy
from detectors.attribution.action import VerdictAction
from detectors.attribution.evidence_status import EvidenceStatus
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from schedulers.states import FAILURES, JobState

Test = Callable[[Facts, Policy], bool]
PROVED = frozenset({EvidenceStatus.ESTABLISHED, EvidenceStatus.SUPPORTED})


@dataclass(frozen=True)
class Rule:
    """One row. `then=None`: nothing is done, and with `again_seconds` it is looked at again after them.

    `because` is a sentence for an operator in which `{facts.…}`, `{policy.…}`, `{sure}`, `{sure_are}`,
    `{left_out_are}`, `{stays}`, `{drained_are}`, `{cap}` and `{cap_on_requeues}` stand for what was found.
    `names_nodes`: the sure nodes are excluded as far as the caps allow (or, for WAIT, proposed). `back_off` gives
    the seconds before the job may start again.
    """

    name: str
    then: Operation | None
    because: str
    applies: Test
    names_nodes: bool = False
    back_off: Callable[[Facts, Policy], float] = no_seconds
    again_seconds: float | None = None


def requeue_cap(facts: Facts, policy: Policy) -> int:
    """Requeues that a job may have in total: the policy's cap, lowered by the job's own wish."""
    own = facts.max_requeue_times
    return policy.max_requeues if own is None else min(own, policy.max_requeues)


GUARDS = (
    Rule(
        "scheduler_unseen",
        None,
        "the scheduler does not answer, and unknown is not failed",
        lambda facts, policy: facts.cannot_see,
        again_seconds=5,
    ),
    Rule(
        "newer_verdict",
        None,
        "a newer verdict on the same attempt stands",
        lambda facts, policy: facts.newer_verdict,
    ),
    Rule(
        "already_requeued",
        None,
        "the job was requeued already",
        lambda facts, policy: facts.newer_attempt or facts.state is JobState.REQUEUED,
    ),
    Rule(
        "command_given",
        None,
        "a controller has begun to carry out an earlier advice: one action per attempt",
        lambda facts, policy: facts.command_given,
    ),
    Rule("completed", None, "the job completed", lambda facts, policy: facts.state is JobState.COMPLETED),
    Rule(
        "cancelled",
        None,
        "somebody cancelled the job, which is a wish and not a failure",
        lambda facts, policy: facts.state is JobState.CANCELLED,
    ),
    Rule(
        "time_limit",
        None,
        "the job reached its time limit ({facts.word}), which is not a failure",
        lambda facts, policy: facts.state in {JobState.TIMEOUT, JobState.DEADLINE},
    ),
    Rule(
        "preempted",
        None,
        "the scheduler preempted the job and deals with it itself",
        lambda facts, policy: facts.state is JobState.PREEMPTED,
    ),
    Rule(
        "gone",
        None,
        "the scheduler does not know the job any more, and gone is not failed",
        lambda facts, policy: facts.state is JobState.GONE or not facts.listed,
    ),
    Rule(
        "state_unknown",
        None,
        "the scheduler's word {facts.word!r} is not understood, and unknown is not failed",
        lambda facts, policy: facts.state is JobState.UNKNOWN,
        again_seconds=15,
    ),
    Rule(
        "waiting",
        None,
        "the attempt waits in the queue: nothing has run that could be repaired",
        lambda facts, policy: facts.waiting,
    ),
    Rule(
        "nothing_to_repair",
        None,
        "the verdict asks for nothing",
        lambda facts, policy: (
            facts.action is VerdictAction.NONE or facts.kind in {AnomalyKind.IDLE, AnomalyKind.BLIND}
        ),
    ),
    Rule(
        "blind_silence",
        None,
        "its log cannot be read, and silence that nobody can hear proves nothing",
        lambda facts, policy: facts.kind is AnomalyKind.HANG and facts.blind,
    ),
    Rule(
        "moves_again",
        None,
        "it makes steps again",
        lambda facts, policy: facts.kind is AnomalyKind.HANG and facts.live and facts.progressed_since,
    ),
    Rule(
        "suspended",
        None,
        "it is suspended: its silence is wanted",
        lambda facts, policy: facts.state is JobState.SUSPENDED,
    ),
    Rule(
        "not_ended_yet",
        None,
        "it still runs: only an end that the scheduler shows is certain",
        lambda facts, policy: facts.live and facts.kind is AnomalyKind.CRASH,
        again_seconds=2,
    ),
    Rule(
        "requeue_forbidden",
        None,
        "it was submitted so that it may not be requeued",
        lambda facts, policy: not facts.requeue_allowed and not facts.live,
    ),
)

STOPS = (
    Rule(
        "requeue_forbidden_while_live",
        Operation.WAIT,
        "it still holds its nodes, and it was submitted so that it may not be requeued",
        lambda facts, policy: not facts.requeue_allowed,
    ),
    Rule(
        "early_warning",
        Operation.WAIT,
        "a healthy job is not restarted for an early warning; the next attempt could leave out {sure}",
        lambda facts, policy: facts.kind is AnomalyKind.EARLY_WARNING,
        names_nodes=True,
    ),
    Rule(
        "repairs_itself",
        Operation.WAIT,
        "it is repairing itself or waits for something that a restart does not bring",
        lambda facts, policy: facts.action is VerdictAction.HOLD,
    ),
    Rule(
        "stop_class",
        Operation.TERMINATE,
        "a restart cannot help: the cause is proved with {facts.confidence:.2f} and comes again by itself",
        lambda facts, policy: facts.action is VerdictAction.STOP and facts.confidence >= policy.stop_confidence,
    ),
    Rule(
        "no_new_checkpoint",
        Operation.TERMINATE,
        "{facts.attempts_without_checkpoint} attempts in a row saved no new checkpoint",
        lambda facts, policy: facts.attempts_without_checkpoint >= policy.max_attempts_without_checkpoint,
    ),
    Rule(
        "same_cause_confirmed",
        Operation.TERMINATE,
        "the same error of the program, its memory or its input came again after {facts.restarts_for_cause} "
        "restart(s)",
        lambda facts, policy: (
            (facts.layer.domain in {"application", "data"} or facts.layer is Layer.SYSTEM_MEMORY)
            and facts.restarts_for_cause >= policy.confirmation_restarts
        ),
    ),
    Rule(
        "same_cause_too_often",
        Operation.TERMINATE,
        "{facts.restarts_for_cause} restarts for the same cause brought no new checkpoint",
        lambda facts, policy: facts.restarts_for_cause >= policy.max_restarts_per_cause,
    ),
    Rule(
        "nan_again",
        Operation.TERMINATE,
        "the loss is no number again after a restart from the last checkpoint",
        lambda facts, policy: (
            facts.kind is AnomalyKind.NAN and facts.restarts_for_cause >= policy.confirmation_restarts
        ),
    ),
    Rule(
        "too_many_requeues",
        Operation.TERMINATE,
        "the job was requeued {facts.requeues} times, at most {cap_on_requeues} are allowed",
        lambda facts, policy: facts.requeues >= requeue_cap(facts, policy),
    ),
    Rule(
        "restart_storm",
        Operation.WAIT,
        "{facts.partition_restarts} restarts in the partition within {policy.storm_window_seconds} s: "
        "a common cause is likely",
        lambda facts, policy: facts.partition_restarts >= policy.storm_restarts,
    ),
    Rule(
        "shared_cause",
        Operation.WAIT,
        "one cause, which is no single node's, stopped {facts.jobs_struck} jobs at about the same time",
        lambda facts, policy: facts.jobs_struck >= policy.storm_restarts,
    ),
    Rule(
        "asked_for_a_person",
        Operation.WAIT,
        "the verdict asks for a person",
        lambda facts, policy: facts.action is VerdictAction.ASK,
    ),
    Rule(
        "same_step_again",
        Operation.WAIT,
        "it failed {facts.failures_at_this_step} times at the same step, and the cause is not proved",
        lambda facts, policy: (
            facts.failures_at_this_step >= 2
            and (facts.kind is AnomalyKind.HANG or facts.layer.domain in {"framework", "unknown"})
        ),
    ),
    Rule(
        "straggler",
        Operation.WAIT,
        "it is slow but moves: whether a restart pays is for a person to say",
        lambda facts, policy: facts.kind is AnomalyKind.STRAGGLER,
        names_nodes=True,
    ),
    Rule(
        "saves_nothing",
        Operation.WAIT,
        "it trains without saving checkpoints: a restart would lose what it has done",
        lambda facts, policy: facts.kind is AnomalyKind.NO_CHECKPOINT,
    ),
)

RESTARTS = (
    Rule(
        "named_node",
        Operation.RESTART,
        "{left_out_are} named as the cause, surely enough to be left out{stays}",
        lambda facts, policy: bool(left_out(facts, policy)),
        names_nodes=True,
    ),
    Rule(
        "cap_reached_again",
        Operation.WAIT,
        "{sure_are} named as the cause again, and a cap forbids to leave out more: {cap}",
        lambda facts, policy: bool(sure_nodes(facts, policy)) and facts.restarts_for_cause >= 1,
    ),
    Rule(
        "cap_reached",
        Operation.RESTART,
        "{sure_are} named as the cause, but not left out: {cap}",
        lambda facts, policy: bool(sure_nodes(facts, policy)),
        back_off=known_cause_seconds,
    ),
    Rule(
        "named_node_is_drained",
        Operation.RESTART,
        "{drained_are} named as the cause, and out of use already",
        lambda facts, policy: bool(drained_nodes(facts, policy)),
    ),
    Rule(
        "hang",
        Operation.RESTART,
        "the job hangs: it runs and makes no step",
        lambda facts, policy: facts.kind is AnomalyKind.HANG,
        back_off=known_cause_seconds,
    ),
    Rule(
        "nan",
        Operation.RESTART,
        "the loss is no number: back to the last checkpoint, once",
        lambda facts, policy: facts.kind is AnomalyKind.NAN,
    ),
    Rule(
        "known_cause",
        Operation.RESTART,
        "it ended ({facts.word}) by a cause that a restart may survive, and no node is blamed for it",
        lambda facts, policy: (
            facts.state in FAILURES
            and facts.evidence_status in PROVED
            and facts.action in {VerdictAction.RESTART, VerdictAction.RESTART_EXCLUDE}
        ),
        back_off=known_cause_seconds,
    ),
    Rule(
        "unknown_cause",
        Operation.RESTART,
        "it ended ({facts.word}) and the cause is not sure, so it starts again after a pause and no node is blamed",
        lambda facts, policy: facts.state in FAILURES,
        back_off=unknown_cause_seconds,
    ),
)

LAST = (Rule("ask_a_person", Operation.WAIT, "no rule knows what to do with it", lambda facts, policy: True),)

RULES: tuple[Rule, ...] = GUARDS + STOPS + RESTARTS + LAST
