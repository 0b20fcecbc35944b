"""What does a cursor say when the clock of the site is not that of the lines?"""

import pytest

from detectors.stores.seen import CLOCKS_DIFFER, LATEST, OVERLAP, Cursor
from detectors.stores.store import SECOND, Line, StoreTrouble

NOW = 1_777_622_400


def a_line(second: int) -> Line:
    return Line(second * SECOND, "a line", {}, str(second).encode())


def test_lines_a_minute_ahead_are_of_a_clock_that_differs() -> None:
    cursor = Cursor.at((NOW - 10) * SECOND).taking([a_line(NOW + CLOCKS_DIFFER)])
    assert cursor.by_clock(NOW * SECOND) == cursor


def test_lines_further_ahead_say_that_the_sites_clock_is_behind() -> None:
    cursor = Cursor.at((NOW - 10) * SECOND).taking([a_line(NOW + 7200)])
    with pytest.raises(StoreTrouble, match="the site's clock is 7200 s behind the newest line"):
        cursor.by_clock(NOW * SECOND)


def test_what_was_only_reached_by_a_clock_that_ran_ahead_is_set_back_with_it() -> None:
    ahead = Cursor.at((NOW - 10) * SECOND).taking([a_line(NOW - 5)]).reached((NOW + 7200) * SECOND).pruned()
    assert ahead.ns == (NOW + 7200 - LATEST) * SECOND
    back = ahead.by_clock(NOW * SECOND)
    assert (back.start(OVERLAP), back.deep_at) == ((NOW - OVERLAP) * SECOND, 0)
    assert back.new([a_line(NOW)]) == (a_line(NOW),)
