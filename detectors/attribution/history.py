"""Was it seen before, and on what? Earlier attempts of the job, and the one thing that is affected."""

import re

from detectors.attribution.candidates import Case
from detectors.attribution.classes import tells_on_repeat
from detectors.attribution.facts import AttemptFacts, EarlierAttempt, Facts
from detectors.attribution.hosts import named_by
from detectors.attribution.naming import Cause

_PCI = re.compile(r"\(PCI:([0-9a-fA-F:.]{7,16})\)|\bGPU ([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})")
_FILE = re.compile(r"'(/[^']{1,300})'")
STEPS_TO_ADVANCE = 10  # beyond the old maximum, when no checkpoint line is readable (section 7.2)


def entity_of(case: Case, cause: Cause) -> tuple[str, str]:
    """Kind and id of what is affected: `("gpu", "n03/0000:3b:00")`, a node, a file, or `("none", "")`."""
    hosts = cause.named.hosts
    if cause.candidate is None:
        return ("node", hosts[0]) if len(hosts) == 1 else ("none", "")
    own = cause.candidate.symptom
    beside = [s for s in case.facts.symptoms if s.signature.startswith("xid.") and s is not own]
    for symptom in (own, *beside):
        if symptom is not own and not set(named_by(symptom, case.facts).hosts) & set(hosts):
            continue
        for quote in symptom.evidence:
            found = _PCI.search(quote.line)
            if found and len(hosts) == 1:
                return "gpu", f"{hosts[0]}/{(found.group(1) or found.group(2)).lower()}"
    if cause.tier in (5, 6):
        paths = [found.group(1) for quote in own.evidence if (found := _FILE.search(quote.line))]
        if paths:
            return "file", paths[0]
    return ("node", hosts[0]) if len(hosts) == 1 else ("none", "")


def repeats_on_host(case: Case, cause: Cause) -> bool:
    """Whether an earlier attempt named the same host, and the same GPU when both are known, by the same message."""
    if not tells_on_repeat(cause.signature, cause.action) or len(cause.named.hosts) != 1:
        return False
    kind, entity = entity_of(case, cause)
    gpu = entity if kind == "gpu" else ""
    return any(
        earlier.signature == cause.signature
        and cause.named.hosts[0] in earlier.culprits
        and (not gpu or "/" not in earlier.entity or earlier.entity == gpu)
        for earlier in case.facts.earlier
    )


def same_before(facts: Facts, fingerprint: str) -> int:
    """How many earlier attempts had this fingerprint."""
    return sum(1 for earlier in facts.earlier if fingerprint and earlier.fingerprint == fingerprint)


def without_advance(facts: Facts) -> int:
    """How many attempts in a row, this one the last, saved no new checkpoint; unknown neither counts nor ends."""
    row = 0
    for index in range(len(facts.earlier), -1, -1):
        word = advance(facts, index)
        if word == "advanced":
            break
        row += word in ("same", "regressed")
    return row


def advance(facts: Facts, index: int | None = None) -> str:
    """Whether an attempt went beyond all before it: advanced, same, regressed or unknown (section 7.2)."""
    attempts: list[AttemptFacts | EarlierAttempt] = [*facts.earlier, facts.attempt]
    at = len(facts.earlier) if index is None else index
    one, before = attempts[at], attempts[:at]
    saved = [a.last_checkpoint_step for a in before if a.last_checkpoint_step is not None]
    if one.last_checkpoint_step is not None:
        best = max(saved, default=-1)
        if one.last_checkpoint_step > best:
            return "advanced"
        return "same" if one.last_checkpoint_step == best else "regressed"
    steps = [a.last_step for a in before if a.last_step is not None]
    if one.last_step is None or not steps:
        return "unknown"
    if saved:
        return "same"  # checkpoint lines are readable in this job, and this attempt wrote none
    return "advanced" if one.last_step >= max(steps) + STEPS_TO_ADVANCE else "same"


def step_before(facts: Facts) -> int | None:
    """The highest step of the earlier attempts."""
    return max((e.last_step for e in facts.earlier if e.last_step is not None), default=None)
