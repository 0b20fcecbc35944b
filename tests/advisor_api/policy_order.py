"""Which of two neighbouring rules wins where both apply? In words; neighbours that exclude each other say why."""

from dataclasses import replace

from advisor_api.policy.facts import Excluded, Facts, NamedNode
from detectors.attribution.action import VerdictAction
from detectors.attribution.ending import HOLD
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from schedulers.states import JobState
from tests.advisor_api.policy_cases import FAILED, FULL, HANGING, HOLDING, NAMED, UNKNOWN

DRAINED = NamedNode("n04", 0.95, available=False, drained=True)
SLOW = replace(HANGING, kind=AnomalyKind.STRAGGLER)

FIRST: list[tuple[str, str, str, Facts]] = [
    ("our own job, unseen", "scheduler_unseen", "own_job", replace(NAMED, cannot_see=True, own=True)),
    ("our own job, judged twice", "own_job", "newer_verdict", replace(NAMED, own=True, newer_verdict=True)),
    (
        "a newer verdict on what was requeued",
        "newer_verdict",
        "already_requeued",
        replace(NAMED, newer_verdict=True, newer_attempt=True),
    ),
    (
        "requeued, by our own command",
        "already_requeued",
        "command_given",
        replace(NAMED, newer_attempt=True, command_given=True),
    ),
    (
        "it completed behind our back",
        "command_given",
        "completed",
        replace(NAMED, command_given=True, state=JobState.COMPLETED),
    ),
    (
        "preempted for a maintenance",
        "preempted",
        "maintenance",
        replace(NAMED, state=JobState.PREEMPTED, maintained=("n01",)),
    ),
    ("gone with its node", "maintenance", "gone", replace(NAMED, maintained=("n01",), listed=False)),
    (
        "not listed, after a word nobody knows",
        "gone",
        "state_unknown",
        replace(NAMED, listed=False, state=JobState.UNKNOWN),
    ),
    (
        "it waits, and the verdict asks for nothing",
        "waiting",
        "nothing_to_repair",
        replace(NAMED, state=JobState.PENDING, action=VerdictAction.NONE),
    ),
    (
        "silent, unheard, and nothing asked for",
        "nothing_to_repair",
        "blind_silence",
        replace(HANGING, action=VerdictAction.NONE, blind=True),
    ),
    (
        "blind, after it had moved",
        "blind_silence",
        "moves_again",
        replace(HANGING, blind=True, progressed_since=True),
    ),
    ("its launcher was done", "moves_again", "in_job_recovery", replace(HOLDING, progressed_since=True)),
    (
        "suspended while its launcher worked",
        "in_job_recovery",
        "suspended",
        replace(HOLDING, state=JobState.SUSPENDED),
    ),
    ("suspended after a crash line", "suspended", "not_ended_yet", replace(NAMED, state=JobState.SUSPENDED)),
    (
        "a task that still ends, of an array that is asked about",
        "not_ended_yet",
        "array_asked",
        replace(FAILED, state=JobState.COMPLETING, array_job=100, array_asked=True),
    ),
    (
        "a task of an array that is asked about, with --no-requeue",
        "array_asked",
        "requeue_forbidden",
        replace(FAILED, array_job=100, array_asked=True, requeue_allowed=False),
    ),
    (
        "--no-requeue, and the scheduler holds it",
        "held_by_scheduler",
        "requeue_forbidden_while_live",
        replace(FAILED, state=JobState.HELD, signature=HOLD, requeue_allowed=False),
    ),
    (
        "--no-requeue, and a warning",
        "requeue_forbidden_while_live",
        "early_warning",
        replace(HANGING, kind=AnomalyKind.EARLY_WARNING, requeue_allowed=False),
    ),
    (
        "a warning of what repairs itself",
        "early_warning",
        "repairs_itself",
        replace(HOLDING, kind=AnomalyKind.EARLY_WARNING, judged_seconds=1300),
    ),
    ("it repairs itself for hours", "repairs_itself", "evidence_expired", replace(HOLDING, judged_seconds=7200)),
    (
        "an array that failed long ago",
        "evidence_expired",
        "array_systemic",
        replace(FAILED, array_score=99.0, judged_seconds=7200),
    ),
    (
        "a proved cause in every task",
        "array_systemic",
        "stop_class",
        replace(FAILED, array_score=99.0, action=VerdictAction.STOP),
    ),
    (
        "a proved cause at one checkpoint",
        "stop_class",
        "earlier_checkpoint",
        replace(
            FAILED,
            action=VerdictAction.STOP,
            layer=Layer.APPLICATION,
            checkpoint=20,
            earlier_checkpoint=10,
            failures_at_loading=2,
        ),
    ),
    (
        "at loading, and one before is known",
        "earlier_checkpoint",
        "bad_checkpoint",
        replace(FAILED, layer=Layer.APPLICATION, checkpoint=20, earlier_checkpoint=10, failures_at_loading=2),
    ),
    (
        "at loading, and nothing saved for long",
        "bad_checkpoint",
        "no_new_checkpoint",
        replace(
            FAILED, layer=Layer.APPLICATION, checkpoint=20, failures_at_loading=3, attempts_without_checkpoint=3
        ),
    ),
    (
        "the same KeyError, and no checkpoint",
        "no_new_checkpoint",
        "same_cause_confirmed",
        replace(FAILED, layer=Layer.APPLICATION, restarts_for_cause=1, attempts_without_checkpoint=3),
    ),
    (
        "the same KeyError for the fourth time",
        "same_cause_confirmed",
        "same_cause_too_often",
        replace(FAILED, layer=Layer.APPLICATION, restarts_for_cause=3),
    ),
    (
        "NaN for the fourth time",
        "same_cause_too_often",
        "nan_again",
        replace(HANGING, kind=AnomalyKind.NAN, restarts_for_cause=3),
    ),
    (
        "NaN again, and ten requeues",
        "nan_again",
        "too_many_requeues",
        replace(HANGING, kind=AnomalyKind.NAN, restarts_for_cause=1, requeues=10),
    ),
    (
        "ten requeues in a storm",
        "too_many_requeues",
        "restart_storm",
        replace(NAMED, requeues=10, partition_restarts=3),
    ),
    (
        "a storm of one user",
        "restart_storm",
        "restarts_of_user",
        replace(NAMED, partition_restarts=6, user_restarts=6),
    ),
    (
        "a user's jobs, and this one often",
        "restarts_of_user",
        "restarts_of_job",
        replace(NAMED, user_restarts=6, attempts_in_window=5),
    ),
    (
        "often, and kills fail",
        "restarts_of_job",
        "kill_task_failed",
        replace(NAMED, attempts_in_window=5, kill_failed=("n01",), requeues=4),
    ),
    (
        "kills fail, and it is submitted again",
        "kill_task_failed",
        "resubmitted",
        replace(NAMED, kill_failed=("n01",), requeues=1, resubmitted=True),
    ),
    (
        "submitted again, and not for the first time",
        "resubmitted",
        "outer_retries",
        replace(NAMED, resubmitted=True, outer_retries=5),
    ),
    (
        "a loop in a trouble of many",
        "outer_retries",
        "shared_cause",
        replace(FAILED, outer_retries=2, jobs_struck=5),
    ),
    (
        "a trouble of many that asks for a person",
        "shared_cause",
        "asked_for_a_person",
        replace(FAILED, jobs_struck=3, action=VerdictAction.ASK),
    ),
    (
        "a person, at the same step",
        "asked_for_a_person",
        "same_step_again",
        replace(UNKNOWN, action=VerdictAction.ASK, failures_at_this_step=2),
    ),
    (
        "slow at the same step",
        "same_step_again",
        "straggler",
        replace(SLOW, failures_at_this_step=2),
    ),
    (
        "saves nothing, on a node that is named",
        "saves_nothing",
        "named_node",
        replace(HANGING, kind=AnomalyKind.NO_CHECKPOINT, named=NAMED.named),
    ),
    (
        "one may go, again",
        "named_node",
        "cap_reached_again",
        replace(NAMED, restarts_for_cause=1),
    ),
    (
        "none may go, again",
        "cap_reached_again",
        "cap_reached",
        replace(NAMED, excluded=FULL, restarts_for_cause=1),
    ),
    (
        "one is drained, and the other may not go",
        "cap_reached",
        "named_node_is_drained",
        replace(NAMED, named=(*NAMED.named, DRAINED), excluded=(Excluded("x"),)),
    ),
    (
        "it hangs on a drained node",
        "named_node_is_drained",
        "hang",
        replace(HANGING, named=(DRAINED,)),
    ),
    ("NaN, and it ended", "nan", "known_cause", replace(FAILED, kind=AnomalyKind.NAN)),
    ("a cause, and an end", "known_cause", "unknown_cause", FAILED),
    ("an end", "unknown_cause", "ask_a_person", UNKNOWN),
]

EXCLUSIVE = {
    ("completed", "cancelled"): "one state at a time",
    ("cancelled", "time_limit"): "one state at a time",
    ("time_limit", "preempted"): "one state at a time",
    ("state_unknown", "waiting"): "one state at a time",
    (
        "requeue_forbidden",
        "held_by_scheduler",
    ): "what the scheduler holds is not forbidden to be requeued, but waits",
    ("straggler", "saves_nothing"): "one kind at a time",
    ("hang", "nan"): "one kind at a time",
}
