"""Can a line make the engine slow or big?"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from detectors.catalogue import cleaning, dialects, fingerprints, linear, locating, moments, stamps, tracebacks
from detectors.catalogue.catalogue import Lookalike, catalogue
from detectors.catalogue.entries import Signature
from detectors.catalogue.hits import Hit
from detectors.catalogue.matching import matcher
from detectors.catalogue.records import LINE_LIMIT, Record
from detectors.catalogue.role import Role
from tests.detectors.catalogue.building import NODES, Watching, at, records

LIMIT_SECONDS = 0.010  # of one line of 16 KB (reference, section 10.2)
FILLERS = (
    "a",
    "1",
    " ",
    "[",
    "(1) ",
    "a.",
    ". ",
    "=1,",
    "A: ",
    "1/1 ",
    "'x': '1', ",
    "[0]a:1/",
    "\\",
    "\u2588",
    "rank",
)


def hostile(example: str) -> Iterator[str]:
    """16 KB made of an example: repeated, cut short again and again, or with one part drawn out."""
    yield from (_filled("", filler) for filler in FILLERS)
    yield _filled("", example)
    for length in (3, 8, 20, 48, 96):
        yield _filled("", example[:length])
        yield _filled("", example[:-length] or example)
    words = example.split(" ")
    for count in range(1, min(len(words), 6)):
        start = " ".join(words[:count]) + " "
        yield _filled("", start)
        yield from (_filled(start, filler) for filler in ("a", "1 ", "a.b:"))


def _filled(start: str, filler: str) -> str:
    room = LINE_LIMIT - len(start)
    return (start + filler * (room // max(1, len(filler)) + 1))[:LINE_LIMIT]


def seconds(work: Callable[[], object]) -> float:
    """Processor time of the fastest of several runs.

    What else the machine does slows its caches and takes its processors: who is above the limit gets further tries,
    ever more apart, for half a minute. Quiet, the slowest takes a fifth of the limit; what is quadratic never comes
    below it.
    """
    fastest, pause, ends = 1e9, 0.001, time.monotonic() + 30
    while True:
        start = time.process_time()
        work()
        fastest = min(fastest, time.process_time() - start)
        if fastest <= LIMIT_SECONDS or time.monotonic() > ends:
            return fastest
        time.sleep(pause)
        pause = min(2 * pause, 1.0)


@pytest.mark.parametrize("entry", [*catalogue().signatures, *catalogue().lookalikes], ids=lambda entry: entry.id)
def test_no_line_makes_a_pattern_slow(entry: Signature | Lookalike) -> None:
    """Through the engine: one pass of the set, then the exact pattern of what it found."""
    engine = matcher()
    exact = linear.Exact(entry.pattern)
    for line in hostile(entry.example):
        raw = linear.encoded(line)
        assert seconds(lambda raw=raw: exact.search(raw)) <= LIMIT_SECONDS, line[:80]
        found = engine.candidates(raw)
        number = next((n for n in found if n < len(catalogue().signatures)), None)
        if number is not None:
            assert seconds(lambda raw=raw, n=number: engine.match(raw, [n])) <= LIMIT_SECONDS, line[:80]


@pytest.mark.parametrize("entry", [e for e in catalogue().signatures if e.quick], ids=lambda entry: entry.id)
def test_no_line_makes_a_quick_pattern_slow(entry: Signature) -> None:
    quick = linear.Quick(entry.pattern)
    for line in hostile(entry.example):
        raw = linear.encoded(line)
        assert seconds(lambda raw=raw: quick.search(raw)) <= LIMIT_SECONDS, line[:80]


WORDS = (
    "[rank5]:[E418 01:32:50.9 x.cpp:1] ",
    "2026-05-01T10:00:00.1Z stdout F ",
    "(WorkerDict pid=81123, ip=10.4.1.22) ",
    "gpu-05:983:1261 [3] NCCL INFO comm 0x55 rank 3 nranks 64 cudaDev 1 ",
    "May  1 10:00:00 gpu-01 kernel: ",
    "'loss': '2.1', ",
    'File "a.py", line 1, in f ',
    "/a/b/c/iter_0001/",
    "123e4567-e89b-12d3-a456-426614174000",
    "10.4.1.22<1> 0x12ab exit code 1 ",
    "rekindle[1]: 'a.b' ",
    "  " * 10,
    "Epoch 1 step 2 iteration 3 ",
    "::::",
    "....",
    "////",
)


PROGRESS = [entry for entry in catalogue().signatures if entry.kind == "progress"]
PATH = Hit(catalogue().signature("ckpt.verl"), {}, 0, 0, Role.NONE)
AROUND: dict[str, Callable[[str], object]] = {
    "cleaning": cleaning.clean,
    "guarding": lambda line: cleaning.is_own(line, matcher().names),
    "stamping": lambda line: stamps.parse(line, at(0)),
    "locating": lambda line: locating.Places({}, NODES).speaker(
        line, cleaning.NOTHING, Record("s", 0, line, at(0))
    ),
    "mapping": lambda line: locating.Places({}, NODES).learn_map(line),
    "naming": lambda line: locating.Places({}, NODES).named(line),
    "numbering": locating.numbers,
    "following tracebacks": lambda line: tracebacks.Tracebacks({"open": {"s": [0, 0, "", False]}}).see("s", line),
    "printing fingers": fingerprints.Normaliser(),
    "hearing steps": lambda line: [
        dialects.told(Hit(entry, {"pct": "1"}, 0, 0, Role.NONE), line) for entry in PROGRESS[:5]
    ],
    "reading paths": lambda line: moments.moment_of(PATH._replace(words={"p": line}), "Saved extra_state"),
}


@pytest.mark.parametrize("work", AROUND.values(), ids=AROUND)
def test_no_line_makes_what_is_around_the_engine_slow(work: Callable[[str], object]) -> None:
    lines = [_filled("", filler) for filler in (*FILLERS, *WORDS)] + [_filled(word, "a") for word in WORDS]
    for line in lines:
        assert seconds(lambda line=line: work(line)) <= LIMIT_SECONDS, line[:60]


def test_a_whole_turn_over_hostile_lines_is_quick() -> None:
    """Whatever is printed, a line of 16 KB costs a few milliseconds in all."""
    lines = [_filled("", entry.example) for entry in catalogue().signatures]
    start = time.process_time()
    Watching().see(records(lines))
    assert (time.process_time() - start) / len(lines) <= 2 * LIMIT_SECONDS  # 0.7 ms on a quiet machine


MEASURE = """
from detectors.catalogue.linear import encoded

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

before = resident()
from detectors.catalogue.matching import matcher
from detectors.catalogue.catalogue import catalogue
for entry in catalogue().signatures:
    raw = encoded(entry.example)
    matcher().match(raw, matcher().candidates(raw))
print(resident() - before)
"""


def test_the_compiled_catalogue_is_small() -> None:
    """The whole site may take 200 MB; every pattern compiled, automata included, is a quarter of that.

    Some 80 kB for each of them: more than that for the same number means that a pattern counts too far.
    """
    answer = subprocess.run(
        [sys.executable, "-c", MEASURE], capture_output=True, text=True, timeout=180, check=True
    )
    print(f"\nresident memory of the compiled catalogue: {int(answer.stdout) / 1e6:.1f} MB")
    assert int(answer.stdout) < 50_000_000
