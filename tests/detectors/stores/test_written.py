"""Is the time that a line begins with taken for that of its writing, and no other?"""

import pytest

from detectors.stores.store import Line
from detectors.stores.written import written_at

NOW = 1_795_995_200  # 2026-11-29T23:33:20Z
SECOND = 1_000_000_000
ZONES = {"iso": 3600.0, "glog": 3600.0, "ctime": 3600.0, "us": 3600.0, "syslog": 3600.0}
WALL = "2026-11-30 00:33:10"


def written(text: str) -> float | None:
    found = written_at(Line(NOW * SECOND, text, {}, b""), ZONES)
    return None if found is None else found / SECOND - NOW


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-29T23:33:10Z step 7",
        "2026-11-29T23:33:10.000000000+00:00 step 7",
        "[2026-11-30T00:33:10+01:00] step 7",
        f"{WALL} step 7",
        f" [{WALL}.000000] iteration 7",
        f"[rank5]: {WALL} step 7",
        f"gpu-12: [{WALL}] step 7",
        f"0: {WALL} step 7",
        f"[INFO] {WALL} step 7",
        f"INFO:{WALL}: step 7",
        f"n03: WARNING {WALL} step 7",
        "I1130 00:33:10.000000 4711 train.py:7] step 7",
        "11/30/2026 00:33:10 - INFO - step 7",
        "[Mon Nov 30 00:33:10 2026] step 7",
        "Nov 30 00:33:10 n03 kernel: step 7",
        "2026-11-29T23:33:10Z stdout F step 7",
        "\x1b[32m2026-11-30 00:33:10\x1b[0m step 7",
        f"I1130 00:33:10.000000 4711 train.py:7] from {WALL.replace('00:33', '00:01')}",
    ],
)
def test_a_line_that_begins_with_a_time(text: str) -> None:
    assert written(text) == -10, text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "step 7",
        f"stops at {WALL}",
        f"deadline: {WALL}",
        f"next save: [{WALL}]",
        f"step 7 {WALL}",
        f"'{WALL}' was the last checkpoint",
        f"{{'at': '{WALL}'}}",
        "2026-13-29T23:33:10Z",
        "2026-11-29",
        "\0" * 300,
        "[" * 16_384,
        "a1" * 8_000,
    ],
)
def test_a_line_that_does_not(text: str) -> None:
    assert written(text) is None, text


def test_a_zone_that_nobody_knows_is_not_guessed() -> None:
    assert written_at(Line(NOW * SECOND, f"{WALL} step 7", {}, b""), {}) is None
