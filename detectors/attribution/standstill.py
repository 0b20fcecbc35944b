"""Who did not join the collective that all others wait in? Attribution section 6.3.

Dumps of the Flight Recorder are asked first (`recorded`), then what programs made of dumps (`reported`), then the
ranks' own lines: a rank that waits says so when its limit has passed; one that never came has nothing to wait for,
or says nothing at all. Whoever is named is where to look: alone, that leaves no host out.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from detectors.attribution.facts import Facts
from detectors.attribution.own_doing import commanded
from detectors.attribution.recorded import standstill_in_dumps
from detectors.attribution.reported import standstill_in_analyses, standstill_in_polls
from detectors.attribution.standing import Standstill, spoken
from detectors.attribution.witnesses import Wait
from detectors.catalogue.layer import Layer
from schedulers.states import JobState

HEARD_AT_LEAST = 0.75  # of the ranks, before the silence of the others tells anything
SILENT_AFTER_SECONDS = 90.0  # 60 s for the dumps and 30 s more: so long a live rank may still speak
CLOCK_DOUBT_SECONDS = 5.0
OF_ALL = ""  # the group that holds every rank


@dataclass(frozen=True)
class Group:
    """The process group that stood still first. `world`: all global ranks and their hosts, as far as known."""

    rows: tuple[Wait, ...]
    world: dict[int, str]
    of_all: bool
    settled: bool
    lost_store: frozenset[int]

    @property
    def waiting(self) -> list[Wait]:
        """Ranks whose own limit has passed."""
        return [one for one in self.rows if one.own]

    def few(self, some: Sequence[Wait]) -> bool:
        """Whether these are some, and fewer than half of those that were heard."""
        return 0 < 2 * len(some) < len(self.rows)


def standstill_of(facts: Facts) -> Standstill | None:
    """Who is missing: by dumps, by what was made of dumps, by lines, by RAS.

    The first that names anybody, else the first that tells anything; `None` when nothing does.
    """
    if facts.attempt.state is JobState.COMPLETED:
        return None
    found = [one for look in LOOKS if (one := look(facts)) is not None]
    return next((one for one in found if one.names), found[0] if found else None)


def standstill_in_lines(facts: Facts) -> Standstill | None:
    """The first case that the ranks' own lines show, C without a rank; `None` when they show none."""
    group = _first_group(facts)
    if group is None:
        return None
    return next((found for case in CASES if (found := case(group)) is not None), None)


def _first_group(facts: Facts) -> Group | None:
    """A victim in an inner group may be missed in an outer one: the group that stood still first is asked."""
    waits = facts.witnesses.waits
    if not waits:
        return None
    begun = {name: min(_begun(one) for one in waits if one.group == name) for name in {one.group for one in waits}}
    earliest = min(begun.values())
    at_once = [name for name, at in begun.items() if at <= earliest + CLOCK_DOUBT_SECONDS]
    name = min(at_once, key=lambda name: (name == OF_ALL, begun[name], name))
    rows = tuple(one for one in waits if one.group == name)
    spoken = [one.at for one in rows]
    return Group(
        rows=rows,
        world=dict(facts.ranks),
        of_all=name == OF_ALL,
        settled=_settled(facts, spoken),
        lost_store=frozenset(rank for rank, _host in facts.witnesses.lost_store),
    )


def _settled(facts: Facts, spoken: Sequence[float]) -> bool:
    """Whether everybody had the time to speak. Whoever our own command has silenced had it until then only."""
    heard_until = max(spoken)
    if facts.attempt.command_at is not None and commanded(facts.attempt):
        heard_until = facts.attempt.command_at.timestamp()
    elif facts.attempt.ended or _torn_down(facts, min(spoken)):
        return True
    return heard_until - min(spoken) >= SILENT_AFTER_SECONDS


def _torn_down(facts: Facts, since: float) -> bool:
    """Whether the launcher has killed what was left since then: whoever is silent will not speak any more."""
    ends = (s for s in facts.symptoms if s.signature in ("slurm.step_aborted", "slurm.task_killed"))
    return any(one.happened_at.timestamp() >= since - CLOCK_DOUBT_SECONDS for one in ends)


def _begun(one: Wait) -> float:
    return one.at if one.begun is None else one.begun


def _never_joined(group: Group) -> Standstill | None:
    """Case A: most ranks wait; a few had nothing to wait for when they were told."""
    absent = [one for one in group.rows if not one.own and one.notified and one.enq is not None]
    absent = [one for one in absent if one.enq == one.done]
    if not group.waiting or not group.few(absent):
        return None
    together = len({one.host for one in absent if one.host}) <= 1 or len(absent) == 1
    words = "had completed all that they had enqueued and never joined the collective that the others wait in"
    return _named("A", absent, Layer.APPLICATION, 0.9 if together else 0.7, words)


def _another_collective(group: Group) -> Standstill | None:
    """Case D: at the same place some ranks wait in another operation, or in one of another size."""
    stuck = [one for one in group.waiting if one.seq is not None and one.op]
    if not stuck:
        return None
    place, _ = Counter(one.seq for one in stuck).most_common(1)[0]
    here = [one for one in stuck if one.seq == place]
    usual, _ = Counter((one.op, one.size) for one in here).most_common(1)[0]
    others = [one for one in here if (one.op, one.size) != usual]
    if not group.few(others):
        return None
    return _named("D", others, Layer.APPLICATION, 0.85, f"wait in another collective than the others ({usual[0]})")


def _behind(group: Group) -> Standstill | None:
    """Case E: a few ranks have enqueued less than the place at which the others wait."""
    places = [one.seq for one in group.waiting if one.seq is not None]
    late = [one for one in group.rows if one.enq is not None and places and one.enq < max(places)]
    if not group.few(late):
        return None
    return _named(
        "E", late, Layer.APPLICATION, 0.85, "had not come as far as the collective that the others wait in"
    )


def _store_lost(group: Group) -> Standstill | None:
    """Case K: rank 0, which serves the store, is silent, and the others miss it."""
    heard = {one.rank for one in group.rows}
    if 0 not in group.world or 0 in heard | group.lost_store or 2 * len(group.lost_store) < len(group.world):
        return None
    words = "serves the store that the others cannot reach any more, and is silent"
    return _silent("K", [0], group, 0.8, words)


def _says_nothing(group: Group) -> Standstill | None:
    """Case B: the limit has passed for (nearly) all, and a few ranks of one host say nothing at all."""
    heard = {one.rank for one in group.rows} | group.lost_store
    silent = sorted(set(group.world) - heard)
    enough = group.of_all and group.settled and len(heard & set(group.world)) >= HEARD_AT_LEAST * len(group.world)
    hosts = {group.world[rank] for rank in silent}
    if not enough or not silent or (len(hosts) > 1 and len(silent) > 1):
        return None
    return _silent("B", silent, group, 0.85, "said nothing when the limit had passed for all others")


def _everybody_waits(group: Group) -> Standstill | None:
    """Case C: every rank of the job waits at the same place: what lies between them is stuck."""
    places = {one.seq for one in group.waiting}
    begun = all(one.enq is None or one.done is None or one.enq > one.done for one in group.waiting)
    if not group.of_all or len(group.world) < 2 or len(places) != 1 or None in places or not begun:
        return None
    if {one.rank for one in group.waiting} != set(group.world):
        return None
    because = "All ranks wait in the same collective, none is missing: the fabric or a GPU kernel is stuck"
    return Standstill("C", (), (), Layer.HARDWARE_NETWORK, 0.75, because)


def _named(case: str, some: Sequence[Wait], layer: Layer, confidence: float, words: str) -> Standstill:
    ranks = tuple(sorted(one.rank for one in some))
    hosts = tuple(sorted({one.host for one in some if one.host}))
    return Standstill(case, ranks, hosts, layer, confidence, f"{spoken(ranks)} {words}")


def _silent(case: str, ranks: Sequence[int], group: Group, confidence: float, words: str) -> Standstill:
    hosts = tuple(sorted({group.world[rank] for rank in ranks}))
    because = f"{spoken(ranks)} {words}"
    return Standstill(case, tuple(ranks), hosts, Layer.HARDWARE_HOST, confidence, because)


CASES: tuple[Callable[[Group], Standstill | None], ...] = (
    _another_collective,
    _never_joined,
    _behind,
    _store_lost,
    _says_nothing,
    _everybody_waits,
)
"""In the order in which they are asked; F names nobody, G to J are told by lines of another kind, or by dumps."""
LOOKS: tuple[Callable[[Facts], Standstill | None], ...] = (
    standstill_in_dumps,
    standstill_in_analyses,
    standstill_in_lines,
    standstill_in_polls,
)
"""In the order of what they see."""
