"""What was the cause? An ordered table: the first row that applies names it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from detectors.attribution.candidates import Candidate, Case
from detectors.attribution.ending import NEVER, lost_nodes, signal_of
from detectors.attribution.facts import Symptom
from detectors.attribution.hosts import NOBODY, Named, named_for
from detectors.attribution.judgement import RuleOutcome
from detectors.attribution.tiers import VICTIM
from detectors.catalogue.kind import JUDGED_ALIVE, AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from schedulers.states import FAILURES, JobState

SILENCE = "hang.silence"
SLOW = frozenset({AnomalyKind.STRAGGLER, AnomalyKind.NO_CHECKPOINT})
UNKNOWN_CONFIDENCE = 0.3  # that a cause which nobody saw is what the row says


@dataclass(frozen=True)
class Cause:
    """The cause found. `candidate` is `None` when no symptom proves it; `action` is what the catalogue suggests."""

    rule: str
    kind: AnomalyKind
    layer: Layer
    signature: str
    sentence: str
    happened_at: datetime
    named: Named = NOBODY
    candidate: Candidate | None = None
    confidence: float = UNKNOWN_CONFIDENCE
    action: str = ""

    @property
    def tier(self) -> int:
        """Tier of the proving symptom; that of victims when there is none."""
        return self.candidate.tier.number if self.candidate else VICTIM.number


@dataclass(frozen=True)
class Search:
    """The case and its candidates in causal order."""

    case: Case
    order: tuple[Candidate, ...]

    @property
    def first(self) -> Candidate | None:
        """The likeliest cause."""
        return self.order[0] if self.order else None


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
    return not attempt.ended and bool(of_state) and all(symptom.refuted for symptom in of_state)


def _silent(symptom: Symptom) -> bool:
    return symptom.signature == SILENCE


def slow(search: Search) -> Symptom | None:
    """The first open symptom of a live attempt that moves, but not as it should."""
    facts = search.case.facts
    if facts.attempt.ended or any(s.kind is AnomalyKind.HANG and not s.refuted for s in facts.symptoms):
        return None
    return next((s for s in facts.symptoms if s.kind in SLOW and not s.refuted), None)


def _signature(search: Search) -> str:
    return search.first.symptom.signature if search.first else ""


def _tier(search: Search) -> int:
    return search.first.tier.number if search.first else VICTIM.number


def _node_failure(search: Search) -> bool:
    return _tier(search) == 1 and _signature(search) in ("slurm.state.node_fail", "slurm.node_failure")


def _reported_hang(search: Search) -> bool:
    """Whether lines name who did not join; a mere silence names nobody."""
    first = search.first
    named = first is not None and bool(first.named.hosts) and first.symptom.role is Role.ROOT
    return _tier(search) == 9 and named and first is not None and first.symptom.basis != "step"


def _only_victims(search: Search) -> bool:
    return any(
        c.symptom.role is Role.SECONDARY and c.symptom.layer in (Layer.FRAMEWORK, Layer.FRAMEWORK_COMM)
        for c in search.case.candidates
    )


def _failed(search: Search) -> bool:
    return search.case.facts.attempt.state in FAILURES


def _proved(search: Search, rule: str, named: Named | None = None) -> Cause:
    first = search.order[0]
    symptom = first.symptom
    return Cause(
        rule=rule,
        kind=_kind(search),
        layer=symptom.layer,
        signature=symptom.signature,
        sentence=symptom.sentence.rstrip(". "),
        happened_at=symptom.happened_at,
        named=named_for(symptom, search.case.facts) if named is None else named,
        candidate=first,
        confidence=symptom.confidence or 0.5,
        action=symptom.action,
    )


def _node_failure_cause(search: Search) -> Cause:
    """Slurm's line names the first node of the allocation: only what is down now is named."""
    lost = lost_nodes(search.case.facts)
    cause = _proved(search, "cause.node_failure", Named(lost, by="node state"))
    return replace(cause, layer=Layer.HARDWARE_HOST, sentence="The scheduler lost a node")


def _lost_its_loss(search: Search) -> bool:
    return search.first is not None and search.first.symptom.kind is AnomalyKind.NAN


def _slow_cause(search: Search) -> Cause:
    symptom = slow(search)
    if symptom is None:
        raise AssertionError("the row applies to a slow attempt only")
    sentence, sure = symptom.sentence.rstrip(". "), symptom.confidence
    cause = Cause("cause.slow", symptom.kind, symptom.layer, symptom.signature, sentence, symptom.happened_at)
    return replace(cause, confidence=sure)


def _unproved(search: Search, rule: str, sentence: str, layer: Layer = Layer.UNKNOWN) -> Cause:
    attempt, symptoms = search.case.facts.attempt, search.case.facts.symptoms
    first_sign = min((symptom.happened_at for symptom in symptoms), default=None)
    happened_at = first_sign or attempt.ended_at or attempt.last_step_at or attempt.started_at or NEVER
    return Cause(rule, _kind(search), layer, "", sentence, happened_at)


def _failed_sentence(search: Search) -> str:
    attempt = search.case.facts.attempt
    number = signal_of(attempt)
    if number:
        return f"Ended by signal {number}, cause unknown"
    if attempt.state is JobState.FAILED and attempt.exit_code:
        return f"Failed with exit code {attempt.exit_code}, cause unknown"
    return f"{attempt.state.label}, cause unknown"


def _kind(search: Search) -> AnomalyKind:
    """What was found: on a live attempt a hang, whatever caused it; else what the first cause is."""
    live_hang = not search.case.facts.attempt.ended and any(
        symptom.kind is AnomalyKind.HANG for symptom in search.case.facts.symptoms
    )
    if live_hang:
        return AnomalyKind.HANG
    return search.first.symptom.kind if search.first else AnomalyKind.CRASH


CAUSES: tuple[CauseRule, ...] = (
    CauseRule(
        "cause.recovered",
        "the live attempt moved again: nothing is wrong now",
        recovered,
        lambda search: _unproved(search, "cause.recovered", "Moves again"),
    ),
    CauseRule(
        "cause.node_failure",
        "the scheduler lost a node: the nodes that are down now are named",
        _node_failure,
        _node_failure_cause,
    ),
    CauseRule(
        "cause.scheduler",
        "the scheduler's decision came before everything else",
        lambda search: _tier(search) == 4,
        lambda search: _proved(search, "cause.scheduler", NOBODY),
    ),
    CauseRule(
        "cause.slow",
        "the live attempt moves, but not as it should, and nothing says who holds it up",
        lambda search: slow(search) is not None and not _lost_its_loss(search),
        _slow_cause,
    ),
    CauseRule(
        "cause.first",
        "the strongest symptom that nothing else can have caused",
        lambda search: _tier(search) <= 8,
        lambda search: _proved(search, "cause.first"),
    ),
    CauseRule(
        "cause.hang_reported",
        "the job stood still, and lines name who did not join",
        _reported_hang,
        lambda search: _proved(search, "cause.hang_reported"),
    ),
    CauseRule(
        "cause.hang",
        "the job stood still, and nobody is named",
        lambda search: _tier(search) == 9,
        lambda search: _proved(search, "cause.hang", NOBODY),
    ),
    CauseRule(
        "cause.communication",
        "nothing but victims' messages",
        _only_victims,
        lambda search: _unproved(
            search, "cause.communication", "Communication broke, cause unknown", Layer.FRAMEWORK_COMM
        ),
    ),
    CauseRule(
        "cause.failed",
        "it failed, and no line says why",
        _failed,
        lambda search: _unproved(search, "cause.failed", _failed_sentence(search)),
    ),
    CauseRule(
        "cause.unknown",
        "nothing says what happened",
        lambda search: True,
        lambda search: _unproved(search, "cause.unknown", _failed_sentence(search)),
    ),
)
