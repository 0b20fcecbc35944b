"""When is a job stopped, and when is a person asked? The rows between the guards and the restarts."""

from advisor_api.policy.arrays import ENOUGH
from advisor_api.policy.limits import DEATHS_THAT_TELL, is_of_program, requeue_cap, storm_limit, suspects_checkpoint
from advisor_api.policy.operation import Operation
from advisor_api.policy.rule import Rule
from detectors.attribution.action import VerdictAction
from detectors.catalogue.kind import AnomalyKind

STOPS = (
    Rule(
        "held_by_scheduler",
        Operation.WAIT,
        "the scheduler itself holds it: a hold that is not ours is never released, so it waits for a person",
        lambda facts, policy: facts.held_by_scheduler,
    ),
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
        "evidence_expired",
        Operation.WAIT,
        "what is known of it is {judged_age} old, and much may have changed since",
        lambda facts, policy: facts.judged_seconds > policy.evidence_seconds,
    ),
    Rule(
        "array_systemic",
        Operation.WAIT,
        "{facts.array_failed} of {facts.array_tasks:task} of array {facts.array_job} failed alike, which is no "
        "chance and no bad host: none is tried again. Whoever owns it can hold what has not run (scontrol hold "
        "{facts.array_job}), and let it go on once mended (scontrol release {facts.array_job}); to reject this "
        "lets its tasks be tried again",
        lambda facts, policy: facts.array_score >= ENOUGH and not facts.array_goes_on,
    ),
    Rule(
        "stop_class",
        Operation.TERMINATE,
        "a restart cannot help: the cause is proved with {facts.confidence:.2f} and comes again by itself",
        lambda facts, policy: facts.action is VerdictAction.STOP and facts.confidence >= policy.stop_confidence,
    ),
    Rule(
        "earlier_checkpoint",
        Operation.WAIT,
        "it died {facts.checkpoint_deaths:time} alike at the same place after the checkpoint of step "
        "{facts.checkpoint}, which may be bad. The one before is of step {facts.earlier_checkpoint}: its owner can "
        "start it from there, for Rekindle knows no safe way to ask a job for it",
        lambda facts, policy: suspects_checkpoint(facts) and facts.earlier_checkpoint is not None,
    ),
    Rule(
        "bad_checkpoint",
        Operation.TERMINATE,
        "it died {facts.failures_at_loading:time} alike before its first step from the checkpoint of step "
        "{facts.checkpoint}, and no earlier one is known",
        lambda facts, policy: suspects_checkpoint(facts) and facts.failures_at_loading >= DEATHS_THAT_TELL,
    ),
    Rule(
        "no_new_checkpoint",
        Operation.TERMINATE,
        "{facts.attempts_without_checkpoint:attempt} in a row saved no new checkpoint",
        lambda facts, policy: facts.attempts_without_checkpoint >= policy.max_attempts_without_checkpoint,
    ),
    Rule(
        "same_cause_confirmed",
        Operation.TERMINATE,
        "the same error of the program, its memory or its input came again after "
        "{facts.restarts_for_cause:restart}",
        lambda facts, policy: is_of_program(facts) and facts.restarts_for_cause >= policy.confirmation_restarts,
    ),
    Rule(
        "same_cause_too_often",
        Operation.TERMINATE,
        "{facts.restarts_for_cause:restart} for the same cause brought no new checkpoint",
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
        "the job was requeued {facts.requeues:time}, and the most is {cap_on_requeues}",
        lambda facts, policy: facts.requeues >= requeue_cap(facts, policy),
    ),
    Rule(
        "restart_storm",
        Operation.WAIT,
        "{facts.partition_restarts:restart} in the partition within {policy.storm_window_seconds:span}, and the "
        "most is {storm_limit}: a common cause is likely",
        lambda facts, policy: facts.partition_restarts >= storm_limit(facts, policy),
    ),
    Rule(
        "restarts_of_user",
        Operation.WAIT,
        "within {policy.storm_window_seconds:span} Rekindle restarted {facts.user_restarts:job} of its user: what "
        "they have in common may be the cause",
        lambda facts, policy: facts.user_restarts >= policy.max_user_restarts,
    ),
    Rule(
        "restarts_of_job",
        Operation.WAIT,
        "{facts.attempts_in_window:attempt} of it began within {policy.attempts_window_seconds:span}: it does not "
        "live long enough to be repaired",
        lambda facts, policy: facts.attempts_in_window >= policy.max_attempts_in_window,
    ),
    Rule(
        "kill_task_failed",
        Operation.WAIT,
        "its end left processes that could not be killed, and the scheduler drained nodes for it ({kill_failed}): "
        "another restart could take more of them",
        lambda facts, policy: bool(facts.kill_failed) and facts.requeues >= 1,
    ),
    Rule(
        "resubmitted",
        Operation.WAIT,
        "a job with the same name, user and folder was submitted after it failed, to repeat it: it would run twice",
        lambda facts, policy: facts.resubmitted,
    ),
    Rule(
        "outer_retries",
        Operation.WAIT,
        "it is number {outer_try} of its name, user and folder, each submitted right after the one before failed: "
        "somebody repeats it from outside, and retries would multiply",
        lambda facts, policy: facts.outer_retries >= policy.max_outer_retries,
    ),
    Rule(
        "shared_cause",
        Operation.WAIT,
        "one cause, which is no single node's, stopped {facts.jobs_struck:job} at about the same time",
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
        "it failed {facts.failures_at_this_step:time} at the same step, and the cause is not proved",
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

OF_MANY = tuple(rule for rule in STOPS if rule.name in {"restart_storm", "restarts_of_user"})
"""What restarts of other jobs bring about: true of an advice once more when, long after it, a person says yes."""
