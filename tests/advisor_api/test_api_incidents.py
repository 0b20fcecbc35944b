"""Incidents: pages, one of them, and who may see it."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from detectors.incident_counts import count_anew, count_stored
from detectors.models import Incident, IncidentNode, Verdict
from tests.advisor_api.conftest import Api
from tests.advisor_api.world import a_job, a_verdict, an_attempt
from workloads.models import Cluster

pytestmark = pytest.mark.django_db


def an_incident(cluster: Cluster, key: str, **changes: object) -> Incident:
    values = {
        "open_key": key,
        "fingerprint": key,
        "layer": "hardware.gpu",
        "sentence": f"Broken {key}",
        "first_seen_at": timezone.now() - timedelta(hours=1),
        "last_seen_at": timezone.now(),
    }
    return Incident.objects.create(cluster=cluster, **{**values, **changes})


def struck(incident: Incident, number: int) -> Verdict:
    """A verdict on a job, in an incident."""
    verdict = a_verdict(an_attempt(a_job(incident.cluster, number)))
    Verdict.objects.filter(pk=verdict.pk).update(incident=incident)
    count_anew([incident.pk])
    return Verdict.objects.get(pk=verdict.pk)


def test_the_list_comes_in_pages_and_counts(api: Api) -> None:
    first, second, over = (an_incident(api.cluster, key) for key in ("a", "b", "c"))
    Incident.objects.filter(pk=over.pk).update(ended_at=timezone.now(), open_key=None)
    an_incident(api.other, "elsewhere")
    struck(second, 1), struck(second, 2)
    IncidentNode.objects.create(incident=second, node="n03")
    page = api.get("/v1/incidents?limit=2").json
    assert [row["incidentId"] for row in page["incidents"]] == [str(over.uuid), str(second.uuid)]
    counted = page["incidents"][1]
    assert [counted[name] for name in ("attempts", "jobs", "users", "nodes")] == [2, 2, 1, 1]
    assert (counted["sentence"], counted["shared"], counted["endedAt"]) == ("Broken b", False, None)
    rest = api.get(f"/v1/incidents?limit=2&page={page['nextPageToken']}").json
    assert [row["incidentId"] for row in rest["incidents"]] == [str(first.uuid)]
    assert rest["nextPageToken"] == ""
    opened = api.get("/v1/incidents?onlyOpen=true").json
    assert (opened["count"], opened["incidents"][0]["incidentId"]) == (2, str(second.uuid))
    assert api.get(f"/v1/incidents?onlyOpen=true&page={page['nextPageToken']}").status == 400


def test_one_with_its_attempts_and_nodes(api: Api) -> None:
    incident = an_incident(api.cluster, "a", shared=True)
    verdict = struck(incident, 1)
    IncidentNode.objects.create(incident=incident, node="n03")
    found = api.get(f"/v1/incidents/{incident.uuid}").json
    assert (found["incident"]["shared"], found["nodes"]) == (True, ["n03"])
    assert [(row["jobId"], row["verdictId"]) for row in found["attempts"]] == [("1", str(verdict.uuid))]


def test_a_superseded_verdict_counts_no_more(api: Api) -> None:
    incident, other = an_incident(api.cluster, "a"), an_incident(api.cluster, "b")
    verdict = struck(incident, 1)
    count_stored(a_verdict(verdict.attempt, supersedes=verdict, incident=other), verdict)
    assert api.get(f"/v1/incidents/{incident.uuid}").json["attempts"] == []
    assert api.get(f"/v1/incidents/{other.uuid}").json["incident"]["attempts"] == 1


def test_nobody_sees_another_clusters(api: Api) -> None:
    foreign = an_incident(api.other, "a")
    assert api.get(f"/v1/incidents/{foreign.uuid}").status == 404
    assert api.get(f"/v1/incidents/{uuid.uuid4()}").status == 404
    assert api.get("/v1/incidents/nonsense").status == 404
