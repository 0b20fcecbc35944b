"""How many queries does each page and panel take? As many as `query_counts.txt` says, whatever is stored.

A new page of `console/urls.py` without a line there fails. `REKINDLE_WRITE_COUNTS=1` writes the file anew; look at
the difference before it is committed.
"""

import os
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from advisor_api.models import Exclusion, Pause, PolicyVersion
from advisor_api.notification_models import Delivery, NotificationRoute
from advisor_api.silence_models import Silence
from benchmarks.console_addresses import LEFT_OUT, addresses
from console.models import SavedView
from console.rendering import bodies
from console.urls import urlpatterns
from detectors.choice_models import IncidentChoice
from detectors.incident_counts import count_anew
from detectors.models import Incident, Verdict
from tests.console import sample
from tests.console.sample import JobState, Sample

FILE = Path(__file__).with_name("query_counts.txt")
SLACK = 3  # a page that takes fewer is no mistake at once; one that takes far fewer has a stale line


@pytest.fixture
def everything(rows: Sample, now: datetime) -> User:
    """A row of each thing that a page speaks of, and a person who may see all of it."""
    person = User.objects.create_superuser("all", password=None)
    more = {"cluster": rows.cluster, "reason": "r", "owner": "o", "since": now, "until": now + timedelta(hours=1)}
    Pause.objects.create(scope="user", value="ana", **more)
    Silence.objects.create(node="n01", made_by="o", **more)
    Exclusion.objects.create(node="n02", **more)
    sample.to_come(rows.cluster, now)
    one, two = (
        Incident.objects.create(
            cluster=rows.cluster, open_key=key, fingerprint=key, layer="hardware.gpu", sentence=f"It fails {key}",
            first_seen_at=now, last_seen_at=now,
        )
        for key in "ab"
    )  # fmt: skip
    Verdict.objects.update(incident=one)
    count_anew([one.pk])
    IncidentChoice.objects.create(
        cluster=rows.cluster, deed="merge", source=one, target=two, source_key="a", target_key="b", reason="r",
        made_by="o", made_at=now,
    )  # fmt: skip
    SavedView.objects.create(owner=person, name="v", query="?user=ana", created_at=now)
    for values in ({}, {"max_restarts": 2}):
        PolicyVersion.objects.create(cluster=rows.cluster, created_at=now, created_by="admin", values=values)
    route = NotificationRoute.objects.create(name="n", kind="hook", address="https://hook.example.org", since=now)
    Delivery.objects.create(
        route=route, name="n", kind="hook", whom="x", key="k", topic="failed", level="warning", path="/", title="t",
        text="t", made_at=now, first_at=now, last_at=now, outcome="sent",
    )  # fmt: skip
    return person


def many(rows: Sample, now: datetime) -> None:
    """Sixty more of what pages list."""
    for number in range(60):
        job = sample.job(rows.cluster, 7000 + number, now)
        for index, state in enumerate((JobState.FAILED, JobState.RUNNING)):
            sample.attempt(job, index, state, now, nodes=["n01"])
        Incident.objects.create(
            cluster=rows.cluster, open_key=f"k{number}", fingerprint=f"k{number}", layer="hardware.gpu",
            sentence="s", first_seen_at=now, last_seen_at=now,
        )  # fmt: skip


def counts(person: User) -> Iterator[tuple[str, int]]:
    client = Client()
    client.force_login(person)
    client.get("/")  # what a process reads once
    for name, address in addresses():
        bodies.forget()
        with CaptureQueriesContext(connection) as captured:
            answer = client.get(address)
        assert answer.status_code == 200, f"{name}: {address} gives {answer.status_code}"
        yield name, len(captured)


def committed() -> dict[str, int]:
    lines = (line.rpartition(" ") for line in FILE.read_text().splitlines() if line)
    return {name: int(number) for name, _, number in lines}


def test_no_page_takes_more_queries_than_is_committed(everything: User, rows: Sample, now: datetime) -> None:
    many(rows, now)
    found = dict(counts(everything))
    if os.environ.get("REKINDLE_WRITE_COUNTS"):
        FILE.write_text("".join(f"{name} {number}\n" for name, number in found.items()))
    known = committed()
    assert set(found) == set(known), "every page has its line, and every line its page"
    more = {name: f"{known[name]} → {number}" for name, number in found.items() if number > known[name]}
    assert not more, more
    fewer = {name: f"{known[name]} → {number}" for name, number in found.items() if number < known[name] - SLACK}
    assert not fewer, f"better than committed: write the file anew: {fewer}"


def test_what_is_left_out_is_there_and_has_a_reason() -> None:
    assert set(LEFT_OUT) <= {pattern.name for pattern in urlpatterns}
    assert all(LEFT_OUT.values())
