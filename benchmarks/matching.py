"""How fast is the catalogue, beside a loop of `re`? `python -m benchmarks.matching [MB]`

Processor time of one core. A text of 200 MB: of 1,000 lines 100 are steps of Megatron-LM, 4 are faults (each
signature's example in turn), the others say nothing. *filter*: which lines may hold which signatures, by the sieve
over chunks of 4 MiB and the set of texts. *matching*: that, and the signatures with the words they catch.
*reading*: the file to readings, by the product's own source: opened, cut into lines
where they may say something, cleaned, located, matched. *line by line*: the same readings of lines at hand, each a
record. *re*: all patterns one after the other over the lines of the beginning; its hits are compared.
"""

import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.machine import machine_line
from benchmarks.reading import DULL, READ_BYTES, step
from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.linear import Exact, encoded
from detectors.catalogue.matching import matcher
from detectors.catalogue.readings import Reader
from detectors.catalogue.records import Record
from detectors.catalogue.site import hostile_lines
from detectors.sources.files import FileSource
from detectors.sources.source import Asked, Known, Position, Stream
from tests.detectors.catalogue.building import at, context

A_THOUSAND = 1000
STEPS, FAULTS = 100, 4  # of a thousand lines
SAMPLE_BYTES = 1_000_000  # for `re` and for reading line by line
_NOTHING: Position = {}


def mixture(size: int) -> Iterator[bytes]:
    """Lines without end up to about `size` bytes, always the same."""
    chance = random.Random(1)
    examples = [entry.example for entry in catalogue().signatures if entry.is_fault]
    number = written = 0
    while written < size:
        place = number % A_THOUSAND
        if place % (A_THOUSAND // STEPS) == 0:
            line = step(number // (A_THOUSAND // STEPS))
        elif place % (A_THOUSAND // FAULTS) == 1:
            line = f"{number % 512}: {examples[number // (A_THOUSAND // FAULTS) % len(examples)]}"
        else:
            line = chance.choice(DULL).format(chance.randrange(24), number % 8)
        number += 1
        raw = encoded(line)
        written += len(raw) + 1
        yield raw


def told(line: bytes, numbers: Sequence[int]) -> bool:
    """Whether the line has a signature; what its groups catch is caught on the way."""
    result = matcher().match(line, numbers)
    return result.fault is not None or bool(result.others)


def left(content: bytes, judge: Callable[[bytes, Sequence[int]], bool]) -> int:
    """Lines that `judge` takes, of those that the sieve leaves and that may hold a signature."""
    find, candidates = matcher().sieve.find, matcher().candidates
    count, place = 0, 0
    while (found := find(content, place)) >= 0:
        start = content.rfind(b"\n", place, found) + 1 or place
        end = content.find(b"\n", found)
        end = end if end >= 0 else len(content)
        line = content[start:end]
        numbers = candidates(line)
        if numbers:
            count += judge(line, numbers)
        place = end + 1
    return count


def matching(path: Path, judge: Callable[[bytes, Sequence[int]], bool]) -> int:
    """The same over a file already in memory's cache, in chunks that end with a line."""
    count, rest = 0, b""
    with path.open("rb") as file:
        while content := file.read(READ_BYTES):
            whole, _, rest_after = (rest + content).rpartition(b"\n")
            count, rest = count + left(whole, judge), rest_after
    return count


def reading(path: Path) -> int:
    """Readings of a whole file."""
    source, stream, position = FileSource(), Stream(str(path)), _NOTHING
    reader, count = Reader({}, context()), 0
    asked = Asked((), (str(path.parent),), os.getuid(), (), datetime.now(UTC) - timedelta(seconds=5), ended=False)
    while True:
        portion = source.read(asked, stream, Known(own=position), READ_BYTES, datetime.now(UTC))
        if portion.position is None:
            raise RuntimeError(f"{path} is not read: {portion.trouble}")
        count += len(reader.read(portion.records))
        position = portion.position
        if portion.at_end:
            return count


def loop_of_re(lines: list[bytes]) -> int:
    """Pairs of a line and a pattern that is found in it: each pattern over each line."""
    patterns = [re.compile(entry.pattern.encode()) for entry in catalogue().signatures]
    return sum(pattern.search(line) is not None for line in lines for pattern in patterns)


def by_the_set(lines: list[bytes]) -> int:
    """The same pairs, by the product: what may be there, then each by itself."""
    patterns = [Exact(entry.pattern) for entry in catalogue().signatures]
    look = matcher().candidates
    return sum(n < len(patterns) and patterns[n].search(line) is not None for line in lines for n in look(line))


def worst_pattern() -> tuple[float, str]:
    """Seconds of the slowest signature on the worst of its hostile lines of 16 KB, and its name."""
    worst = (0.0, "")
    for entry in catalogue().signatures:
        exact = Exact(entry.pattern)
        for line in hostile_lines(entry):
            raw = encoded(line)
            worst = max(worst, (min(_seconds(exact, raw) for _ in range(3)), entry.id))
    return worst


def timed(work: Callable[[], int]) -> tuple[float, int]:
    """Processor seconds, and what it gave."""
    start = time.process_time()
    answer = work()
    return time.process_time() - start, answer


def _seconds(exact: Exact, raw: bytes) -> float:
    return timed(lambda: exact.search(raw) is not None)[0]


def _row(name: str, size: float, lines: int, work: Callable[[], int], once: bool = False) -> str:
    """A row of the table, by the faster of two runs."""
    seconds = min(timed(work)[0] for _ in range(1 if once else 2))
    return f"| {name} | {size:.0f} | {size / seconds:.1f} | {lines / seconds:,.0f} |"


def main() -> int:
    """Print the table."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.log"
        with path.open("wb") as file:
            file.writelines(line + b"\n" for line in mixture(megabytes * 1_000_000))
        size, lines = path.stat().st_size / 1e6, path.read_bytes().count(b"\n")
        sample = list(mixture(SAMPLE_BYTES))
        small = sum(len(line) + 1 for line in sample) / 1e6
        records = [Record("job.log", 0, line.decode(), at(n / 10)) for n, line in enumerate(sample)]
        patterns = len(catalogue().signatures)
        print(f"`python -m benchmarks.matching {megabytes}`\n\n{machine_line()}.")
        print(f"{patterns} signatures, {lines:,} lines.")
        print("\n| way | MB | MB/s | lines/s |\n|---|--:|--:|--:|")
        print(_row("filter", size, lines, lambda: matching(path, lambda _line, _numbers: True)), flush=True)
        print(_row("matching", size, lines, lambda: matching(path, told)), flush=True)
        print(_row("reading", size, lines, lambda: reading(path)), flush=True)
        print(
            _row("line by line", small, len(sample), lambda: len(Reader({}, context()).read(records))), flush=True
        )
        print(_row("`re`", small, len(sample), lambda: loop_of_re(sample), once=True), flush=True)
    by_re, by_us = loop_of_re(sample), by_the_set(sample)
    print(f"\nHits of `re` in the sample: {by_re:,}; of the product: {by_us:,}.")
    worst, name = worst_pattern()
    print(f"Worst single pattern on a hostile line of 16 KB: {1000 * worst:.1f} ms ({name}).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
