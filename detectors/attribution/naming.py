"""What does a cause look like once it is named? One function for each way of naming it."""

import functools
import hashlib
import re
import signal
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from detectors.attribution.candidates import Candidate, Case
from detectors.attribution.classes import EXCLUDE
from detectors.attribution.ending import NEVER, SECONDARY_SIGNALS, lost_nodes, signal_of
from detectors.attribution.facts import Symptom
from detectors.attribution.hosts import NOBODY, Named, named_by, named_for
from detectors.attribution.network import Vote, vote_of
from detectors.attribution.own_doing import ended_by_us
from detectors.attribution.standing import DUMPS, LINES, RAS, Standstill
from detectors.attribution.standstill import standstill_of
from detectors.attribution.tiers import VICTIM, WARNING
from detectors.attribution.told import before_boot, is_reason, slowed_by
from detectors.catalogue.health import BASIS
from detectors.catalogue.kind import JUDGED_ALIVE, AnomalyKind
from detectors.catalogue.layer import Layer
from schedulers.states import JobState

_EXIT = re.compile(r"exit ?code\s{0,8}: -(\d{1,3})\b", re.ASCII)
SLOW = frozenset({AnomalyKind.STRAGGLER, AnomalyKind.NO_CHECKPOINT})
COUNTED = frozenset({"cause.network_vote", "cause.standstill"})
PROOFS = {DUMPS: ("fr.", "nvrx.wavefront"), RAS: ("nccl.ras_",), LINES: ("pg.", "store.")}
"""By what tells of a standstill: how the signatures begin whose lines prove it."""
NOBODY_TOLD = "; the log does not tell who is slow"
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
    ranks: tuple[int, ...] = ()  # those that are named, where it is not the candidate that names them

    @property
    def counted(self) -> bool:
        """Whether what many lines say together names the host, and surely enough to leave it out."""
        return self.rule in COUNTED and self.action == EXCLUDE

    @property
    def tier(self) -> int:
        """Tier of the proving symptom; that of victims when there is none."""
        return self.candidate.tier.number if self.candidate else VICTIM.number


@dataclass(frozen=True)
class Search:
    """The case and its candidates in causal order."""

    case: Case
    order: tuple[Candidate, ...]

    @functools.cached_property
    def vote(self) -> Vote | None:
        """Whom broken connections name."""
        return vote_of(self.case.facts)

    @functools.cached_property
    def standstill(self) -> Standstill | None:
        """Who did not join the collective."""
        return standstill_of(self.case.facts)

    @property
    def first(self) -> Candidate | None:
        """The likeliest cause."""
        return self.order[0] if self.order else None


def slow(search: Search) -> Symptom | None:
    """The first open symptom of a live attempt that moves, but not as it should."""
    facts = search.case.facts
    if facts.attempt.ended or any(s.kind is AnomalyKind.HANG and not s.refuted for s in facts.symptoms):
        return None
    return next((s for s in facts.symptoms if s.kind in SLOW and not s.refuted), None)


def proved(search: Search, rule: str, named: Named | None = None, by: Candidate | None = None) -> Cause:
    """The likeliest cause, or the one proved `by`, as its own lines tell it; `named` replaces its hosts."""
    first = by or search.order[0]
    symptom = first.symptom
    return Cause(
        rule=rule,
        kind=kind_of(search),
        layer=symptom.layer,
        signature=symptom.signature,
        sentence=symptom.sentence.rstrip(". "),
        happened_at=symptom.happened_at,
        named=named_for(symptom, search.case.facts) if named is None else named,
        candidate=first,
        confidence=symptom.confidence or 0.5,
        action=symptom.action,
    )


def node_failure_cause(search: Search) -> Cause:
    """Whom Slurm lost: what is down now, or was by its reason, or is named by `srun`, which is told which ones.

    The line of a job or step names the first node of the allocation and proves nothing against it.
    """
    lost = lost_nodes(search.case.facts) or _lost_by_reason(search) or _named_by_srun(search)
    cause = proved(search, "cause.node_failure", Named(lost, by="node state"))
    return replace(cause, layer=Layer.HARDWARE_HOST, sentence="The scheduler lost a node")


def held_cause(search: Search) -> Cause:
    """The scheduler's own hold of an attempt that waits, and whom it says could not start it.

    The attempt has no nodes yet: what is named comes from the scheduler's states of nodes, never from a log.
    """
    return proved(search, "cause.held", Named(search.order[0].symptom.nodes, by="node state"))


def _lost_by_reason(search: Search) -> tuple[str, ...]:
    """Nodes that are back already, and whose reason tells that they were away."""
    told = (c for c in search.case.candidates if is_reason(c.symptom) and c.counts)
    return tuple(sorted({host for candidate in told for host in candidate.named.hosts}))


def _named_by_srun(search: Search) -> tuple[str, ...]:
    told = (c for c in search.case.candidates if c.symptom.signature == "slurm.node_failure_on" and c.counts)
    return tuple(sorted({host for candidate in told for host in candidate.named.hosts}))


def vote_cause(search: Search) -> Cause:
    """The host that broken connections name together."""
    vote = search.vote
    if vote is None:
        raise AssertionError("the row applies to a vote only")
    cause = proved(search, "cause.network_vote", Named(vote.hosts, by=vote.rule))
    action = EXCLUDE if vote.excludable else "restart"
    sentence = f"{cause.sentence}: {vote.because}"
    return replace(cause, confidence=vote.confidence, action=action, sentence=sentence)


def standstill_cause(search: Search) -> Cause:
    """Whoever is missing is where to look; only a host that the scheduler calls down is one to leave out."""
    missing = search.standstill
    if missing is None:
        raise AssertionError("the row applies where somebody is missing")
    down = {node.name for node in search.case.facts.nodes if node.down}
    lost = missing.layer is Layer.HARDWARE_HOST and bool(missing.hosts) and set(missing.hosts) <= down
    ways = (PROOFS[missing.source], PROOFS[LINES])
    told = (c for way in ways for c in search.case.candidates if c.symptom.signature.startswith(way))
    proof = next(told, None)
    witnesses = search.case.facts.witnesses
    began = (*(one.begun for one in witnesses.waits), *(one.begun for one in witnesses.recorded))
    begun = min((at for at in began if at is not None), default=None)
    cause = unproved(search, "cause.standstill", missing.because, missing.layer)
    return replace(
        cause,
        kind=AnomalyKind.HANG,
        signature=proof.symptom.signature if proof else "",
        happened_at=datetime.fromtimestamp(begun, UTC) if begun is not None else cause.happened_at,
        named=Named(missing.hosts, by="rank map"),
        candidate=proof,
        confidence=missing.confidence,
        action=EXCLUDE if lost else "restart",
        ranks=missing.ranks,
    )


def slow_cause(search: Search) -> Cause:
    """What a live attempt that moves, but not as it should, suffers from."""
    symptom = slow(search)
    if symptom is None:
        raise AssertionError("the row applies to a slow attempt only")
    sentence, sure = symptom.sentence.rstrip(". "), symptom.confidence
    cause = Cause("cause.slow", symptom.kind, symptom.layer, symptom.signature, sentence, symptom.happened_at)
    told = slowed_by(search.case.facts) if symptom.kind is AnomalyKind.STRAGGLER else ()
    if not told:
        return replace(cause, confidence=sure)
    surest = max(told, key=lambda one: (one.confidence, one.key))
    return replace(
        cause,
        layer=surest.layer,
        sentence=f"{sentence.removesuffix(NOBODY_TOLD)}; {surest.sentence.rstrip('. ')}",
        named=Named(surest.nodes, by="metrics"),
        confidence=min(sure, surest.confidence),
    )


def warned(search: Search) -> tuple[Symptom, ...]:
    """Open early warnings of a live attempt that fails by nothing else, each by a host's fatal health event."""
    facts = search.case.facts
    failing = any(s.kind in JUDGED_ALIVE and not s.refuted for s in facts.symptoms)
    if facts.attempt.ended or failing:
        return ()
    return tuple(s for s in facts.symptoms if is_warning(s) and not s.refuted and not before_boot(s, facts))


def is_warning(symptom: Symptom) -> bool:
    """Whether it is an early warning that somebody who watches the nodes gave."""
    return symptom.kind is AnomalyKind.EARLY_WARNING and symptom.basis == BASIS


def warning_cause(search: Search) -> Cause:
    """The surest open warning: the node it names could be left out by the next attempt."""
    first = max(warned(search), key=lambda one: (one.confidence, -one.happened_at.timestamp(), one.key))
    case = search.case
    proof = Candidate(first, WARNING, named_by(first, case.facts))
    return Cause(
        rule="cause.early_warning",
        kind=AnomalyKind.EARLY_WARNING,
        layer=first.layer,
        signature=first.signature,
        sentence=first.sentence.rstrip(". "),
        happened_at=first.happened_at,
        named=proof.named,
        candidate=proof,
        confidence=first.confidence,
        action=EXCLUDE,
    )


def killed_process(search: Search) -> Symptom | None:
    """A launcher's report that the first process to end was ended by a signal which nobody sends to tidy up."""
    reports = (s for s in search.case.facts.symptoms if s.signature.startswith("elastic."))
    return next((one for one in reports if _deadly_signal(one)), None)


def _deadly_signal(report: Symptom) -> int | None:
    found = (_EXIT.search(quote.line) for quote in report.evidence)
    numbers = [int(one[1]) for one in found if one is not None]
    return next((number for number in numbers if number not in SECONDARY_SIGNALS), None)


def launcher_cause(search: Search) -> Cause:
    """What torchrun says of the first process that failed; its own peers' messages are victims'."""
    report = killed_process(search)
    if report is None:
        raise AssertionError("the row applies to a launcher's report only")
    proof = next(c for c in search.case.candidates if c.symptom is report)
    sentence = f"Killed by {_signal_name(_deadly_signal(report) or 0)}, cause unknown"
    cause = unproved(search, "cause.launcher", sentence)
    named = named_for(report, search.case.facts)
    return replace(cause, kind=AnomalyKind.CRASH, signature=report.signature, named=named, candidate=proof)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def unproved(search: Search, rule: str, sentence: str, layer: Layer = Layer.UNKNOWN) -> Cause:
    """A cause that no line proves, since the first sign of trouble."""
    attempt, symptoms = search.case.facts.attempt, search.case.facts.symptoms
    first_sign = min((symptom.happened_at for symptom in symptoms), default=None)
    happened_at = first_sign or attempt.ended_at or attempt.last_step_at or attempt.started_at or NEVER
    return Cause(rule, kind_of(search), layer, "", sentence, happened_at)


def failed_sentence(search: Search) -> str:
    """How it ended, where nothing says why."""
    attempt = search.case.facts.attempt
    if ended_by_us(attempt):
        return "Ended by our own command, cause unknown"
    if number := signal_of(attempt):
        return f"Ended by signal {number}, cause unknown"
    if attempt.state is JobState.FAILED and attempt.exit_code:
        return f"Failed with exit code {attempt.exit_code}, cause unknown"
    return f"{attempt.state.label}, cause unknown"


def kind_of(search: Search) -> AnomalyKind:
    """What was found: on a live attempt a hang, whatever caused it; else what the first cause is.

    Where nothing is a cause, the watchdogs' word stands: they had waited for their whole limit.
    """
    facts = search.case.facts
    if not facts.attempt.ended and any(symptom.kind is AnomalyKind.HANG for symptom in facts.symptoms):
        return AnomalyKind.HANG
    if search.first:
        return search.first.symptom.kind
    waited = any(s.signature.startswith("pg.watchdog") and not s.refuted for s in facts.symptoms)
    return AnomalyKind.HANG if waited else AnomalyKind.CRASH


def fingerprint_of(cause: Cause) -> str:
    """Says "the same again": the symptom's own, else one made of layer, signature and sentence without numbers."""
    if cause.candidate is not None and cause.candidate.symptom.fingerprint:
        return cause.candidate.symptom.fingerprint
    words = "".join("#" if character.isdigit() else character for character in cause.sentence)
    return hashlib.sha256(f"{cause.layer}|{cause.signature}|{words}".encode()).hexdigest()
