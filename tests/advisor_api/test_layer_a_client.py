"""Can a client that knows nothing but the public facts of layer A do a whole pass?

It is written from the table of the reference alone: paths, parameters, field names and enum values, plain HTTP and
JSON. It observes a job, takes the advice, finds the recovery, reports each completed action and what the scheduler
shows then, writes the trail and reads it back.
"""

import json
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.test import Client
from django.utils import timezone

from advisor_api.deciding import decide_all_due
from advisor_api.token_role import TokenRole
from schedulers.states import JobState
from tests.advisor_api.world import a_cluster, a_job, a_token, a_verdict, an_anomaly, an_attempt
from workloads.models import Cluster

pytestmark = pytest.mark.django_db
FINAL = "JOB_STATUS_STOPPED"


class Gateway:
    """The HTTP API as the reference describes it."""

    def __init__(self, token: str) -> None:
        self._headers = {"Authorization": f"Bearer {token}"}

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        return self._answer("GET", f"{path}?{urlencode(query, doseq=True)}", None, 200)

    def send(self, method: str, path: str, body: dict[str, Any], *good: int) -> dict[str, Any]:
        return self._answer(method, path, body, *(good or (200,)))

    def _answer(self, method: str, path: str, body: dict[str, Any] | None, *good: int) -> dict[str, Any]:
        content = b"" if body is None else json.dumps(body).encode()
        found = Client().generic(method, path, content, "application/json", headers=self._headers)
        assert found.status_code in good, (method, path, found.content)
        told: dict[str, Any] = found.json()
        return told

    def all_of(self, path: str, name: str, **query: Any) -> list[dict[str, Any]]:
        """Every page: `nextPageToken` is handed back as it came."""
        word = "pageToken" if path in {"/v1/jobs", "/v1/workflows"} else "page"
        rows, token = [], ""
        while True:
            page = self.get(path, limit=1, **query, **({word: token} if token else {}))
            assert page["count"] == len(page[name]) <= 1
            rows += page[name]
            token = page["nextPageToken"]
            if not token:
                return rows


@pytest.fixture
def cluster() -> Cluster:
    return a_cluster(now=timezone.now())


@pytest.fixture
def gateway(cluster: Cluster) -> Gateway:
    return Gateway(a_token(TokenRole.CONTROLLER, [cluster], "from-outside", timezone.now())[0])


def failed(cluster: Cluster) -> None:
    """What the site sees meanwhile: a job that failed, and the verdict on it, decided on by the ordinary sweep."""
    now = timezone.now()
    attempt = an_attempt(a_job(cluster, 12345, now, workflow_id="pretrain-7b"), now=now)
    an_anomaly(attempt, now)
    a_verdict(attempt, now)
    an_attempt(a_job(cluster, 12346, now), state=JobState.RUNNING, now=now)
    decide_all_due(now + timedelta(seconds=1))


def test_observe_advice_reconcile_milestone_audit(gateway: Gateway, cluster: Cluster) -> None:
    failed(cluster)
    job = observed(gateway)
    advice = advised(gateway, job)
    carried_out(gateway, job, advice)
    told(gateway, job)
    assert gateway.get("/v1/advice", onlyActive="true")["advice"] == []
    after = gateway.get("/v1/jobs/12345-0")["job"]["desiredState"]
    assert after["disposition"] == "ADVICE_RECONCILIATION_DISPOSITION_CONVERGED"


def observed(gateway: Gateway) -> dict[str, Any]:
    """The failed attempt, by every way there is to it."""
    jobs = gateway.all_of("/v1/jobs", "jobs")
    assert {each["jobId"] for each in jobs} == {"12345", "12346"}
    (job,) = gateway.all_of("/v1/jobs", "jobs", completedJobs="true")
    assert (job["jobId"], job["attemptIndex"], job["state"], job["jmState"]) == ("12345", 0, FINAL, "FAILED")
    uuid = job["heimdallJobId"]
    eligible = gateway.all_of("/v1/jobs", "jobs", reconciliationEligibleJobs="true")
    assert uuid in {each["heimdallJobId"] for each in eligible}
    assert gateway.get("/v1/jobs", pageNumber=1, workflowIds=["pretrain-7b"])["jobs"] == [job]
    assert gateway.get("/v1/jobs", pageToken="0", jobIds=["12345"])["jobs"] == [job]
    assert gateway.get("/v1/jobs", jmState="FAILED")["jobs"] == [job]
    assert gateway.get("/v1/jobs/12345-0")["job"] == job
    assert gateway.get(f"/v1/jobs/{uuid}", useHeimdallId="true")["job"] == job
    assert gateway.all_of("/v1/jobs/by-scheduler-id/12345", "jobs") == [job]
    (workflow,) = gateway.all_of("/v1/workflows", "workflows")
    assert gateway.get("/v1/workflows:lookup", workflowId=workflow["workflowId"])["workflow"] == workflow
    body = {"workflowId": "pretrain-7b", "jobId": "12345", "attemptIndex": 0, "gpuCountPerNode": 8, "unknown": [1]}
    assert gateway.send("POST", "/v1/jobs", body)["job"]["heimdallJobId"] == uuid
    return job


def advised(gateway: Gateway, job: dict[str, Any]) -> dict[str, Any]:
    """The one advice that can still need reconciliation."""
    (advice,) = gateway.all_of("/v1/advice", "advice", onlyActive="true")
    assert advice["heimdallJobId"] == job["heimdallJobId"]
    assert (advice["generation"], advice["nodeConstraints"]["excludedNodes"]) == ("1", ["n03"])
    assert advice["detectedIssues"]
    assert gateway.get("/v1/jobs/12345-0")["job"]["desiredState"]["generation"] == advice["generation"]
    return advice


def carried_out(gateway: Gateway, job: dict[str, Any], advice: dict[str, Any]) -> None:
    """Hold, constraints, release: a milestone for each that was completed, then what the scheduler shows."""
    recovery = gateway.get(
        "/v1/recovery/sequences",
        schedulerSystem="slurm",
        schedulerScope="demo",
        jobId=job["jobId"],
        sourceAttemptIndex=job["attemptIndex"],
        operation="RECOVERY_OPERATION_RESTART",
    )["recoveryContext"]
    assert recovery["traceparent"].count("-") == 3
    for action in ("SLURM_REQUEUE_HOLD", "SLURM_UPDATE_CONSTRAINTS", "SLURM_RELEASE"):
        body = {
            "sequenceId": recovery["sequenceId"],
            "idempotencyKey": f"12345-0-1-{action}",
            "operation": "RECOVERY_OPERATION_RESTART",
            "action": f"RECOVERY_SCHEDULER_ACTION_{action}",
            "time": timezone.now().isoformat(),
        }
        first = gateway.send("POST", "/v1/recovery/milestones", body, 201)
        assert gateway.send("POST", "/v1/recovery/milestones", body, 200) == first
    path = f"/v1/advice/{quote(job['heimdallJobId'])}/reconciliation-status"
    seen = {
        "observedGeneration": advice["generation"],
        "disposition": "ADVICE_RECONCILIATION_DISPOSITION_CONVERGED",
        "reason": "ADVICE_RECONCILIATION_REASON_DESIRED_STATE_OBSERVED",
    }
    first = gateway.send("PUT", path, seen)
    assert gateway.send("PUT", path, seen)["reconciliation"] == first["reconciliation"]
    gateway.send("PUT", path, {**seen, "observedGeneration": "2"}, 409)


def told(gateway: Gateway, job: dict[str, Any]) -> None:
    """The client's own events, each once, and read back page by page beside those of the site."""
    micros = int(timezone.now().timestamp() * 1_000_000)
    items = [
        {
            "heimdallJobId": job["heimdallJobId"],
            "eventProducer": "a-client",
            "eventType": "watched",
            "eventLevel": "info",
            "payload": {"turn": turn},
            "eventProducedAt": str(micros + turn),
            "idempotencyKey": f"watched-{turn}",
        }
        for turn in range(3)
    ]
    for _ in range(2):
        assert gateway.send("POST", "/v1/audit/events", {"items": items}) == {"accepted": 3}
    rows, cursor = [], ""
    while True:
        more = {"cursor": cursor} if cursor else {}
        page = gateway.get("/v1/audit/events", jobId="12345", attemptIndex=0, eventType="watched", limit=2, **more)
        rows += page["items"]
        cursor = page["cursor"]
        if not cursor:
            break
    assert [(row["payload"]["turn"], row["eventProducedAt"]) for row in rows] == [
        (i, str(micros + i)) for i in range(3)
    ]
    newest = gateway.get(
        "/v1/audit/events",
        heimdallJobId=job["heimdallJobId"],
        minEventProducedAt=micros + 1,
        maxEventProducedAt=micros + 2,
        sortBy="event_produced_at:desc",
        eventType="watched",
    )
    assert [row["payload"]["turn"] for row in newest["items"]] == [2, 1]
    everything = gateway.get("/v1/audit/events", heimdallJobId=job["heimdallJobId"])["items"]
    assert {"advice", "action", "watched"} <= {row["eventType"] for row in everything}
