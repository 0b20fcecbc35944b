"""Who holds the others up, by the dumps of the Flight Recorder? Attribution section 6.3, cases A to D, H and J.

A dump tells more than a watchdog's line: every group at once, and whether a collective has begun on the GPU. A rank
that waits in one group is nobody's culprit in another one: the trail is followed to whoever waits nowhere.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

from detectors.attribution.facts import Facts
from detectors.attribution.standing import DUMPS, Standstill, few, sorted_ranks, spoken
from detectors.attribution.witnesses import Recorded
from detectors.catalogue.layer import Layer
from detectors.dumps.states import SCHEDULED, STARTED

HEARD_AT_LEAST = 0.75  # of a group's ranks, before a missing dump tells anything
CLOCK_DOUBT_SECONDS = 5.0
OLDER_BY_SECONDS = 60.0  # dumps that are so much older than the last step are of another time
OF_EQUAL_SIZE = frozenset({"all_reduce", "broadcast", "reduce", "_all_gather_base", "_reduce_scatter_base"})
"""Operations to which every rank brings as much; in the others sizes differ and nothing is wrong."""


NO_DUMP = "no dump of a Flight Recorder: nothing tells whether a collective had begun on the GPUs"
OLD_DUMPS = "the dumps of the Flight Recorder are older than the last step: they tell nothing of this standstill"


@dataclass(frozen=True)
class Hung:
    """One group in which somebody waits. `place`: the oldest collective that somebody has not completed."""

    name: str
    rows: tuple[Recorded, ...]
    members: frozenset[int]
    place: int

    @property
    def here(self) -> list[Recorded]:
        """Who stands at the place."""
        return [one for one in self.rows if one.seq == self.place]

    @property
    def absent(self) -> list[Recorded]:
        """Who has not even enqueued it."""
        return [one for one in self.rows if one.seq is None and (one.enq or 0) < self.place]

    @property
    def unheard(self) -> frozenset[int]:
        """Members without a dump."""
        return self.members - {one.rank for one in self.rows}

    @property
    def begun(self) -> float:
        """Since when the first of them waits; epoch seconds."""
        return min(one.begun or one.at for one in self.here)


@dataclass(frozen=True)
class Picture:
    """All groups that stand still, the first and innermost first; who waits anywhere; hosts by rank."""

    groups: tuple[Hung, ...]
    waiting: frozenset[int]
    heard: frozenset[int]
    hosts: dict[int, str]


def standstill_in_dumps(facts: Facts) -> Standstill | None:
    """The first case that the dumps show; `None` without dumps, or when all that they record is completed."""
    picture = _picture(facts)
    if picture is None or not picture.groups:
        return None
    return next((found for case in CASES if (found := case(picture)) is not None), None)


def missing_dumps(facts: Facts) -> list[str]:
    """What dumps would have told that was not there: one sentence for each lack."""
    return [*facts.witnesses.unread_dumps, *_lacking(facts)]


def _lacking(facts: Facts) -> list[str]:
    told = facts.witnesses
    if not told.recorded:
        return [NO_DUMP] if told.waits and not told.analysed else []
    if _of_another_time(facts):
        return [OLD_DUMPS]
    heard = {one.rank for one in told.recorded}
    gone = sorted({rank for group in told.members for rank in group.ranks} - heard)
    shown = ", ".join(map(str, gone[:8])) + (f" and {len(gone) - 8} more" if len(gone) > 8 else "")
    return [f"no dump of rank {shown}: silent, raised already, or not given"] if gone else []


def _picture(facts: Facts) -> Picture | None:
    rows = facts.witnesses.recorded
    if not rows or _of_another_time(facts):
        return None
    members = {one.group: frozenset(one.ranks) for one in facts.witnesses.members}
    by_group: dict[str, list[Recorded]] = {}
    for one in rows:
        by_group.setdefault(one.group, []).append(one)
    hung = [group for name, some in by_group.items() if (group := _hung(name, some, members)) is not None]
    begun = min((group.begun for group in hung), default=0.0)

    def order(group: Hung) -> tuple[float, int, str]:
        late = group.begun - begun
        return (0.0 if late <= CLOCK_DOUBT_SECONDS else late, len(group.members), group.name)

    return Picture(
        groups=tuple(sorted(hung, key=order)),
        waiting=frozenset(one.rank for one in rows if one.seq is not None),
        heard=frozenset(one.rank for one in rows),
        hosts={**{one.rank: one.host for one in rows if one.host}, **dict(facts.ranks)},
    )


def _of_another_time(facts: Facts) -> bool:
    """Whether the attempt made steps long after the newest moment that the dumps tell."""
    newest, last = max((one.at for one in facts.witnesses.recorded), default=0.0), facts.attempt.last_step_at
    return last is not None and newest < last.timestamp() - OLDER_BY_SECONDS


def _hung(name: str, rows: list[Recorded], members: dict[str, frozenset[int]]) -> Hung | None:
    places = [one.seq for one in rows if one.seq is not None]
    if not places:
        return None
    return Hung(name, tuple(rows), members.get(name) or frozenset(one.rank for one in rows), min(places))


def _mismatch(picture: Picture) -> Standstill | None:
    """Case D: at one place of one group ranks run different collectives, or bring different sizes."""
    for group in picture.groups:
        kinds = Counter(_kind(one) for one in group.here)
        if len(kinds) < 2:
            continue
        usual, _ = kinds.most_common(1)[0]
        odd = [one for one in group.here if _kind(one) != usual]
        ranks = sorted_ranks(one.rank for one in odd) if few(len(odd), len(group.here)) else ()
        ops = " and ".join(sorted({one.op for one in group.here}))
        what = f"different collectives ({ops})" if len({one.op for one in group.here}) > 1 else "different sizes"
        words = f"at collective {group.place} of group {group.name} ranks run {what}"
        because = f"{spoken(ranks)} differs from the others: {words}" if ranks else words[:1].upper() + words[1:]
        return _found("D", ranks, picture, because)
    return None


def _kind(one: Recorded) -> tuple[str, str]:
    return one.op, one.size if one.op in OF_EQUAL_SIZE else ""


def _never_joined(picture: Picture) -> Standstill | None:
    """Case A: whoever the others wait for, and waits in no group itself."""
    idle = [
        (group, one.rank) for group in picture.groups for one in group.absent if one.rank not in picture.waiting
    ]
    ranks = sorted_ranks(rank for _group, rank in idle)
    if not ranks or 2 * len(ranks) > len(picture.heard):
        return None
    group = idle[0][0]
    together = len(ranks) == 1 or len({picture.hosts.get(rank, "") for rank in ranks}) == 1
    words = f"completed all that it had enqueued and never joined collective {group.place} of group {group.name}"
    found = _found("A", ranks, picture, f"{spoken(ranks)} {words}")
    return found if together else replace(found, confidence=SPREAD)


def _blocked(picture: Picture) -> Standstill | None:
    """Case J: a few have enqueued the collective and their GPU has not begun it, while that of the others has.

    A stream that waits in a collective of another group is a victim's.
    """
    begun = frozenset(one.rank for group in picture.groups for one in group.here if one.state == STARTED)
    for group in picture.groups:
        blocked = [one for one in group.here if one.state == SCHEDULED]
        ranks = sorted_ranks(one.rank for one in blocked if one.rank not in begun)
        started = [one for one in group.here if one.state == STARTED]
        if blocked and started and few(len(ranks), len(group.here)):
            words = f"enqueued collective {group.place} of group {group.name} and its GPU has not begun it"
            return _found("J", ranks, picture, f"{spoken(ranks)} {words}")
    return None


def _behind(picture: Picture) -> Standstill | None:
    """Case E: a few stand at a collective that most of the others have completed."""
    for group in picture.groups:
        past = [one for one in group.rows if (one.done or 0) >= group.place and one.seq != group.place]
        if few(len(group.here), len(group.rows)) and 2 * len(past) > len(group.rows):
            ranks = sorted_ranks(one.rank for one in group.here)
            words = f"has not completed collective {group.place} of group {group.name}, as the others have"
            return _found("E", ranks, picture, f"{spoken(ranks)} {words}")
    return None


def _no_dump(picture: Picture) -> Standstill | None:
    """Case B: (nearly) all of a group left a dump and wait; the others left none: silent, or raised already."""
    for group in picture.groups:
        gone = sorted_ranks(group.unheard - picture.heard)
        enough = len(group.rows) >= HEARD_AT_LEAST * len(group.members)
        hosts = {picture.hosts.get(rank, "") for rank in gone}
        if gone and enough and not group.absent and (len(gone) == 1 or len(hosts) == 1):
            words = "left no dump while all others wait: the process is gone, stopped, or has raised already"
            return _found("B", gone, picture, f"{spoken(gone)} {words}")
    return None


def _everybody(picture: Picture) -> Standstill | None:
    """Case C: a group is complete and all of it stands at one collective."""
    for group in picture.groups:
        if len(group.members) >= 2 and len(group.here) == len(group.members):
            because = (
                f"All ranks of group {group.name} wait in collective {group.place}, none is missing: "
                "the fabric or a GPU kernel is stuck"
            )
            return Standstill("C", (), (), Layer.HARDWARE_NETWORK, 0.75, because, DUMPS)
    return None


def _crosswise(picture: Picture) -> Standstill | None:
    """Case D: whoever is missing in one group waits in another one, whose missing ranks wait, too."""
    for group in picture.groups:
        if group.absent and all(one.rank in picture.waiting for one in group.absent):
            missing = sorted_ranks(one.rank for one in group.absent)
            ranks = missing if few(len(missing), len(group.rows)) else ()
            words = f"whom group {group.name} waits for waits in another group: the order of collectives differs"
            because = f"{spoken(ranks)}: {words}" if ranks else words[:1].upper() + words[1:]
            return replace(_found("D", ranks, picture, because), confidence=CROSSWISE)
    return None


def _found(case: str, ranks: tuple[int, ...], picture: Picture, because: str) -> Standstill:
    hosts = tuple(sorted({host for rank in ranks if (host := picture.hosts.get(rank))}))
    layer, confidence = SURENESS[case]
    return Standstill(case, ranks, hosts, layer, confidence, because, DUMPS)


SURENESS = {
    "A": (Layer.APPLICATION, 0.9),
    "B": (Layer.HARDWARE_HOST, 0.7),  # not 0.85: whoever has raised already leaves no dump either
    "D": (Layer.APPLICATION, 0.85),
    "E": (Layer.APPLICATION, 0.85),
    "J": (Layer.HARDWARE_GPU, 0.85),
}
"""Layer and confidence of each case (section 6.3); other evidence of a host moves the layer."""
SPREAD = 0.7  # of ranks on several hosts that never joined
CROSSWISE = 0.7

CASES: tuple[Callable[[Picture], Standstill | None], ...] = (
    _mismatch,
    _never_joined,
    _blocked,
    _behind,
    _no_dump,
    _everybody,
    _crosswise,
)
"""In the order in which they are asked."""
