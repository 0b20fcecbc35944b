"""After a form, is a person where he was, with his filters, and never anywhere else?"""

from datetime import datetime, timedelta

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse

from advisor_api.models import Advice, Pause
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.sealing import seal_waiting
from audit.trail import Actor, Entry, Subject, record
from console.returning import way_back
from tests.console import sample
from tests.console.sample import Sample

HOST = "http://testserver"
FROM_JOBS = f"{HOST}/jobs?state=failed&user=ana"


@pytest.fixture
def pause(rows: Sample, now: datetime) -> Pause:
    until = now + timedelta(hours=1)
    return Pause.objects.create(
        cluster=rows.cluster, scope="user", value="ana", reason="r", owner="o", since=now, until=until
    )


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/jobs?state=failed&q=%22a%20b%22",
        "/nodes/demo/n%2F01?x=1",
        "/clusters/demo?nodes=at_risk",
        f"{HOST}/audit?cluster=demo&progress=1",
    ],
)
def test_a_page_of_ours_is_gone_back_to_with_its_filters(address: str) -> None:
    for request in (
        RequestFactory().post("/x", {"back": address}),
        RequestFactory().get("/x", {"back": address}),
        RequestFactory().get("/x", headers={"referer": address}),
    ):
        assert way_back(request, "/else") == address.removeprefix(HOST)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "https://evil.example/jobs",
        "//evil.example/jobs",
        "http:///evil.example/jobs",
        "/\\evil.example",
        "\\\\evil.example",
        "javascript:alert(1)",
        "/jobs\r\nX-Evil: 1",
        "/jobs\x00",
        "/nodes/demo/../../admin/",
        "/nodes/demo/%2e%2e",
        "/nodes/demo/./x",
        "//testserver//evil.example",
        "/sign-out",
        "/panels/job_table",
        "/admin/",
        "/steps/1/hold",
        "/nowhere",
        "jobs",
        "/jobs?" + "a" * 3000,
        "http://testserver@evil.example/jobs",
        "http://evil.example\\@testserver/jobs",
    ],
)
def test_no_other_address_is_gone_back_to(address: str) -> None:
    for request in (RequestFactory().post("/x", {"back": address}), RequestFactory().get("/x", {"back": address})):
        assert way_back(request, "/else") == "/else"


def test_what_is_not_allowed_does_not_hide_what_is() -> None:
    request = RequestFactory().post("/x", {"back": "//evil.example"}, headers={"referer": f"{HOST}/nodes?q=n1"})
    assert way_back(request, "/else") == "/nodes?q=n1"


@pytest.mark.parametrize("came_from", ["/", "/jobs?state=failed&user=ana", "/clusters/demo"])
def test_ending_a_pause_leads_back(came_from: str, as_operator: Client, pause: Pause) -> None:
    address = reverse("pause-end", args=["demo", pause.pk])
    page = as_operator.get(address, headers={"referer": HOST + came_from}).content.decode()
    shown = came_from.replace("&", "&amp;")
    assert f'name="back" value="{shown}"' in page and f'href="{shown}">Leave it paused' in page
    answer = as_operator.post(address, {"reason": "done", "back": came_from})
    assert answer.status_code == 302 and answer["Location"] == came_from


def test_a_mistake_on_the_way_does_not_lose_it(as_operator: Client, pause: Pause) -> None:
    address = reverse("pause-end", args=["demo", pause.pk])
    page = as_operator.post(address, {"reason": "", "back": "/jobs?user=ana"}, headers={"referer": HOST + address})
    assert page.status_code == 400 and 'name="back" value="/jobs?user=ana"' in page.content.decode()


def test_without_a_word_of_it_the_form_leads_where_it_did(as_operator: Client, pause: Pause) -> None:
    answer = as_operator.post(reverse("pause-end", args=["demo", pause.pk]), {"reason": "done"})
    assert answer["Location"] == "/clusters/demo"


def test_a_confirmation_in_between_keeps_it(as_operator: Client, rows: Sample) -> None:
    address = reverse("cluster-pause", args=["demo"])
    said = {"scope": "user", "value": "ana", "lasts": "2h", "reason": "r", "seen": "", "back": "/?x=1"}
    assert 'name="back" value="/?x=1"' in as_operator.post(address, said).content.decode()
    assert as_operator.post(address, said | {"confirmed": "yes"})["Location"] == "/?x=1"


def test_an_answer_to_advice_leads_back(as_operator: Client, rows: Sample) -> None:
    said = {"generation": "1", "decision": "reject", "reason": "r", "back": "/"}
    assert as_operator.post(reverse("approval", args=[rows.waiting.pk]), said)["Location"] == "/"


def test_a_hold_and_what_is_done_about_it_lead_back(as_operator: Client, rows: Sample, now: datetime) -> None:
    advice: Advice = sample.to_come(rows.cluster, now)
    address = reverse("step-hold", args=[advice.pk])
    job = reverse("job", args=["demo", 500, 0])
    said = {"generation": "1", "lasts": "advice", "reason": "r", "seen": "", "back": job}
    assert as_operator.post(address, said)["Location"] == job
    held = as_operator.get(address, headers={"referer": HOST + job}).content.decode()
    assert f"/end?back={job.replace('/', '%2F')}" in held


def test_verifying_the_trail_keeps_the_filters(as_operator: Client, rows: Sample, now: datetime) -> None:
    record([Entry(EventType.PAUSE, Subject("demo"), Actor(ActorKind.PERSON, "o"), "said")], now)
    seal_waiting(now)
    page = as_operator.get("/audit?cluster=demo&type=pause").content.decode()
    assert 'name="back" value="/audit?cluster=demo&amp;type=pause"' in page
    answer = as_operator.post(
        reverse("audit-verify"), {"cluster": "demo", "back": "/audit?cluster=demo&type=pause"}
    )
    assert answer["Location"] == "/audit?cluster=demo&type=pause#title-audit_chains"


def test_a_page_leads_back_to_the_list_as_it_was_filtered(as_viewer: Client, rows: Sample) -> None:
    address = reverse("job", args=["demo", 4711, 0])
    filtered = as_viewer.get(address, headers={"referer": FROM_JOBS}).content.decode()
    assert 'href="/jobs?state=failed&amp;user=ana">Jobs</a>' in filtered
    for other in (f"{HOST}/nodes?q=n01", "https://evil.example/jobs?x", ""):
        assert 'href="/jobs">Jobs</a>' in as_viewer.get(address, headers={"referer": other}).content.decode()
