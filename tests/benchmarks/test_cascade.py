"""Is the right one blamed in a cascade, and do time and memory keep their measure when it grows tenfold?

The bounds are ratios between the processor time of two runs, and the goal for memory: no load changes them much.
"""

from pathlib import Path
from typing import Any

import pytest

from benchmarks.cascade import Measured, Said, by_diagnose, by_worker
from benchmarks.cascades import KINDS, RANKS, Cluster, Kind, Right, now_at, write
from benchmarks.reading_cascade import measure

MOST_MB = 300.0
FEW, MANY = 10_000, 100_000
GROWTH_MB = 40.0  # that ten times the lines may take more: lines under way, and no line that is kept


def measured(kind: Kind, lines: int, folder: Path, road: Any, seed: int = 5) -> Measured:
    cluster, log = Cluster(seed, now_at()), folder / f"{lines}.out"
    write(kind, cluster, lines, log)
    found: Measured = road(kind, cluster, log)
    return found


@pytest.mark.django_db
@pytest.mark.parametrize("seed", [5, 6])
@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_clocks_that_are_wrong_blame_nobody_else(kind: Kind, seed: int, tmp_path: Path) -> None:
    assert not measured(kind, 4 * RANKS, tmp_path, measure, seed).wrong


def test_a_hundred_thousand_lines_take_no_more_memory_and_no_longer_verdict(tmp_path: Path) -> None:
    few = measured(KINDS[0], FEW, tmp_path, by_worker)
    many = measured(KINDS[0], MANY, tmp_path, by_worker)
    assert (few.wrong, many.wrong) == ("", "")
    assert many.peak_mb < min(MOST_MB, few.peak_mb + GROWTH_MB)
    assert few.core_seconds is not None and many.core_seconds is not None
    assert many.core_seconds < 5 * max(few.core_seconds, 0.1), "the verdict does not grow with the log"
    assert few.spent_seconds is not None and many.spent_seconds is not None
    assert many.spent_seconds < 20 * few.spent_seconds, "reading grows with the log, and no faster"


def test_a_hundred_thousand_lines_are_diagnosed_in_the_same_memory(tmp_path: Path) -> None:
    many = measured(KINDS[4], MANY, tmp_path, by_diagnose)
    assert not many.wrong
    assert many.peak_mb < MOST_MB


def body(**changes: Any) -> dict[str, Any]:
    told = {"kind": "crash", "layer": "application", "action": "restart", **changes}
    guilty = {"host": "gpu-002", "role": "culprit", "excludable": bool(told.get("excluded"))}
    return {
        "detection": {"kind": told["kind"]},
        "outcome": {"layer": told["layer"]},
        "implicated": [guilty, {"host": "gpu-003", "role": "victim", "excludable": False}],
        "recommendation": {"action": told["action"]},
        "root_cause": {"signature_id": None},
    }


RIGHT = Right("crash", ("application",), "gpu-002", ("restart",))
WRONG: list[tuple[dict[str, Any], Right, str]] = [
    ({}, RIGHT, ""),
    ({"kind": "hang"}, RIGHT, "kind, not crash"),
    ({"layer": "unknown"}, RIGHT, "layer, not application"),
    ({}, Right("crash", ("application",), "gpu-003", ("restart",)), "culprit, not gpu-003"),
    ({"excluded": True}, Right("crash", ("application",), "", ("restart",)), "an innocent host left out"),
    ({"action": "stop"}, RIGHT, "action, not restart"),
]


@pytest.mark.parametrize(("changes", "right", "words"), WRONG, ids=[words or "right" for *_, words in WRONG])
def test_a_verdict_is_graded(changes: dict[str, Any], right: Right, words: str) -> None:
    assert Said.of_body(body(**changes)).wrong(right) == words


def test_the_same_seed_gives_the_same_log(tmp_path: Path) -> None:
    at = now_at()
    for name in ("one", "two"):
        write(KINDS[4], Cluster(3, at), 2 * RANKS, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    cluster = Cluster(3, at)
    assert max(map(abs, cluster.skews)) <= 5.0 and cluster.skews[cluster.struck // 8] == 5.0
