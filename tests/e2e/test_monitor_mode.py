"""The short form of `tests.e2e.monitoring`: one minute and a half instead of ten."""

from pathlib import Path

import pytest

from tests.e2e.monitoring import monitor

pytestmark = pytest.mark.e2e


def test_monitor_mode_sends_listings_only_whatever_breaks(short_folder: Path) -> None:
    seen = monitor(short_folder / "m", 90)
    assert seen.advice >= 1 and seen.would  # something broke, and it was said what would be done
    assert seen.changing == ()
    assert seen.commands.total() > 50
