"""What is new in the log store of a cluster? One query for all its jobs, page by page.

A page is read outside any transaction. One short transaction then moves the cursor by compare-and-swap together
with what the attempts gained; zero rows moved, and all of it is dropped (decisions 1).
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import F, Min

from detectors.catalogue.records import Turn
from detectors.catalogue.turning import turn as catalogue_turn
from detectors.claims import EARLY
from detectors.early_warnings import EarlyWarnings
from detectors.excerpts import cut_excerpts
from detectors.gathering import load, stream_key
from detectors.gpu_uses import uses_of
from detectors.models import Feed
from detectors.quiet_source import Neighbours
from detectors.reading import TOGETHER, Clock, Shared, past_of, turned_of
from detectors.seeing import store_broken
from detectors.site_catalogues import SiteCatalogues, site_catalogues
from detectors.store_asking import Ask, Place, asking, place_of
from detectors.store_claims import Claim
from detectors.store_gathering import Told, news_of, runs_between
from detectors.store_sight import store_seen, store_unseen, trouble_of
from detectors.stores import STORES
from detectors.stores.belonging import Assigned, Runs, assign
from detectors.stores.paging import Pass, answered, begin, failed
from detectors.stores.seen import LATEST, OVERLAP, Cursor
from detectors.stores.store import SECOND, Line, StoreTrouble
from detectors.storing import Overtaken, store
from detectors.turned import Past, Turned
from schedulers.states import FINAL
from workloads.models import Attempt

log = logging.getLogger(__name__)
LINES = 20_000  # new lines of one selector in one turn
BYTES_FACTOR = 8  # times REKINDLE_READ_BYTES: the text of one selector in one turn
TAKEN = 500  # lines in one transaction: short enough for the other writers
QUESTIONS = 200  # to one selector in one turn
DEEP = 30  # seconds between two reads of the whole overlap; in between only its end is read again
LISTING = 5  # seconds by which the clocks of a node and of the site may differ
TURNS = 2_000  # attempts without new lines in one turn


@dataclass
class _Reading:
    """One turn over one cluster. `at_end`: every line of the jobs was read; `doubted`: see `belonging`."""

    claim: Claim
    place: Place
    ask: Ask
    turn: Turn
    now: datetime
    known: SiteCatalogues = field(default_factory=site_catalogues)
    neighbours: Neighbours = field(default_factory=Neighbours)
    at_end: bool = False
    doubted: set[int] = field(default_factory=set)
    clock: Clock | None = None

    @property
    def now_ns(self) -> int:
        """Now in ns since 1970."""
        return int(self.now.timestamp()) * SECOND + self.now.microsecond * 1000

    def told(self, *, at_end: bool, heard: bool) -> Told:
        """What the attempts of this turn have in common; `heard`: the store has just given lines."""
        trouble = "" if heard else trouble_of(self.claim.cluster, self.now)
        place = self.place
        return Told(
            place.store.name, place.labels, place.job_lines, trouble, at_end, self.now, frozenset(self.doubted)
        )


@dataclass
class _Selected:
    """One selector, its cursor, and the row that holds it. `waiting`: lines (ns) that wait for a listing."""

    selector: str
    of_nodes: bool
    feed: Feed | None
    cursor: Cursor
    waiting: list[int] = field(default_factory=list)


def read_cluster(
    claim: Claim,
    now: datetime,
    ask: Ask | None = None,
    turn: Turn = catalogue_turn,
    clock: Clock | None = None,
) -> bool:
    """Read the store of a claimed cluster and turn over its attempts; `False` when somebody else took the claim.

    `clock`: of the door, by which it is told when something was found.
    """
    cluster = claim.cluster
    place = place_of(cluster)
    reading = _Reading(claim, place, ask or asking(cluster), turn, now, clock=clock)
    try:
        _ask_store(reading)
        behind = _turn_due(reading)
        pause = timedelta(seconds=settings.REKINDLE["REKINDLE_READ_SECONDS"])
        more = behind or (not reading.at_end and cluster.log_store_unseen_since is None)
        claim.release(now if more else now + pause)
    except Overtaken as error:
        log.info("dropped a turn over the log store of %s: %s", cluster.name, error)
        return False
    return True


def _ask_store(reading: _Reading) -> None:
    """Read both selectors as far as one turn goes; a trouble is stored, and what was read before it is kept."""
    cluster, place = reading.claim.cluster, reading.place
    if cluster.log_store_retry_at is not None and reading.now < cluster.log_store_retry_at:
        return
    try:
        at_end = _read_selector(reading, _selected(reading, place.job_lines, of_nodes=False))
        if place.node_lines:
            _read_selector(reading, _selected(reading, place.node_lines, of_nodes=True))
    except StoreTrouble as trouble:
        store_unseen(cluster, str(trouble), reading.now)
        return
    store_seen(cluster, reading.now)
    reading.at_end = at_end


def _selected(reading: _Reading, selector: str, *, of_nodes: bool) -> _Selected:
    cluster, place = reading.claim.cluster, reading.place
    mine = Feed.objects.filter(cluster=cluster, attempt=None, source=place.store.name)
    feed = mine.filter(stream_key=stream_key(place.stream(selector))).first()
    cursor = Cursor.read(feed.position) if feed else None
    return _Selected(selector, of_nodes, feed, cursor or Cursor.at(_first(reading)))


def _first(reading: _Reading) -> int:
    """Where a selector is begun: at the start of the oldest running attempt, or where one given up was left."""
    cluster, place = reading.claim.cluster, reading.place
    earliest = reading.now - timedelta(seconds=LATEST)
    of_stores = Feed.objects.filter(source__in=[store.name for store in STORES])
    given_up = of_stores.filter(cluster=cluster, attempt=None, moved_at__isnull=False).exclude(
        stream_key__in=[stream_key(place.stream(selector)) for selector in (place.job_lines, place.node_lines)]
    )
    last = given_up.order_by("-moved_at").first()
    if last is not None and last.moved_at is not None:
        begins = last.moved_at
    else:
        live = Attempt.objects.filter(job__cluster=cluster, started_at__isnull=False)
        oldest = live.exclude(state__in=[state.value for state in FINAL]).aggregate(at=Min("started_at"))["at"]
        begins = oldest or reading.now - timedelta(seconds=OVERLAP)
    return int(max(begins, earliest).timestamp()) * SECOND


def _read_selector(reading: _Reading, selected: _Selected) -> bool:
    """Read what is new; whether that is everything. Raises `StoreTrouble`, `Overtaken`."""
    place, now_s = reading.place, reading.now_ns // SECOND
    cursor = selected.cursor = selected.cursor.by_clock(reading.now_ns)
    listed_at = reading.claim.cluster.seen_at
    listed = cursor.waits_from > 0 and listed_at is not None and listed_at.timestamp() > cursor.deep_at
    deep = not 0 <= now_s - cursor.deep_at < DEEP or listed
    if deep:
        start = cursor.start(LATEST if cursor.waits_from else OVERLAP)
        selected.cursor = replace(cursor, deep_at=now_s)
    else:
        start = cursor.start(place.store.settles_seconds)
    state = begin(start, reading.now_ns, place.store.page, place.store.instant)
    lines_left, bytes_left = LINES, settings.REKINDLE["REKINDLE_READ_BYTES"] * BYTES_FACTOR
    for _question in range(QUESTIONS):
        if state.done or lines_left <= 0 or bytes_left <= 0:
            break
        before = state
        state, complete = _next_page(reading, selected, state)
        new = selected.cursor.new(complete)
        lines_left -= len(new)
        bytes_left -= sum(len(line.text) for line in new)
        _take(reading, selected, new, uncertain=state.uncertain - before.uncertain, at_end=state.done)
    if state.done:
        ended = selected.cursor.reached(reading.now_ns)
        if deep:  # everything that waited was looked at again
            ended = replace(ended, waits_from=min(selected.waiting, default=0))
        ended = ended.pruned()
        if selected.feed is None or ended.stored() != selected.feed.position:
            _commit(reading, selected, ended, [])
    return state.done


def _next_page(reading: _Reading, selected: _Selected, state: Pass) -> tuple[Pass, tuple[Line, ...]]:
    place = reading.place
    reading.claim.prolong(reading.now)
    try:
        request = place.store.request(selected.selector, place.tenant, state.questions[0])
        return answered(state, place.store.lines(reading.ask(request)))
    except StoreTrouble as trouble:
        return failed(state, trouble), ()


def _take(reading: _Reading, selected: _Selected, new: Sequence[Line], *, uncertain: int, at_end: bool) -> None:
    """Assign new lines, turn over their attempts, and store both with the cursor, `TAKEN` lines at a time."""
    if not new and not uncertain:
        return
    runs = Runs(runs_between(reading.claim.cluster, new[0].ns, new[-1].ns) if new else ())
    if uncertain:
        cursor = replace(selected.cursor, uncertain=selected.cursor.uncertain + uncertain)
        _commit(reading, selected, cursor, [])
    for start in range(0, len(new), TAKEN):
        some = new[start : start + TAKEN]
        _take_some(reading, selected, _assign(reading, selected, some, runs), at_end=at_end and some[-1] is new[-1])


def _take_some(reading: _Reading, selected: _Selected, assigned: Assigned, *, at_end: bool) -> None:
    reading.doubted |= assigned.doubted
    selected.waiting += [line.ns for line in assigned.waiting]
    cursor = selected.cursor
    waits = [*selected.waiting, *([cursor.waits_from] if cursor.waits_from else [])]
    cursor = replace(
        cursor.taking(assigned.settled),
        waits_from=min(waits, default=0),
        nobody=cursor.nobody + assigned.nobody,
        several=cursor.several + assigned.several,
    ).pruned()
    if not assigned.settled:
        selected.cursor = cursor  # what waits is not read yet: nothing to store
        return
    _commit(reading, selected, cursor, _turns(reading, selected, assigned.lines, at_end=at_end))


def _assign(reading: _Reading, selected: _Selected, some: Sequence[Line], runs: Runs) -> Assigned:
    listed_at = reading.claim.cluster.seen_at
    return assign(
        some,
        runs,
        reading.place.labels,
        of_nodes=selected.of_nodes,
        listed_until=int(listed_at.timestamp() - LISTING) * SECOND if listed_at else 0,
        oldest=reading.now_ns - LATEST * SECOND,
    )


def _turns(
    reading: _Reading, selected: _Selected, lines: Mapping[int, Sequence[Line]], *, at_end: bool
) -> list[Turned]:
    attempts = list(Attempt.objects.filter(pk__in=list(lines)).select_related("job__cluster"))
    told = reading.told(at_end=at_end and not selected.of_nodes, heard=True)
    return _turned(reading, attempts, told, {} if selected.of_nodes else lines, lines if selected.of_nodes else {})


def _turned(
    reading: _Reading,
    attempts: Sequence[Attempt],
    told: Told,
    lines: Mapping[int, Sequence[Line]],
    of_node: Mapping[int, Sequence[Line]],
) -> list[Turned]:
    """The turns of some attempts; whoever cannot understand an attempt's lines is blind on it, and on no other."""
    stored, past = load(attempts), past_of(attempts)
    uses = uses_of(attempts, reading.now)
    warnings = EarlyWarnings(attempts)
    shared = Shared(reading.turn, reading.known, reading.neighbours, warnings, uses, reading.clock)
    turned = []
    for attempt in attempts:
        try:
            news = news_of(attempt, stored, told, lines.get(attempt.pk, ()), of_node.get(attempt.pk, ()))
            turned.append(turned_of(news, past.get(attempt.pk, Past()), shared, reading.now))
        except Exception as error:  # one hostile line must not stop the reading of all others
            log.exception("the detectors failed on attempt %s", attempt.label)
            store_broken(attempt, error, reading.now)
    return turned


def _commit(reading: _Reading, selected: _Selected, cursor: Cursor, turned: Sequence[Turned]) -> None:
    """The one transaction of a page. Raises `Overtaken`."""
    before = selected.feed
    place, cluster = reading.place, reading.claim.cluster
    values = {"position": cursor.stored(), "moved_at": reading.now}
    made: list[Feed] = []

    def move() -> None:
        reading.claim.renew()
        if before is not None:
            mine = Feed.objects.filter(pk=before.pk, revision=before.revision)
            if not mine.update(revision=F("revision") + 1, **values):
                raise Overtaken(f"the cursor of {cluster.name}'s log store moved")
            return
        name = place.stream(selected.selector)
        identity = {"cluster": cluster, "source": place.store.name, "stream": name, "stream_key": stream_key(name)}
        made[:] = [Feed.objects.create(revision=1, **identity, **values)]

    _store(reading, turned, move)
    if before is not None:
        before.revision += 1
        before.position = values["position"]
    selected.feed = made[0] if made else before
    selected.cursor = cursor


def _store(reading: _Reading, turned: Sequence[Turned], first: Callable[[], None]) -> None:
    """Store some turns behind one compare-and-swap; one that cannot be stored is left out, and stops no other."""
    mark, now = reading.claim.mark, reading.now
    try:
        store([(one, cut_excerpts(one, now)) for one in turned], now, first)
        return
    except Overtaken:
        raise
    except Exception:
        if not turned:
            raise
        log.exception("could not store the turns over the log store of %s together", reading.claim.cluster.name)
    reading.claim.mark = mark  # what was moved is rolled back
    broken: list[tuple[Attempt, Exception]] = []
    with transaction.atomic():
        first()
        for one in turned:
            try:
                store([(one, cut_excerpts(one, now))], now, _nothing)
            except Exception as error:
                log.exception("could not store the turn over attempt %s", one.attempt.label)
                broken.append((one.attempt, error))
    for attempt, why in broken:
        store_broken(attempt, why, now)


def _nothing() -> None:
    """The compare-and-swap was done already."""


def _turn_due(reading: _Reading) -> bool:
    """Turn over the attempts that are due without a new line; whether some are left."""
    early = timedelta(seconds=EARLY * settings.REKINDLE["REKINDLE_READ_SECONDS"])
    due = Attempt.objects.filter(job__cluster=reading.claim.cluster, read_due_at__lte=reading.now + early)
    keys = list(due.order_by("read_due_at").values_list("pk", flat=True)[: TURNS + 1])
    told = reading.told(at_end=reading.at_end, heard=False)
    for start in range(0, min(len(keys), TURNS), TOGETHER):
        some = Attempt.objects.filter(pk__in=keys[start : start + TOGETHER]).select_related("job__cluster")
        turned = _turned(reading, list(some), told, {}, {})
        if turned:
            _store(reading, turned, reading.claim.renew)
    return len(keys) > TURNS
