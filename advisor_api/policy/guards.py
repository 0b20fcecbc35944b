"""When is nothing to be done, or not yet? The rows that come before all others."""

from advisor_api.policy.rule import Rule
from detectors.attribution.action import VerdictAction
from detectors.catalogue.kind import AnomalyKind
from schedulers.states import JobState

GUARDS = (
    Rule(
        "scheduler_unseen",
        None,
        "the scheduler does not answer, and unknown is not failed",
        lambda facts, policy: facts.cannot_see,
        again_seconds=5,
    ),
    Rule(
        "own_job",
        None,
        "it is a job of Rekindle's own, and nobody judges itself",
        lambda facts, policy: facts.own,
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
        "maintenance",
        None,
        "{maintained_are} in a maintenance reservation: its end was planned",
        lambda facts, policy: bool(facts.maintained) and not facts.live,
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
        lambda facts, policy: facts.waiting and not facts.held_by_scheduler,
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
        lambda facts, policy: (
            (facts.kind is AnomalyKind.HANG or facts.action is VerdictAction.HOLD)
            and facts.live
            and facts.progressed_since
        ),
    ),
    Rule(
        "in_job_recovery",
        None,
        "it repairs itself: its own launcher has twice its time for that",
        lambda facts, policy: (
            facts.action is VerdictAction.HOLD
            and facts.live
            and facts.judged_seconds < policy.in_job_recovery_seconds
        ),
        again_seconds=30,
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
        lambda facts, policy: (
            facts.live and facts.kind is AnomalyKind.CRASH and facts.action is not VerdictAction.HOLD
        ),
        again_seconds=2,
    ),
    Rule(
        "array_asked",
        None,
        "{facts.array_failed:task} of array {facts.array_job} failed alike, and a person is asked about all",
        lambda facts, policy: facts.array_asked and not facts.array_goes_on,
    ),
    Rule(
        "requeue_forbidden",
        None,
        "it was submitted so that it may not be requeued",
        lambda facts, policy: not facts.requeue_allowed and not facts.live and not facts.held_by_scheduler,
    ),
)
