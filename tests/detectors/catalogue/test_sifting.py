"""Does a text of many lines say the same as its lines one by one? Whatever stands in it, and however it is cut."""

import json
import random
import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detectors.catalogue import linear
from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.entries import Signature
from detectors.catalogue.literals import literals, without_digits
from detectors.catalogue.looking import MARKS
from detectors.catalogue.matching import Matcher, matcher
from detectors.catalogue.readings import Reader
from detectors.catalogue.records import LINE_LIMIT, Record
from detectors.catalogue.sieve import Sieve
from detectors.catalogue.texts import Lines, Text, joined, size_of, spoke_at
from tests.detectors.catalogue.building import Watching, at, context
from tests.detectors.catalogue.test_determinism import KINDS, everything

DULL = (
    "Loading shard 7 of 4096",
    "",
    "   ",
    "gpu-01:983:1261 [1] NCCL INFO Channel 03/24 : 0[1] -> 1[1] via P2P/CUMEM",
    "time (ms) | forward-compute: 144.03 | optimizer: 12.10",
    "loss went down and every step was fine, an error of 3 % in rank 4",
    "12%",
    "\u2588\u2588 ready \u3000",
)
EXAMPLES = [entry.example for entry in catalogue().signatures]
ALIKE = [entry.example for entry in catalogue().lookalikes]
WRAPPED = (
    "{}",
    "3: {}",
    " 11: {}",
    "gpu-02: {}",
    "gpu-01: 5: {}",
    "[rank7]: {}",
    "[default3]:{}",
    "(WorkerDict pid=81123, ip=10.4.1.22) {}",
    "2026-05-01T10:00:00.123456789Z stdout F {}",
    "2026-05-01T10:00:00.1Z stderr P {}",
    "\x1b[31m{}\x1b[0m",
    " 10%|# | 1/10 [00:01<00:09, 1.00it/s]\r{}",
    "{}\r",
    "rekindle[12]: {}",
    "caf\u00e9 {}",
)
SPOILT = (
    lambda line, place: line,
    lambda line, place: line[:place] + b"\x1b[1m" + line[place:],
    lambda line, place: line[:place] + b"\0" + line[place:],
    lambda line, place: line[:place] + b"\xff\xfe" + line[place:],
    lambda line, place: line[:place] + b"\r" + line[place:],
    lambda line, place: line[:place],
    lambda line, place: line[place:],
    lambda line, place: (line + b" ") * 3,
    lambda line, place: line + b"x" * (LINE_LIMIT - len(line)),
)
SAID = [[line] for line in (*EXAMPLES, *ALIKE, *DULL)]
TOGETHER = [said for said in KINDS if len(said) > 1]
TOGETHER.append(
    [
        "2026-05-01T10:00:00.1Z stdout P RuntimeErr",
        "2026-05-01T10:00:01Z stdout F or: CUDA error: misaligned address",
    ]
)


@st.composite
def log(draw: st.DrawFn) -> bytes:
    """Lines of every kind, wrapped and spoilt in every way; traceback and pairs stay together or do not."""
    lines: list[bytes] = []
    for said in draw(st.lists(st.sampled_from(SAID) | st.sampled_from(TOGETHER), min_size=1, max_size=14)):
        wrap = draw(st.sampled_from(WRAPPED)) if draw(st.booleans()) else "{}"
        spoil = draw(st.sampled_from(SPOILT)) if draw(st.integers(0, 3)) == 0 else SPOILT[0]
        for line in said:
            lines.append(spoil(wrap.format(line).encode(), draw(st.integers(0, len(line))))[:LINE_LIMIT])
            if draw(st.integers(0, 3)) == 0:
                lines.append(draw(st.sampled_from(DULL)).encode())
    return b"\n".join(line.replace(b"\n", b"") for line in lines)


def texts(raw: bytes, cuts: Sequence[int], streams: int) -> list[Text]:
    """The lines of `raw`, cut into texts at some of its newlines, in turns from so many streams."""
    ends = [place.start() for place in re.finditer(b"\n", raw)]
    chosen = sorted({ends[cut % len(ends)] for cut in cuts}) if ends else []
    made, start = [], 0
    for number, end in enumerate([*chosen, len(raw)]):
        made.append(Text(f"job-{number % streams}.log", start, raw[start:end], at(number), None, number % streams))
        start = end + 1
    return made


def seen(turns: Sequence[Sequence[Record]]) -> tuple[dict[str, Any], list[Any]]:
    watching, points = Watching(), []
    for number, some in enumerate(turns):
        watching.states = json.loads(json.dumps(watching.states))
        points += watching.see(some, number).points
    return everything(watching), points


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(log(), st.lists(st.integers(0, 99), max_size=4), st.integers(1, 3), st.randoms(use_true_random=False))
def test_a_text_says_the_same_as_its_lines(
    raw: bytes, cuts: list[int], streams: int, chance: random.Random
) -> None:
    made = texts(raw, cuts, streams)
    lines = [list(text) for text in made]
    assert [record.line for some in lines for record in some] == [
        line.decode("utf-8", "replace").replace("\0", "\ufffd") for line in raw.split(b"\n")
    ]
    whole, single = Reader({}, context()), Reader({}, context())
    assert whole.read(Lines(made)) == single.read([record for some in lines for record in some])
    assert whole.state() == single.state()
    assert seen([Lines([text]) for text in made]) == seen(lines)
    mixed = joined([some if chance.random() < 0.5 else [*some] for some in [Lines([text]) for text in made]])
    assert seen([mixed]) == seen([[record for some in lines for record in some]])


@settings(max_examples=200, deadline=None)
@given(log())
def test_what_was_seen_before_changes_nothing(raw: bytes) -> None:
    """What is remembered of a line without its digits holds for every line that differs in digits only."""
    engine, fresh = matcher(), MATCHER
    for line in raw.split(b"\n"):
        other = re.sub(rb"\d", lambda found: bytes([48 + (found[0][0] * 7 + found.start()) % 10]), line)
        for text in (line, other):
            exact = [number for number, pattern in enumerate(PATTERNS) if pattern.search(text) is not None]
            assert set(exact) <= set(engine.candidates(text))
            assert engine.match(text, engine.candidates(text)) == fresh.match(text, range(len(PATTERNS)))


MATCHER = Matcher(catalogue())
PATTERNS = [
    linear.Exact(pattern) for pattern in (*(s.pattern for s in catalogue().signatures), *(p for _, p in MARKS))
]


@pytest.mark.parametrize("entry", catalogue().signatures, ids=lambda entry: entry.id)
def test_every_match_of_a_pattern_holds_one_of_its_texts(entry: Signature) -> None:
    """Texts made from the pattern itself: whatever it matches must be found by the sieve."""
    wanted = literals(entry.pattern)
    assert wanted, "a pattern without texts makes every line of every log a suspect"
    blind = without_digits(entry.pattern)
    exact = linear.Exact(entry.pattern)

    @settings(max_examples=15, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.from_regex(re.compile(entry.pattern, re.ASCII)))
    def made(line: str) -> None:
        line = line.replace("\n", "")
        raw = linear.encoded(line)
        if exact.search(raw) is None:
            return
        assert any(text in raw for text in wanted)
        assert SIEVE.find(b"before\n" + raw + b"\nafter", 0) >= 0
        if blind is not None:
            assert linear.Exact(blind).search(raw.translate(None, linear.DIGITS)) is not None

    made()


SIEVE = Sieve(pattern for pattern in (*(s.pattern for s in catalogue().signatures), *(p for _, p in MARKS)))


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    {
        "plain": ("out of memory", {"out of memory"}),
        "a choice": ("(?:lost|gone) node", {"lost node", "gone node"}),
        "a choice without a common part": ("bus error|SIGBUS", {"bus error", "SIGBUS"}),
        "a small set": ("[Ss]tep[:=]", {"Step:", "Step=", "step:", "step="}),
        "the longest part is taken": (r"ab\d+cdef\w+gh", {"0cdef", *(f"{n}cdef" for n in range(10))}),
        "what may be missing asks for nothing": ("(?:fatal )?error here", {"error here"}),
        "what is repeated stands there once": ("(?:abcd)+", {"abcd"}),
        "small and large letters": ("(?i)oom", {"oom", "ooM", "oOm", "oOM", "Oom", "OoM", "OOm", "OOM"}),
        "a choice with a branch that may be anything": ("abcd|.*", None),
        "nothing but digits and letters": (r"\w+\d*", None),
        "borders take no letter": (r"\bERR\b$", {"ERR"}),
        "an escaped bracket": (r"\[rank\d", {f"[rank{n}" for n in range(10)}),
        "what is not understood": (r"\pLabc", None),
        "a long text is cut": ("a" * 40, {"a" * 16}),
    }.values(),
)
def test_the_texts_of_a_pattern(pattern: str, wanted: set[str] | None) -> None:
    assert literals(pattern) == (None if wanted is None else frozenset(text.encode() for text in wanted))


def test_a_pattern_without_any_text_has_every_line_looked_at() -> None:
    sieve = Sieve(["abcd", r"\w+\d*"])
    assert [sieve.find(b"one\n\ntwo", start) for start in (0, 4, 5, 8)] == [0, 4, 5, -1]


def test_dull_lines_are_left_out() -> None:
    raw = "\n".join([*DULL[:5], EXAMPLES[0], *DULL[:5]]).encode()
    assert raw.rfind(b"\n", 0, SIEVE.find(raw, 0)) == len("\n".join(DULL[:5]).encode())
    assert SIEVE.find(raw, raw.find(EXAMPLES[0].encode()) + len(EXAMPLES[0])) == -1


def test_records_and_texts_side_by_side() -> None:
    text = Text("a", 10, b"one\n\ntwo", at(1), "n01", 3)
    single = Record("b", 0, "three", at(2))
    lines = joined([Lines([text]), [single]])
    assert [(r.stream, r.offset, r.line, r.host, r.rank) for r in lines] == [
        ("a", 10, "one", "n01", 3),
        ("a", 14, "", "n01", 3),
        ("a", 15, "two", "n01", 3),
        ("b", 0, "three", None, None),
    ]
    assert (len(lines), lines[2].line, [r.line for r in lines[2:]], size_of(lines)) == (
        4,
        "two",
        ["two", "three"],
        13,
    )
    assert spoke_at(lines) == at(2)
    assert spoke_at([text.record(0, 3), single._replace(of_node=True), Record("b", 9, " ", at(3))]) == at(1)


@pytest.mark.parametrize(
    ("raw", "speaks"),
    {
        "empty": (b"", False),
        "spaces of every kind": ("\n \t\u3000\xa0\x85\n\x1f".encode(), False),
        "one letter": (b"\n\n  x\n", True),
        "a letter of another script": ("\n\u00fc".encode(), True),
        "a byte that is no text": (b"\n\xff", True),
        "a null": (b"\0", True),
    }.values(),
)
def test_a_text_is_blank_when_all_of_its_lines_are(raw: bytes, speaks: bool) -> None:
    text = Text("a", 0, raw, at(1))
    assert (spoke_at(Lines([text])) is not None) is speaks
    assert any(record.line.strip() for record in text) is speaks
