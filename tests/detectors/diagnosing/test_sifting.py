"""Does a file that is sifted in blocks say the same as one that is read line by line?"""

import io
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.records import Finding, Record
from detectors.catalogue.texts import text_of
from detectors.catalogue.turning import turn
from detectors.diagnosing.blocks import blocks
from detectors.diagnosing.merging import Merger, Stream
from detectors.diagnosing.sifting import Clock, Row, sift
from detectors.sources.lines import split
from tests.detectors.catalogue.building import context

NOW = datetime(2026, 11, 29, tzinfo=UTC)
CLOCK = Clock(NOW, 0.0, NOW)
DULL = [f"Loading shard {n} of 4096 from /data/part-{n:05d}.bin" for n in range(40)]
EXAMPLES = [entry.example for entry in catalogue().signatures if entry.example]
REPORT = [
    "Traceback (most recent call last):",
    '  File "/home/u/train.py", line 9, in main',
    "    loader.start()",
    *DULL[:3],
    "my.own.Mistake: nothing that any signature knows",
]


def between(lines: Sequence[str], dull: int = 3) -> list[str]:
    """Lines that say something among some that do not."""
    return [one for n, line in enumerate(lines) for one in (*DULL[n % 8 : n % 8 + dull], line)]


def stream(content: bytes, size: int, name: str = "job.log") -> Stream:
    """A file with this content."""
    return Stream(name, 0, blocks(io.BufferedReader(io.BytesIO(content)), size), CLOCK)


def kept(content: bytes, size: int) -> list[Row]:
    """The lines that are left, cut into blocks of so many bytes."""
    return [row for _at, _place, _stream, row in Merger([stream(content, size)], None, True).rows(NOW, None)]


def found_in(lines: Sequence[tuple[int, str]]) -> dict[str, Finding]:
    """What all detectors find in lines with their offsets."""
    records = [Record("job.log", offset, text, NOW) for offset, text in lines]
    return {finding.key: finding for finding in turn({}, records, context(), NOW).findings}


TEXTS = {
    "every example of the catalogue": between(EXAMPLES),
    "the same under srun -l": [f"{n % 16}: {line}" for n, line in enumerate(between(EXAMPLES))],
    "the same in colours": [f"\x1b[36m{line}\x1b[0m" for line in between(EXAMPLES)],
    "the same behind a progress bar": [f" 3%|#  | 1/99\r{line}" for line in between(EXAMPLES)],
    "the same labelled with hosts": [f"gpu-0{n % 4 + 1}: {line}" for n, line in enumerate(between(EXAMPLES))],
    "error reports that no signature knows": between(REPORT * 30, dull=0),
    "the same, labelled": [f"gpu-02: {line}" for line in REPORT * 30],
    "error reports of several ranks, mixed": [f"{n % 3}: {line}" for line in REPORT * 20 for n in range(3)],
    "lines that a container runtime has cut": [
        one
        for example in EXAMPLES[:80]
        for one in (
            f"2026-05-01T10:00:00.1Z stdout P {example[:9]}",
            f"2026-05-01T10:00:00.1Z stdout F {example[9:]}",
        )
    ],
    "bytes that are no text": [f"\udcff\udcfe{line}" for line in between(EXAMPLES[:60])],
}


@pytest.mark.parametrize("size", [pytest.param(4096, id="in many blocks"), pytest.param(1 << 24, id="in one")])
@pytest.mark.parametrize("name", TEXTS)
def test_what_is_left_out_says_nothing(name: str, size: int) -> None:
    content = ("\n".join(TEXTS[name]) + "\n").encode("utf-8", "surrogateescape")
    whole = split(content, 0, skipping=False, take_rest=True)
    assert not whole.more
    everything = found_in([(offset, text_of(line)) for offset, line in whole.lines])
    assert found_in([(row.offset, row.text) for row in kept(content, size)]) == everything
    assert everything


@pytest.mark.parametrize("size", [1000, 4096, 65_536])
def test_lines_bear_their_numbers(size: int) -> None:
    lines = between(EXAMPLES[:50])
    for row in kept(("\n".join(lines) + "\n").encode(), size):
        assert lines[row.number - 1] == row.text


def test_an_endless_line_is_cut_and_the_next_one_read() -> None:
    content = b"x" * 300_000 + b"\nRuntimeError: CUDA error: uncorrectable ECC error encountered\n"
    rows = kept(content, 4096)
    assert max(len(row.text) for row in rows) <= 16_384
    assert [(row.number, row.text[:12]) for row in rows[-1:]] == [(2, "RuntimeError")]


def test_a_line_without_a_stamp_is_as_old_as_the_next_one_with_any() -> None:
    lines = ["[2026-05-01 10:00:00] begins", "RuntimeError: CUDA error: uncorrectable ECC error encountered",
             "[2026-05-01 12:00:00] ends"]  # fmt: skip
    (block,) = blocks(io.BufferedReader(io.BytesIO("\n".join(lines).encode())), 4096)
    assert next(row.at for row in sift(block, CLOCK, True).rows) == datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_streams_are_read_by_time_and_what_has_none_last() -> None:
    error = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
    texts = ("no time\n" + error, f"[2026-05-01 10:00:02] {error}", f"[2026-05-01 10:00:01] {error}\n{error}")
    streams = [
        Stream(str(n), n, blocks(io.BufferedReader(io.BytesIO(one.encode())), 4096), CLOCK)
        for n, one in enumerate(texts)
    ]
    rows = Merger(streams, None, True).rows(NOW, None)
    assert [(stream.name, row.number) for _at, _place, stream, row in rows] == [
        ("2", 1),
        ("1", 1),
        ("2", 2),
        ("0", 2),
    ]
