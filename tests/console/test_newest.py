"""Do the newest events show what happened, and not one job's many anomalies or everybody's checkpoints?"""

from datetime import datetime, timedelta

import pytest
from django.test import Client

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.trail import Actor, Entry, Subject, record
from console import newest
from console.newest import newest_lines
from tests.console.sample import HOSTILE, Sample

DETECTOR = Actor(ActorKind.DETECTOR, "lines")


def said(job: int, sentence: str, at: datetime, kind: EventType = EventType.ANOMALY) -> None:
    record([Entry(kind, Subject("demo", job, 0, 0), DETECTOR, sentence)], at)


def told(now: datetime) -> list[tuple[str, int]]:
    return [(line.event.sentence, line.count) for line in newest_lines() if line.event.at >= now]


def test_many_anomalies_of_one_job_are_one_line(rows: Sample, now: datetime, as_viewer: Client) -> None:
    for second in range(40):
        said(4711, f"anomaly {second}", now + timedelta(seconds=second))
    said(4712, "of another job", now + timedelta(seconds=20))
    assert told(now) == [("anomaly 39", 40), ("of another job", 1)]
    text = as_viewer.get("/").content.decode()
    assert (
        'href="/audit?cluster=demo&amp;job=4711&amp;type=anomaly">40 anomalies of job 4711 within 39 s</a>' in text
    )
    each = as_viewer.get("/audit?cluster=demo&job=4711&type=anomaly").content.decode()
    assert all(f">anomaly {second}<" in each for second in range(40)), "the search shows every one"


def test_few_anomalies_stay_apart_and_in_their_order(rows: Sample, now: datetime) -> None:
    said(1, "first", now)
    said(2, "between", now + timedelta(seconds=1))
    said(1, "second", now + timedelta(seconds=2))
    assert told(now) == [("second", 1), ("between", 1), ("first", 1)]


def test_what_lies_long_before_is_no_part_of_it(rows: Sample, now: datetime) -> None:
    for minute in (0, 1, 2, 30, 31, 32):
        said(1, f"at {minute}", now + timedelta(minutes=minute))
    assert told(now) == [("at 32", 3), ("at 2", 3)]


def test_other_events_are_never_folded(rows: Sample, now: datetime) -> None:
    for second in range(5):
        said(1, f"advice {second}", now + timedelta(seconds=second), EventType.ADVICE)
    assert [count for _, count in told(now)] == [1] * 5


def test_anomalies_of_no_job_are_told_one_by_one(rows: Sample, now: datetime) -> None:
    for second in range(4):
        entry = Entry(EventType.ANOMALY, Subject("demo"), DETECTOR, f"of the site {second}")
        record([entry], now + timedelta(seconds=second))
    assert len(told(now)) == 4


def test_checkpoints_push_nothing_out_of_sight(rows: Sample, now: datetime, as_viewer: Client) -> None:
    said(1, "what matters", now, EventType.ADVICE)
    entries = [Entry(EventType.CHECKPOINT_SAVED, Subject("demo", 1, 0, 0), DETECTOR, "saved")] * 600
    record(entries, now + timedelta(seconds=1))
    assert told(now) == [("what matters", 1)]
    assert 'href="/audit?progress=1"' in as_viewer.get("/").content.decode()


def test_only_so_many_events_are_looked_through(
    rows: Sample, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    said(1, "before", now, EventType.ADVICE)
    record([Entry(EventType.CHECKPOINT_SAVED, Subject("demo", 1, 0, 0), DETECTOR, "saved")] * 20, now)
    monkeypatch.setattr(newest, "LOOKED_THROUGH", 10)
    assert newest_lines() == []


def test_a_hostile_anomaly_is_escaped(rows: Sample, now: datetime, as_viewer: Client) -> None:
    for second in range(4):
        said(7, HOSTILE, now + timedelta(seconds=second))
    text = as_viewer.get("/").content.decode()
    assert "4 anomalies of job 7" in text and "<script>alert" not in text and "\u202e" not in text
