"""Does a line of a store reach the attempt it belongs to, and no other?"""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.stores.belonging import CLOCKS, GRACE, Run, Runs, assign, safe_host, safe_rank
from detectors.stores.store import Labels, Line

SECOND = 1_000_000_000
LABELS = Labels("job", node="host", rank="rank", restart="restart")
BORN = 1_790_000_000  # a moment of the year 2026; all seconds count from it


def at(second: float) -> int:
    return int((BORN + second) * SECOND)


RUNS = Runs(
    [
        Run(
            1,
            0,
            ("41",),
            frozenset({"n0", "n1"}),
            at(1000),
            at(2000),
            elsewhere=frozenset({"n2"}),
            offsets={"iso": 3600.0},
        ),
        Run(2, 1, ("41",), frozenset({"n0", "n2"}), at(2100), None, elsewhere=frozenset({"n1"})),
        Run(3, 0, ("50", "44_7"), frozenset({"n1", "n3"}), at(1900), None),
    ]
)


def line(second: float, text: str = "text", **labels: str) -> Line:
    return Line(at(second), text, labels, b"key")


def stamped(second: float, offset: float = 0, zone: str = "+00:00") -> str:
    """How a program begins a line; `offset` seconds east of UTC."""
    return f"[{datetime.fromtimestamp(BORN + second + offset, UTC):%Y-%m-%d %H:%M:%S}{zone}] iteration 7"


def belongs(one: Line, *, of_nodes: bool = False, listed: int = 9000) -> str:
    found = assign([one], RUNS, LABELS, of_nodes=of_nodes, listed_until=at(listed), oldest=0)
    if found.waiting:
        return "waits"
    return "several" if found.several else "nobody" if found.nobody else str(next(iter(found.lines)))


@pytest.mark.parametrize(
    ("why", "one", "whose"),
    [
        ("while it runs", line(1500, job="41"), "1"),
        ("at its start", line(1000, job="41"), "1"),
        ("before its start by no more than clocks differ", line(995, job="41"), "1"),
        ("before its start", line(994.9, job="41"), "nobody"),
        ("just after its end", line(2050, job="41"), "1"),
        ("just before the next one's start: as far as clocks tell", line(2096, job="41"), "several"),
        ("after its end and the next one's start", line(2200, job="41"), "several"),
        ("from a node that only the next one has", line(2200, job="41", host="n2"), "2"),
        ("by the node's full name", line(2200, job="41", host="n2.example.org"), "2"),
        ("from a node that only it had: a process that outlived it", line(2200, job="41", host="n1"), "1"),
        ("of such a process, later than lines are late", line(2400, job="41", host="n1"), "nobody"),
        ("from a node of both", line(2200, job="41", host="n0"), "several"),
        ("from a node of neither: where the shipper runs", line(2200, job="41", host="login1"), "several"),
        ("written when the next one ran", line(2200, stamped(2190), job="41"), "2"),
        ("of a host that says so", line(2200, f"n0: {stamped(2190)}", job="41", host="n0"), "2"),
        ("written then, in the zone that it is known to print", line(2200, stamped(2190, 3600, ""), job="41"), "2"),
        ("written before, in that zone, and late", line(2200, stamped(1990, 3600, ""), job="41"), "several"),
        ("written before, and late", line(2200, stamped(1990), job="41"), "several"),
        ("written as the next one starts: as far as clocks tell", line(2200, stamped(2104), job="41"), "several"),
        ("that speaks of a plan", line(2200, f"stops at {stamped(2190)}", job="41"), "several"),
        ("with a stamp ahead of its time", line(2200, stamped(2300), job="41"), "several"),
        ("300 s after its end, with the next one running", line(2300, job="41"), "several"),
        ("later than that", line(2300.5, job="41"), "2"),
        ("with a restart count, of the next one", line(2200, job="41", restart="1"), "2"),
        ("with a restart count, late", line(2200, job="41", restart="0"), "1"),
        ("with the restart count of no attempt", line(2200, job="41", restart="7"), "nobody"),
        ("by the name of an array's task", line(2000, job="44_7"), "3"),
        ("of another job", line(1500, job="4"), "nobody"),
        ("without the label", line(1500), "nobody"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_line_of_a_job(why: str, one: Line, whose: str) -> None:
    assert belongs(one) == whose, why


@pytest.mark.parametrize(
    ("why", "one", "whose"),
    [
        ("while one job has the node", line(1500, host="n1"), "1"),
        ("by its full name", line(1500, host="n1.example.org"), "1"),
        ("while two jobs share it", line(1950, host="n1"), "several"),
        ("after one of them ended", line(2050, host="n1"), "3"),
        ("on a node that nobody has", line(1500, host="n9"), "nobody"),
        ("with a job's label, which a node's line does not have", line(1500, job="41"), "nobody"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_line_of_a_node(why: str, one: Line, whose: str) -> None:
    assert belongs(one, of_nodes=True) == whose, why


def test_a_line_of_a_job_that_is_not_listed_yet_waits_for_the_next_listing() -> None:
    new = line(5000, job="77")
    assert belongs(new, listed=4999) == "waits" and belongs(new, listed=5000) == "nobody"
    found = assign([new], RUNS, LABELS, of_nodes=False, listed_until=0, oldest=at(5001))
    assert not found.waiting and found.nobody == 1


def test_a_line_long_after_the_end_waits_for_a_listing_that_may_show_another_attempt() -> None:
    alone = Runs([Run(1, 0, ("41",), frozenset({"n1"}), at(1000), at(2000))])

    def waits(second: float, listed: int) -> bool:
        some = [line(second, job="41")]
        found = assign(some, alone, LABELS, of_nodes=False, listed_until=at(listed), oldest=0)
        return bool(found.waiting)

    assert waits(2050, 2010) and not waits(2050, 2050)
    assert not waits(2004, 1000), "no attempt starts so soon after another"


NODES = ("n0", "n1", "n2", "n3")


@settings(max_examples=400, deadline=None)
@given(
    ran=st.lists(
        st.tuples(
            st.integers(1, 500),  # seconds that an attempt runs
            st.integers(CLOCKS + 1, 400),  # until the next one starts
            st.frozensets(st.sampled_from(NODES), min_size=1),
            st.sampled_from((0.0, 3600.0, -5 * 3600.0, 19800.0)),  # the zone it prints in
            st.booleans(),  # whether that is known
        ),
        min_size=1,
        max_size=4,
    ),
    shares=st.lists(
        st.tuples(
            st.floats(0, 1),  # when in its attempt a line is written
            st.floats(-CLOCKS, CLOCKS),  # how wrong the node's clock is
            st.floats(0, GRACE - CLOCKS),  # how late the store's stamp is
            st.sampled_from(("", "node", "shipper")),  # what the label says
            st.sampled_from(("none", "zone", "bare", "old", "plan")),  # what the line begins with
        ),
        min_size=1,
        max_size=12,
    ),
)
def test_no_line_is_ever_given_to_another_attempt(
    ran: list[tuple[int, int, frozenset[str], float, bool]], shares: list[tuple[float, float, float, str, str]]
) -> None:
    """Whatever the clocks, the delay, the labels and the stamps: a line goes to its own attempt, or to none."""
    every = frozenset().union(*(nodes for _s, _p, nodes, _o, _k in ran))
    runs, begins = [], 0
    for place, (seconds, pause, nodes, offset, known) in enumerate(ran):
        end = None if place == len(ran) - 1 else at(begins + seconds)
        offsets = {"iso": offset} if known else {}
        runs.append(Run(place, place, ("41",), nodes, at(begins), end, every - nodes, offsets))
        begins += seconds + pause
    found = Runs(runs)
    for place, (run, (seconds, _pause, nodes, offset, _known)) in enumerate(zip(runs, ran, strict=True)):
        for share, skew, delay, label, form in shares:
            written = run.start / SECOND - BORN + share * seconds
            text = {
                "none": "text",
                "zone": stamped(written + skew),
                "bare": stamped(written + skew, offset, ""),
                "old": stamped(written - 7000),
                "plan": f"next save at {stamped(written + 300)}",
            }[form]
            host = {"": {}, "node": {"host": min(nodes)}, "shipper": {"host": "login1"}}[label]
            one = line(written + skew + delay, text, job="41", **host)
            fits = found.of_job_line(one, LABELS)
            assert len(fits) != 1 or fits[0].attempt == place
            assert run in fits, "it may have written it"


def test_whoever_a_line_fits_beside_others_is_told() -> None:
    found = assign([line(2200, job="41")], RUNS, LABELS, of_nodes=False, listed_until=0, oldest=0)
    assert found.doubted == {1, 2} and not found.lines


@pytest.mark.parametrize(("text", "rank"), [("9", 9), ("", None), ("-1", None), ("9" * 8, None), ("٣", None)])
def test_a_rank_is_a_small_number(text: str, rank: int | None) -> None:
    assert safe_rank(LABELS, line(1, rank=text)) == rank


def test_a_label_names_no_node_of_another_job() -> None:
    assert safe_host(LABELS, line(1, host="n1.example.org"), ["n1", "n2"]) == "n1"
    assert safe_host(LABELS, line(1, host="n7"), ["n1", "n2"]) is None
