"""Which candidate came first, in the sense of cause? Attribution section 6.2.

A stronger tier wins while nobody knows the order; an earlier event beats it only beyond the clock doubt, and only
where it can be the parent of the other.
"""

from datetime import timedelta

from detectors.attribution.candidates import CLOCK_DOUBT, Candidate, Case
from detectors.attribution.told import LATE
from detectors.catalogue.health import BASIS
from detectors.catalogue.role import Role

DOUBT = {
    "line": CLOCK_DOUBT,
    "step": CLOCK_DOUBT,
    # A file's time says when a line was seen, not when it was written.
    "file": timedelta(seconds=30),
    # Whoever checks nodes looks at them once in a while.
    BASIS: LATE,
    # A state is reported after the processes were killed: KillWait is 30 s by default.
    "state": timedelta(seconds=40),
}


def in_causal_order(case: Case) -> tuple[Candidate, ...]:
    """The candidates that may be the cause, the likeliest first; empty when there are none."""
    pool = sorted((candidate for candidate in case.candidates if candidate.counts), key=_strength)
    if not pool:
        return ()
    first = _sure_of_its_tier(pool)
    changed = True
    while changed:
        parent = next((c for c in pool if certainly_earlier(c, first) and _may_cause(c, first)), None)
        changed = parent is not None
        first = parent or first
    return (first, *(candidate for candidate in pool if candidate is not first))


def _strength(candidate: Candidate) -> tuple[int, float, str, int, str]:
    symptom = candidate.symptom
    stream, offset = (symptom.evidence[0].stream, symptom.evidence[0].offset) if symptom.evidence else ("", 0)
    return candidate.tier.number, symptom.happened_at.timestamp(), stream, offset, symptom.key


def _sure_of_its_tier(pool: list[Candidate]) -> Candidate:
    """The first of the best tier; a root cause goes before a candidate that was not certainly earlier."""
    first = pool[0]
    if first.symptom.role is Role.ROOT:
        return first
    roots = (c for c in pool if c.tier.number == first.tier.number and c.symptom.role is Role.ROOT)
    return next((root for root in roots if not certainly_earlier(first, root)), first)


def certainly_earlier(one: Candidate, other: Candidate) -> bool:
    """Whether one came before the other, whatever the clocks and the way each was read."""
    doubt = max(DOUBT.get(c.symptom.basis, CLOCK_DOUBT) for c in (one, other))
    return other.symptom.happened_at - one.symptom.happened_at > doubt


def _may_cause(one: Candidate, other: Candidate) -> bool:
    """Whether `one` can be the parent of `other`."""
    parent, child = one.tier.number, other.tier.number
    if parent == 4:  # whatever follows the scheduler's decision is its consequence
        return True
    if child == 4:  # a cancel that follows a failure is somebody's reaction
        return parent <= 7 or parent == 9
    if child <= 2 and parent >= 5:  # software does not break hardware
        return False
    if parent == 9:  # watchdogs end a hung job by exceptions and signals; a mere silence ends nothing
        return child in (6, 7) and one.symptom.basis != "step"
    return bool(set(one.named.hosts) & set(other.named.hosts))
