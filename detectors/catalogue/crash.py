"""Which symptoms do the lines of an attempt show?

Every line with a fault belongs to one finding: that of its signature and fingerprint. Ranks that print the same are
one finding with a count, the first five lines as evidence, and the first ranks and hosts by name. The number of
findings is bounded; counts go on. What a finding says does not depend on how the records were cut into turns.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from detectors.catalogue.catalogue import Catalogue
from detectors.catalogue.chaining import Chains, joins, put_aside
from detectors.catalogue.detector import Known, State, Step, quote, quote_from, stored_quote
from detectors.catalogue.entries import Signature
from detectors.catalogue.fingerprints import Normaliser, fingerprint
from detectors.catalogue.hits import Hit
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.linear import encoded
from detectors.catalogue.readings import Reading
from detectors.catalogue.records import Context, Finding
from detectors.catalogue.regaining import Absent
from detectors.catalogue.role import Role

NAME = "crash"
CAUSES_KEPT = 40  # findings of roots and candidates
VICTIMS_KEPT = 24  # findings of everything else: a cascade leaves the causes their room
PER_SIGNATURE = 8  # further texts of the same signature share one finding
EVIDENCE_KEPT = 5
OCCURRENCES_KEPT = 3  # of one cause, each survived but the last: the first two, and the newest
NAMED_AT_MOST = 32  # ranks and hosts that a finding lists
STEPS_TRAINED_ON = 3  # steps after a line about a hang that refute it, and after any cause that it was survived

HANG = "hang"
_CAUSES = (Role.ROOT, Role.CANDIDATE)


@dataclass
class Symptom:
    """One finding in the making; JSON as its state."""

    signature: str
    fingerprint: str
    role: str
    at: str
    basis: str
    step: int | None
    place: str = ""
    injected: bool = False
    last_step: int | None = None  # where the attempt was at the newest line
    refuted: bool = False
    count: int = 0
    hosts: list[str] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    evidence: list[list[Any]] = field(default_factory=list)

    def is_open_hang(self, entries: Catalogue) -> bool:
        """Whether later steps may still refute it: who trains on does not hang."""
        if self.refuted or self.last_step is None:
            return False
        return entries.signature(self.signature).anomaly_kind is AnomalyKind.HANG

    def refute(self, step: int) -> bool:
        """Whether the attempt, now at `step`, has trained on. Ranks print out of step by one or two."""
        self.refuted = self.last_step is not None and step >= self.last_step + STEPS_TRAINED_ON
        return self.refuted

    def survived(self, step: int | None) -> bool:
        """Whether the attempt, now at `step`, has trained on since its newest line: the next is another one."""
        return step is not None and (self.last_step is None or step >= self.last_step + STEPS_TRAINED_ON)

    def over(self, step: int | None) -> bool:
        """Whether a further line is another occurrence: what it tells of was survived, or is well again."""
        return self.refuted or self.survived(step)

    def begin_again(self, reading: Reading, step: int | None) -> None:
        """Forget the lines of occurrences that were survived; their number stays."""
        self.at, self.basis = reading.moment.isoformat(), "line" if reading.at is not None else "file"
        self.step, self.refuted = step, False
        self.evidence, self.hosts, self.ranks = [], [], []

    def add(self, reading: Reading, step: int | None) -> None:
        """One more line of it."""
        self.count += 1
        self.last_step = step
        if len(self.evidence) < EVIDENCE_KEPT:
            self.evidence.append(stored_quote(quote(reading)))
        _name(self.hosts, reading.hosts)
        _name(self.ranks, reading.ranks)
        if reading.at is not None and (self.basis != "line" or reading.at < datetime.fromisoformat(self.at)):
            self.at, self.basis = reading.at.isoformat(), "line"


def _name(named: list[Any], more: Sequence[Any]) -> None:
    """Add those that are not named yet, while there is room."""
    for one in more:
        if len(named) < NAMED_AT_MOST and one not in named:
            named.append(one)


def fold(state: State, readings: Sequence[Reading], known: Known, context: Context, now: datetime) -> Step:
    """The symptoms after these readings; those that got new lines are given as findings."""
    symptoms = {key: Symptom(**row) for key, row in state.get("symptoms", {}).items()}
    beyond = int(state.get("beyond", 0))
    normalised = Normaliser(frozenset(context.nodes) | {node.partition(".")[0] for node in context.nodes})
    shelves, threads = _Shelves(symptoms), _Threads(state, symptoms, context.known)
    touched: dict[str, None] = {}
    ended: dict[str, None] = {}
    waiting = [key for key, symptom in symptoms.items() if symptom.is_open_hang(context.known)]
    for index, reading in enumerate(readings):
        step, phase = known.at[index]
        if waiting and step is not None:
            ended |= dict.fromkeys(key for key in waiting if symptoms[key].refute(step))
            waiting = [key for key in waiting if not symptoms[key].refuted]
        fault = reading.fault
        if fault is None or fault.signature.symptom == "nan":
            continue
        if fault.signature.symptom == "none":
            ended |= dict.fromkeys(threads.fact(reading))
            continue
        print_ = _fingerprint(fault, reading, normalised, phase)
        anew = partial(Symptom.over, step=step)
        key = _key(symptoms, shelves, fault, print_, anew)
        if key is None:
            beyond += 1
            continue
        if key not in symptoms:
            symptoms[key] = _begin(fault, reading, print_, step)
            shelves.add(key, symptoms[key])
        elif fault.role in _CAUSES and anew(symptoms[key]):
            symptoms[key].begin_again(reading, step)
            ended.pop(key, None)
        symptoms[key].add(reading, step)
        touched |= dict.fromkeys((key, *threads.cause(reading, fault, key)))
        if key not in waiting and fault.signature.kind == HANG and symptoms[key].is_open_hang(context.known):
            waiting.append(key)
    findings = tuple(_finding(key, symptoms[key], context.known) for key in touched)
    rows = {key: dict(vars(symptom)) for key, symptom in symptoms.items()}
    return Step({"symptoms": rows, "beyond": beyond, **threads.state()}, known, findings, tuple(ended))


class _Threads:
    """What joins lines to those before them: chained errors, and returns of what was lost."""

    def __init__(self, state: State, symptoms: Mapping[str, Symptom], entries: Catalogue) -> None:
        self._chains, self._absent = Chains(state.get("chains", ())), Absent(state.get("absent", {}))
        self._symptoms, self._entries = symptoms, entries

    def state(self) -> State:
        """As JSON; nothing where nothing is joined."""
        told = {"chains": self._chains.state(), "absent": self._absent.state()}
        return {name: rows for name, rows in told.items() if rows}

    def fact(self, reading: Reading) -> list[str]:
        """A line that is no symptom; the keys of those that it ends."""
        if joins(reading):
            self._chains.link(reading)
        over = [key for key in self._absent.regain(reading) if key in self._symptoms]
        for key in over:
            self._symptoms[key].refuted = True
        return over

    def cause(self, reading: Reading, fault: Hit, key: str) -> tuple[str, ...]:
        """A line of a fault; the keys of other symptoms that are another thing since."""
        if fault.role not in _CAUSES:
            return ()
        self._symptoms[key].role = fault.role.value
        self._absent.lose(key, reading, fault)
        before = self._chains.follow(reading, key)
        if before is None or (first := self._symptoms.get(before)) is None or first.role not in _CAUSES:
            return ()
        text = str(first.evidence[-1][2]) if first.evidence else ""
        aside = put_aside(self._entries.signature(first.signature), text, fault.signature)
        if aside:
            self._symptoms[before if aside == "first" else key].role = Role.SECONDARY.value
        return (before,) if aside == "first" else ()


def _fingerprint(fault: Hit, reading: Reading, normalised: Normaliser, phase: str) -> str:
    text = ""
    if not fault.signature.id.startswith("xid."):  # one fault of a GPU prints a burst of different details
        line = reading.text
        text = line[fault.start :] if line.isascii() else encoded(line)[fault.start :].decode("utf-8", "replace")
        text = normalised(text)
    return fingerprint(fault.signature.layer, fault.signature.id, text, reading.place, phase)


class _Shelves:
    """Which findings there are of a signature, and whether there is room for another cause or victim."""

    def __init__(self, symptoms: Mapping[str, Symptom]) -> None:
        self._symptoms = symptoms
        self.keys: dict[str, list[str]] = {}
        for key, symptom in symptoms.items():
            self.add(key, symptom)

    def add(self, key: str, symptom: Symptom) -> None:
        """One more."""
        self.keys.setdefault(symptom.signature, []).append(key)

    def full(self, role: Role) -> bool:
        """Counted anew each time: what turned out to be a victim's makes room in this turn as in the next."""
        causes = sum(symptom.role in _CAUSES for symptom in self._symptoms.values())
        return causes >= CAUSES_KEPT if role in _CAUSES else len(self._symptoms) - causes >= VICTIMS_KEPT


def _key(
    symptoms: Mapping[str, Symptom],
    shelves: _Shelves,
    fault: Hit,
    print_: str,
    anew: Callable[[Symptom], bool],
) -> str | None:
    """The key of the finding a line belongs to; `None` when there is no room for another one.

    A cause that comes again after the attempt had survived it is a finding of its own: the attempt may die of it.
    """
    signature = fault.signature
    name = f"{signature.id}:{'' if fault.role is signature.role else f'{fault.role}:'}"
    own = f"{name}{print_[:12]}"
    if own in symptoms and fault.role in _CAUSES:
        own = _occurrence(symptoms, own, anew)
    if own in symptoms:
        return own
    alike = [key for key in shelves.keys.get(signature.id, ()) if key.startswith(name)]
    if len(alike) >= PER_SIGNATURE:
        return alike[-1]
    if shelves.full(fault.role):
        return alike[-1] if alike else None
    return own


def _occurrence(symptoms: Mapping[str, Symptom], own: str, anew: Callable[[Symptom], bool]) -> str:
    """The key of the newest occurrence, or of one more when that one was survived; the last one begins again."""
    key = own
    for number in range(2, OCCURRENCES_KEPT + 1):
        following = f"{own}~{number}"
        if following not in symptoms:
            return following if anew(symptoms[key]) else key
        key = following
    return key


def _begin(fault: Hit, reading: Reading, print_: str, step: int | None) -> Symptom:
    return Symptom(
        signature=fault.signature.id,
        fingerprint=print_,
        role=fault.role.value,
        at=reading.moment.isoformat(),
        basis="line" if reading.at is not None else "file",
        step=step,
        place=reading.place,
        injected=bool(fault.tags),
    )


def _finding(key: str, symptom: Symptom, entries: Catalogue) -> Finding:
    signature = entries.signature(symptom.signature)
    return Finding(
        key=key,
        kind=signature.anomaly_kind,
        sentence=_sentence(signature, symptom),
        happened_at=datetime.fromisoformat(symptom.at),
        basis=symptom.basis,
        signature=signature.id,
        layer=signature.layer,
        role=Role(symptom.role),
        fingerprint=symptom.fingerprint,
        step=symptom.step,
        nodes=tuple(sorted(symptom.hosts)),
        ranks=tuple(sorted(symptom.ranks)),
        evidence=tuple(quote_from(row) for row in symptom.evidence),
        confidence=signature.confidence,
        count=symptom.count,
        last_step=symptom.last_step,
    )


def _sentence(signature: Signature, symptom: Symptom) -> str:
    """What an operator reads."""
    words = signature.says
    if symptom.place:
        words += f" in {symptom.place}"
    if symptom.hosts:
        words += f" on {_listed(sorted(symptom.hosts))}"
    elif symptom.ranks:
        words += f" on rank {_listed([str(rank) for rank in sorted(symptom.ranks)])}"
    if symptom.count > 1:
        words += f", {symptom.count} times"
    if symptom.injected:
        words += " (a fault injected on purpose)"
    return f"{words}."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"
