"""Is what a block leaves out at once the same as what the reader of all blocks would have left out?"""

import io
import random

import pytest

from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.entries import FAULTS
from detectors.catalogue.layer import Layer
from detectors.catalogue.matching import matcher
from detectors.diagnosing.accounting import Told
from detectors.diagnosing.asking import KEEP
from detectors.diagnosing.blocks import blocks
from detectors.diagnosing.folding import Found, fold
from detectors.diagnosing.merging import Merger
from detectors.diagnosing.sifting import sift
from tests.detectors.diagnosing.test_sifting import CLOCK, REPORT, stream

STEP = (
    "[2026-05-01 10:{0:02d}:00] iteration {0:8d}/  500000 | elapsed time per iteration (ms): 10.0 | lm loss: 2.1 |"
)


def may_move(line: str) -> bool:
    """Whether the line could be one of a step, at a quick look: then nothing before it counts as repeated."""
    patterns, found = matcher().signatures, matcher().candidates(line.encode())
    return any(patterns[number].kind not in FAULTS for number in found if number < len(patterns))


def mix(seed: int, lines: int = 3_000) -> bytes:
    """A few faults that many ranks repeat, reports in between, dull lines, sometimes a step."""
    chance = random.Random(seed)
    entries = [entry for entry in catalogue().signatures if not may_move(entry.example)]
    known = [entry.example for entry in entries if entry.kind in FAULTS]
    victims = [entry.example for entry in entries if entry.layer is Layer.FRAMEWORK_COMM]
    faults = [*(chance.choice(known) for _ in range(5)), chance.choice(victims)]
    text: list[str] = []
    for number in range(lines):
        what = chance.random()
        if what < 0.7:
            text.append(f"{chance.randrange(4)}: {chance.choice(faults)}")
        elif what < 0.98:
            text.append(f"Loading shard {number} of 4096")
        elif what < 0.985:
            text += REPORT
        elif what < 0.99:
            text.append(STEP.format(number * 60 // lines))
        else:
            text.append("a line in \x1b[31mcolours\x1b[0m, and one of bytes \udcff")
    return ("\n".join(text) + "\n").encode("utf-8", "surrogateescape")


def found_in(content: bytes, size: int, *, alone: bool) -> Found:
    """What is found by the road of one stream; else by that of several, of which the others are empty."""
    streams = [stream(content, size)] + ([] if alone else [stream(b"", size, "empty.log")])
    return fold(Merger(streams, None, True), Told(), [])


@pytest.mark.parametrize("seed", range(4))
def test_nothing_else_is_found(seed: int) -> None:
    content = mix(seed)
    here, there = found_in(content, 65_536, alone=True), found_in(content, 65_536, alone=False)
    assert here.findings
    assert here.findings == there.findings
    assert (here.ended, here.progress, here.ranks, here.hosts) == (
        there.ended,
        there.progress,
        there.ranks,
        there.hosts,
    )
    assert here.passed_over == there.passed_over > 0


def test_a_cascade_is_left_out_where_it_is_read() -> None:
    content = mix(1)
    (block,) = blocks(io.BufferedReader(io.BytesIO(content)), 1 << 24)
    assert len(sift(block, CLOCK, True, alone=True).rows) < len(sift(block, CLOCK, True).rows) * 2 // 3


def test_after_an_error_report_a_line_may_be_a_repetition_again() -> None:
    error = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
    content = "\n".join([*REPORT, *[f"1: {error}"] * 4, "end"]).encode()
    (block,) = blocks(io.BufferedReader(io.BytesIO(content)), 1 << 24)
    rows = [row for row in sift(block, CLOCK, True).rows if row.text.startswith("1: ")]
    assert rows and all(row.sort != KEEP for row in rows)
