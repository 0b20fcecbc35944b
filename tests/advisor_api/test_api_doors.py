"""Who may go through which door? Every endpoint, every member of the cast."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import resolve
from django.utils import timezone

from advisor_api.models import ApiToken
from advisor_api.token_role import TokenRole
from advisor_api.urls import urlpatterns
from audit.models import AuditEvent
from tests.advisor_api.conftest import Api
from tests.advisor_api.world import a_token, an_advice, an_anomaly

pytestmark = pytest.mark.django_db

READERS = {"viewer", "operator", "admin", "controller"}
OPERATORS = {"operator", "admin"}
REPORTERS = {"controller", "ingest"}
EVENT = {
    "eventProducer": "controller",
    "eventType": "note",
    "eventProducedAt": "1764410537000000",
    "idempotencyKey": "k",
}
HEALTH_EVENT = {"nodeName": "n03", "checkName": "GpuXidError", "generatedTimestamp": "2026-11-01T00:00:00Z"}
SEQUENCE = (
    "?schedulerSystem=slurm&schedulerScope=demo&jobId=100&sourceAttemptIndex=0&operation=RECOVERY_OPERATION_RESTART"
)
UNSEEN = {"version": 1, "sequence": "1", "complete": False, "reason": "r"}
RULING = {"generation": "1", "reason": "because"}
SOON = "2100-01-01T00:00:00Z"
INCIDENT = "7d1f2a34-5b6c-4d7e-8f90-a1b2c3d4e5f6"

DOORS: list[tuple[str, str, set[str], dict[str, Any] | None]] = [
    ("GET", "/v1/jobs", READERS, None),
    ("POST", "/v1/jobs", REPORTERS, {"workflowId": "w", "jobId": "1"}),
    ("GET", "/v1/jobs/100-0", READERS, None),
    ("GET", "/v1/jobs/by-scheduler-id/100", READERS, None),
    ("GET", "/v1/workflows", READERS, None),
    ("GET", "/v1/workflows:lookup?workflowId=w", READERS, None),
    ("GET", "/v1/advice", READERS, None),
    ("GET", "/v1/advice:watch", READERS, None),
    ("PUT", "/v1/advice/{id}/reconciliation-status", {"controller"}, {}),
    ("GET", f"/v1/recovery/sequences{SEQUENCE}", READERS, None),
    ("POST", "/v1/recovery/milestones", {"controller"}, {}),
    ("GET", "/v1/audit/events?jobId=100", READERS, None),
    ("POST", "/v1/audit/events", REPORTERS, {"items": [EVENT]}),
    ("GET", "/v1/clusters", READERS, None),
    ("GET", "/v1/clusters/demo", READERS, None),
    ("PATCH", "/v1/clusters/demo", {"admin"}, {"mode": "monitor", "modeVersion": "1", "reason": "r"}),
    ("GET", "/v1/clusters/demo/signals", READERS, None),
    ("PUT", "/v1/clusters/demo/lease", {"controller"}, {"holder": "h", "fence": "0"}),
    ("GET", "/v1/clusters/demo/observation", READERS, None),
    ("PUT", "/v1/clusters/demo/observation", {"controller"}, UNSEEN),
    ("GET", "/v1/attempts/{id}/timeline", READERS, None),
    ("GET", "/v1/attempts/{id}/verdict", READERS, None),
    ("GET", "/v1/attempts/{id}/decision", READERS, None),
    ("POST", "/v1/advice/{id}:approve", OPERATORS, RULING),
    ("POST", "/v1/advice/{id}:reject", OPERATORS, RULING),
    ("POST", "/v1/advice/{id}:expire", OPERATORS, RULING),
    ("GET", "/v1/exclusions", READERS, None),
    ("POST", "/v1/exclusions", OPERATORS, {"node": "n05", "reason": "r", "until": SOON}),
    ("DELETE", "/v1/exclusions/1", OPERATORS, None),
    ("GET", "/v1/pauses", READERS, None),
    ("POST", "/v1/pauses", OPERATORS, {"scope": "cluster", "reason": "r", "until": SOON}),
    ("DELETE", "/v1/pauses/1", OPERATORS, None),
    ("POST", "/v1/health-events", REPORTERS, HEALTH_EVENT),
    ("POST", "/v1/progress", REPORTERS, {"jobId": "100", "idempotencyKey": "k", "step": 1}),
    ("POST", "/v1/progress:key", REPORTERS, {"jobId": "100"}),
    ("GET", "/v1/incidents", READERS, None),
    ("GET", f"/v1/incidents/{INCIDENT}", READERS, None),
    ("GET", "/v1/trail", READERS, None),
    ("GET", "/v1/trail:export?node=none", READERS, None),
    ("GET", "/v1/nodes", READERS, None),
    ("GET", "/v1/nodes/n01", READERS, None),
    ("GET", "/v1/schema", READERS | REPORTERS, None),
]
IDS = [f"{method} {path.split('?')[0]}" for method, path, _, _ in DOORS]
MEMBERS = ("viewer", "operator", "admin", "controller", "ingest")


@pytest.mark.parametrize(("method", "path", "allowed", "body"), DOORS, ids=IDS)
def test_who_may_pass(api: Api, method: str, path: str, allowed: set[str], body: dict[str, Any] | None) -> None:
    path = path.replace("{id}", str(an_advice(api.cluster, now=timezone.now()).attempt.heimdall_id))
    for member in MEMBERS:
        answer = api.ask(method, path, member, body)
        assert (answer.status != 403) is (member in allowed), (member, answer)
        if answer.status == 403:
            assert answer.json == {"code": 7, "message": "Your role does not allow this.", "details": []}


@pytest.mark.parametrize("path", [path for method, path, _, _ in DOORS if method == "GET" and "schema" not in path])
def test_the_length_of_an_answer_is_for_readers_alone(api: Api, path: str) -> None:
    """HEAD gives the length of what GET would show: whoever only reports must not ask for it either."""
    path = path.replace("{id}", str(an_advice(api.cluster, now=timezone.now()).attempt.heimdall_id))
    assert api.ask("HEAD", path, "ingest").status == 403
    assert api.ask("HEAD", path, "viewer").status in {200, 404}


@pytest.mark.parametrize(("method", "path", "allowed", "body"), DOORS, ids=IDS)
def test_who_is_not_known_stays_outside(
    api: Api, method: str, path: str, allowed: set[str], body: dict[str, Any] | None
) -> None:
    path = path.replace("{id}", "3f0c5a1e-7b0e-5d36-9a43-5b8f6c1e2d10")
    for member, sentence in (
        ("nobody", "Authentication credentials were not provided."),
        ("expired", "This token expired"),
        ("revoked", "This token was revoked."),
    ):
        answer = api.ask(method, path, member, body)
        assert answer.status == 401
        assert answer.message.startswith(sentence)
        assert answer.json["code"] == 16
        assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize(("method", "path", "allowed", "body"), DOORS, ids=IDS)
def test_a_stranger_sees_and_changes_nothing(
    api: Api, method: str, path: str, allowed: set[str], body: dict[str, Any] | None
) -> None:
    """A token of another cluster, in the role that is needed."""
    advice = an_advice(api.cluster, now=timezone.now())
    role = "controller" if allowed in ({"controller"}, REPORTERS) else "admin"
    api.secrets["stranger"] = make_stranger(api, role)
    path = path.replace("{id}", str(advice.attempt.heimdall_id))
    joint = "&" if "?" in path else "?"
    answer = api.ask(method, f"{path}{joint}cluster=demo", "stranger", body)
    if path in {"/v1/schema"}:
        return
    assert answer.status in {400, 403}, answer  # 400: the body was refused before the cluster was looked at
    if body is None or answer.status == 403:
        assert "not for the cluster 'demo'" in answer.message
    advice.refresh_from_db()
    assert advice.state == "pending"


def make_stranger(api: Api, role: str) -> str:
    return a_token(TokenRole(role), [api.other], f"stranger-{role}", timezone.now())[0]


def test_every_method_of_every_path_stands_in_the_table() -> None:
    """A new endpoint, or a new method of one, needs a line: who may use it, and who may not."""
    listed = {(resolve(path.split("?")[0].replace("{id}", INCIDENT)).route, method) for method, path, _, _ in DOORS}
    there = {
        (str(pattern.pattern), method)
        for pattern in urlpatterns
        for method in pattern.callback.cls.roles
        if "^" not in str(pattern.pattern)  # whatever else is asked for below /v1: a 404 for everybody
    }
    assert listed == there


def test_a_view_has_a_role_for_each_of_its_methods() -> None:
    """What has no line of its own in `roles` would be open to whoever may use any other method."""
    for pattern in urlpatterns:
        view = pattern.callback.cls
        assert {each for each in view.http_method_names if hasattr(view, each)} - {"options"} == {
            method.lower() for method in view.roles
        }, view


NAMED = [door for door in DOORS if "{id}" in door[1] or "/clusters/demo" in door[1]]


@pytest.mark.parametrize(
    ("method", "path", "allowed", "body"), NAMED, ids=[f"{door[0]} {door[1]}" for door in NAMED]
)
def test_a_stranger_who_says_no_cluster_finds_nothing_by_its_name(
    api: Api, method: str, path: str, allowed: set[str], body: dict[str, Any] | None
) -> None:
    """The id of an attempt of another cluster, or that cluster's name in the path, leads nowhere."""
    advice = an_advice(api.cluster, now=timezone.now())
    api.secrets["stranger"] = make_stranger(api, "controller" if "controller" in allowed else "admin")
    answer = api.ask(method, path.replace("{id}", str(advice.attempt.heimdall_id)), "stranger", body)
    assert answer.status in {400, 403, 404}, answer  # 400: the body was refused before the attempt was looked for
    advice.refresh_from_db()
    assert (advice.state, advice.attempt.job.cluster.mode) == ("pending", "action")


def test_without_clusters_a_token_reads_nothing(api: Api) -> None:
    for path in ("/v1/jobs", "/v1/clusters", "/v1/advice", "/v1/jobs/100-0"):
        answer = api.get(path, "none")
        assert (answer.status, answer.message) == (403, "This token is for no cluster.")


def test_a_token_for_several_clusters_says_which(api: Api) -> None:
    answer = api.get("/v1/jobs", "two")
    assert (answer.status, answer.json["code"]) == (400, 3)
    assert answer.message == "Say which cluster: add cluster=NAME, one of demo, second."
    assert api.get("/v1/jobs?cluster=second", "two").status == 200
    assert api.get("/v1/jobs?cluster=third", "two").status == 403
    assert [c["name"] for c in api.get("/v1/clusters", "two").json["clusters"]] == ["demo", "second"]


def test_a_uuid_needs_no_cluster(api: Api) -> None:
    advice = an_advice(api.cluster, now=timezone.now())
    assert api.get(f"/v1/attempts/{advice.attempt.heimdall_id}/verdict", "two").status == 200
    assert api.get(f"/v1/attempts/{advice.attempt.heimdall_id}/verdict", "stranger").status == 404


@pytest.mark.parametrize("header", ["Bearer", "Bearer a b", "Bearer " + "x" * 300, "Bearer \xff", "bearer wrong"])
def test_a_broken_header_is_a_401(api: Api, header: str) -> None:
    found = Client().get("/v1/jobs", headers={"Authorization": header})
    assert found.status_code == 401
    assert found.json()["code"] == 16


def test_basic_authentication_is_no_way_in(api: Api) -> None:
    assert Client().get("/v1/jobs", headers={"Authorization": "Basic eDp5"}).status_code == 401


class TestPeople:
    """A session of the console."""

    def test_who_may_what(self, api: Api, people: dict[str, User]) -> None:
        advice = an_advice(api.cluster, now=timezone.now())
        verb = f"/v1/advice/{advice.attempt.heimdall_id}:reject"
        for name, may in {"vera": "read", "olga": "rule", "anna": "switch", "root": "all"}.items():
            client = Client()
            client.force_login(people[name])
            assert client.get("/v1/jobs?cluster=demo").status_code == 200
            ruled = client.post(verb, {"generation": "9", "reason": "r"}, "application/json").status_code
            assert ruled == (409 if may in {"rule", "all"} else 403)
            switched = client.patch(
                "/v1/clusters/demo", {"mode": "monitor", "modeVersion": "9", "reason": "r"}, "application/json"
            ).status_code
            assert switched == (409 if may in {"switch", "all"} else 403)
            held = client.put("/v1/clusters/demo/lease", {"holder": "h"}, "application/json").status_code
            assert held == 403  # no person is a controller

    def test_a_person_without_account_any_more(self, api: Api, people: dict[str, User]) -> None:
        client = Client()
        client.force_login(people["vera"])
        User.objects.filter(username="vera").update(is_active=False)
        assert client.get("/v1/jobs?cluster=demo").status_code == 401

    def test_writing_needs_the_csrf_token(self, api: Api, people: dict[str, User]) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(people["root"])
        found = client.post("/v1/pauses?cluster=demo", {"scope": "cluster"}, "application/json")
        assert found.status_code == 403
        assert "CSRF" in found.json()["message"]

    def test_an_unknown_cluster_is_not_there(self, api: Api, people: dict[str, User]) -> None:
        client = Client()
        client.force_login(people["vera"])
        assert client.get("/v1/jobs?cluster=third").status_code == 404


def test_how_a_token_shows_its_use(api: Api) -> None:
    token = ApiToken.objects.get(name="viewer")
    assert token.last_used_at is None
    api.get("/v1/clusters")
    first = ApiToken.objects.get(name="viewer").last_used_at
    assert first is not None
    api.get("/v1/clusters")
    assert ApiToken.objects.get(name="viewer").last_used_at == first  # at most once a minute
    ApiToken.objects.filter(name="viewer").update(last_used_at=first - timedelta(seconds=61))
    api.get("/v1/clusters")
    assert ApiToken.objects.get(name="viewer").last_used_at > first


def test_no_secret_is_stored(api: Api) -> None:
    an_anomaly(an_advice(api.cluster, now=timezone.now()).attempt)
    rows = str(list(ApiToken.objects.values())) + str(list(AuditEvent.objects.values()))
    assert not [name for name, secret in api.secrets.items() if secret in rows]


@pytest.mark.parametrize(("method", "path", "allowed", "body"), DOORS, ids=IDS)
def test_a_cluster_that_a_person_does_not_see_is_not_there(
    api: Api, method: str, path: str, allowed: set[str], body: dict[str, Any] | None
) -> None:
    """Signed in, with every right but that of a superuser, and in none of the groups that the cluster is for."""
    advice = an_advice(api.cluster, now=timezone.now())
    type(api.cluster).objects.filter(pk=api.cluster.pk).update(seen_by=["Physics"])
    somebody = User.objects.create_user("outside")
    somebody.user_permissions.set(Permission.objects.all())
    browser = Client()
    browser.force_login(somebody)
    asked = path.replace("{id}", str(advice.attempt.heimdall_id))
    sent = {"data": json.dumps(body) if body else "", "content_type": "application/json"}
    answer = browser.generic(method, f"{asked}{'&' if '?' in asked else '?'}cluster=demo", **sent)
    if path == "/v1/schema":
        return
    assert answer.status_code in {400, 403, 404}, answer.content
    if "{id}" not in path and "demo" not in asked:  # asked for without naming a cluster
        text = b"".join(browser.generic(method, asked, **sent)).decode()
        assert '"name":"demo"' not in text and str(advice.attempt.heimdall_id) not in text
    advice.refresh_from_db()
    assert (advice.state, advice.attempt.job.cluster.mode) == ("pending", "action")
