"""Does a line of a store reach the attempt it belongs to, and no other?"""

import pytest

from detectors.stores.belonging import Run, Runs, assign, safe_host, safe_rank
from detectors.stores.store import Labels, Line

SECOND = 1_000_000_000
LABELS = Labels("job", node="host", rank="rank", restart="restart")
RUNS = Runs(
    [
        Run(1, 0, ("41",), frozenset({"n1"}), 1000 * SECOND, 2000 * SECOND),
        Run(2, 1, ("41",), frozenset({"n2"}), 2100 * SECOND, None),
        Run(3, 0, ("50", "44_7"), frozenset({"n1", "n3"}), 1900 * SECOND, None),
    ]
)


def line(second: float, **labels: str) -> Line:
    return Line(int(second * SECOND), "text", labels, b"key")


def belongs(one: Line, *, of_nodes: bool = False, listed: int = 9000) -> str:
    found = assign([one], RUNS, LABELS, of_nodes=of_nodes, listed_until=listed * SECOND, oldest=0)
    if found.waiting:
        return "waits"
    return "several" if found.several else "nobody" if found.nobody else str(next(iter(found.lines)))


@pytest.mark.parametrize(
    ("why", "one", "whose"),
    [
        ("while it runs", line(1500, job="41"), "1"),
        ("at its start", line(1000, job="41"), "1"),
        ("before its start", line(999, job="41"), "nobody"),
        ("just after its end", line(2050, job="41"), "1"),
        ("after its end and the next one's start", line(2200, job="41"), "several"),
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
    found = assign([new], RUNS, LABELS, of_nodes=False, listed_until=0, oldest=5001 * SECOND)
    assert not found.waiting and found.nobody == 1


def test_whoever_a_line_fits_beside_others_is_told() -> None:
    found = assign([line(2200, job="41")], RUNS, LABELS, of_nodes=False, listed_until=0, oldest=0)
    assert found.doubted == {1, 2} and not found.lines


@pytest.mark.parametrize(("text", "rank"), [("9", 9), ("", None), ("-1", None), ("9" * 8, None), ("٣", None)])
def test_a_rank_is_a_small_number(text: str, rank: int | None) -> None:
    assert safe_rank(LABELS, line(1, rank=text)) == rank


def test_a_label_names_no_node_of_another_job() -> None:
    assert safe_host(LABELS, line(1, host="n1.example.org"), ["n1", "n2"]) == "n1"
    assert safe_host(LABELS, line(1, host="n7"), ["n1", "n2"]) is None
