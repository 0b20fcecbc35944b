"""What do the overview, the list and the page of one incident say?"""

import uuid
from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from advisor_api.models import Exclusion
from detectors.models import Incident, IncidentNode, Verdict
from tests.console.sample import HOSTILE, Sample


def an_incident(rows: Sample, now: datetime, key: str = "a", **changes: object) -> Incident:
    values = {
        "open_key": key,
        "fingerprint": key,
        "layer": "system.filesystem",
        "sentence": f"Storage {key} is in trouble",
        "first_seen_at": now - timedelta(minutes=5),
        "last_seen_at": now,
    }
    return Incident.objects.create(cluster=rows.cluster, **{**values, **changes})


@pytest.fixture
def shared(rows: Sample, now: datetime) -> Incident:
    """A shared cause that the recovered job belongs to, and an exclusion made before that was known."""
    incident = an_incident(rows, now, shared=True)
    Verdict.objects.filter(attempt__job=rows.recovered).update(incident=incident)
    IncidentNode.objects.create(incident=incident, node="n03")
    Exclusion.objects.all().delete()
    Exclusion.objects.create(
        cluster=rows.cluster,
        node="n03",
        reason="Named as the cause.",
        owner="rule named_node",
        verdict_id=incident.verdicts.get().uuid,
        since=now,
        until=now + timedelta(hours=24),
    )
    return incident


def test_the_overview_says_each_in_one_line(as_viewer: Client, shared: Incident) -> None:
    text = as_viewer.get(reverse("overview")).content.decode()
    assert "Storage a is in trouble" in text and "shared: no node is blamed" in text
    assert "1 job of 1 user, 1 node" in text
    assert reverse("incident", args=[shared.uuid]) in text


def test_the_list_has_open_ones_and_those_that_ended_lately(as_viewer: Client, rows: Sample, now: datetime) -> None:
    an_incident(rows, now, "open")
    for key, days in (("late", 1), ("old", 9)):
        ended = now - timedelta(days=days)
        an_incident(rows, now, key, open_key=None, ended_at=ended)
    text = as_viewer.get(reverse("incidents")).content.decode()
    assert text.index("Storage open") < text.index("Over within the last week") < text.index("Storage late")
    assert "Storage old" not in text


def test_one_shows_attempts_nodes_and_what_was_done_before(
    as_viewer: Client, rows: Sample, shared: Incident, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(12):
        text = as_viewer.get(reverse("incident", args=[shared.uuid])).content.decode()
    assert f"{rows.recovered.number}-0" in text and "n03, until" in text
    assert "An earlier verdict named it" in text and "no node is blamed" in text


def test_one_that_nothing_belongs_to_any_more_says_so(as_viewer: Client, rows: Sample, now: datetime) -> None:
    incident = an_incident(rows, now)
    assert b"newer verdicts say something else" in as_viewer.get(reverse("incident", args=[incident.uuid])).content
    assert as_viewer.get(reverse("incident", args=[uuid.uuid4()])).status_code == 404


def test_hostile_words_stay_words(as_viewer: Client, rows: Sample, now: datetime) -> None:
    incident = an_incident(rows, now, sentence=HOSTILE, layer="unknown")
    IncidentNode.objects.create(incident=incident, node=HOSTILE)
    for address in (reverse("overview"), reverse("incidents"), reverse("incident", args=[incident.uuid])):
        text = as_viewer.get(address).content.decode()
        assert "<script>alert" not in text and "&lt;script&gt;" in text
        assert "\x1b" not in text and "\u202e" not in text


def test_many_cost_no_more_queries(
    as_viewer: Client, rows: Sample, now: datetime, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(30):
        an_incident(rows, now, f"k{number}")
    address = reverse("panel", args=["incidents_now"])
    with django_assert_max_num_queries(12):
        text = as_viewer.get(address).content.decode()
    assert "22 more" in text


def test_a_stranger_reads_none(client: Client, shared: Incident) -> None:
    for address in (reverse("incidents"), reverse("incident", args=[shared.uuid])):
        assert client.get(address).status_code == 302
