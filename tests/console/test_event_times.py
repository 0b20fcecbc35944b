"""Do events stand in the order of the times that are shown, and is a second time said where there is one?"""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from audit.event_type import EventType
from audit.models import AuditEvent
from console.event_times import happened_at
from tests.console import sample
from tests.console.sample import Sample
from workloads.models import Attempt

WHEN = re.compile(r'<span class="when">\s*<time datetime="([^"]+)"')


@pytest.fixture
def attempt(rows: Sample) -> Attempt:
    return Attempt.objects.select_related("job__cluster").get(job=rows.recovered, index=1)


def times_in(text: str) -> list[datetime]:
    return [datetime.fromisoformat(found) for found in WHEN.findall(text)]


def test_a_job_s_events_stand_in_the_order_of_their_times(
    as_viewer: Client, attempt: Attempt, now: datetime
) -> None:
    for seconds in (50, 70, 60, 55):  # as processes that wait for each other store them
        sample.event(now - timedelta(seconds=seconds), EventType.ACTION, attempt, f"deed {seconds}")
    text = as_viewer.get("/panels/job_events/demo/4711/0").content.decode()
    told = times_in(text)
    assert len(told) > 10 and told == sorted(told)
    assert re.findall(r">deed (\d\d)<", text) == ["70", "60", "55", "50"]


@pytest.mark.parametrize(
    "address", ["/panels/newest_events", "/audit?cluster=demo&job=4711", "/audit?cluster=demo", "/audit"]
)
def test_lists_of_the_newest_events_do_too(address: str, as_admin: Client, attempt: Attempt, now: datetime) -> None:
    for seconds in (3, 9, 6):
        sample.event(now - timedelta(seconds=seconds), EventType.ACTION, attempt, f"deed {seconds}")
    text = as_admin.get(address).content.decode()
    assert re.findall(r">deed ([369])<", text)[:3] == ["3", "6", "9"]


def test_both_times_are_said_of_a_line_that_was_read_late(
    as_viewer: Client, attempt: Attempt, now: datetime
) -> None:
    noted, happened = now - timedelta(seconds=10), now - timedelta(minutes=4)
    payload = {"happened_at": happened.isoformat()}
    made = sample.event(noted, EventType.ANOMALY, attempt, "Read late", payload=payload)
    text = as_viewer.get("/panels/job_events/demo/4711/0").content.decode()
    line = re.sub(r"<[^>]+>", "", text.partition(f'id="event-{made.pk}"')[2].partition("</li>")[0])
    assert f"{noted:%H:%M:%S} UTC" in line and re.search(rf"happened .*{happened:%H:%M:%S} UTC", line)
    assert text.count("happened ") == 1, "and of no other event"


@pytest.mark.parametrize(
    ("kind", "more", "seconds"),
    [
        (EventType.ANOMALY, {}, None),
        (EventType.ANOMALY, {"payload": {"happened_at": "yesterday"}}, None),
        (EventType.ANOMALY, {"payload": {"happened_at": 7}}, None),
        (EventType.ANOMALY, {"payload": {"happened_at": "2026-11-30T12:00:00"}}, None),
        (EventType.ACTION, {"scheduler_at": 1}, None),
        (EventType.ACTION, {"scheduler_at": 90}, 90),
        (EventType.ACTION, {"scheduler_at": -90}, -90),
        (EventType.VERDICT, {"payload": {"happened_at": "2026-11-30T12:00:00+00:00"}}, None),
    ],
)
def test_only_another_moment_is_another_time(
    kind: EventType, more: dict[str, Any], seconds: int | None, attempt: Attempt, now: datetime
) -> None:
    """A verdict is a judgement: it happens when it is made."""
    if "scheduler_at" in more:
        more = {"scheduler_at": now - timedelta(seconds=more["scheduler_at"])}
    made = sample.event(now, kind, attempt, "one", **more)
    stored = AuditEvent.objects.get(pk=made.pk)
    assert happened_at([stored]) == ({} if seconds is None else {made.pk: now - timedelta(seconds=seconds)})


def test_nothing_is_asked_for_nothing(django_assert_num_queries: Any, db: None) -> None:
    with django_assert_num_queries(0):
        assert happened_at([]) == {}
