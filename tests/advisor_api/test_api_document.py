"""Does the committed OpenAPI document say what the API does?"""

from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from django.core.management import call_command
from django.utils import timezone

from advisor_api.wire.advice import ADVICE_EXAMPLE
from advisor_api.wire.examples import EXAMPLES
from advisor_api.wire.jobs import JOB_EXAMPLE
from schedulers.states import JobState
from tests.advisor_api.conftest import Api
from tests.advisor_api.world import a_job, a_verdict, an_advice, an_anomaly, an_attempt

STORED = Path(__file__).resolve().parents[2] / "docs" / "api" / "openapi.yaml"
DOCUMENT: dict[str, Any] = yaml.safe_load(STORED.read_text())
OPERATIONS = [
    (path, method, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
]


def check(name: str, value: Any) -> None:
    """`value` has the form of the component, and has no field that the document does not know."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": closed()}
    jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).validate(value)


def closed() -> dict[str, Any]:
    schemas = {
        name: {**schema, "additionalProperties": False} if "properties" in schema else schema
        for name, schema in DOCUMENT["components"]["schemas"].items()
    }
    return {"schemas": schemas}


def test_the_document_is_up_to_date(tmp_path: Path) -> None:
    fresh = tmp_path / "openapi.yaml"
    call_command("spectacular", file=str(fresh), validate=True, fail_on_warn=True)
    assert fresh.read_bytes() == STORED.read_bytes(), "run: manage.py spectacular --file docs/api/openapi.yaml"


def test_it_is_openapi_3_1() -> None:
    assert DOCUMENT["openapi"] == "3.1.0"


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS, ids=[f"{m} {p}" for p, m, _ in OPERATIONS])
def test_every_operation_declares_its_errors(path: str, method: str, operation: dict[str, Any]) -> None:
    assert {"400", "401", "403", "429", "503"} <= set(operation["responses"])
    if "requestBody" in operation:
        assert "413" in operation["responses"]
    if "{" in path and method == "get" and "by-scheduler-id" not in path:
        assert "404" in operation["responses"]
    for status, response in operation["responses"].items():
        assert response["description"]
        schema = response.get("content", {}).get("application/json", {}).get("schema")
        assert (schema == {"$ref": "#/components/schemas/Error"}) is (int(status) >= 400)
        assert (status in {"429", "503"}) is ("Retry-After" in response.get("headers", {}))
    assert {"token": []} in operation["security"]
    assert operation["description"]


def test_the_examples_have_the_form_that_they_show() -> None:
    check("Job", JOB_EXAMPLE)
    check("Advice", ADVICE_EXAMPLE)
    text = STORED.read_text()
    assert "heimdallJobId: 3f0c5a1e-7b0e-5d36-9a43-5b8f6c1e2d10" in text


@pytest.mark.parametrize(("path", "method", "operation"), OPERATIONS, ids=[f"{m} {p}" for p, m, _ in OPERATIONS])
def test_every_operation_has_examples_of_its_form(path: str, method: str, operation: dict[str, Any]) -> None:
    example = EXAMPLES[operation["operationId"]]
    assert ("request" in example) is ("requestBody" in operation)
    if "requestBody" in operation:
        body = operation["requestBody"]["content"]["application/json"]
        assert body["example"] == example["request"]
        jsonschema.Draft202012Validator({**body["schema"], "components": closed()}).validate(example["request"])
    for status, answer in operation["responses"].items():
        if status.startswith("2") and "application/json" in answer["content"]:
            shown = answer["content"]["application/json"]
            assert shown["example"] == example["answer"]
            check(shown["schema"]["$ref"].rsplit("/", 1)[1], example["answer"])


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/v1/jobs", "JobsAnswer"),
        ("/v1/jobs/100-0", "JobAnswer"),
        ("/v1/jobs/by-scheduler-id/100", "JobsAnswer"),
        ("/v1/workflows", "WorkflowsAnswer"),
        ("/v1/workflows:lookup?workflowId=w", "WorkflowAnswer"),
        ("/v1/advice", "AdviceListAnswer"),
        ("/v1/advice:watch", "WatchAnswer"),
        ("/v1/audit/events?jobId=100", "EventsAnswer"),
        ("/v1/clusters", "ClustersAnswer"),
        ("/v1/clusters/demo", "Cluster"),
        ("/v1/attempts/{id}/timeline", "TimelineAnswer"),
        ("/v1/attempts/{id}/verdict", "VerdictAnswer"),
        ("/v1/attempts/{id}/decision", "DecisionAnswer"),
        ("/v1/exclusions", "ExclusionsAnswer"),
        ("/v1/pauses", "PausesAnswer"),
        ("/v1/nodes", "NodesAnswer"),
        ("/v1/nodes/n03", "NodeAnswer"),
        ("/v1/nothing", "Error"),
    ],
)
def test_real_answers_have_the_declared_form(api: Api, path: str, name: str) -> None:
    now = timezone.now()
    job = a_job(api.cluster, now=now, workflow_id="w")
    attempt = an_attempt(job, now=now, last_step=25, last_step_at=now, last_checkpoint_step=20)
    an_anomaly(attempt, now)
    a_verdict(attempt, now)
    an_advice(api.cluster, 101, now)
    an_attempt(a_job(api.cluster, 102, now), state=JobState.RUNNING, now=now)
    advice = an_advice(api.cluster, 103, now, action="ask")
    api.put("/v1/clusters/demo/lease", {"holder": "one", "fence": "0"})
    api.post("/v1/pauses", {"scope": "user", "value": "x", "reason": "r", "until": soon()})
    for each in (attempt, advice.attempt):
        answer = api.get(path.replace("{id}", str(each.heimdall_id)))
        if answer.status == 200 or name == "Error":
            check(name, answer.json)
    assert name == "Error" or api.get(path.replace("{id}", str(advice.attempt.heimdall_id))).status == 200


def soon() -> str:
    return (timezone.now() + timedelta(hours=1)).isoformat()


@pytest.mark.django_db
def test_the_api_describes_itself(api: Api) -> None:
    answer = api.get("/v1/schema", "ingest")
    assert (answer.status, answer.json["openapi"]) == (200, "3.1.0")
    assert set(answer.json["paths"]) == set(DOCUMENT["paths"])
