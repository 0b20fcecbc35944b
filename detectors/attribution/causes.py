"""What was the cause? An ordered table: the first row that applies names it."""

from collections.abc import Callable
from dataclasses import dataclass

from detectors.attribution.candidates import CLOCK_DOUBT, Candidate
from detectors.attribution.classes import FLUSHED, OF_A_PROCESS, belongs
from detectors.attribution.ending import HOLD
from detectors.attribution.facts import Symptom
from detectors.attribution.hosts import NOBODY
from detectors.attribution.judgement import RuleOutcome
from detectors.attribution.naming import (
    Cause,
    Search,
    failed_sentence,
    held_cause,
    is_warning,
    killed_process,
    launcher_cause,
    node_failure_cause,
    proved,
    slow,
    slow_cause,
    standstill_cause,
    unproved,
    vote_cause,
    warned,
    warning_cause,
)
from detectors.attribution.own_doing import follows
from detectors.attribution.standing import LINES, RAS
from detectors.attribution.tiers import VICTIM
from detectors.catalogue.kind import JUDGED_ALIVE, AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from schedulers.states import FAILURES, JobState

SILENCE = "hang.silence"
OUT_OF_STEP = frozenset({"nccl.ras_lag", "nccl.ras_missing"})
RAS_LINES = "nccl.ras_"  # beginning of the signatures of what RAS prints


@dataclass(frozen=True)
class CauseRule:
    """A row. `applies` looks, `name` says what the cause is."""

    id: str
    because: str
    applies: Callable[[Search], bool]
    name: Callable[[Search], Cause]


def name_cause(search: Search) -> tuple[Cause, tuple[RuleOutcome, ...]]:
    """The cause by the first row that applies, and what every row said."""
    chosen = next(rule for rule in CAUSES if rule.applies(search))
    at = CAUSES.index(chosen)
    outcomes = [RuleOutcome(rule.id, rule is chosen, _said(rule, place, at)) for place, rule in enumerate(CAUSES)]
    return chosen.name(search), tuple(outcomes)


def _said(rule: CauseRule, place: int, chosen: int) -> str:
    if place == chosen:
        return rule.because
    return f"an earlier row applies; {rule.because}" if place > chosen else f"not so: {rule.because}"


def recovered(search: Search) -> bool:
    """Whether a live attempt was found to hang, to be slow or to have lost its loss, and none of it lasts."""
    attempt, symptoms = search.case.facts.attempt, search.case.facts.symptoms
    of_state = [s for s in symptoms if s.kind in JUDGED_ALIVE and (s.kind is not AnomalyKind.HANG or _silent(s))]
    warnings = [s for s in symptoms if is_warning(s)]
    alive = [s for s in symptoms if s.kind in JUDGED_ALIVE]
    over = not warned(search) and all(symptom.refuted for symptom in of_state)
    refuted = bool(of_state or warnings) or (bool(alive) and all(s.refuted for s in alive))
    return not attempt.ended and refuted and over


def out_of_step(search: Search) -> bool:
    """Whether RAS alone tells something of a live attempt: ranks are never quite in step.

    A save of one rank looks the same. It takes a silence that is too long, or the limit of a watchdog. Of a mere
    text, of which nobody knows when it began and whether it moves, the lines are all there is.
    """
    attempt = search.case.facts.attempt
    told = [s for s in search.case.facts.symptoms if s.kind in JUDGED_ALIVE and not s.refuted]
    alone = bool(told) and all(s.signature in OUT_OF_STEP for s in told)
    watched = attempt.stepped or attempt.started_at is not None
    return alone and not attempt.ended and watched


def _silent(symptom: Symptom) -> bool:
    return symptom.signature == SILENCE


def _signature(search: Search) -> str:
    return search.first.symptom.signature if search.first else ""


def _tier(search: Search) -> int:
    return search.first.tier.number if search.first else VICTIM.number


def _node_failure(search: Search) -> bool:
    return _tier(search) == 1 and _signature(search) in ("slurm.state.node_fail", "slurm.node_failure")


def _held(search: Search) -> bool:
    return _signature(search) == HOLD and search.case.facts.attempt.state is JobState.HELD


def _voted(search: Search) -> bool:
    """Whether a broken connection is the strongest symptom, and counting all of them names somebody."""
    first = search.first
    of_network = _tier(search) == 8 and first is not None and first.symptom.layer is Layer.HARDWARE_NETWORK
    return of_network and search.vote is not None


def _missing(search: Search) -> bool:
    """Whether somebody is missing, and nothing stronger came before the others had waited for their whole limit."""
    first, reporter, missing = search.first, _reporter(search), search.standstill
    reported = reporter is not None and reporter.symptom.role is Role.ROOT
    if missing is None or (reported and (missing.source == LINES or not missing.names)):
        return False
    if first is not None and missing.source == RAS and first.symptom.signature.startswith(RAS_LINES):
        return True
    return first is None or first.tier.number == 9 or (first.tier.number == 7 and _after_the_limit(first, search))


def _after_the_limit(candidate: Candidate, search: Search) -> bool:
    """A process that is killed after the watchdogs have spoken is torn down (section 6.1, rule 1)."""
    told = search.case.facts.witnesses
    told_at = min((*(one.at for one in told.waits), *(one.at for one in told.recorded)), default=None)
    return (
        told_at is not None and candidate.symptom.happened_at.timestamp() >= told_at - CLOCK_DOUBT.total_seconds()
    )


def _reporter(search: Search) -> Candidate | None:
    """A line that names who did not join; a mere silence names nobody."""
    if _tier(search) != 9:
        return None
    named = (c for c in search.order if c.tier.number == 9 and c.named.hosts and c.symptom.basis != "step")
    return min(named, key=lambda c: (c.symptom.role is not Role.ROOT, c.symptom.happened_at), default=None)


def _victims(search: Search) -> list[Candidate]:
    """What processes say whose connections others took away, and adapters whose work was flushed for it."""
    return [
        c
        for c in search.case.candidates
        if c.symptom.role is Role.SECONDARY
        and not follows(c.symptom, search.case.facts.attempt)
        and (c.symptom.layer in (Layer.FRAMEWORK, Layer.FRAMEWORK_COMM) or belongs(c.symptom.signature, FLUSHED))
        and not belongs(c.symptom.signature, OF_A_PROCESS)
    ]


def _communication_cause(search: Search) -> Cause:
    """Nobody says why; work that NCCL still waited for is flushed only after an adapter's connection has failed."""
    flushed = any(belongs(c.symptom.signature, FLUSHED) for c in _victims(search))
    layer = Layer.HARDWARE_NETWORK if flushed else Layer.FRAMEWORK_COMM
    return unproved(search, "cause.communication", "Communication broke, cause unknown", layer)


def _failed(search: Search) -> bool:
    return search.case.facts.attempt.state in FAILURES


def _lost_its_loss(search: Search) -> bool:
    return search.first is not None and search.first.symptom.kind is AnomalyKind.NAN


CAUSES: tuple[CauseRule, ...] = (
    CauseRule(
        "cause.recovered",
        "the live attempt moved again: nothing is wrong now",
        recovered,
        lambda search: unproved(search, "cause.recovered", "Moves again"),
    ),
    CauseRule(
        "cause.out_of_step",
        "NCCL's RAS tells of ranks that differ, and nothing says that the live attempt stands still",
        out_of_step,
        lambda search: unproved(search, "cause.out_of_step", "Ranks are not quite in step"),
    ),
    CauseRule(
        "cause.node_failure",
        "the scheduler lost a node: the nodes that are down now are named",
        _node_failure,
        node_failure_cause,
    ),
    CauseRule(
        "cause.held",
        "the scheduler holds the attempt itself: the node that it says could not start it is named",
        _held,
        held_cause,
    ),
    CauseRule(
        "cause.scheduler",
        "the scheduler's decision came before everything else",
        lambda search: _tier(search) == 4,
        lambda search: proved(search, "cause.scheduler", NOBODY),
    ),
    CauseRule(
        "cause.early_warning",
        "the live attempt trains, and a fatal fault of one of its nodes is told",
        lambda search: bool(warned(search)),
        warning_cause,
    ),
    CauseRule(
        "cause.slow",
        "the live attempt moves, but not as it should, and nothing says who holds it up",
        lambda search: slow(search) is not None and not _lost_its_loss(search),
        slow_cause,
    ),
    CauseRule(
        "cause.standstill",
        "the others wait in a collective that somebody did not join",
        _missing,
        standstill_cause,
    ),
    CauseRule(
        "cause.network_vote",
        "connections broke, and counting them names a host",
        _voted,
        vote_cause,
    ),
    CauseRule(
        "cause.first",
        "the strongest symptom that nothing else can have caused",
        lambda search: _tier(search) <= 8,
        lambda search: proved(search, "cause.first"),
    ),
    CauseRule(
        "cause.hang_reported",
        "the job stood still, and lines name who did not join",
        lambda search: _reporter(search) is not None,
        lambda search: proved(search, "cause.hang_reported", by=_reporter(search)),
    ),
    CauseRule(
        "cause.hang",
        "the job stood still, and nobody is named",
        lambda search: _tier(search) == 9,
        lambda search: proved(search, "cause.hang", NOBODY),
    ),
    CauseRule(
        "cause.launcher",
        "the launcher reports the signal that ended the first process",
        lambda search: killed_process(search) is not None,
        launcher_cause,
    ),
    CauseRule(
        "cause.communication",
        "nothing but victims' messages",
        lambda search: bool(_victims(search)),
        _communication_cause,
    ),
    CauseRule(
        "cause.failed",
        "it failed, and no line says why",
        _failed,
        lambda search: unproved(search, "cause.failed", failed_sentence(search)),
    ),
    CauseRule(
        "cause.unknown",
        "nothing says what happened",
        lambda search: True,
        lambda search: unproved(search, "cause.unknown", failed_sentence(search)),
    ),
)
