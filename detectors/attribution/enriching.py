"""What do answers from outside make of our verdict? They may narrow it, and never widen it.

Whatever an answer says: cause, layer, fingerprint and culprits stay ours, so that neither history nor the counters
of the policy rest on what somebody else believes. Confidence only falls, hosts only cease to be excludable, a stop
only becomes a question. `docs/decisions/0012-external-attribution.md`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from detectors.attribution.action import VerdictAction
from detectors.attribution.answers import Answer, Place
from detectors.attribution.calibration import measured_at
from detectors.attribution.evidence_status import EvidenceStatus
from detectors.attribution.facts import Facts
from detectors.attribution.judgement import Implicated, Judgement, RuleOutcome
from detectors.attribution.weighing import HIGHEST, TO_ADVISE, TO_EXCLUDE, TO_STOP
from detectors.catalogue.layer import Layer

RULE = "provider."
BASIS = "narrowed_by_provider"
UNDECIDED = 0.5  # of a cause for which somebody prefers a rival without saying how surely
NOT_NAMED = 0.5  # of a host that somebody leaves out who names another one of ours
MOST_NARRATIVE = 8


@dataclass(frozen=True)
class _Taken:
    """A verdict with what was taken of an answer so far."""

    judgement: Judgement
    rules: tuple[RuleOutcome, ...] = ()

    def told(self, rule: str, fired: bool, because: str, judgement: Judgement | None = None) -> "_Taken":
        outcome = RuleOutcome(f"{RULE}{rule}", fired, because)
        return _Taken(judgement or self.judgement, (*self.rules, outcome))


def enriched(judgement: Judgement, answers: Sequence[Answer], facts: Facts) -> Judgement:
    """The judgement, its body included, with every answer taken in; the same one without answers."""
    for answer in answers:
        judgement = _with(judgement, answer, facts)
    return judgement


def _with(judgement: Judgement, answer: Answer, facts: Facts) -> Judgement:
    taken = _Taken(judgement)
    if answer.about and answer.about != judgement.fingerprint:
        taken = taken.told("outdated", False, f"{answer.provider} was asked about another cause")
        return _written(judgement, taken)
    taken, ours = _cause(taken, answer)
    if ours:
        taken = _hosts(taken, answer)
    taken = _places(taken, answer, facts)
    taken = _action(taken, answer)
    return _written(judgement, _sentence(taken, answer))


def _cause(taken: _Taken, answer: Answer) -> tuple[_Taken, bool]:
    """The confidence after what the answer says of the cause; whether it speaks of a cause that we know."""
    judgement, who = taken.judgement, answer.provider
    names = bool(answer.layer or answer.signature)
    if not names or _same(answer, judgement.layer.value, judgement.signature):
        said = f"{who} names the same cause" if names else f"{who} names no cause"
        told = answer.confidence
        if told is None or told >= judgement.confidence:
            return taken.told("agrees", names, said), True
        lower = _lowered(judgement, told)
        return taken.told("lower", True, f"{said}, with a confidence of {told:.2f}", lower), True
    rivals = judgement.body.get("hypotheses", [])[1:]
    rival = next((one for one in rivals if _same(answer, one["layer"], one["signature_id"] or "")), None)
    if rival is None:
        return taken.told("not_ours", False, f"{who} names {_named(answer)}, for which we know no evidence"), False
    confidence = min(judgement.confidence, round(1 - max(UNDECIDED, answer.confidence or 0.0), 4))
    chosen = _preferred(_lowered(judgement, confidence), rival["id"], judgement.confidence)
    label = Layer(rival["layer"]).label
    chosen = replace(chosen, sentence=f"{judgement.sentence} ({who}: rather {label})")
    return taken.told("rival", True, f"{who} prefers a rival: {_named(answer)}", chosen), True


def _same(answer: Answer, layer: str, signature: str) -> bool:
    """Whether the answer names this cause; a signature that we know says more than a layer."""
    if answer.signature and answer.signature == signature:
        return True
    return bool(answer.layer) and answer.layer in (layer, Layer(layer).domain)


def _named(answer: Answer) -> str:
    return " ".join(part for part in (answer.layer, answer.signature) if part)


def _lowered(judgement: Judgement, confidence: float) -> Judgement:
    """The same with at most this confidence, for the cause and each of its hosts."""
    confidence = max(0.0, min(judgement.confidence, round(confidence, 4)))
    status = judgement.evidence_status
    if confidence < TO_ADVISE:
        status = EvidenceStatus.UNKNOWN
    elif confidence < TO_STOP and status is EvidenceStatus.ESTABLISHED:
        status = EvidenceStatus.SUPPORTED
    implicated = tuple(_at_most(one, confidence) for one in judgement.implicated)
    hypotheses = [
        {**one, "odds": min(one["odds"], confidence)} if place == 0 else one
        for place, one in enumerate(judgement.body.get("hypotheses", []))
    ]
    body = {**judgement.body, "hypotheses": hypotheses}
    return replace(judgement, confidence=confidence, evidence_status=status, implicated=implicated, body=body)


def _at_most(one: Implicated, confidence: float) -> Implicated:
    own = min(one.confidence, confidence)
    return replace(one, confidence=own, excludable=one.excludable and own >= TO_EXCLUDE)


def _preferred(judgement: Judgement, rival: str, before: float) -> Judgement:
    """The rival gets the odds that the cause has lost."""
    gained = before - judgement.confidence
    hypotheses = [
        {**one, "odds": min(HIGHEST, round(one["odds"] + gained, 4))} if one["id"] == rival else one
        for one in judgement.body["hypotheses"]
    ]
    return replace(judgement, body={**judgement.body, "hypotheses": hypotheses})


def _hosts(taken: _Taken, answer: Answer) -> _Taken:
    """Of several hosts of ours, those that the answer does not name are not left out."""
    ours = {one.host for one in taken.judgement.implicated if one.role != "victim"}
    named = {host for one in answer.hosts if (host := _host(one, ours))}
    if not answer.hosts or not ours:
        return taken
    if not named:
        said = ", ".join(sorted(answer.hosts)[:4])
        return taken.told("other_hosts", False, f"{answer.provider} names {said}: not implicated by our evidence")
    if named == ours:
        return taken.told("same_hosts", True, f"{answer.provider} names the same hosts")
    implicated = tuple(
        one if one.role == "victim" or one.host in named else _at_most(one, NOT_NAMED)
        for one in taken.judgement.implicated
    )
    because = f"{answer.provider} names only {', '.join(sorted(named))}"
    return taken.told("fewer_hosts", True, because, replace(taken.judgement, implicated=implicated))


def _host(name: str, ours: set[str]) -> str | None:
    """`n03.cluster.local` is `n03`, as in our own lines; two that it could be are none."""
    if name in ours:
        return name
    short = [host for host in ours if host.partition(".")[0] == name.partition(".")[0]]
    return short[0] if len(short) == 1 else None


def _places(taken: _Taken, answer: Answer, facts: Facts) -> _Taken:
    """Ranks and GPUs within hosts that we implicate, where we know none."""
    ours = {one.host for one in taken.judgement.implicated if one.role != "victim"}
    for place in answer.places:
        host = _host(place.host, ours)
        if host is not None:
            taken = _placed(taken, replace(place, host=host), answer.provider, facts)
    return taken


def _placed(taken: _Taken, place: Place, who: str, facts: Facts) -> _Taken:
    judgement, there = taken.judgement, dict(facts.ranks)
    implicated, rows = list(judgement.implicated), list(judgement.body.get("implicated", []))
    at = next(n for n, one in enumerate(implicated) if one.host == place.host and one.role != "victim")
    found = []
    fits = there.get(place.rank) == place.host if facts.ranks and place.rank is not None else True
    if place.rank is not None and implicated[at].rank is None and fits:
        implicated[at] = replace(implicated[at], rank=place.rank)
        found.append(f"rank {place.rank}")
    gpu = rows[at].get("gpu") or {} if at < len(rows) else {}
    if place.gpu is not None and at < len(rows) and all(known is None for known in gpu.values()):
        rows[at] = {**rows[at], "gpu": {"index": place.gpu, "uuid": None, "pci": None}}
        found.append(f"GPU {place.gpu}")
    if not found:
        return taken
    body = {**judgement.body, "implicated": rows}
    placed = replace(judgement, implicated=tuple(implicated), body=body)
    return taken.told("place", True, f"{who} names {' and '.join(found)} on {place.host}", placed)


def _action(taken: _Taken, answer: Answer) -> _Taken:
    """What may still be suggested: never more than before."""
    judgement = taken.judgement
    excludable = any(one.excludable for one in judgement.implicated)
    if judgement.action is VerdictAction.RESTART_EXCLUDE and not excludable:
        weaker, what = VerdictAction.RESTART, "no host is sure enough to be left out"
    elif judgement.action is VerdictAction.STOP and judgement.confidence < TO_STOP:
        weaker, what = VerdictAction.ASK, "the stop is not sure enough any more: a person decides"
    else:
        return taken
    return taken.told("action", True, f"after {answer.provider}'s answer {what}", replace(judgement, action=weaker))


def _sentence(taken: _Taken, answer: Answer) -> _Taken:
    if not answer.sentence:
        return taken
    body = taken.judgement.body
    added = [*body.get("narrative", []), {"provider": answer.provider, "text": answer.sentence}]
    narrated = replace(taken.judgement, body={**body, "narrative": added[:MOST_NARRATIVE]})
    return taken.told("sentence", True, f"{answer.provider} adds a sentence", narrated)


def _written(before: Judgement, taken: _Taken) -> Judgement:
    """The verdict with its body brought into line."""
    judgement = taken.judgement
    body = dict(judgement.body)
    body["rules"] = [*body["rules"], *({"id": r.id, "fired": r.fired, "because": r.because} for r in taken.rules)]
    body["outcome"] = {**body["outcome"], "label": judgement.sentence}
    body["root_cause"] = {
        **body["root_cause"],
        "evidence_status": judgement.evidence_status.value,
        "confidence": judgement.confidence,
        "calibration": measured_at(judgement.confidence),
    }
    body["implicated"] = [
        {**row, "rank": one.rank, "confidence": one.confidence, "excludable": one.excludable}
        for row, one in zip(body["implicated"], judgement.implicated, strict=True)
    ]
    body["recommendation"] = _recommended(before, judgement, body["recommendation"])
    return replace(judgement, rules=(*judgement.rules, *taken.rules), body=body)


def _recommended(before: Judgement, judgement: Judgement, stored: Mapping[str, Any]) -> dict[str, Any]:
    kept = {one.host for one in judgement.implicated if one.excludable}
    exclude = [host for host in stored["exclude"] if host in kept]
    if judgement.action is before.action:
        return {**stored, "exclude": exclude}
    leaves_out = judgement.action is VerdictAction.RESTART_EXCLUDE
    return {
        **stored,
        "action": judgement.action.value,
        "exclude": exclude if leaves_out else [],
        "basis": BASIS,
    }
