"""Which rule wins on which facts? The case table of the policy, in words."""

from dataclasses import replace
from datetime import UTC, datetime

from advisor_api.policy.facts import Excluded, Facts, NamedNode
from advisor_api.policy.operation import Operation
from advisor_api.policy.values import Policy
from detectors.attribution.action import VerdictAction
from detectors.attribution.evidence_status import EvidenceStatus
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from schedulers.states import JobState
from workloads.mode import Mode

NOW = datetime(2026, 11, 29, 10, 0, tzinfo=UTC)
POLICY = Policy()
FAILED = Facts(
    label="100-0",
    state=JobState.FAILED,
    word="FAILED",
    partition="main",
    node_count=3,
    ended_at=NOW,
    evidence_status=EvidenceStatus.ESTABLISHED,
    confidence=0.9,
    mode=Mode.ACTION,
    partition_size=20,
    partition_available=20,
)
NAMED = replace(FAILED, named=(NamedNode("n03", 0.95),), layer=Layer.HARDWARE_GPU)
HANGING = replace(FAILED, state=JobState.RUNNING, word="RUNNING", kind=AnomalyKind.HANG, ended_at=None)
UNKNOWN = replace(FAILED, evidence_status=EvidenceStatus.UNKNOWN, confidence=0.1)
FULL = tuple(Excluded(f"x{i}") for i in range(1))


def own_logs(count: int) -> Facts:
    """Its own log alone names a node, as logs of its user alone name `count` others; 100 may be excluded."""
    said = tuple(Excluded(f"x{i}", by_own_log=True) for i in range(count))
    named = (NamedNode("n03", 0.95, witnessed=False),)
    return replace(NAMED, named=named, excluded=said, partition_size=2000, partition_available=2000)


FIRST_PAUSE = {"unknown_cause": 60.0}  # seconds before the first restart; 0 for every other rule
AGAIN = {"scheduler_unseen": 5.0, "state_unknown": 15.0, "in_job_recovery": 30.0, "not_ended_yet": 2.0}
NAMING = frozenset({"early_warning", "straggler", "named_node"})  # rules that name nodes
HOLDING = replace(HANGING, action=VerdictAction.HOLD)

WINNERS: list[tuple[str, str, Operation | None, Facts]] = [
    ("scheduler does not answer", "scheduler_unseen", None, replace(NAMED, cannot_see=True)),
    ("a hang, and the scheduler does not answer", "scheduler_unseen", None, replace(HANGING, cannot_see=True)),
    ("our controller, silent", "own_job", None, replace(HANGING, own=True)),
    ("our controller, killed", "own_job", None, replace(NAMED, own=True)),
    ("its node is in maintenance", "maintenance", None, replace(NAMED, maintained=("n03",))),
    (
        "a node went down in a maintenance reservation",
        "maintenance",
        None,
        replace(UNKNOWN, state=JobState.NODE_FAIL, maintained=("n01", "n02")),
    ),
    ("a newer verdict stands on a hang", "newer_verdict", None, replace(HANGING, newer_verdict=True)),
    ("the controller has begun with a hang", "command_given", None, replace(HANGING, command_given=True)),
    ("it completed after a crash line", "completed", None, replace(UNKNOWN, state=JobState.COMPLETED)),
    ("cancelled while it hung", "cancelled", None, replace(HANGING, state=JobState.CANCELLED)),
    ("its limit came while it hung", "time_limit", None, replace(HANGING, state=JobState.TIMEOUT)),
    ("preempted while it hung", "preempted", None, replace(HANGING, state=JobState.PREEMPTED)),
    ("a hang, and an unknown word", "state_unknown", None, replace(HANGING, state=JobState.UNKNOWN)),
    ("a newer verdict stands", "newer_verdict", None, replace(NAMED, newer_verdict=True)),
    ("slurm requeued it", "already_requeued", None, replace(NAMED, newer_attempt=True)),
    ("it ended by a requeue", "already_requeued", None, replace(NAMED, state=JobState.REQUEUED)),
    ("the controller has begun", "command_given", None, replace(NAMED, command_given=True)),
    ("it completed", "completed", None, replace(NAMED, state=JobState.COMPLETED)),
    ("its user cancelled it", "cancelled", None, replace(NAMED, state=JobState.CANCELLED)),
    ("its time was over", "time_limit", None, replace(NAMED, state=JobState.TIMEOUT)),
    ("its deadline came", "time_limit", None, replace(NAMED, state=JobState.DEADLINE)),
    ("it was preempted", "preempted", None, replace(NAMED, state=JobState.PREEMPTED)),
    ("it vanished", "gone", None, replace(NAMED, state=JobState.GONE)),
    ("it failed and left the listing", "gone", None, replace(NAMED, listed=False)),
    ("a word nobody knows", "state_unknown", None, replace(NAMED, state=JobState.UNKNOWN, word="REVOKED")),
    ("it waits in the queue", "waiting", None, replace(NAMED, state=JobState.PENDING)),
    ("somebody holds it", "waiting", None, replace(NAMED, state=JobState.HELD)),
    (
        "the scheduler holds it",
        "held_by_scheduler",
        Operation.WAIT,
        replace(NAMED, state=JobState.HELD, signature="slurm.hold", requeues=99, requeue_allowed=False),
    ),
    ("the scheduler held it", "waiting", None, replace(NAMED, state=JobState.PENDING, signature="slurm.hold")),
    ("the verdict asks for nothing", "nothing_to_repair", None, replace(NAMED, action=VerdictAction.NONE)),
    ("it is only idle", "nothing_to_repair", None, replace(HANGING, kind=AnomalyKind.IDLE)),
    ("a source is away", "nothing_to_repair", None, replace(HANGING, kind=AnomalyKind.BLIND)),
    (
        "blind, and a node is named for a hang",
        "blind_silence",
        None,
        replace(HANGING, blind=True, named=NAMED.named),
    ),
    ("torchrun starts its workers again", "in_job_recovery", None, HOLDING),
    (
        "a crash that NVRx deals with",
        "in_job_recovery",
        None,
        replace(NAMED, action=VerdictAction.HOLD, state=JobState.RUNNING, judged_seconds=1199),
    ),
    (
        "its launcher has brought it back",
        "moves_again",
        None,
        replace(NAMED, action=VerdictAction.HOLD, state=JobState.RUNNING, progressed_since=True),
    ),
    (
        "suspended, and a straggler before",
        "suspended",
        None,
        replace(HANGING, kind=AnomalyKind.STRAGGLER, state=JobState.SUSPENDED),
    ),
    (
        "a proved cause, and it still ends",
        "not_ended_yet",
        None,
        replace(FAILED, action=VerdictAction.STOP, state=JobState.COMPLETING),
    ),
    (
        "a failed job with --no-requeue, cause unknown",
        "requeue_forbidden",
        None,
        replace(UNKNOWN, requeue_allowed=False),
    ),
    (
        "a NaN with --no-requeue",
        "requeue_forbidden_while_live",
        Operation.WAIT,
        replace(HANGING, kind=AnomalyKind.NAN, requeue_allowed=False),
    ),
    (
        "a warning in a job that may not be requeued",
        "requeue_forbidden_while_live",
        Operation.WAIT,
        replace(HANGING, kind=AnomalyKind.EARLY_WARNING, requeue_allowed=False),
    ),
    (
        "a healthy job on a node that is named",
        "early_warning",
        Operation.WAIT,
        replace(HANGING, kind=AnomalyKind.EARLY_WARNING, named=NAMED.named, action=VerdictAction.ASK),
    ),
    (
        "a verdict of two hours ago",
        "evidence_expired",
        Operation.WAIT,
        replace(NAMED, judged_seconds=7200),
    ),
    (
        "a stop that nobody could act on for long",
        "evidence_expired",
        Operation.WAIT,
        replace(FAILED, action=VerdictAction.STOP, judged_seconds=3601),
    ),
    (
        "exit code 93",
        "stop_class",
        Operation.TERMINATE,
        replace(FAILED, action=VerdictAction.STOP, signature="slurm.state.stopped", confidence=0.95),
    ),
    ("a hang that nobody can see", "blind_silence", None, replace(HANGING, blind=True)),
    ("a hang that ended by itself", "moves_again", None, replace(HANGING, progressed_since=True)),
    ("silent because suspended", "suspended", None, replace(HANGING, state=JobState.SUSPENDED)),
    ("a crash line in a running job", "not_ended_yet", None, replace(NAMED, state=JobState.RUNNING)),
    ("a failed job with --no-requeue", "requeue_forbidden", None, replace(NAMED, requeue_allowed=False)),
    (
        "a hanging job with --no-requeue",
        "requeue_forbidden_while_live",
        Operation.WAIT,
        replace(HANGING, requeue_allowed=False),
    ),
    ("a healthy job", "early_warning", Operation.WAIT, replace(HANGING, kind=AnomalyKind.EARLY_WARNING)),
    (
        "it repaired itself for too long",
        "repairs_itself",
        Operation.WAIT,
        replace(HANGING, action=VerdictAction.HOLD, judged_seconds=1200),
    ),
    (
        "it waits for storage that is away, and it ended",
        "repairs_itself",
        Operation.WAIT,
        replace(FAILED, action=VerdictAction.HOLD),
    ),
    (
        "it crashed, and its launcher was not done in twice its time",
        "repairs_itself",
        Operation.WAIT,
        replace(NAMED, action=VerdictAction.HOLD, state=JobState.RUNNING, judged_seconds=1201),
    ),
    (
        "a person is asked about its array",
        "array_asked",
        None,
        replace(FAILED, array_job=90, array_asked=True, array_score=20.0),
    ),
    ("a hang, and a person is asked", "array_asked", None, replace(HANGING, array_job=90, array_asked=True)),
    (
        "its array fails as a whole",
        "array_systemic",
        Operation.WAIT,
        replace(NAMED, array_job=90, array_tasks=9, array_failed=6, array_score=12.3),
    ),
    (
        "its array hangs as a whole",
        "array_systemic",
        Operation.WAIT,
        replace(HANGING, array_job=90, array_tasks=9, array_failed=6, array_score=12.3),
    ),
    (
        "its array goes on, as a person said",
        "known_cause",
        Operation.RESTART,
        replace(FAILED, array_job=90, array_asked=True, array_score=20.0, array_goes_on=True),
    ),
    (
        "twice the same death at loading, and one checkpoint before",
        "earlier_checkpoint",
        Operation.WAIT,
        replace(UNKNOWN, checkpoint=400, failures_at_loading=2, earlier_checkpoint=300),
    ),
    (
        "twice the same death at one step, and one checkpoint before",
        "earlier_checkpoint",
        Operation.WAIT,
        replace(UNKNOWN, checkpoint=400, failures_at_this_step=2, earlier_checkpoint=300),
    ),
    (
        "twice the same error of the program at one step: no checkpoint helps",
        "same_cause_confirmed",
        Operation.TERMINATE,
        replace(
            FAILED,
            layer=Layer.APPLICATION,
            checkpoint=400,
            failures_at_this_step=2,
            restarts_for_cause=1,
            earlier_checkpoint=300,
        ),
    ),
    (
        "twice the same death at loading the only checkpoint",
        "bad_checkpoint",
        Operation.TERMINATE,
        replace(UNKNOWN, checkpoint=400, failures_at_loading=2),
    ),
    (
        "three times the same death at loading the first checkpoint of all",
        "bad_checkpoint",
        Operation.TERMINATE,
        replace(FAILED, layer=Layer.SYSTEM_FILESYSTEM, checkpoint=0, failures_at_loading=3),
    ),
    ("an import error everywhere", "stop_class", Operation.TERMINATE, replace(FAILED, action=VerdictAction.STOP)),
    (
        "three attempts that saved nothing",
        "no_new_checkpoint",
        Operation.TERMINATE,
        replace(UNKNOWN, attempts_without_checkpoint=3),
    ),
    (
        "the same KeyError again",
        "same_cause_confirmed",
        Operation.TERMINATE,
        replace(FAILED, layer=Layer.APPLICATION, restarts_for_cause=1),
    ),
    (
        "out of memory again",
        "same_cause_confirmed",
        Operation.TERMINATE,
        replace(FAILED, layer=Layer.SYSTEM_MEMORY, restarts_for_cause=1),
    ),
    (
        "the fourth time the same",
        "same_cause_too_often",
        Operation.TERMINATE,
        replace(UNKNOWN, restarts_for_cause=3),
    ),
    (
        "NaN after the restart as well",
        "nan_again",
        Operation.TERMINATE,
        replace(HANGING, kind=AnomalyKind.NAN, restarts_for_cause=1),
    ),
    ("ten requeues", "too_many_requeues", Operation.TERMINATE, replace(NAMED, requeues=10)),
    (
        "the job's own cap is lower",
        "too_many_requeues",
        Operation.TERMINATE,
        replace(NAMED, requeues=2, max_requeue_times=2),
    ),
    (
        "the job's own cap is no higher",
        "too_many_requeues",
        Operation.TERMINATE,
        replace(NAMED, requeues=10, max_requeue_times=99),
    ),
    ("many jobs at once", "restart_storm", Operation.WAIT, replace(NAMED, partition_restarts=3)),
    (
        "many jobs at once in a large partition",
        "restart_storm",
        Operation.WAIT,
        replace(NAMED, partition_size=1000, partition_restarts=10),
    ),
    (
        "fewer than a large partition may have",
        "named_node",
        Operation.RESTART,
        replace(NAMED, partition_size=1000, partition_restarts=9),
    ),
    (
        "a storm in a pool of four",
        "restart_storm",
        Operation.WAIT,
        replace(HANGING, partition_size=4, partition_restarts=3),
    ),
    ("six jobs of one user", "restarts_of_user", Operation.WAIT, replace(NAMED, user_restarts=6)),
    ("six hangs of one user", "restarts_of_user", Operation.WAIT, replace(HANGING, user_restarts=7)),
    ("five attempts in half an hour", "restarts_of_job", Operation.WAIT, replace(NAMED, attempts_in_window=5)),
    ("five hangs in half an hour", "restarts_of_job", Operation.WAIT, replace(HANGING, attempts_in_window=6)),
    (
        "kill task failed, the second time",
        "kill_task_failed",
        Operation.WAIT,
        replace(UNKNOWN, kill_failed=("n01",), requeues=1),
    ),
    (
        "kill task failed while another node is named",
        "kill_task_failed",
        Operation.WAIT,
        replace(NAMED, kill_failed=("n01", "n02"), requeues=2),
    ),
    (
        "kill task failed, the first time",
        "unknown_cause",
        Operation.RESTART,
        replace(UNKNOWN, kill_failed=("n01",)),
    ),
    ("a script submits it again", "resubmitted", Operation.WAIT, replace(UNKNOWN, resubmitted=True)),
    ("a script submits it again, a node is named", "resubmitted", Operation.WAIT, replace(NAMED, resubmitted=True)),
    ("the third of a script", "outer_retries", Operation.WAIT, replace(FAILED, outer_retries=2)),
    ("the fourth of a script, a node is named", "outer_retries", Operation.WAIT, replace(NAMED, outer_retries=3)),
    (
        "a hang of many jobs at once",
        "shared_cause",
        Operation.WAIT,
        replace(HANGING, jobs_struck=4),
    ),
    ("one cause stops three jobs", "shared_cause", Operation.WAIT, replace(FAILED, jobs_struck=3)),
    ("one cause stops two jobs", "known_cause", Operation.RESTART, replace(FAILED, jobs_struck=2)),
    ("the verdict asks a person", "asked_for_a_person", Operation.WAIT, replace(NAMED, action=VerdictAction.ASK)),
    (
        "it hangs at the same step again",
        "same_step_again",
        Operation.WAIT,
        replace(HANGING, failures_at_this_step=2),
    ),
    ("a slow job", "straggler", Operation.WAIT, replace(HANGING, kind=AnomalyKind.STRAGGLER)),
    (
        "a slow job on a throttled node",
        "straggler",
        Operation.WAIT,
        replace(HANGING, kind=AnomalyKind.STRAGGLER, named=(NamedNode("n03", 0.95),)),
    ),
    (
        "an error of the data again",
        "same_cause_confirmed",
        Operation.TERMINATE,
        replace(FAILED, layer=Layer.DATA, restarts_for_cause=2),
    ),
    (
        "saves nothing, and a node is named",
        "saves_nothing",
        Operation.WAIT,
        replace(HANGING, kind=AnomalyKind.NO_CHECKPOINT, named=(NamedNode("n03", 0.95),)),
    ),
    (
        "a hang, the fourth time",
        "same_cause_too_often",
        Operation.TERMINATE,
        replace(HANGING, restarts_for_cause=3),
    ),
    (
        "a hang, three attempts without a checkpoint",
        "no_new_checkpoint",
        Operation.TERMINATE,
        replace(HANGING, attempts_without_checkpoint=4),
    ),
    (
        "NaN, the third time",
        "nan_again",
        Operation.TERMINATE,
        replace(FAILED, kind=AnomalyKind.NAN, restarts_for_cause=2),
    ),
    ("NaN, and it ended by it", "nan", Operation.RESTART, replace(FAILED, kind=AnomalyKind.NAN)),
    (
        "a hang that asks for a person",
        "asked_for_a_person",
        Operation.WAIT,
        replace(HANGING, action=VerdictAction.ASK),
    ),
    (
        "a hang on a node that may not go, again",
        "cap_reached_again",
        Operation.WAIT,
        replace(HANGING, named=(NamedNode("n03", 0.95),), excluded=FULL, restarts_for_cause=2),
    ),
    (
        "three nodes are named at once",
        "cap_reached",
        Operation.RESTART,
        replace(FAILED, named=(NamedNode("a", 0.9), NamedNode("b", 0.9), NamedNode("c", 0.9)), partition_size=200),
    ),
    (
        "a hang on a drained node",
        "named_node_is_drained",
        Operation.RESTART,
        replace(HANGING, named=(NamedNode("n03", 0.95, available=False, drained=True),)),
    ),
    ("a job that never saves", "saves_nothing", Operation.WAIT, replace(HANGING, kind=AnomalyKind.NO_CHECKPOINT)),
    ("a node is named", "named_node", Operation.RESTART, NAMED),
    (
        "a cap is reached, and it is the second time",
        "cap_reached_again",
        Operation.WAIT,
        replace(NAMED, excluded=FULL, restarts_for_cause=1),
    ),
    ("a cap is reached", "cap_reached", Operation.RESTART, replace(NAMED, excluded=FULL)),
    ("its user's logs have filled their half of a large pool", "cap_reached", Operation.RESTART, own_logs(50)),
    (
        "its user's logs have filled their half, and it is named again",
        "cap_reached_again",
        Operation.WAIT,
        replace(own_logs(50), restarts_for_cause=1),
    ),
    ("its user's logs have room for one more", "named_node", Operation.RESTART, own_logs(49)),
    (
        "its user's logs have filled their half, and a health event names the node, too",
        "named_node",
        Operation.RESTART,
        replace(own_logs(50), named=NAMED.named),
    ),
    (
        "logs of others have filled a half",
        "named_node",
        Operation.RESTART,
        replace(own_logs(50), excluded=tuple(Excluded(f"x{i}") for i in range(50))),
    ),
    (
        "the named node is drained",
        "named_node_is_drained",
        Operation.RESTART,
        replace(NAMED, named=(NamedNode("n03", 0.95, available=False, drained=True),)),
    ),
    ("a hang", "hang", Operation.RESTART, HANGING),
    ("NaN", "nan", Operation.RESTART, replace(HANGING, kind=AnomalyKind.NAN)),
    ("a known cause without a node", "known_cause", Operation.RESTART, FAILED),
    ("nobody knows why", "unknown_cause", Operation.RESTART, UNKNOWN),
    (
        "a node is named, but not surely",
        "unknown_cause",
        Operation.RESTART,
        replace(UNKNOWN, named=(NamedNode("n03", 0.79),)),
    ),
    (
        "stop, but not proved",
        "unknown_cause",
        Operation.RESTART,
        replace(UNKNOWN, action=VerdictAction.STOP, confidence=0.84),
    ),
    *(
        (f"{name}, and a node is named", rule, then, replace(facts, named=(NamedNode("n03", 0.95),)))
        for name, rule, then, facts in (
            (
                "a hanging job with --no-requeue",
                "requeue_forbidden_while_live",
                Operation.WAIT,
                replace(HANGING, requeue_allowed=False),
            ),
            ("a proved cause", "stop_class", Operation.TERMINATE, replace(FAILED, action=VerdictAction.STOP)),
            (
                "no checkpoint for long",
                "no_new_checkpoint",
                Operation.TERMINATE,
                replace(FAILED, attempts_without_checkpoint=3),
            ),
            (
                "out of memory again",
                "same_cause_confirmed",
                Operation.TERMINATE,
                replace(FAILED, layer=Layer.SYSTEM_MEMORY, restarts_for_cause=1),
            ),
            (
                "the fourth time the same",
                "same_cause_too_often",
                Operation.TERMINATE,
                replace(FAILED, restarts_for_cause=3),
            ),
            (
                "NaN again",
                "nan_again",
                Operation.TERMINATE,
                replace(HANGING, kind=AnomalyKind.NAN, restarts_for_cause=1),
            ),
            ("a trouble of many", "shared_cause", Operation.WAIT, replace(FAILED, jobs_struck=3)),
            (
                "at the same step",
                "same_step_again",
                Operation.WAIT,
                replace(HANGING, failures_at_this_step=2),
            ),
        )
    ),
]

NEAR: list[tuple[str, str, Facts]] = [
    ("two attempts without checkpoint", "named_node", replace(NAMED, attempts_without_checkpoint=2)),
    ("two restarts in the window", "named_node", replace(NAMED, partition_restarts=2)),
    ("nine requeues", "named_node", replace(NAMED, requeues=9)),
    ("hardware may come twice", "named_node", replace(NAMED, restarts_for_cause=2)),
    ("hardware at the same step by accident", "named_node", replace(NAMED, failures_at_this_step=2)),
    ("the first KeyError", "known_cause", replace(FAILED, layer=Layer.APPLICATION)),
    ("a bad node's tasks are alike, but not many", "named_node", replace(NAMED, array_job=9, array_score=12.1)),
    ("one death at loading", "unknown_cause", replace(UNKNOWN, checkpoint=400, failures_at_loading=1)),
    (
        "a node is named, whatever was loaded",
        "named_node",
        replace(NAMED, checkpoint=400, failures_at_loading=2, earlier_checkpoint=300),
    ),
    (
        "twice at one step, and no earlier checkpoint",
        "same_step_again",
        replace(UNKNOWN, checkpoint=400, failures_at_this_step=2),
    ),
    (
        "twice at loading, when nothing is known to be loaded",
        "unknown_cause",
        replace(UNKNOWN, failures_at_loading=2),
    ),
    ("sure enough by a hair", "named_node", replace(FAILED, named=(NamedNode("n03", 0.80),))),
    ("stop by a hair", "stop_class", replace(FAILED, action=VerdictAction.STOP, confidence=0.85)),
    ("a hang of a job that ended meanwhile", "hang", replace(HANGING, state=JobState.FAILED, blind=False)),
    ("a step after the verdict of a crash is none", "named_node", replace(NAMED, progressed_since=True)),
    ("five restarts of a user", "named_node", replace(NAMED, user_restarts=5)),
    ("four attempts in the window", "named_node", replace(NAMED, attempts_in_window=4)),
    ("a script's second", "named_node", replace(NAMED, outer_retries=1)),
    ("a verdict of an hour ago", "named_node", replace(NAMED, judged_seconds=3600)),
    ("a hang while its node is in maintenance", "hang", replace(HANGING, maintained=("n01",))),
    ("no failure since the first restart", "same_step_again", replace(UNKNOWN, failures_at_this_step=2)),
    ("a cause of its framework, once", "known_cause", replace(FAILED, layer=Layer.FRAMEWORK_COMM)),
    ("memory, the first time", "known_cause", replace(FAILED, layer=Layer.SYSTEM_MEMORY)),
    (
        "a hang that ended, after steps",
        "hang",
        replace(HANGING, state=JobState.FAILED, progressed_since=True),
    ),
    ("slow, and blind", "straggler", replace(HANGING, kind=AnomalyKind.STRAGGLER, blind=True)),
    (
        "two of forty may go",
        "named_node",
        replace(NAMED, partition_size=40, partition_available=40, excluded=FULL),
    ),
]
