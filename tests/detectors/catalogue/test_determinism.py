"""Does it matter how records are cut into turns? It must not."""

import json
import random
from collections.abc import Sequence
from typing import Any

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.records import Record
from tests.detectors.catalogue.building import Watching, records, step_line

TRACEBACK = [
    "Traceback (most recent call last):",
    '  File "/home/user/train.py", line 12, in step',
    "    loss.backward()",
    "ValueError: num_heads must be divisible by 8",
]
KINDS: list[list[str]] = [
    [entry.example] for entry in catalogue().signatures if entry.kind not in ("benign", "phase", "progress")
]
KINDS += [
    TRACEBACK,
    [f"3: {line}" for line in TRACEBACK],
    [
        "2026-05-01T10:00:00.1Z stdout P RuntimeError: CUDA error: uncorrectable ",
        "2026-05-01T10:00:01Z stdout F ECC error encountered",
    ],
    ["Exception ignored in: <x>", *TRACEBACK, ""],
    ["  host      : gpu-02", "  rank      : 5 (local_rank: 1)", "[rank5]: OSError: [Errno 5] Input/output error"],
    ["srun: error: gpu-02: tasks 4-7: Killed", "[rank13]: OSError: [Errno 5] Input/output error"],
    [step_line(n) for n in range(1, 12)],
    [f" [2026-05-01 12:00:{n:02d}.5]{step_line(100 + n)}" for n in range(9)],
    ["***** Running Evaluation *****", "** Finished validation **"],
    [f"  1%|  | {n}/900 [00:30<03:40,  4.00it/s]\r  2%|  | {n + 1}/900 [00:30<03:40,  4.00it/s]" for n in range(5)],
    [" iteration        2/  500000 | consumed samples: 1 | elapsed time per iteration (ms): 1.0 |"] * 4,
    ["some chatter", "more chatter"],
]


def everything(watching: Watching) -> dict[str, Any]:
    """What the turns gave, and what they left behind."""
    return {
        "findings": sorted(repr(found) for found in watching.findings.values()),
        "ended": watching.ended,
        "saved": watching.saved,
        "loaded": watching.loaded,
        "progress": watching.outcome.progress,
        "ranks": watching.outcome.rank_hosts,
        "states": _without_watcher(json.loads(json.dumps(watching.states, sort_keys=True))),
    }


def _without_watcher(states: dict[str, Any]) -> dict[str, Any]:
    """Since when somebody looks is about the looker, and counts for silences only."""
    states.get("progress", {}).pop("watched_at", None)
    return states


def seen(turns: Sequence[Sequence[Record]]) -> tuple[Watching, list[Any]]:
    watching, points = Watching(), []
    for some in turns:
        if some:
            watching.states = json.loads(json.dumps(watching.states))
            points += watching.see(some).points
    return watching, points


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from(range(len(KINDS))), min_size=1, max_size=12), st.lists(st.integers(0, 200), max_size=8)
)
@example([KINDS.index(TRACEBACK)], [1])  # a memory that says nothing any more leaves nothing behind
def test_any_cut_gives_the_same(kinds: list[int], cuts: list[int]) -> None:
    lines = [line for kind in kinds for line in KINDS[kind]]
    some = records(lines, every=0.7)
    places = sorted({min(cut, len(some)) for cut in cuts})
    turns = [some[start:end] for start, end in zip([0, *places], [*places, len(some)], strict=True)]
    whole, points = seen([some])
    cut, cut_points = seen(turns)
    assert everything(cut) == everything(whole)
    assert cut_points == points


def test_one_record_a_turn_gives_the_same() -> None:
    lines = [line for kind in KINDS for line in kind]
    random.Random(7).shuffle(lines)
    some = records(lines[:400], every=0.3)
    whole, points = seen([some])
    single, single_points = seen([[record] for record in some])
    assert everything(single) == everything(whole)
    assert single_points == points


def test_states_stay_small() -> None:
    """A job that prints every fault there is, from 4,000 ranks, leaves less than a megabyte behind."""
    lines = [f"{rank}: {KINDS[rank % len(KINDS)][0]}" for rank in range(4000)]
    watching, _ = seen([records(lines)])
    assert len(json.dumps(watching.states)) < 1_000_000


def test_the_same_turn_twice_gives_the_same() -> None:
    some = records([line for kind in KINDS for line in kind])
    one, other = Watching(), Watching()
    assert one.see(some) == other.see(some)
