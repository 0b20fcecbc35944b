"""Whom do analyses of dumps, and the reports of NCCL's RAS, name as holding the others up? Section 6.3: D, H, J.

What a program printed into a log is not believed further than it goes: an analysis blames whoever differs from the
first rank that it looked at, so the odd ones are counted again; a rank that RAS tells behind is only behind when
its own counter stands still from poll to poll.
"""

from collections import Counter

from detectors.attribution.facts import Facts
from detectors.attribution.standing import DUMPS, RAS, Standstill, few, sorted_ranks, spoken
from detectors.attribution.witnesses import Polled
from detectors.catalogue.layer import Layer

_ORDER = "DJH"
_SAID = {
    "D": ("runs another collective than the others", Layer.APPLICATION, 0.85),
    "J": ("has enqueued the collective and its GPU has not begun it", Layer.HARDWARE_GPU, 0.85),
    "H": ("did not join the collective that the others wait in", Layer.APPLICATION, 0.88),
}


def standstill_in_analyses(facts: Facts) -> Standstill | None:
    """By `fr_trace` and by NVRx's wavefront, as they stand in a log."""
    rows = facts.witnesses.analysed
    for case in _ORDER:
        some = [one for one in rows if one.case == case]
        if not some:
            continue
        ranks = sorted_ranks(rank for one in some for rank in one.ranks)
        most = max((one.of or 0 for one in some), default=0)
        if most and ranks and not few(len(ranks), max(most, max(ranks) + 1)):
            continue
        words, layer, confidence = _SAID[case]
        by = ", ".join(sorted({one.by for one in some}))
        hosts = dict(facts.ranks)
        because = f"{spoken(ranks)} {words} ({by})" if ranks else f"Ranks run different collectives ({by})"
        named = tuple(sorted({hosts[rank] for rank in ranks if rank in hosts}))
        return Standstill(case, ranks, named, layer, confidence, because, DUMPS)
    return None


def standstill_in_polls(facts: Facts) -> Standstill | None:
    """By RAS: who is dead, else who does not answer, else who is behind and stays there."""
    rows = facts.witnesses.polled
    for sort, words, confidence in (
        ("dead", "is considered dead by NCCL's RAS", 0.88),
        ("missing", "does not answer NCCL's RAS", 0.8),
    ):
        gone = [one for one in rows if one.sort == sort]
        if gone and len({one.host for one in gone if one.host}) <= 1:
            return _found(gone, facts, Layer.HARDWARE_HOST, confidence, words)
    late = behind(facts)
    if not late:
        return None
    words = "has launched fewer operations than the others, by NCCL's RAS"
    return _found(late, facts, Layer.APPLICATION, 0.85, words)


def behind(facts: Facts) -> list[Polled]:
    """Who is behind most of its communicator, and did not move from poll to poll."""
    rows = [one for one in facts.witnesses.polled if one.sort == "lag" and one.ops is not None]
    late = [one for one in rows if one.most is not None and (one.ops or 0) < one.most and not one.moved]
    hosts = Counter(one.host for one in late if one.host)
    return late if len(hosts) <= 2 else []


def _found(rows: list[Polled], facts: Facts, layer: Layer, confidence: float, words: str) -> Standstill:
    """RAS counts ranks in their communicator: a number is the global rank only where the map says the same host."""
    hosts = tuple(sorted({one.host for one in rows if one.host}))
    known = dict(facts.ranks)
    told = ((one.rank, one.host) for one in rows if one.rank is not None)
    ranks = sorted_ranks(rank for rank, host in told if not host or known.get(rank, host) == host)
    who = spoken(ranks) if ranks else f"A process on {', '.join(hosts)}" if hosts else "A process of the job"
    return Standstill("H", ranks, hosts, layer, confidence, f"{who} {words}", RAS)
