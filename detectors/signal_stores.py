"""What does the log store of a cluster show? A bounded sample and its lists of labels; no cursor is moved."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

from detectors.signal_bounds import Bounds
from detectors.signals.facts import StoreFacts
from detectors.signals.mapping import Known, Mapped, candidates_of, command_of, propose
from detectors.store_asking import Ask, Place
from detectors.stores.paging import answered, begin, failed
from detectors.stores.store import SECOND, Labels, Line, Question, StoreTrouble
from workloads.log_stores import is_label

WINDOWS = ((10, 0), (60, 10), (600, 60))  # seconds before now, the newest first
QUESTIONS = 4  # to one window
LINES = 8_000
NAMED_LABELS = 40  # of which the values are asked for
LISTED = 3_600  # seconds for which labels are listed, and lines of nodes looked for
AHEAD = (60, 14 * 3_600)  # seconds ahead of now in which no line should be
DAY = 86_400
STEPS = 12  # halvings of a day: to about twenty seconds
NODE_LINES = 500
STRANGE = 5
Value = TypeVar("Value")


@dataclass(frozen=True)
class AskedStore:
    """Whose log store it is, where, and how it is asked."""

    cluster: str
    place: Place
    ask: Ask


@dataclass
class _Look:
    """One look at one store."""

    place: Place
    ask: Ask
    bounds: Bounds
    now_ns: int
    cut: bool = False

    def page(self, selector: str, question: Question) -> Sequence[Line]:
        """One answer. Raises `StoreTrouble`, also when the time is up."""
        if self.bounds.up:
            raise StoreTrouble("the time of this look is used up")
        store = self.place.store
        return store.lines(self.ask(store.request(selector, self.place.tenant, question)))


@dataclass(frozen=True)
class StoreSample:
    """The facts of a store, and the sampled lines of jobs by what stands in their job label."""

    facts: StoreFacts
    lines: Mapping[str, Sequence[Line]] = field(default_factory=dict)


def store_sample(asked: AskedStore, known: Known, bounds: Bounds, now: datetime) -> StoreSample:
    """Ask the store within the bounds; a trouble stands in the facts."""
    place = asked.place
    look = _Look(place, asked.ask, bounds, int(now.timestamp()) * SECOND)
    title, labels = place.store.title, place.labels
    try:
        lines = _sample(look, place.job_lines)
        ahead = look.page(place.job_lines, _window(look, -AHEAD[0], -AHEAD[1], 50))
        last = None if lines or ahead else _newest(look)
    except StoreTrouble as trouble:
        return StoreSample(StoreFacts(title, str(trouble), job_label=labels.job_id))
    by_job: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        by_job[line.labels.get(labels.job_id, "")].append(line)
    named = sum(len(some) for job, some in by_job.items() if job)
    mapped = _mapped(look, asked.cluster, lines, known)
    count, fitting, strange, trouble_of_nodes = _nodes(look, known)
    facts = StoreFacts(
        title=title,
        lines=len(lines),
        named=named,
        cut=look.cut,
        job_label=labels.job_id,
        ahead_at=_moment(ahead[-1].ns) if ahead else None,
        last_at=_moment(last) if last is not None else None,
        node_lines=count,
        node_known=fitting,
        node_strange=strange,
        node_label=labels.node,
        node_trouble=trouble_of_nodes,
        mapped=mapped,
    )
    return StoreSample(facts, by_job)


def _window(look: _Look, start: int, end: int, limit: int) -> Question:
    """Seconds before now; negative ones lie ahead."""
    return Question(look.now_ns - start * SECOND, look.now_ns - end * SECOND, limit)


def _sample(look: _Look, selector: str) -> list[Line]:
    """Lines of the last minutes, the newest window first, in the order of time."""
    store = look.place.store
    lines: list[Line] = []
    for start, end in WINDOWS:
        newest = look.now_ns + SECOND if not end else look.now_ns - end * SECOND
        state = begin(look.now_ns - start * SECOND, newest, store.page, store.instant)
        for _question in range(QUESTIONS):
            if state.done or len(lines) >= LINES:
                break
            try:
                state, complete = answered(state, look.page(selector, state.questions[0]))
                lines += complete
            except StoreTrouble as trouble:
                state = failed(state, trouble)
        look.cut = look.cut or not state.done
    return sorted(lines, key=lambda line: line.ns)[-LINES:]


def _newest(look: _Look) -> int | None:
    """About when the newest line of the last day was written, by halves: a few questions of one line each."""
    start, end, found = look.now_ns - DAY * SECOND, look.now_ns, None
    for _step in range(STEPS):
        middle = (start + end) // 2
        later = look.page(look.place.job_lines, Question(middle, end, 1))
        if later:
            start, found = later[-1].ns, later[-1].ns
        elif found is None and not (earlier := look.page(look.place.job_lines, Question(start, middle, 1))):
            return None
        else:
            found, end = found if found is not None else earlier[-1].ns, middle
    return found


def _nodes(look: _Look, known: Known) -> tuple[int | None, int, tuple[str, ...], str]:
    """Lines of nodes in the last hour: how many, how many of known nodes, and values that are no node."""
    place = look.place
    if not place.node_lines:
        return None, 0, (), ""
    try:
        lines = look.page(place.node_lines, _window(look, LISTED, 0, NODE_LINES))
    except StoreTrouble as trouble:
        return 0, 0, (), str(trouble)
    values = [line.labels.get(place.labels.node, "") for line in lines]
    strange = [value for value in values if not is_node(value, known)]
    told = tuple(dict.fromkeys(value for value in strange if value))[:STRANGE]
    return len(lines), len(values) - len(strange), told, ""


def is_node(value: str, known: Known) -> bool:
    """Whether the scheduler knows a node of this name, with or without its domain."""
    return value in known.nodes or value.partition(".")[0] in known.nodes


def _mapped(look: _Look, cluster: str, lines: Sequence[Line], known: Known) -> Mapped:
    """Which labels fit, by the store's own lists and by the sample; where the selector gives none, by another."""
    place, trouble = look.place, ""
    values: dict[str, Sequence[str]] = {}
    try:
        values = _values(look)
    except StoreTrouble as told:
        trouble = str(told)
    rows = [line.labels for line in lines]
    candidates = candidates_of(_usable(values), [_usable(row) for row in rows], known)
    selector = ""
    job = next((one.label for one in candidates if one.field == "job_id"), "")
    if job and not any(row.get(job) for row in rows):
        selector = place.store.having(job)
        try:  # structured metadata and plain fields are told by lines alone
            others = look.page(selector, _window(look, WINDOWS[-1][0], 0, place.store.page))
            rows = [_usable(line.labels) for line in others]
            candidates = candidates_of(_usable(values), rows, known)
        except StoreTrouble as told:
            trouble = str(told)
    present = _present(place.labels)
    proposal = propose(candidates, present)
    changed = {name: label for name, label in proposal.items() if present.get(name) != label}
    wanted = bool(candidates) and "job_id" in proposal and bool(changed or selector)
    command = command_of(cluster, proposal, selector) if wanted else ""
    return Mapped(candidates, proposal, present, command, trouble)


def _values(look: _Look) -> dict[str, Sequence[str]]:
    """The values of each label in the last hour."""
    place, store = look.place, look.place.store
    start, end = look.now_ns - LISTED * SECOND, look.now_ns + SECOND
    names = store.names(look.ask(store.names_request(place.tenant, start, end)))
    found: dict[str, Sequence[str]] = {}
    for name in [name for name in names if is_label(name)][:NAMED_LABELS]:
        if look.bounds.up:
            break
        found[name] = store.values(look.ask(store.values_request(name, place.tenant, start, end)))
    return found


def _usable(labels: Mapping[str, Value]) -> dict[str, Value]:
    """Without labels that could not be mapped: their names are no names."""
    return {name: value for name, value in labels.items() if is_label(name) and not name.startswith("_")}


def _present(labels: Labels) -> dict[str, str]:
    return {name: label for name, label in vars(labels).items() if label}


def _moment(ns: int) -> datetime:
    return datetime.fromtimestamp(ns / SECOND, UTC)
