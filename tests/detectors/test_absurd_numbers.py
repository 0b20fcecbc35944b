"""Does a number that no column and no integer can hold stop the reading of a log?"""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.numerals import whole
from detectors.models import Feed
from detectors.reading import read_attempt
from tests.detectors.rows import Log, again, end, make_attempt, make_cluster

pytestmark = pytest.mark.django_db

DIGITS = re.compile(r"\d+")


def with_each_number(number: str) -> list[str]:
    """Every example of the catalogue, once for each of its numbers, which is replaced by `number`."""
    return [
        f"{line[: found.start()]}{number}{line[found.end() :]}"
        for signature in catalogue().signatures
        for line in signature.example.splitlines()
        for found in DIGITS.finditer(line[:1000])
    ]


@pytest.mark.parametrize(
    "number", ["9" * 5000, "9" * 30, "9" * 19, "0" * 5000 + "1"], ids=["5000", "30", "19", "0"]
)
def test_the_lines_behind_it_are_read(tmp_path: Path, number: str) -> None:
    attempt = make_attempt(make_cluster(tmp_path))
    lines = with_each_number(number)
    assert len(lines) > 500
    Log.of(attempt).write(*lines)
    now = datetime.now(UTC)
    assert read_attempt(again(attempt), now)
    Log.of(attempt).write("the last line")
    attempt = end(again(attempt))
    for seconds in range(1, 20, 6):
        assert read_attempt(again(attempt), now + timedelta(seconds=seconds))
    assert Feed.objects.get(attempt=attempt).position["offset"] == Log.of(attempt).path.stat().st_size


@pytest.mark.parametrize(
    ("digits", "number"),
    [
        ("7", 7),
        ("007", 7),
        ("000", 0),
        ("0" * 5000 + "1", 1),
        ("1" + "0" * 12, 10**12),
        (str(10**12 + 1), None),
        ("9" * 5000, None),
        ("", None),
        ("-1", None),
        ("1_0", None),
        ("٣", None),
        ("²", None),
        ("1.5", None),
    ],
)
def test_a_number_is_bounded(digits: str, number: int | None) -> None:
    assert whole(digits) == number
