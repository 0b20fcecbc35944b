"""Are jobs and workflows found as they are asked for, and is a client's report kept apart from what is seen?"""

from typing import Any

import pytest
from django.utils import timezone

from advisor_api.models import JobReport
from audit.models import AuditEvent
from schedulers.states import JobState
from tests.advisor_api.conftest import Api
from tests.advisor_api.world import a_job, an_advice, an_attempt, seconds
from workloads.identity import heimdall_id
from workloads.models import Attempt, Job

pytestmark = pytest.mark.django_db


def labels(answer: Any) -> list[str]:
    assert answer.status == 200, answer
    assert answer.json["count"] == len(answer.json["jobs"])
    return [f"{each['jobId']}-{each['attemptIndex']}" for each in answer.json["jobs"]]


@pytest.fixture
def fleet(api: Api) -> Api:
    """Five attempts of four jobs, in the order in which they were first seen."""
    now = timezone.now()
    first = a_job(api.cluster, 1, workflow_id="alpha")
    an_attempt(first, 0, JobState.REQUEUED, now - seconds(90), ended_at=now - seconds(90))
    an_attempt(first, 1, JobState.RUNNING, now)
    an_attempt(a_job(api.cluster, 2, workflow_id="beta"), 0, JobState.COMPLETED, now - seconds(50))
    an_attempt(a_job(api.cluster, 3), 0, JobState.FAILED, now - seconds(10))
    an_attempt(a_job(api.cluster, 4), 0, JobState.CANCELLED, now, scheduler_word="CANCELLED by 1000")
    an_attempt(a_job(api.other, 9), 0, JobState.RUNNING, now)
    return api


FILTERS = [
    ("", ["1-0", "1-1", "2-0", "3-0", "4-0"]),
    ("workflowIds=alpha", ["1-0", "1-1"]),
    ("workflowIds=alpha&workflowIds=beta", ["1-0", "1-1", "2-0"]),
    ("jobIds=3&jobIds=4", ["3-0", "4-0"]),
    ("jobIds=77", []),
    ("jmState=RUNNING", ["1-1"]),
    ("jmState=REQUEUED", ["1-0"]),
    ("jmState=CANCELLED", ["4-0"]),
    ("jmState=NOTHING", []),
    ("reconciliationEligibleJobs=true", ["1-1", "3-0", "4-0"]),
    ("completedJobs=false", ["1-1"]),
    ("completedJobs=true", ["1-0", "2-0", "3-0", "4-0"]),
    ("jmState=FAILED&workflowIds=alpha", []),
    ("unknown=parameter", ["1-0", "1-1", "2-0", "3-0", "4-0"]),
]


@pytest.mark.parametrize(("query", "found"), FILTERS)
def test_filters(fleet: Api, query: str, found: list[str]) -> None:
    assert labels(fleet.get(f"/v1/jobs?{query}")) == found


def test_what_is_shown_can_be_asked_for(fleet: Api) -> None:
    for each in fleet.get("/v1/jobs").json["jobs"]:
        assert each["heimdallJobId"] in str(fleet.get(f"/v1/jobs?jmState={each['jmState']}").json)


def test_the_end_is_inclusive(fleet: Api) -> None:
    end = Attempt.objects.get(job__number=2).ended_at
    assert end is not None
    stamp = end.isoformat().replace("+00:00", "Z")
    assert labels(fleet.get(f"/v1/jobs?endTimeFrom={stamp}")) == ["2-0", "3-0", "4-0"]


BAD = [
    ("limit=0", "limit: "),
    ("limit=251", "limit: "),
    ("limit=many", "limit: "),
    ("pageNumber=0", "pageNumber: "),
    ("pageNumber=1&pageToken=5", "pageToken and pageNumber exclude each other"),
    ("pageToken=-1", "The page token is not one of ours."),
    ("pageToken=99999999999999999999", "At most"),
    ("pageNumber=999999999", "At most"),
    ("jobIds=one", "jobIds.0: "),
    ("jobIds=99999999999999999999999", "jobIds.0: "),
    ("jobIds=-5", "jobIds.0: "),
    ("jmState=RUNNING&completedJobs=true", "jmState and completedJobs exclude each other"),
    ("reconciliationEligibleJobs=true&jmState=A", "jmState and reconciliationEligibleJobs exclude each other"),
    ("reconciliationEligibleJobs=true&completedJobs=false", "exclude each other"),
    ("completedJobs=perhaps", "completedJobs: "),
    ("endTimeFrom=yesterday", "endTimeFrom: "),
    ("endTimeFrom=0000-01-01T00:00:00Z", "endTimeFrom: "),
    ("jmState=a%00b", "NUL"),
]


@pytest.mark.parametrize(("query", "sentence"), BAD)
def test_bad_queries_are_told(api: Api, query: str, sentence: str) -> None:
    answer = api.get(f"/v1/jobs?{query}")
    assert (answer.status, answer.json["code"]) == (400, 3)
    assert sentence in answer.message


class TestPaging:
    def test_by_token_nothing_is_lost_when_rows_come_in(self, fleet: Api) -> None:
        first = fleet.get("/v1/jobs?limit=2").json
        an_attempt(a_job(fleet.cluster, 5), 0)
        rest = fleet.get(f"/v1/jobs?limit=250&pageToken={first['nextPageToken']}")
        assert labels(rest) == ["2-0", "3-0", "4-0", "5-0"]
        assert rest.json["nextPageToken"] == ""

    def test_by_offset_and_by_number(self, fleet: Api) -> None:
        assert labels(fleet.get("/v1/jobs?limit=2&pageToken=3")) == ["3-0", "4-0"]
        assert labels(fleet.get("/v1/jobs?limit=2&pageNumber=2")) == ["2-0", "3-0"]
        assert labels(fleet.get("/v1/jobs?limit=2&pageNumber=9")) == []
        token = fleet.get("/v1/jobs?limit=2&pageNumber=2").json["nextPageToken"]
        assert labels(fleet.get(f"/v1/jobs?limit=2&pageToken={token}")) == ["4-0"]

    def test_a_token_is_bound_to_its_filters_and_cluster(self, fleet: Api) -> None:
        token = fleet.get("/v1/jobs?limit=1&cluster=demo", "two").json["nextPageToken"]
        for query in ("limit=1&completedJobs=true&cluster=demo", "limit=1&cluster=second"):
            answer = fleet.get(f"/v1/jobs?{query}&pageToken={token}", "two")
            assert (answer.status, answer.message) == (400, "The page token belongs to another query.")

    def test_by_scheduler_id(self, fleet: Api) -> None:
        first = fleet.get("/v1/jobs/by-scheduler-id/1?limit=1")
        assert labels(first) == ["1-0"]
        token = first.json["nextPageToken"]
        assert labels(fleet.get(f"/v1/jobs/by-scheduler-id/1?page={token}")) == ["1-1"]
        assert fleet.get(f"/v1/jobs/by-scheduler-id/2?page={token}").status == 400


class TestOneJob:
    def test_in_both_forms(self, api: Api) -> None:
        advice = an_advice(api.cluster, now=timezone.now())
        by_label = api.get("/v1/jobs/100-0").json["job"]
        assert api.get(f"/v1/jobs/{advice.attempt.heimdall_id}?useHeimdallId=true").json["job"] == by_label
        assert by_label["jmState"] == by_label["observedState"]["jmState"] == "FAILED"
        assert by_label["desiredState"] == {
            "state": "RUNNING_AGAIN",
            "generation": "1",
            "operation": "RECOVERY_OPERATION_RESTART",
            "disposition": "ADVICE_RECONCILIATION_DISPOSITION_PENDING",
        }
        assert by_label["nodeConstraints"] == {"excludedNodes": ["n03"]}
        assert by_label["gpuCountPerNode"] == 0

    def test_without_advice_nothing_is_wanted(self, api: Api) -> None:
        an_attempt(a_job(api.cluster))
        found = api.get("/v1/jobs/100-0").json["job"]
        assert (found["desiredState"], found["nodeConstraints"]) == (None, {"excludedNodes": []})

    def test_a_number_used_again_means_the_newest_submission(self, api: Api) -> None:
        old = an_attempt(a_job(api.cluster, name="old"), 0)
        an_attempt(old.job, 1)
        an_attempt(a_job(api.cluster, epoch=1, name="new"), 0)
        assert api.get("/v1/jobs/100-0").json["job"]["jobName"] == "new"
        assert api.get("/v1/jobs/100-1").status == 404
        assert labels(api.get("/v1/jobs/by-scheduler-id/100")) == ["100-0", "100-1", "100-0"]
        old_path = f"/v1/jobs/{old.heimdall_id}?useHeimdallId=true"
        assert api.get(old_path).json["job"]["jobName"] == "old"

    @pytest.mark.parametrize(
        ("path", "status"),
        [
            ("100-0", 404),
            ("100", 400),
            ("100-0-0", 400),
            ("99999999999999999999-0", 400),
            ("3f0c5a1e-7b0e-5d36-9a43-5b8f6c1e2d10", 400),
            ("3f0c5a1e-7b0e-5d36-9a43-5b8f6c1e2d10?useHeimdallId=true", 404),
            ("100-0?useHeimdallId=true", 400),
            ("100-0?useHeimdallId=maybe", 400),
            ("1%20OR%201=1", 400),
            ("by-scheduler-id/one", 400),
            ("by-scheduler-id/9999999999999999999", 400),
            ("by-scheduler-id/%D9%A1", 400),
        ],
    )
    def test_not_found_and_not_understood(self, api: Api, path: str, status: int) -> None:
        assert api.get(f"/v1/jobs/{path}").status == status


class TestReport:
    BODY = {"workflowId": "w", "jobId": "55", "attemptIndex": 0, "jobName": "train", "user": "tess"}

    def test_a_job_that_no_listing_has_shown(self, api: Api) -> None:
        body = {**self.BODY, "allocatedNodes": ["n01"], "gpuCountPerNode": 8, "state": "JOB_STATUS_RUNNING"}
        answer = api.post("/v1/jobs", {**body, "additionalProperties": {"team": "a"}}, "ingest")
        assert answer.status == 201
        found = answer.json["job"]
        assert found["heimdallJobId"] == str(heimdall_id("demo", 55, 0, 0))
        assert (found["state"], found["gpuCountPerNode"]) == ("JOB_STATUS_RUNNING", 8)
        assert (found["additionalProperties"], found["allocatedNodes"]) == ({"team": "a"}, ["n01"])
        assert AuditEvent.objects.get(type="attempt_seen").actor == "ingest"

    def test_once_more_is_the_same_job(self, api: Api) -> None:
        first = api.post("/v1/jobs", self.BODY, "ingest")
        again = api.post("/v1/jobs", {**self.BODY, "gpuCountPerNode": 4}, "ingest")
        assert (first.status, again.status) == (201, 200)
        assert again.json["job"]["heimdallJobId"] == first.json["job"]["heimdallJobId"]
        assert (Attempt.objects.count(), JobReport.objects.get().gpu_count_per_node) == (1, 4)

    def test_what_the_scheduler_shows_is_not_overwritten(self, api: Api) -> None:
        attempt = an_attempt(a_job(api.cluster, 55), state=JobState.RUNNING)
        body = {**self.BODY, "jobName": "other", "state": "JOB_STATUS_STOPPED", "allocatedNodes": ["n09"]}
        found = api.post("/v1/jobs", body, "controller").json["job"]
        assert (found["state"], found["jobName"]) == ("JOB_STATUS_RUNNING", "train")
        assert found["allocatedNodes"] == ["n01", "n02", "n03"]
        assert found["workflowId"] == "w"
        assert found["heimdallJobId"] == str(attempt.heimdall_id)

    def test_no_client_invents_restarts_of_a_job_that_is_listed(self, api: Api) -> None:
        """The listing's own count would seem to fall: another job, whose retries count from 0 again."""
        an_attempt(a_job(api.cluster, 55, user_id=1000), state=JobState.RUNNING)
        answer = api.post("/v1/jobs", {**self.BODY, "attemptIndex": 99}, "ingest")
        assert (answer.status, Attempt.objects.count()) == (409, 1)
        assert answer.message == "The scheduler lists job 55, and has shown no attempt 99 of it yet."

    def test_by_its_heimdall_id(self, api: Api) -> None:
        attempt = an_attempt(a_job(api.cluster, 55))
        body = {"workflowId": "w", "heimdallJobId": str(attempt.heimdall_id)}
        assert api.post("/v1/jobs", body, "ingest").json["job"]["jobId"] == "55"
        assert api.post("/v1/jobs", {**body, "jobId": "56"}, "ingest").status == 409

    def test_an_id_that_a_client_computed_is_answered_by_the_servers(self, api: Api) -> None:
        body = {**self.BODY, "heimdallJobId": "3f0c5a1e-7b0e-5d36-9a43-5b8f6c1e2d10"}
        assert api.post("/v1/jobs", body, "ingest").json["job"]["heimdallJobId"] == str(
            heimdall_id("demo", 55, 0, 0)
        )

    @pytest.mark.parametrize(
        ("body", "sentence"),
        [
            ({}, "workflowId: This field is required."),
            ({"workflowId": ""}, "workflowId: "),
            ({"workflowId": "w" * 257, "jobId": "1"}, "workflowId: "),
            ({"workflowId": "w"}, "Give jobId and attemptIndex"),
            ({"workflowId": "w", "jobId": "-1"}, "jobId: "),
            ({"workflowId": "w", "jobId": 1.5}, "jobId: "),
            ({"workflowId": "w", "jobId": "1", "attemptIndex": -1}, "attemptIndex: "),
            ({"workflowId": "w", "jobId": "1", "allocatedNodes": "n01"}, "allocatedNodes: "),
            ({"workflowId": "w", "jobId": "1", "state": "RUNNING"}, "state: must be one of"),
            (
                {"workflowId": "w", "jobId": "1", "additionalProperties": []},
                "additionalProperties: must be",
            ),
            (
                {"workflowId": "w", "jobId": "1", "additionalProperties": {"a": "x" * 20000}},
                "additionalProperties: ",
            ),
            ({"workflowId": "w", "jobId": "1", "nodeConstraints": 5}, "nodeConstraints: "),
        ],
    )
    def test_bad_ones(self, api: Api, body: dict[str, Any], sentence: str) -> None:
        answer = api.post("/v1/jobs", body, "ingest")
        assert answer.status == 400
        assert answer.message.startswith(sentence)
        assert not Job.objects.exists()


class TestWorkflows:
    def test_by_id(self, fleet: Api) -> None:
        answer = fleet.get("/v1/workflows")
        assert [each["workflowId"] for each in answer.json["workflows"]] == ["alpha", "beta"]
        alpha, beta = answer.json["workflows"]
        assert alpha["endTime"] is None  # something of it still runs
        assert beta["endTime"] is not None
        assert answer.json["count"] == 2

    def test_pages(self, fleet: Api) -> None:
        first = fleet.get("/v1/workflows?limit=1").json
        second = fleet.get(f"/v1/workflows?limit=1&pageToken={first['nextPageToken']}").json
        assert [each["workflowId"] for each in second["workflows"]] == ["beta"]
        assert second["nextPageToken"] == ""
        assert fleet.get("/v1/workflows?limit=1&pageNumber=2").json["workflows"] == second["workflows"]

    def test_free_text_is_looked_up(self, api: Api) -> None:
        an_attempt(a_job(api.cluster, workflow_id="a/b: c?&é"))
        answer = api.get("/v1/workflows:lookup?workflowId=a%2Fb%3A%20c%3F%26%C3%A9")
        assert answer.json["workflow"]["workflowId"] == "a/b: c?&é"
        assert api.get("/v1/workflows:lookup?workflowId=other").status == 404
        assert api.get("/v1/workflows:lookup").status == 400
