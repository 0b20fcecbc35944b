"""What do the overview, the list and the page of one incident say?"""

import uuid
from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from advisor_api.models import Exclusion
from advisor_api.silence_models import Silence
from detectors.incident_counts import count_anew
from detectors.models import Incident, IncidentNode, Verdict
from tests.console.incident_rows import make_incident
from tests.console.sample import HOSTILE, Sample

HOUR = timedelta(hours=1)


def an_incident(rows: Sample, now: datetime, key: str = "a", **changes: object) -> Incident:
    return make_incident(**{"cluster": rows.cluster, **changes}, now=now, key=key)


@pytest.fixture
def shared(rows: Sample, now: datetime) -> Incident:
    """A shared cause that the recovered job belongs to, and an exclusion made before that was known."""
    incident = an_incident(rows, now, shared=True)
    Verdict.objects.filter(attempt__job=rows.recovered).update(incident=incident)
    count_anew([incident.pk])
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


def silenced(rows: Sample, now: datetime, **named: str) -> Silence:
    values = {"reason": "known", "owner": "olga", "made_by": "olga", "since": now, "until": now + HOUR}
    return Silence.objects.create(cluster=rows.cluster, **values, **named)


def listed(client: Client, query: str = "") -> str:
    answer = client.get(reverse("incidents") + query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_the_overview_says_each_in_one_line(as_viewer: Client, shared: Incident) -> None:
    text = as_viewer.get(reverse("overview")).content.decode()
    assert "Storage a is in trouble" in text and "shared: no node is blamed" in text
    assert "1 job of 1 user, 1 node" in text
    assert reverse("incident", args=[shared.uuid]) in text


class TestTheList:
    def test_open_ones_by_default_those_that_are_over_when_asked_for(
        self, as_viewer: Client, rows: Sample, now: datetime
    ) -> None:
        an_incident(rows, now, "open")
        an_incident(rows, now, "late", open_key=None, ended_at=now - timedelta(days=1))
        text = listed(as_viewer)
        assert "Storage open" in text and "Storage late" not in text
        text = listed(as_viewer, "?state=over")
        assert "Storage open" not in text and "Storage late" in text
        text = listed(as_viewer, "?state=every")
        assert "Storage open" in text and "Storage late" in text

    @pytest.mark.parametrize(
        ("query", "there"),
        [
            ("?cluster=demo", "ab"),
            ("?cluster=demo-monitor", "c"),
            ("?layer=system.filesystem", "ac"),
            ("?layer=hardware.gpu", "b"),
            ("?node=n03", "a"),
            ("?node=n0", ""),
            ("?signature=gpu.ecc.uncorrectable", "a"),
            ("?q=STORAGE+B", "b"),
            ("?q=f-of-b", "b"),
            ("?state=new", "bc"),
            ("?state=acknowledged", "a"),
            ("?state=silenced", "b"),
            ("?state=silenced&node=n03", ""),
            ("?cluster=demo&state=nonsense&layer=nothing&page=x", "ab"),
            ("?page=9", ""),
        ],
    )
    def test_filters_stay_in_the_address(
        self, query: str, there: str, as_viewer: Client, rows: Sample, shared: Incident, now: datetime
    ) -> None:
        Incident.objects.filter(pk=shared.pk).update(acknowledged_at=now, acknowledged_by="olga")
        an_incident(rows, now, "b", layer="hardware.gpu", fingerprint="f-of-b")
        an_incident(rows, now, "c", cluster=rows.monitor)
        silenced(rows, now, fingerprint="f-of-b")
        text = listed(as_viewer, query)
        assert "".join(key for key in "abc" if f"Storage {key} is" in text) == there
        assert ("There is no" in text) == ("nonsense" in query)

    def test_it_says_who_is_at_it_and_until_when_it_is_silenced(
        self, as_viewer: Client, rows: Sample, shared: Incident, now: datetime
    ) -> None:
        Incident.objects.filter(pk=shared.pk).update(acknowledged_at=now, acknowledged_by="olga")
        silenced(rows, now, node="n03")
        text = listed(as_viewer)
        assert "Acknowledged" in text and "by olga" in text and ">Silenced</span>" in text
        assert "4711-0" in text and "n03" in text

    @pytest.mark.parametrize("query", ["", "?state=silenced", "?q=storage&node=n1&signature=x", "?page=2"])
    def test_thousands_cost_no_more_queries(
        self,
        query: str,
        as_viewer: Client,
        rows: Sample,
        now: datetime,
        django_assert_max_num_queries: DjangoAssertNumQueries,
    ) -> None:
        Incident.objects.bulk_create(
            Incident(
                cluster=rows.cluster, open_key=f"k{n}", fingerprint=f"k{n}", layer="unknown", sentence="Storage",
                first_seen_at=now, last_seen_at=now,
            )
            for n in range(3000)
        )  # fmt: skip
        IncidentNode.objects.bulk_create(
            IncidentNode(incident_id=pk, node=f"n{n}")
            for pk in Incident.objects.values_list("pk", flat=True)[:60]
            for n in range(9)
        )
        silenced(rows, now, fingerprint="k7")
        with django_assert_max_num_queries(24):
            listed(as_viewer, query)

    def test_many_on_the_overview_cost_no_more_queries(
        self, as_viewer: Client, rows: Sample, now: datetime, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        for number in range(30):
            an_incident(rows, now, f"k{number}")
        with django_assert_max_num_queries(16):
            text = as_viewer.get(reverse("panel", args=["incidents_now"])).content.decode()
        assert "22 more" in text


class TestOne:
    def test_it_shows_attempts_nodes_and_what_was_done(
        self,
        as_viewer: Client,
        rows: Sample,
        shared: Incident,
        django_assert_max_num_queries: DjangoAssertNumQueries,
    ) -> None:
        with django_assert_max_num_queries(48):
            text = as_viewer.get(reverse("incident", args=[shared.uuid])).content.decode()
        assert f"{rows.recovered.number}-0" in text and reverse("node", args=["demo", "n03"]) in text
        assert "an earlier verdict named it" in text and "no node is blamed" in text
        assert "Requeued and held 4711" in text and "Restart" in text and "Reached" in text
        assert "Nobody has remarked on it yet" in text and "Nobody was told of it" in text
        assert "I am at it" not in text and "Split" not in text

    def test_that_nothing_belongs_to_any_more_says_so(self, as_viewer: Client, rows: Sample, now: datetime) -> None:
        incident = an_incident(rows, now)
        text = as_viewer.get(reverse("incident", args=[incident.uuid])).content
        assert b"newer verdicts say something else" in text
        assert as_viewer.get(reverse("incident", args=[uuid.uuid4()])).status_code == 404

    def test_its_panels_are_fetched_by_themselves(self, as_viewer: Client, shared: Incident) -> None:
        for name in ("summary", "members", "notes", "story", "places", "choices", "told"):
            address = reverse("panel", args=[f"incident_{name}"])
            assert as_viewer.get(f"{address}?incident={shared.uuid}").status_code == 200, name
            for nonsense in ("", "?incident=x", f"?incident={uuid.uuid4()}"):
                assert as_viewer.get(address + nonsense).status_code == 404, name


def test_hostile_words_stay_words(as_viewer: Client, rows: Sample, now: datetime) -> None:
    incident = an_incident(
        rows, now, sentence=HOSTILE, layer="unknown", acknowledged_at=now, acknowledged_by=HOSTILE
    )
    IncidentNode.objects.create(incident=incident, node=HOSTILE)
    incident.notes.create(text=HOSTILE, author=HOSTILE, at=now)
    silenced(rows, now, node=HOSTILE)
    for address in (
        reverse("overview"),
        reverse("incidents"),
        reverse("silences"),
        reverse("incident", args=[incident.uuid]),
    ):
        text = as_viewer.get(address).content.decode()
        assert "<script>alert" not in text and "&lt;script&gt;" in text, address
        assert "\x1b" not in text and "\u202e" not in text, address


def test_a_stranger_reads_none(client: Client, shared: Incident) -> None:
    for address in (reverse("incidents"), reverse("incident", args=[shared.uuid]), reverse("silences")):
        assert client.get(address).status_code == 302
