"""What does the verdict suggest? An ordered table: guards first, remedies after, the plain restart last.

It suggests; limits, counters and gates are the policy's (decisions 17).
"""

from collections.abc import Callable
from dataclasses import dataclass

from detectors.attribution.action import VerdictAction
from detectors.attribution.causes import SILENCE
from detectors.attribution.classes import IN_JOB_RECOVERY, MEMORY, ONE_OR_ALL, STORAGE, belongs, stops
from detectors.attribution.judgement import RuleOutcome
from detectors.attribution.weighing import TO_STOP, Weighed
from detectors.catalogue.layer import Layer
from schedulers.states import JobState


@dataclass(frozen=True)
class Remedy:
    """A row. `basis` is the word of the schema for why; `backoff_seconds` is how long to wait first."""

    id: str
    because: str
    applies: Callable[[Weighed], bool]
    then: VerdictAction
    basis: str
    backoff_seconds: int = 0


def suggest(weighed: Weighed) -> tuple[Remedy, tuple[RuleOutcome, ...]]:
    """The first row that applies, and what every row said."""
    chosen = next(remedy for remedy in REMEDIES if remedy.applies(weighed))
    at = REMEDIES.index(chosen)
    return chosen, tuple(
        RuleOutcome(
            remedy.id,
            remedy is chosen,
            remedy.because
            if place == at
            else f"{'an earlier row applies' if place > at else 'not so'}: {remedy.because}",
        )
        for place, remedy in enumerate(REMEDIES)
    )


def _ended_as(*states: JobState) -> Callable[[Weighed], bool]:
    return lambda weighed: weighed.facts.attempt.state in states


def _in(family: tuple[str, ...]) -> Callable[[Weighed], bool]:
    return lambda weighed: belongs(weighed.cause.signature, family)


def _in_job_recovery(weighed: Weighed) -> bool:
    recovering = any(belongs(s.signature, IN_JOB_RECOVERY) for s in weighed.facts.symptoms)
    return recovering and not weighed.facts.attempt.ended


def _broken_host(weighed: Weighed) -> bool:
    return (weighed.cause.tier <= 2 or weighed.cause.counted) and bool(weighed.excludable)


def _environment_of_one_host(weighed: Weighed) -> bool:
    return weighed.on_one_host and bool(weighed.excludable)


def _proved_stop(weighed: Weighed) -> bool:
    return stops(weighed.cause.signature, weighed.cause.action) and weighed.confidence >= TO_STOP


def _stop_on_all_hosts(weighed: Weighed) -> bool:
    """A full shared disk is often told by rank 0 alone, as it is the one that saves."""
    cause = weighed.cause
    of_all = weighed.everywhere or not cause.named.hosts or cause.signature == "fs.enospc"
    return cause.action == ONE_OR_ALL and weighed.confidence >= TO_STOP and of_all


def _error_before_first_step(weighed: Weighed) -> bool:
    ours = weighed.cause.layer in (Layer.APPLICATION, Layer.USER, Layer.DATA, Layer.SYSTEM_MEMORY)
    attempt = weighed.facts.attempt
    proved = weighed.cause.tier in (3, 6) and weighed.confidence >= TO_STOP
    # Of a job that trained before, one voice without a name may be one rank's.
    alone = weighed.told_of_nobody and all(earlier.last_step is None for earlier in weighed.facts.earlier)
    of_all = weighed.everywhere or alone
    passing = weighed.cause.action == VerdictAction.RESTART  # a port in use, a hub that is busy
    return ours and proved and not passing and not attempt.stepped and not attempt.blind_reason and of_all


def _never_stepped(weighed: Weighed) -> bool:
    """A bare silence before any step of the whole job: a program that watches may be silent by intent (trap 2)."""
    facts = weighed.facts
    stepped = facts.attempt.stepped or any(earlier.last_step is not None for earlier in facts.earlier)
    return weighed.cause.signature == SILENCE and not stepped and not facts.attempt.ended


def _repeats(weighed: Weighed) -> bool:
    return weighed.repeated and bool(weighed.excludable)


def _storage_of_several(weighed: Weighed) -> bool:
    return belongs(weighed.cause.signature, STORAGE) and not (weighed.on_one_host and weighed.shared is None)


REMEDIES: tuple[Remedy, ...] = (
    Remedy(
        "remedy.user_cancelled",
        "a cancelled job is never restarted",
        _ended_as(JobState.CANCELLED),
        VerdictAction.NONE,
        "user_intent",
    ),
    Remedy(
        "remedy.scheduler_ended_it",
        "a time limit, a deadline or a preemption is no failure to repair",
        _ended_as(JobState.TIMEOUT, JobState.DEADLINE, JobState.PREEMPTED),
        VerdictAction.NONE,
        "scheduler_owns_it",
    ),
    Remedy(
        "remedy.already_requeued",
        "it was requeued already",
        _ended_as(JobState.REQUEUED),
        VerdictAction.NONE,
        "scheduler_owns_it",
    ),
    Remedy(
        "remedy.held",
        "a hold that is not ours is never released: without a person the job waits for ever",
        lambda weighed: weighed.cause.rule == "cause.held",
        VerdictAction.ASK,
        "scheduler_holds_it",
    ),
    Remedy(
        "remedy.moves_again",
        "a healthy attempt is never restarted",
        lambda weighed: weighed.cause.rule in ("cause.recovered", "cause.out_of_step"),
        VerdictAction.NONE,
        "moves_again",
    ),
    Remedy(
        "remedy.early_warning",
        "a healthy attempt is never restarted for an early warning: the next one could leave the node out",
        lambda weighed: weighed.cause.rule == "cause.early_warning",
        VerdictAction.ASK,
        "early_warning",
    ),
    Remedy(
        "remedy.slow",
        "it moves: whether a restart pays is for a person to say",
        lambda weighed: weighed.cause.rule == "cause.slow",
        VerdictAction.ASK,
        "moves_slowly",
    ),
    Remedy(
        "remedy.in_job_recovery",
        "the job repairs itself just now",
        _in_job_recovery,
        VerdictAction.HOLD,
        "in_job_recovery",
    ),
    Remedy(
        "remedy.broken_host",
        "broken hardware is proved on a named host",
        _broken_host,
        VerdictAction.RESTART_EXCLUDE,
        "named_host_hardware",
    ),
    Remedy(
        "remedy.repeat_on_host",
        "the same host showed the same before",
        _repeats,
        VerdictAction.RESTART_EXCLUDE,
        "repeat_on_host",
    ),
    Remedy(
        "remedy.environment_of_one_host",
        "one host of several lacks what the others have",
        _environment_of_one_host,
        VerdictAction.RESTART_EXCLUDE,
        "single_host_environment",
    ),
    Remedy(
        "remedy.proved_stop",
        "every retry fails in the same way",
        _proved_stop,
        VerdictAction.STOP,
        "stop_class_proved",
    ),
    Remedy(
        "remedy.same_on_all_hosts",
        "all hosts lack the same",
        _stop_on_all_hosts,
        VerdictAction.STOP,
        "stop_class_proved",
    ),
    Remedy(
        "remedy.error_before_first_step",
        "the program fails everywhere before its first step",
        _error_before_first_step,
        VerdictAction.STOP,
        "stop_class_proved",
    ),
    Remedy(
        "remedy.storage",
        "shared storage failed: wait, then restart on the same nodes",
        _storage_of_several,
        VerdictAction.RESTART,
        "storage_wait",
        backoff_seconds=120,
    ),
    Remedy(
        "remedy.memory",
        "out of memory after training began: once more on the same nodes",
        _in(MEMORY),
        VerdictAction.RESTART,
        "unknown_retry",
        backoff_seconds=60,
    ),
    Remedy(
        "remedy.never_stepped",
        "it is silent and has never shown a step: whether it trains at all is not known",
        _never_stepped,
        VerdictAction.ASK,
        "workload_unrecognized",
    ),
    Remedy(
        "remedy.hang",
        "nobody is named: restart on the same nodes",
        lambda weighed: (
            weighed.cause.tier == 9 or weighed.cause.rule in ("cause.communication", "cause.standstill")
        ),
        VerdictAction.RESTART,
        "communication_unknown",
    ),
    Remedy(
        "remedy.restart",
        "restart on the same nodes",
        lambda weighed: True,
        VerdictAction.RESTART,
        "unknown_retry",
    ),
)
