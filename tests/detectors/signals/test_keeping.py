"""Do many who ask at once get one look, and are the looks of one process few?"""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from detectors import signal_keeping
from detectors.signal_keeping import AT_ONCE, KEPT_SECONDS, Busy, Looks
from detectors.signals.report import Report

AT = datetime(2026, 11, 29, 12, tzinfo=UTC)


def report(name: str = "demo") -> Report:
    return Report(name, AT, (), ())


def test_a_report_is_kept_for_some_seconds_and_no_longer() -> None:
    looks, seconds, made = Looks(), [0.0], []

    def look() -> Report:
        made.append(1)
        return report()

    for at in (0.0, KEPT_SECONDS - 0.1, KEPT_SECONDS + 0.1):
        seconds[0] = at
        looks.get(("demo",), lambda: seconds[0], look)
    assert len(made) == 2


def test_many_at_once_get_one_look() -> None:
    looks, began, go_on, made = Looks(), threading.Event(), threading.Event(), []

    def look() -> Report:
        made.append(1)
        began.set()
        assert go_on.wait(60)
        return report()

    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(looks.get, ("demo",), lambda: 1.0, look) for _person in range(6)]
        assert began.wait(60)
        go_on.set()
        assert {one.result(60).cluster for one in asked} == {"demo"}
    assert len(made) == 1


def test_a_look_that_fails_is_not_kept_and_blocks_nobody() -> None:
    looks = Looks()

    def fail() -> Report:
        raise ValueError("no")

    for _time in range(AT_ONCE + 1):
        with pytest.raises(ValueError, match="no"):
            looks.get(("demo",), lambda: 1.0, fail)
    assert looks.get(("demo",), lambda: 1.0, report).cluster == "demo"


def test_more_clusters_than_may_be_looked_at_wait_and_then_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal_keeping, "WAIT_SECONDS", 0.05)
    looks, go_on = Looks(), threading.Event()
    began = threading.Semaphore(0)

    def look() -> Report:
        began.release()
        assert go_on.wait(60)
        return report()

    with ThreadPoolExecutor(AT_ONCE) as pool:
        asked = [pool.submit(looks.get, (number,), lambda: 1.0, look) for number in range(AT_ONCE)]
        for _one in asked:
            assert began.acquire(timeout=60)
        with pytest.raises(Busy):
            looks.get(("more",), lambda: 1.0, report)
        with pytest.raises(Busy):
            looks.get((0,), lambda: 1.0, report)
        go_on.set()
        assert len([one.result(60) for one in asked]) == AT_ONCE
    assert looks.get(("more",), lambda: 1.0, report).cluster == "demo"
