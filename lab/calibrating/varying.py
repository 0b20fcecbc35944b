"""In which other situation could the same case have come about? Drawn from the name of the case and a seed.

What is drawn: which node, rank and GPU is struck, how many nodes there are, in which step, in whose dialect, under
which job number (so by which clocks), which harmless lines stand before it, and how the log came to its reader
(`Copy`). The truth stays what it is. What a case depends on is left as it is: a node that it names, a step that has
to come again, a rhythm that is judged.
"""

import random
from dataclasses import dataclass, replace

from lab.cases.case import Case, Simulated
from lab.dialects.known import DIALECTS
from lab.simulate.play import Fault, Play
from lab.simulate.settings import Settings
from lab.texts import lookalikes, passing
from lab.virtual.scene import FIRST_JOB

BY_RHYTHM = frozenset({"slow", "silence", "numbers", "data"})
"""Groups in which the dialect decides what can be seen."""
STEPS = 12  # a fault comes up to so many steps later
EARLY = 10  # a fault before this step is one of the start, and stays there
LARGE = 16  # nodes: of more, some are drawn
SPARE = 4  # nodes beside the job's
HARMLESS = tuple(sorted({*lookalikes.TEXTS, *(set(passing.TEXTS) & {"retries", "port_flap", "corrected"})}))
"""Texts of traps: there is nothing to be done about any of them."""
HARMLESS_OF_TEN = 4
PREFIXES = ("", "", "", "label", "time", "container", "colour")
EXCERPTS = 0.3
LOST = (0.0, 0.0, 0.0, 0.02, 0.1, 0.3)
OUT_OF_ORDER = (0, 0, 0, 3, 10)


@dataclass(frozen=True, slots=True)
class Copy:
    """How a log came to its reader.

    `prefix`: what stands before each line: nothing, the rank as `srun -l` labels it, a time, that of a container's
    log, a colour. `excerpt`: so many lines before and behind the fault's first one and no others are there, as
    somebody pasted them (empty: all of them). `head`: share of the lines before the fault that is missing from the
    beginning, `lost`: share of all lines that is missing anywhere, `tail`: lines missing at the end, `order`: by
    how many lines a line may stand too late. `scheduler`: whether anybody asked it. `seed`: of which lines.
    """

    prefix: str = ""
    excerpt: tuple[int, ...] = ()
    head: float = 0.0
    lost: float = 0.0
    tail: int = 0
    order: int = 0
    scheduler: bool = True
    seed: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """A case as a seed puts it on. `own`: its faults; what else strikes is harmless."""

    case: Case
    own: tuple[Fault, ...]
    copy: Copy


def situation(case: Case, seed: int) -> Situation:
    """The situation that a seed draws: always the same one. Raises `ValueError` for a case of several jobs."""
    script = case.simulated
    if script is None or len(script.jobs) != 1:
        raise ValueError(f"{case.name} is no case of one simulated job")
    chance = random.Random(f"{case.name} {seed}")
    (begin, play), settings = script.jobs[0], dict(script.settings)
    gpus = int(settings.get("gpus_per_node", Settings().gpus_per_node))
    play = _play(case, play, gpus, chance)
    own = play.faults
    if chance.randrange(10) < HARMLESS_OF_TEN:
        play = replace(play, faults=(*_harmless(play, gpus, chance), *own))
    count = max(play.nodes + SPARE, len(settings.get("node_names", Settings().node_names)))
    settings["node_names"] = _names(tuple(settings.get("node_names", Settings().node_names)), count)
    settings["first_job"] = FIRST_JOB + chance.randrange(100_000)
    varied = Simulated(((begin, play),), script.seconds + STEPS * play.step_seconds, (), settings)
    return Situation(replace(case, simulated=varied), own, _copy(own, chance, f"{case.name} {seed}"))


def _play(case: Case, play: Play, gpus: int, chance: random.Random) -> Play:
    nodes, faults, dialect = play.nodes, play.faults, play.dialect
    free = not any(one.node_name or isinstance(one.node, str) for one in faults)
    places = list(dict.fromkeys((one.node, one.gpu) for one in faults))
    struck = len({node for node, _ in places})
    if play.nodes > 1 and free:
        nodes = chance.randint(max(2, struck + 1), max(min(LARGE, 2 * play.nodes), struck + 1))
    if case.group not in BY_RHYTHM and dialect in DIALECTS:
        dialect = chance.choice(tuple(DIALECTS))
    later = chance.randrange(STEPS)
    where = _elsewhere(places, nodes, gpus, chance) if free else {place: place for place in places}
    moved = tuple(_fault(one, where[one.node, one.gpu], later) for one in faults)
    return replace(play, nodes=nodes, dialect=dialect, faults=moved)


Place = tuple[int | str, int]
"""Node and GPU."""


def _elsewhere(places: list[Place], nodes: int, gpus: int, chance: random.Random) -> dict[Place, Place]:
    """Another place for each; what was on different nodes stays on different ones."""
    before = list(dict.fromkeys(node for node, _ in places))
    after = dict(zip(before, chance.sample(range(nodes), len(before)), strict=True))
    return {(node, gpu): (after[node], chance.randrange(gpus)) for node, gpu in places}


def _fault(fault: Fault, place: Place, later: int) -> Fault:
    """Elsewhere and a little later. Every step that has a meaning stays."""
    shifted = fault.step >= EARLY and fault.until is None and not fault.every
    return replace(fault, node=place[0], gpu=place[1], step=fault.step + later if shifted else fault.step)


def _harmless(play: Play, gpus: int, chance: random.Random) -> tuple[Fault, ...]:
    """One or two harmless texts some steps after the start, on any node; before the fault where there is room."""
    first = min((one.step for one in play.faults), default=EARLY)
    return tuple(
        Fault(
            "text",
            step=chance.randint(1, max(1, first - 1)),
            attempt=0,
            node=chance.randrange(play.nodes),
            gpu=chance.randrange(gpus),
            text=chance.choice(HARMLESS),
            ends="goes_on",
        )
        for _ in range(chance.choice((1, 1, 2)))
    )


def _copy(own: tuple[Fault, ...], chance: random.Random, seed: str) -> Copy:
    told = any(one.kind != "text" for one in own) or not own or chance.random() < 0.7
    return Copy(
        prefix=chance.choice(PREFIXES),
        excerpt=(chance.randint(0, 10), chance.randint(3, 60)) if own and chance.random() < EXCERPTS else (),
        head=chance.random() if chance.random() < 0.25 else 0.0,
        lost=chance.choice(LOST),
        tail=chance.randint(1, 10) if chance.random() < 0.15 else 0,
        order=chance.choice(OUT_OF_ORDER),
        scheduler=told,
        seed=seed,
    )


def _names(known: tuple[str, ...], count: int) -> tuple[str, ...]:
    """Names after the first one, as many as are needed."""
    if len(known) >= count:
        return known
    head = known[0].rstrip("0123456789")
    width = max(len(str(count)), len(known[0]) - len(head))
    return tuple(f"{head}{number:0{width}d}" for number in range(1, count + 1))
