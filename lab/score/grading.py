"""How right was what the product said about one case? Pure: a result goes in, a grade comes out.

The rules:

1. *Put on*: a fault, when at least one deed of this case stands in the truth file and names a job; a trap, when its
   own deed stands there, or, for a trap that does nothing, when its jobs ran. What was not put on, and what broke
   in the lab, is neither right nor wrong.
2. *Struck* is an attempt that a deed names. The *first* one (by the time of the deed) answers for kind, layer,
   culprit and action, the *last* one for what is to be done when the fault strikes again. Before its deed an
   attempt has nothing wrong with it. Where the scheduler ends the attempt at once and holds the next one, it is the
   one that is held.
3. *Found*: a symptom of the true kind, detected on the first struck attempt and not before its deed, and not
   refuted before advice was given on that attempt (what our own requeue wakes up refutes nothing). What is seen
   only when it strikes again was missed. Not asked where the truth has no kind: the scheduler's own ends. Latency
   runs from that deed to the detection of the earliest such symptom, in seconds, and belongs to the basis of that
   symptom.
4. *The advice that counts* for an attempt: the first after the deed that is not ASK, else ASK, else NONE.
   *The verdict that counts*: of those after the deed the last one that was there when advice was last given, else
   the last.
5. *Kind said*: that of the verdict; without one, of the first symptom that may be a cause. *Layer said*: that of
   the verdict; without a verdict nothing was said, which is wrong. Any layer of the truth is right.
6. *Culprit*: asked where the truth has one; right when the first host of the verdict was struck. Nobody named is
   wrong.
7. *Excluded*: each node that any restart of the case leaves out, once. Guilty are the struck nodes of a case whose
   truth has a culprit, and nobody else.
8. *Action*: one of those that are right. Where a node is to blame, a restart that leaves out nodes must leave out
   every one that was struck in that attempt. A trap's is that of its worst attempt; where none is named, NONE is
   right. Where nobody has asked for action, only advice that was carried out counts.
9. *False action*: RESTART or STOP on an attempt with nothing wrong, or a changing command for a job for which
   neither was advised. One for each attempt, and for each job that only commands touched. On a trap, and on a job
   that the scheduler or its user ended on purpose, every attempt has nothing wrong, unless the action is one of
   those that are right.
10. *Confidence* counts where a verdict was given on a fault whose layer is known. It is right when the layer is,
    when the first host named is, where the truth has a culprit, and when no innocent host is one to leave out.
    Where an error of the program was seen is no blame. A trap's verdict that wants something is wrong; one that
    wants nothing is not counted.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from detectors.attribution.action import VerdictAction
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from lab.cases.case import NO_KIND, Case, Did, Sort
from lab.score.grade import NOTHING, Grade, Standing
from lab.score.said import Advised, Judged, Result, Said, Symptom
from lab.truth import Injected

ACTS = frozenset({Did.RESTART, Did.RESTART_EXCLUDE, Did.STOP})
CAUSES = frozenset({Role.ROOT.value, Role.CANDIDATE.value})
WANTS_NOTHING = frozenset({VerdictAction.NONE.value, VerdictAction.HOLD.value})
EVER = datetime.min.replace(tzinfo=UTC)

Attempt = tuple[int, int]
"""Job number and attempt."""


def grade(result: Result, where: str = "") -> Grade:
    """The grade of one result; `where` (`simulated`, `slurm`) says which half of the case was put on."""
    case, truth = result.case, result.case.truth
    fault = case.sort is Sort.FAULT
    blank = Grade(
        name=case.name,
        fault=fault,
        group=case.group,
        standing=Standing.COUNTED,
        truth_kind=truth.kind,
        truth_layers=truth.layers,
        truth_actions=tuple(did.value for did in truth.actions),
        truth_later=tuple(did.value for did in truth.later),
    )
    if result.broken:
        return replace(blank, standing=Standing.BROKEN, why=result.broken)
    deeds = sorted((one for one in result.injected if one.case == case.name), key=lambda one: one.at)
    if missing := _not_put_on(result, deeds, where):
        return replace(blank, standing=Standing.NOT_PUT_ON, why=missing, said=spoken(result.said))
    blank = replace(blank, healthy_seconds=result.healthy_seconds)
    if not fault:
        return _trap(blank, result)
    later = int(truth.held)
    return _fault(blank, result, [replace(one, attempt=one.attempt + later) for one in deeds if one.job > 0])


def domain(layer: str) -> str:
    """What a layer rolls up to; `none` for nothing."""
    return layer if layer in (NOTHING, "") else Layer(layer).domain


def has_deed(case: Case, where: str = "") -> bool:
    """Whether the case does anything by itself: a fault in a job, an order to the trainer, an act from outside."""
    simulated, slurm = case.simulated, case.slurm
    in_simulated = simulated is not None and (simulated.acts or any(play.faults for _, play in simulated.jobs))
    on_slurm = slurm is not None and (slurm.acts or slurm.orders)
    known = {"simulated": in_simulated, "slurm": on_slurm}
    return bool(known[where]) if where in known else bool(in_simulated or on_slurm)


def _not_put_on(result: Result, deeds: Sequence[Injected], where: str) -> str:
    if result.case.sort is Sort.FAULT:
        return "" if any(one.job > 0 for one in deeds) else "no deed of this case stands in the truth file"
    if deeds:
        return ""
    if has_deed(result.case, where):
        return "no deed of this case stands in the truth file"
    return "" if result.healthy_seconds > 0 else "none of its jobs ran"


def _fault(blank: Grade, result: Result, deeds: Sequence[Injected]) -> Grade:
    truth, said = result.case.truth, result.said
    struck: dict[Attempt, float] = {}
    for one in deeds:
        struck.setdefault((one.job, one.attempt), one.at)
    first, last = next(iter(struck)), next(reversed(struck))
    nodes = _nodes_of(deeds, first)
    every = {node for one in deeds for node in one.nodes}
    verdict = verdict_on(said, first, _moment(struck[first]))
    advice, later = (advice_on(said, one, _moment(struck[one])) for one in (first, last))
    guilty, guilty_later = (_nodes_of(deeds, one) if truth.culprit else set() for one in (first, last))
    seen = _first_seen(said, truth.kind, {first: struck[first]})
    layer = verdict.layer if verdict else NOTHING
    host = verdict.hosts[0] if verdict and verdict.hosts else ""
    layer_right = layer in truth.layers if truth.layers else None
    meant_ill = truth.kind != NO_KIND  # else the scheduler or the user has ended it on purpose
    asked = layer_right is not None and verdict is not None
    return replace(
        blank,
        struck=tuple(sorted(nodes)),
        found=seen is not None if truth.kind != NO_KIND else None,
        latency_seconds=None if seen is None else seen.detected_at.timestamp() - struck[seen.job, seen.attempt],
        basis=seen.basis if seen else "",
        said_kind=verdict.kind if verdict else _kind(said, struck),
        said_layer=layer,
        layer_right=layer_right,
        domain_right=domain(layer) in {domain(one) for one in truth.layers} if truth.layers else None,
        said_host=host,
        culprit_right=host in nodes if truth.culprit else None,
        excluded=_excluded(said, every if truth.culprit else set()),
        did=_did(advice).value,
        action_right=_is_right(advice, truth.actions, guilty) if truth.actions else None,
        did_later=_did(later).value,
        later_right=_is_right(later, truth.later, guilty_later) if truth.later and last != first else None,
        false_actions=_false_actions(said, struck, ()) if meant_ill else _false_actions(said, {}, truth.actions),
        confidence=verdict.confidence if verdict and asked else None,
        confidence_right=bool(layer_right) and _blames_rightly(verdict, truth.culprit, nodes) if asked else None,
        evidence_status=verdict.status if verdict and asked else "",
        rule=verdict.rule if verdict and asked else "",
        said=spoken(said, first),
    )


def _blames_rightly(verdict: Judged | None, culprit: bool, nodes: set[str]) -> bool:
    """Whether the hosts of a verdict are those that it may blame (rule 10)."""
    if verdict is None:
        return False
    innocent = [host for host in verdict.excludable if not culprit or host not in nodes]
    return not innocent and (not culprit or not verdict.hosts or verdict.hosts[0] in nodes)


def _trap(blank: Grade, result: Result) -> Grade:
    truth, said = result.case.truth, result.said
    if truth.unasked:
        said = replace(said, advice=tuple(one for one in said.advice if one.acknowledged_at is not None))
    right = truth.actions or (Did.NONE,)
    everyone = list(dict.fromkeys((one.job, one.attempt) for one in said.advice))
    worst = [did for attempt in everyone if (did := did_on(said, attempt, EVER)) not in right]
    any_did = [did_on(said, attempt, EVER) for attempt in everyone]
    did = next((one for one in worst if one in ACTS), next(iter(worst), next(iter(any_did), Did.NONE)))
    wanting = [one for one in said.verdicts if one.action not in WANTS_NOTHING]
    verdict = wanting[-1] if wanting and not truth.unasked else None  # of what really broke, for nobody to act on
    attempts = {(one.job, one.attempt): 0.0 for one in said.symptoms}
    return replace(
        blank,
        said_kind=verdict.kind if verdict else _kind(said, attempts),
        said_layer=verdict.layer if verdict else NOTHING,
        said_host=verdict.hosts[0] if verdict and verdict.hosts else "",
        excluded=_excluded(said, set()),
        did=did.value,
        action_right=did in right,
        false_actions=_false_actions(said, {}, right),
        confidence=verdict.confidence if verdict else None,
        confidence_right=False if verdict else None,
        evidence_status=verdict.status if verdict else "",
        rule=verdict.rule if verdict else "",
        said=spoken(said),
    )


def did_on(said: Said, attempt: Attempt, since: datetime) -> Did:
    """What the advice that counts for an attempt says."""
    return _did(advice_on(said, attempt, since))


def advice_on(said: Said, attempt: Attempt, since: datetime) -> Advised | None:
    """The advice that counts for an attempt (rule 4)."""
    advice = _of(said.advice, attempt, since)
    return next((one for one in advice if one.did is not Did.ASK), next(iter(advice), None))


def _did(advice: Advised | None) -> Did:
    return advice.did if advice else Did.NONE


def _is_right(advice: Advised | None, right: Sequence[Did], guilty: set[str]) -> bool:
    """Whether it is a right action, and leaves out whoever is guilty if it leaves out anybody (rule 8)."""
    whole = advice is None or advice.did is not Did.RESTART_EXCLUDE or guilty <= set(advice.nodes)
    return _did(advice) in right and whole


def _nodes_of(deeds: Sequence[Injected], attempt: Attempt) -> set[str]:
    return {node for one in deeds if (one.job, one.attempt) == attempt for node in one.nodes}


def verdict_on(said: Said, attempt: Attempt, since: datetime) -> Judged | None:
    """The verdict that counts for an attempt (rule 4)."""
    verdicts = [one for one in said.verdicts if (one.job, one.attempt) == attempt and one.judged_at >= since]
    advised_at = max((one.advised_at for one in _of(said.advice, attempt, since)), default=None)
    advised = [one for one in verdicts if advised_at is not None and one.judged_at <= advised_at]
    return next(reversed(advised or verdicts), None)


def _of(advice: Sequence[Advised], attempt: Attempt, since: datetime) -> list[Advised]:
    return [one for one in advice if (one.job, one.attempt) == attempt and one.advised_at >= since]


def _first_seen(said: Said, kind: str, struck: dict[Attempt, float]) -> Symptom | None:
    found = [one for one in _after(said, struck) if one.kind == kind]
    return min(found, key=lambda one: one.detected_at, default=None)


def _after(said: Said, struck: dict[Attempt, float]) -> list[Symptom]:
    """Symptoms on struck attempts, not before the deed, and not refuted before advice was given (rule 3)."""
    advised: dict[Attempt, datetime] = {}
    for advice in said.advice:
        advised.setdefault((advice.job, advice.attempt), advice.advised_at)
    return [
        one
        for one in said.symptoms
        if (one.refuted_at is None or one.refuted_at > advised.get((one.job, one.attempt), one.refuted_at))
        and (at := struck.get((one.job, one.attempt))) is not None
        and one.detected_at.timestamp() >= at
    ]


def _kind(said: Said, struck: dict[Attempt, float]) -> str:
    """Of the first symptom that may be a cause."""
    causes = [one for one in _after(said, struck) if one.role in CAUSES]
    return min(causes, key=lambda one: one.detected_at).kind if causes else NOTHING


def _excluded(said: Said, guilty: set[str]) -> tuple[tuple[str, bool], ...]:
    nodes = {node for one in said.advice if one.did is Did.RESTART_EXCLUDE for node in one.nodes}
    return tuple((node, node in guilty) for node in sorted(nodes))


def _false_actions(said: Said, struck: dict[Attempt, float], right: Sequence[Did]) -> tuple[str, ...]:
    """One sentence for each attempt with nothing wrong, and for each job, that was acted on (rule 9)."""
    false: dict[Attempt, str] = {}
    touched = {one.job for one in said.advice if one.did in ACTS}
    for one in said.advice:
        at = struck.get((one.job, one.attempt))
        healthy = at is None or one.advised_at.timestamp() < at
        if one.did in ACTS and one.did not in right and healthy:
            when = "before the fault struck" if at is not None else "with nothing wrong"
            false.setdefault((one.job, one.attempt), f"false action: {one.did.value} {when} ({one.rule})")
    commanded: dict[str, str] = {}
    for command in said.commands:
        job = _job_of(command, said)
        if job is None or int(job) not in touched:
            commanded.setdefault(job or command, f"false action: {command[:80]}, without any advice to act")
    return (*false.values(), *commanded.values())


def _job_of(command: str, said: Said) -> str | None:
    """The number of a job of the case that the command speaks of."""
    numbers = set(re.findall(r"(?<![\w.])\d+(?![\w.])", command))
    return next((str(job) for job in said.states if str(job) in numbers), None)


def spoken(said: Said, attempt: Attempt | None = None) -> str:
    """What the product said, of one attempt or of all, in one line. No word of a log stands in it."""
    parts = [
        f"{one.kind} {one.signature or 'without signature'} ({one.layer}, {one.role})"
        + (" refuted" if one.refuted_at else "")
        for one in said.symptoms
        if attempt in (None, (one.job, one.attempt)) and one.role in CAUSES
    ]
    verdicts = [one for one in said.verdicts if attempt in (None, (one.job, one.attempt))]
    if verdicts:
        last = verdicts[-1]
        host = f" on {', '.join(last.hosts[:3])}" if last.hosts else ""
        parts = [f"{last.kind} {last.layer} {last.signature} {last.confidence:.2f}{host}"]
    for one in said.advice:
        if attempt in (None, (one.job, one.attempt)):
            named = f" without {', '.join(one.nodes[:3])}" if one.did is Did.RESTART_EXCLUDE else ""
            parts.append(f"{one.did.value}{named} ({one.rule})")
    return "; ".join(dict.fromkeys(parts[:8])) or "nothing"


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
