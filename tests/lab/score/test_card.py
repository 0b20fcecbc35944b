"""Does the card add up, come back from its JSON, and stay readable whatever a case is called?"""

import json
import re

import pytest

from lab.cases.case import Did
from lab.score.card import BadCard, Card, Part, from_json, score
from lab.score.grading import grade
from lab.score.markdown import CELL_LIMIT, plain
from lab.score.meta import Meta, commit, meta
from tests.lab.score.building import STRUCK, a_fault, a_symptom, a_trap, a_verdict, an_advice, deed, result, said

META = Meta("2026-11-29", "0.1.0", "abcd1234", "2 cores", 7, 12.5)
MISSED = result(a_fault("slow_rank", group="slow", kind="straggler"), said())
BROKEN = result(a_fault("nvlink"), broken="Slurm did not start.")
NOT_STRUCK = result(a_fault("xid"), deeds=[])
RIGHT = result(a_fault())
TRAP = result(a_trap(), said(advice=[an_advice(did=Did.STOP)]), healthy_seconds=7200.0)


@pytest.fixture
def card() -> Card:
    return score([RIGHT, MISSED, BROKEN, NOT_STRUCK, TRAP], "simulated", META)


def test_only_what_was_put_on_counts(card: Card) -> None:
    told = card.as_json()["parts"][0]["all"]
    assert told["counted"] == 3
    assert (told["shares"]["recall"]["hits"], told["shares"]["recall"]["n"]) == (1, 2)
    assert (told["shares"]["left_alone"]["hits"], told["shares"]["left_alone"]["n"]) == (0, 1)
    assert (told["shares"]["exclusions"]["hits"], told["shares"]["exclusions"]["n"]) == (1, 1)
    assert told["kinds"] == {
        "crash": {"crash": 1, "straggler": 0, "none": 0},
        "straggler": {"crash": 0, "straggler": 0, "none": 1},
        "none": {"crash": 0, "straggler": 0, "none": 1},
    }


def test_false_actions_are_over_the_healthy_hours_of_what_counts(card: Card) -> None:
    told = card.as_json()["parts"][0]["all"]["false_actions"]
    assert (told["count"], told["hours"], told["per_thousand_hours"]) == (1, 4.0, 250.0)


def test_latencies_of_different_clocks_are_never_mixed() -> None:
    case = a_fault()
    some = [
        result(case, said([a_symptom(STRUCK + seconds, basis=basis)]))
        for seconds, basis in [(2, "line"), (3, "line"), (120, "step")]
    ]
    told = score(some, "simulated").as_json()["parts"][0]["all"]["latency_seconds"]
    assert told == {
        "line": {"n": 2, "p50": 2.0, "p95": 3.0, "max": 3.0},
        "step": {"n": 1, "p50": 120.0, "p95": 120.0, "max": 120.0},
    }


def test_groups_hold_their_own_numbers_and_faults_come_first(card: Card) -> None:
    groups = score([TRAP, RIGHT, MISSED], "simulated").as_json()["parts"][0]["groups"]
    assert list(groups) == ["hardware", "slow", "trap"]
    assert groups["slow"]["shares"]["recall"]["n"] == 1


def test_the_json_comes_back_as_the_same_card(card: Card) -> None:
    text = json.dumps(card.as_json())
    assert from_json(json.loads(text)) == card
    assert from_json(json.loads(text)).table() == card.table()


@pytest.mark.parametrize(
    ("change", "words"),
    [({"schema": 9}, "schema 9"), ({"parts": [{"title": "x"}]}, "cases"), ({"meta": {"shoe": 1}}, "shoe")],
    ids=["another schema", "a part without cases", "an unknown key"],
)
def test_a_card_that_cannot_be_read_says_why(card: Card, change: dict[str, object], words: str) -> None:
    with pytest.raises(BadCard, match=words):
        from_json({**card.as_json(), **change})


def test_every_miss_and_everything_that_does_not_count_is_listed(card: Card) -> None:
    table = card.table()
    assert re.search(
        r"^- \*\*slow_rank\*\* \(slow\): not found; .* Said: nothing\. Cause: not yet looked into", table, re.M
    )
    assert "- **nvlink** (broken): Slurm did not start." in table
    assert "- **xid** (not put on): no deed of this case stands in the truth file" in table
    assert "**gpu_lost**" not in table
    assert "| faults found" in table and "1 of 2" in table


def test_the_head_line_says_what_was_measured_when_and_with_what(card: Card) -> None:
    assert card.table().splitlines()[0] == (
        "# Score card: simulated, 2026-11-29, Rekindle 0.1.0, commit abcd1234, seed 7, 12 s, 2 cores"
    )


def test_an_empty_card_is_a_card() -> None:
    table = score([], "slurm").table()
    assert "Nothing was measured." in table
    assert "no healthy job-hour was measured" in table


HOSTILE = "x|y\n# **bold** <script>alert(1)</script> [a](http://b) `c` \u202e\x00\x1b[31m _i_ ~~s~~ " + "z" * 999


def test_hostile_names_stay_words() -> None:
    case = a_fault(HOSTILE, group=HOSTILE)
    told = result(case, said([a_symptom(signature=HOSTILE)]), [deed(case)])
    table = score([told], "simulated").table()
    for line in table.splitlines():
        assert "\x1b" not in line and "\u202e" not in line and "\x00" not in line
        assert not re.search(r"(?<!\\)<|(?<!\\)\[|(?<!\\)`", line)
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in rows if "bold" in line}
    assert widths == {len(re.findall(r"(?<!\\)\|", next(line for line in rows if line.startswith("| group"))))}
    assert sum(line.startswith("#") for line in table.splitlines()) == table.count("\n#") + 1


def test_a_cell_is_one_bounded_line_and_names_with_underscores_stay_readable() -> None:
    assert plain("mod_021 a_b") == "mod_021 a_b"
    assert plain("_a_ *b*") == r"\_a\_ \*b\*"
    assert len(plain("q" * 9999)) == CELL_LIMIT
    assert plain("a\r\nb\u2028c\ud800d") == "a b c d"


def test_parts_are_never_added_up() -> None:
    parts = (Part("real text", (grade(RIGHT),)), Part("modelled text", (grade(MISSED),)))
    told = Card("corpus", META, parts).as_json()
    assert "all" not in told
    assert [part["all"]["shares"]["recall"]["n"] for part in told["parts"]] == [1, 1]


def test_a_verdict_that_is_sure_and_wrong_shows_in_calibration() -> None:
    told = score([result(a_fault(), said([a_symptom()], [a_verdict(hosts=("n01",))]))], "simulated")
    bins = told.as_json()["parts"][0]["all"]["calibration"]
    assert (bins["n"], bins["error"], bins["bins"][0]["right"]) == (1, None, 0)
    assert "Expected calibration error over 1 verdicts: not measured, which needs 30." in told.table()
    (row,) = [line for line in told.table().split("\n") if line.startswith("| 0.9")]
    assert [cell.strip() for cell in row.split("|")][2:4] == ["1", "0"] and "not measured" in row
    many = score(
        [result(a_fault(), said([a_symptom()], [a_verdict(hosts=("n01",))])) for _ in range(30)], "simulated"
    )
    assert " 0.00 |" in next(line for line in many.table().split("\n") if line.startswith("| 0.9"))


def test_the_circumstances_are_those_of_this_checkout() -> None:
    told = meta("2026-11-29", seed=1)
    assert re.fullmatch(r"\d+\.\d+\.\d+", told.version)
    assert "Python" in told.machine


def test_without_git_there_is_no_commit(tmp_path: object) -> None:
    assert commit(tmp_path) == ""  # type: ignore[arg-type]
