"""Is a line that differs from others in digits alone told right from what was remembered of them?"""

import random
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detectors.catalogue import linear
from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.digits import SHAPE, blind
from detectors.catalogue.hits import KEPT, LONGEST
from detectors.catalogue.linear import encoded
from detectors.catalogue.matching import Matcher, matcher

LINES = [
    *(entry.example for entry in catalogue().signatures),
    *(line for entry in catalogue().signatures for line in entry.must_not),
    *(alike.example for alike in catalogue().lookalikes),
    "[   12.345678] NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.",
]
PATTERNS = sorted({p for one in catalogue().signatures for p in (one.pattern, one.unless) if p})
_DIGIT = re.compile(r"\d", re.ASCII)


def other_digits(line: str, chance: random.Random, few: bool = False) -> str:
    """A line of the same shape."""
    return _DIGIT.sub(lambda found: found[0] if few and chance.random() < 0.7 else str(chance.randrange(10)), line)


@pytest.mark.parametrize(
    ("pattern", "around", "same"),
    [
        (r"rank \d+", r"rank \d+", True),
        (r"[0-9a-f]+ [^\n]{0,40}", r"[0-9a-f]+ [^\n]{0,40}", True),
        (r"Xid 79, (?P<a1>\w{2,4})", r"Xid \d\d, (?P<a1>\w{2,4})", False),
        (r"14[4-9]|[1-9x]", r"\d\d[0-9]|[x0-9]", False),
        (r"c10d\.(?i:a\d)", r"c\d\dd\.(?i:a\d)", False),
        (r"[^0-9] [^\S] [!-~]", r"[^0-9] [^\S] [!-~]", True),
        (r"[^5x]", r"[^x]", False),
    ],
)
def test_the_blind_pattern_around_one(pattern: str, around: str, same: bool) -> None:
    assert blind(pattern) == (around, same)


@pytest.mark.parametrize("pattern", [r"\x35", r"[^+-5]", r"[\x30-7]", r"\pN", r"[^5]"])
def test_what_is_not_understood_counts_all_digits(pattern: str) -> None:
    assert blind(pattern) is None


def test_all_patterns_that_the_backtracking_engine_runs_are_blind() -> None:
    assert [one.id for one in catalogue().signatures if one.quick and not (blind(one.pattern) or (0, 0))[1]] == []


def test_blind_patterns_take_lines_of_one_shape_alike_and_others_lie_within_theirs() -> None:
    chance = random.Random(3)
    lines = [(encoded(line), encoded(other_digits(line, chance))) for line in LINES]
    for pattern in PATTERNS:
        around = blind(pattern)
        assert around is not None, pattern
        exact = linear.Exact(pattern)
        wide = linear.Exact(around.pattern)
        for line, other in lines:
            found, again = wide.search(line), wide.search(other)
            assert (found and found[:3]) == (again and again[:3]), pattern
            if (inner := exact.search(line)) is not None:
                assert found is not None and found.start <= inner.start, pattern


def test_every_line_is_told_like_one_never_seen_before() -> None:
    chance = random.Random(5)
    look = Matcher(catalogue(), like=matcher())
    for number in range(6):
        for line in LINES:
            raw = encoded(line if number == 0 else other_digits(line, chance, few=number % 2 == 0))
            found = look.candidates(raw)
            for closing in (False, True):
                assert look.match(raw, found, closing) == look.plainly(raw, found, closing), raw


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.sampled_from(LINES), st.sampled_from(LINES), st.integers()), min_size=1, max_size=12),
    st.booleans(),
)
def test_mixes_are_told_like_ones_never_seen_before(pairs: list[tuple[str, str, int]], closing: bool) -> None:
    for line, beside, seed in pairs:
        chance = random.Random(seed)
        for few in (True, False, True):
            raw = encoded(
                f"{chance.randrange(512)}: {other_digits(line, chance, few)} {other_digits(beside, chance)}"
            )
            found = matcher().candidates(raw)
            assert matcher().match(raw, found, closing) == matcher().plainly(raw, found, closing), raw


def test_digits_that_count_are_told_apart_after_the_others_were_seen() -> None:
    """The code of a GPU error, and a status of zero, decide; the address and the rank do not."""
    for code, name in (("79", "xid.79"), ("31", "xid.31"), ("79", "xid.79"), ("13", "xid.13")):
        for bus in ("3b", "1a"):
            raw = encoded(f"NVRM: Xid (PCI:0000:{bus}:00): {code}, pid=77, name=python, what happened")
            found = matcher().match(raw, matcher().candidates(raw))
            assert found.fault is not None
            assert found.fault.signature.id == name


def test_memory_is_bounded() -> None:
    look = Matcher(catalogue(), like=matcher())
    for number in range(KEPT + 50):
        raw = encoded(f"{'x' * (number % 60)}{'y' * (number // 60)} CUDA error: out of memory")
        look.match(raw, look.candidates(raw))
        long = raw + b"z" * LONGEST
        look.match(long, look.candidates(long))
    assert len(look._remembered[False]._known) <= KEPT
    assert raw.translate(SHAPE) in look._remembered[False]._known
    assert long.translate(SHAPE) not in look._remembered[False]._known
