"""Does the beat go on with everything when its clock is set back?"""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery import Celery
from celery.schedules import schedule

from recovery_site import beating
from recovery_site.beating import Beat


class _Clock:
    """What time it is for the beat and its schedules."""

    def __init__(self) -> None:
        self.seconds = 1_777_622_400.0

    def time(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> _Clock:
    made = _Clock()
    monkeypatch.setattr(beating.time, "time", made.time)
    return made


def sent_by(kind: Any, clock: _Clock) -> tuple[Any, Counter[str]]:
    """A beat of three tasks, and what it has sent."""
    app = Celery("test", broker="memory://")
    app.conf.update(timezone="UTC", beat_max_loop_interval=1)
    app.now = clock.now  # type: ignore[method-assign]
    app.conf.beat_schedule = {
        name: {"task": name, "schedule": schedule(seconds, app=app, nowfun=clock.now)}
        for name, seconds in (("often", 1.0), ("also", 1.0), ("seldom", 10.0))
    }
    sent: Counter[str] = Counter()

    class Watched(kind):  # type: ignore[misc]  # either of two
        def apply_entry(self, entry: Any, producer: Any = None) -> None:
            sent[entry.task] += 1

    return Watched(app, Producer=lambda *given, **named: None), sent


def lived(beat: Any, clock: _Clock, seconds: int) -> None:
    for _ in range(seconds * 10):
        while not beat.tick():
            pass
        clock.seconds += 0.1


def test_every_task_keeps_its_rhythm_when_the_clock_goes_back(clock: _Clock) -> None:
    beat, sent = sent_by(Beat, clock)
    lived(beat, clock, 20)
    sent.clear()
    clock.seconds -= timedelta(hours=2).total_seconds()
    lived(beat, clock, 30)
    assert 25 <= sent["often"] <= 31, sent
    assert 25 <= sent["also"] <= 31, sent
    assert 2 <= sent["seldom"] <= 4, sent


def test_every_task_keeps_its_rhythm_when_the_clock_goes_forward(clock: _Clock) -> None:
    beat, sent = sent_by(Beat, clock)
    lived(beat, clock, 20)
    sent.clear()
    clock.seconds += timedelta(hours=2).total_seconds()
    lived(beat, clock, 30)
    assert 25 <= sent["often"] <= 32, sent
    assert 2 <= sent["seldom"] <= 5, sent
