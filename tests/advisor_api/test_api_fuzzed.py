"""Does the API do what its own document says, whatever is sent to it? Every operation, by every role.

Requests are made up from the committed document: some fit it, some do not. `FUZZ_EXAMPLES=200` makes it long.
"""

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import schemathesis
from django.core.cache import cache
from django.core.signals import request_finished, request_started
from django.db import close_old_connections
from django.urls import resolve
from django.utils import timezone
from hypothesis import HealthCheck, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from advisor_api.models import Exclusion, Pause
from recovery_site.wsgi import application
from schedulers.states import JobState
from tests.advisor_api.conftest import Api
from tests.advisor_api.test_api_document import DOCUMENT
from tests.advisor_api.world import a_job, a_verdict, an_advice, an_anomaly, an_attempt

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "5"))
MEMBERS = ("viewer", "controller", "ingest", "operator", "admin")
ANSWERS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
BEYOND_A_SCHEMA = {
    "listAuditEvents": "either heimdallJobId or jobId; a cursor that we gave; a time that there is",
    "listAdvice": "a page token that we gave",
    "listExclusions": "a page token that we gave",
    "listIncidents": "a page token that we gave",
    "listJobs": "filters that exclude each other; a page token that we gave",
    "listJobsOfNumber": "a whole number; a page token that we gave",
    "listNodes": "a page token that we gave",
    "listPauses": "a page token that we gave",
    "listWorkflows": "a page token that we gave, or a page number, not both",
    "getTimeline": "a page token that we gave",
    "getJob": "an id of either form",
    "excludeNode": "a node of the cluster; an end in the future, at most seven days away",
    "pause": "a value that goes with its scope; an end in the future, at most seven days away",
    "pushHealthEvents": "a time that is no future; a name that is one of a node",
    "pushObservation": "a sequence above 0, and what goes with `complete`",
    "reportJob": "jobId or a heimdallJobId that is known; bounded properties",
    "reportMilestone": "an operation that is the one of the recovery",
    "searchTrail": "a cursor that we gave; either of the ids; a time that there is",
    "exportTrail": "either of the ids; a time that there is",
    "reportReconciliation": "a disposition that goes with its reason",
    "tellProgress": "a job that runs; something that is told of it",
}
"""Where a request that fits the document may still be a 400: a rule that no schema says."""


REFUSED = ("400", "401", "403", "404", "405", "406", "409", "413", "415", "429")


def a_schema(*, phases: tuple[str, ...], examples: int) -> Any:
    known = ("examples", "coverage", "fuzzing", "stateful")
    config = SchemathesisConfig.from_dict(
        {
            "generation": {"max-examples": examples, "deterministic": True, "no-shrink": True, "database": "none"},
            "phases": {name: {"enabled": name in phases} for name in known},
            "operations": [
                {
                    "include-operation-id": name,
                    "checks": {
                        "positive_data_acceptance": {
                            "expected-statuses": ["2xx", "400", "401", "403", "404", "409", "429"]
                        }
                    },
                }
                for name in BEYOND_A_SCHEMA
            ]
            + [
                {
                    "include-operation-id": "reportAuditEvents",  # each event is judged by itself
                    "checks": {"negative_data_rejection": {"expected-statuses": ["200", *REFUSED]}},
                }
            ],
        }
    )
    schema = schemathesis.openapi.from_dict(DOCUMENT, config=config)
    schema.app = application
    return schema


WHOLE = a_schema(phases=("examples", "coverage", "fuzzing"), examples=EXAMPLES)
SHORT = a_schema(phases=("fuzzing",), examples=max(2, EXAMPLES // 10))
pytestmark = pytest.mark.timeout(900 + 30 * EXAMPLES)
QUIET = settings(suppress_health_check=list(HealthCheck), deadline=None)


@pytest.fixture
def there(api: Api, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """A cluster on which there is one of everything, and how each is called in a path."""
    now = timezone.now()
    attempt = an_attempt(a_job(api.cluster, now=now, workflow_id="w"), now=now, last_step=25, last_step_at=now)
    an_anomaly(attempt, now)
    a_verdict(attempt, now)
    an_attempt(a_job(api.cluster, 102, now), state=JobState.RUNNING, now=now)
    advice = an_advice(api.cluster, 103, now)
    until = (now + timedelta(hours=1)).isoformat()
    api.post("/v1/pauses", {"scope": "user", "value": "x", "reason": "r", "until": until})
    # One token asks more in a test than a client does in a minute.
    monkeypatch.setattr("advisor_api.rates.CallerRate.rate", "1000000/min", raising=False)
    monkeypatch.setattr("advisor_api.rates.CallerRate.get_rate", lambda _self: "1000000/min")
    # As Django's own client does: at the end of a request its connection would be closed, and on MariaDB, where
    # autocommit is off inside a transaction, the test's own transaction with it.
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield {
        "heimdall_id": str(advice.attempt.heimdall_id),
        "name": {"nodes": "n03", "clusters": "demo"},
        "job_id": "103-0",
        "number": {
            "by-scheduler-id": "103",
            "exclusions": str(Exclusion.objects.values_list("pk", flat=True).first()),
            "pauses": str(Pause.objects.values_list("pk", flat=True).first()),
        },
    }
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)
    cache.clear()


def at_home(case: Case, there: dict[str, Any]) -> None:
    """A request that fits the document asks about what is there: an unknown id gives a 404 and no more."""
    cache.clear()  # wrong tokens are part of it, and are counted
    if case.meta is not None and case.meta.generation.mode is GenerationMode.NEGATIVE:
        return
    case.query.pop("cluster", None)
    for name in case.path_parameters:
        value = there.get(name)
        if isinstance(value, dict):
            value = next((one for part, one in value.items() if f"/{part}/" in case.path), None)
        if value is not None:
            case.path_parameters[name] = value


def allowed(case: Case) -> str:
    """A member of the cast that may use the operation: the first one in order of what it may."""
    view = resolve(case.operation.path.format_map(_Some({"heimdall_id": NOBODY, "uuid": NOBODY})))
    roles = {role.value for role in view.func.cls.roles[case.operation.method.upper()]}
    return next(member for member in MEMBERS if member in roles)


NOBODY = "3f0c5a1e-7b0e-5d36-9a43-5b8f6c1e2d10"


class _Some(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "1"


@pytest.mark.django_db
@WHOLE.parametrize()
@QUIET
def test_who_may_use_it_gets_what_the_document_says(case: Case, api: Api, there: dict[str, Any]) -> None:
    at_home(case, there)
    case.call_and_validate(headers=bearer(api, allowed(case)))


@pytest.mark.django_db
@SHORT.parametrize()
@QUIET
def test_whoever_asks_gets_a_documented_answer(case: Case, api: Api, there: dict[str, Any]) -> None:
    at_home(case, there)
    for member in MEMBERS:
        response = case.call(headers=bearer(api, member))
        case.validate_response(response, checks=ANSWERS)


def bearer(api: Api, member: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {api.secrets[member]}"}
