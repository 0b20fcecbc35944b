"""Does reading page by page give every line once, whatever the pages, and whatever the store does meanwhile?"""

import random
from collections import Counter
from collections.abc import Iterable

import pytest

from detectors.stores import STORES
from detectors.stores.paging import answered, begin, failed
from detectors.stores.seen import OVERLAP, REMEMBERED, Cursor
from detectors.stores.store import Line, Question, Store, StoreTrouble, TooMuch, TooSlow, key_of
from tests.detectors.stores.pretend import Pretend, Row, recorded_rows
from tests.detectors.stores.recorded import T0

SECOND = 1_000_000_000
ALL = '{job_id!=""}'
each_store = pytest.mark.parametrize("store", STORES, ids=lambda store: store.name)


def read(
    store: Store, pretend: Pretend, cursor: Cursor, end: int, *, page: int, instant: int, overlap: int = OVERLAP
) -> tuple[Cursor, list[Line], int]:
    """One pass to its end: the cursor after it, the new lines and the instants that stayed uncertain."""
    state, new = begin(cursor.start(overlap), end, page, instant), []
    for _question in range(20_000):
        if state.done:
            break
        try:
            answer = pretend.answer(store.request(ALL, "", state.questions[0]))
            state, complete = answered(state, store.lines(answer))
        except StoreTrouble as trouble:
            state, complete = failed(state, trouble), ()
        fresh = cursor.new(complete)
        cursor = cursor.taking(fresh).pruned()
        new += fresh
    assert state.done
    return Cursor.read(cursor.stored()) or cursor, new, state.uncertain


def counts(rows: Iterable[Row], kind: str) -> Counter[tuple[int, str, str]]:
    """What a store gives of lines pushed: one of them keeps equal ones once."""
    found = [(row.ns, row.text, str(sorted({**row.labels, **row.fields}.items()))) for row in rows]
    return Counter(set(found)) if kind == "loki" else Counter(found)


def texts(lines: Iterable[Line]) -> Counter[tuple[int, str]]:
    return Counter((line.ns, line.text) for line in lines)


def expected(pretend: Pretend) -> Counter[tuple[int, str]]:
    wanted = [row for row in pretend.rows if row.labels.get("job_id")]
    found: Counter[tuple[int, str]] = Counter()
    for (ns, text, _labels), count in counts(wanted, pretend.kind).items():
        found[ns, text] += count
    return found


@each_store
@pytest.mark.parametrize("page", [1, 3, 7, 10, 31, 5000])
def test_every_recorded_line_comes_once(store: Store, page: int) -> None:
    pretend = Pretend(store.name, recorded_rows(store.name))
    cursor, new, uncertain = read(store, pretend, Cursor.at(T0), T0 + 600 * SECOND, page=page, instant=5000)
    assert texts(new) == expected(pretend) and len(new) > 80 and not uncertain
    _cursor, again, _uncertain = read(store, pretend, cursor, T0 + 600 * SECOND, page=page, instant=5000)
    assert again == []


@each_store
@pytest.mark.parametrize("instant", [1000, 40])
def test_more_lines_of_one_instant_than_a_page_holds(store: Store, instant: int) -> None:
    pretend = Pretend(store.name, limit=1000)
    for rank in range(500):
        pretend.push(T0 + SECOND, f"[rank{rank}] aborted", {"job_id": "1"})
    pretend.push(T0 + 2 * SECOND, "after", {"job_id": "1"})
    _cursor, new, uncertain = read(store, pretend, Cursor.at(T0), T0 + 9 * SECOND, page=10, instant=instant)
    assert texts(new) == expected(pretend) and not uncertain


def test_an_instant_that_cannot_be_parted_is_counted_and_passed() -> None:
    (loki,) = (store for store in STORES if store.name == "loki")
    pretend = Pretend("loki", limit=10)
    for word in range(100):
        pretend.push(T0 + SECOND, "x" * (word + 1), {"job_id": "1"})
    pretend.push(T0 + 2 * SECOND, "after", {"job_id": "1"})
    _cursor, new, uncertain = read(loki, pretend, Cursor.at(T0), T0 + 9 * SECOND, page=10, instant=10)
    assert uncertain == 1 and new[-1].text == "after" and len(new) == 11


@each_store
def test_late_lines_within_the_overlap_come_once(store: Store) -> None:
    pretend = Pretend(store.name)
    pretend.push(T0 + 400 * SECOND, "newest", {"job_id": "1"})
    cursor, _new, _ = read(store, pretend, Cursor.at(T0), T0 + 401 * SECOND, page=10, instant=100)
    pretend.push(T0 + 150 * SECOND, "five minutes late", {"job_id": "1"})
    cursor, new, _ = read(store, pretend, cursor, T0 + 402 * SECOND, page=10, instant=100)
    assert [line.text for line in new] == ["five minutes late"]
    assert read(store, pretend, cursor, T0 + 403 * SECOND, page=10, instant=100)[1] == []


@each_store
def test_a_store_that_shows_lines_late_and_in_any_order_loses_and_repeats_none(store: Store) -> None:
    """Random lines, some equal, arrive up to two minutes late, while reads go on with short and long overlaps."""
    dice = random.Random(7)
    pretend, new = Pretend(store.name), []
    rows = [
        (T0 + dice.randrange(300) * SECOND + dice.randrange(3), f"line {dice.randrange(40)}") for _ in range(600)
    ]
    arrivals = sorted((ns + dice.randrange(120) * SECOND, ns, text) for ns, text in rows)
    cursor = Cursor.at(T0)
    for second in range(0, 600, 5):
        now = T0 + second * SECOND
        while arrivals and arrivals[0][0] <= now:
            _arrived, ns, text = arrivals.pop(0)
            pretend.push(ns, text, {"job_id": str(1 + ns % 3)})
        overlap = OVERLAP if second % 30 == 0 else 5
        cursor, found, _ = read(store, pretend, cursor, now, page=25, instant=100, overlap=overlap)
        new += found
    assert texts(new) == expected(pretend)


@each_store
def test_what_was_read_is_known_after_a_restart_of_the_reader(store: Store) -> None:
    pretend = Pretend(store.name, recorded_rows(store.name))
    cursor, _new, _ = read(store, pretend, Cursor.at(T0), T0 + 600 * SECOND, page=31, instant=5000)
    stored = cursor.stored()
    assert Cursor.read(stored) == cursor and Cursor.read({"ns": "x"}) is None and Cursor.read({}) is None


def line(ns: int, text: str = "x") -> Line:
    return Line(ns, text, {}, key_of(ns, text, {}))


class TestCursor:
    def test_equal_lines_are_counted(self) -> None:
        cursor = Cursor.at(T0).taking([line(T0), line(T0)])
        assert cursor.new([line(T0), line(T0)]) == ()
        assert len(cursor.new([line(T0), line(T0), line(T0)])) == 1

    def test_what_is_remembered_is_bounded_and_the_overlap_gets_shorter(self) -> None:
        lines = [line(T0 + second * SECOND + one) for second in range(30) for one in range(REMEMBERED // 20)]
        cursor = Cursor.at(T0).taking(lines).pruned()
        assert sum(keys.total() for keys in cursor.seen.values()) <= REMEMBERED
        assert cursor.start(OVERLAP) == cursor.floor * SECOND > T0
        assert cursor.new(lines) == ()

    def test_a_quiet_store_keeps_its_place_as_long_as_lines_may_still_come(self) -> None:
        cursor = Cursor.at(T0)
        assert cursor.reached(T0 + 600 * SECOND).ns == T0
        assert cursor.reached(T0 + 7200 * SECOND).ns == T0 + 4200 * SECOND

    def test_what_waits_for_its_attempt_stays_within_reach(self) -> None:
        cursor = Cursor.at(T0).taking([line(T0 + 900 * SECOND)])
        assert cursor.pruned().floor == T0 // SECOND + 600
        waiting = Cursor(**{**vars(cursor), "waits_from": T0 + 100 * SECOND})
        assert waiting.pruned().floor == T0 // SECOND + 100


class TestTroubles:
    state = begin(T0, T0 + 8 * SECOND, 100, 500)

    def test_long_windows_are_asked_hour_by_hour(self) -> None:
        pieces = begin(T0, T0 + 9000 * SECOND, 10, 10).questions
        assert [piece.end - piece.start for piece in pieces] == [3600 * SECOND, 3600 * SECOND, 1800 * SECOND]
        assert begin(T0, T0, 10, 10).done

    def test_a_slow_window_is_halved_down_to_a_second(self) -> None:
        halved = failed(self.state, TooSlow("slow"))
        assert [q.end for q in halved.questions] == [T0 + 4 * SECOND, T0 + 8 * SECOND]
        with pytest.raises(TooSlow):
            failed(begin(T0, T0 + SECOND, 100, 500), TooSlow("slow"))

    def test_too_many_bytes_are_asked_for_in_smaller_pages(self) -> None:
        assert failed(self.state, TooMuch("much")).questions[0].limit == 50
        with pytest.raises(TooMuch):
            failed(begin(T0, T0 + SECOND, 1, 500), TooMuch("much"))

    def test_an_instant_of_too_many_bytes_is_parted(self) -> None:
        alone = begin(T0, T0 + 1, 100, 500)
        assert [q.filters[0].wanted for q in failed(alone, TooMuch("much")).questions] == [True, False]

    def test_any_other_trouble_is_raised(self) -> None:
        with pytest.raises(StoreTrouble, match="gone"):
            failed(self.state, StoreTrouble("gone"))

    def test_lines_outside_the_window_are_not_taken(self) -> None:
        state, complete = answered(self.state, [line(T0 - 1), line(T0), line(T0 + 8 * SECOND)])
        assert state.done and [one.ns for one in complete] == [T0]

    def test_the_largest_limit_of_the_store_is_kept_to(self) -> None:
        (loki,) = (store for store in STORES if store.name == "loki")
        pretend = Pretend("loki", recorded_rows("loki"), limit=50)
        _cursor, new, _ = read(loki, pretend, Cursor.at(T0), T0 + 600 * SECOND, page=2000, instant=5000)
        assert texts(new) == expected(pretend)
        assert max(int(request.params["limit"]) for request in pretend.asked[1:]) == 50

    def test_a_question_is_asked_of_a_window(self) -> None:
        assert self.state.questions == (Question(T0, T0 + 8 * SECOND, 100),)
