"""Is an advice approved or rejected only by who may, in time, with a reason?"""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from advisor_api.models import Advice
from tests.console.sample import Sample

YES = {"decision": "approve", "reason": "f02 is really gone", "generation": "1"}
NO = YES | {"decision": "reject", "reason": "its owner is at work on it"}


def address(rows: Sample) -> str:
    return reverse("approval", args=[rows.waiting.pk])


def state(rows: Sample) -> str:
    return Advice.objects.get(pk=rows.waiting.pk).state


@pytest.mark.parametrize("method", ["get", "post"])
def test_without_the_permission_it_is_forbidden(method: str, as_viewer: Client, rows: Sample) -> None:
    assert getattr(as_viewer, method)(address(rows), YES).status_code == 403
    assert state(rows) == "awaiting_approval"


def test_a_stranger_is_sent_to_the_sign_in(client: Client, rows: Sample) -> None:
    assert client.post(address(rows), YES).status_code == 302
    assert state(rows) == "awaiting_approval"


def test_another_site_cannot_approve(cast: dict[str, User], rows: Sample) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast["operator"])
    assert client.post(address(rows), YES).status_code == 403
    assert state(rows) == "awaiting_approval"


def test_the_page_says_what_would_be_done(as_operator: Client, rows: Sample) -> None:
    assert address(rows) in as_operator.get("/approvals").content.decode()
    text = as_operator.get(address(rows)).content.decode()
    assert "requeues and holds job 99, leaves out f02 for it, and releases it" in text
    assert state(rows) == "awaiting_approval"


@pytest.mark.parametrize(("answer", "after"), [(YES, "pending"), (NO, "abandoned")], ids=["yes", "no"])
def test_an_answer_moves_the_advice(answer: dict[str, str], after: str, as_operator: Client, rows: Sample) -> None:
    assert as_operator.post(address(rows), answer)["Location"] == "/approvals"
    assert state(rows) == after


def test_what_only_asks_a_person_is_closed_from_the_overview(as_operator: Client, rows: Sample) -> None:
    Advice.objects.filter(pk=rows.waiting.pk).update(state="pending", operation="wait", excluded_nodes=[])
    assert f'href="{address(rows)}">Close it…' in as_operator.get("/").content.decode()
    page = as_operator.get(address(rows)).content.decode()
    assert "<strong>If you close it:</strong> it is listed no more" in page
    assert "If you approve" not in page
    assert "Close it: it was looked at" in page
    as_operator.post(address(rows), NO)
    assert state(rows) == "abandoned"
    assert "Close it…" not in as_operator.get("/").content.decode()


def test_of_two_answers_the_first_one_counts(as_operator: Client, as_admin: Client, rows: Sample) -> None:
    as_operator.post(address(rows), NO)
    late = as_admin.post(address(rows), YES)
    assert late.status_code == 409
    assert state(rows) == "abandoned"
    assert "nothing to decide any more" in late.content.decode()


def test_too_late_is_refused(as_operator: Client, rows: Sample, now: datetime) -> None:
    Advice.objects.update(expires_at=now - timedelta(seconds=1))
    answer = as_operator.post(address(rows), YES)
    assert answer.status_code == 409
    assert "came too late" in answer.content.decode()
    assert state(rows) == "awaiting_approval"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"reason": ""}, "Say why"),
        ({"decision": ""}, "Choose approve or reject."),
        ({"decision": "perhaps"}, "either approve or reject"),
        ({"generation": ""}, "open the page again"),
        ({"generation": "x"}, "not a number"),
    ],
)
def test_a_form_that_cannot_be_used_changes_nothing(
    change: dict[str, str], sentence: str, as_operator: Client, rows: Sample
) -> None:
    answer = as_operator.post(address(rows), YES | change)
    assert answer.status_code == 400
    assert sentence in answer.content.decode()
    assert state(rows) == "awaiting_approval"


def test_another_generation_is_stale(as_operator: Client, rows: Sample) -> None:
    assert as_operator.post(address(rows), YES | {"generation": "7"}).status_code == 409
    assert state(rows) == "awaiting_approval"


def test_an_advice_that_is_not_there_is_404(as_operator: Client, rows: Sample) -> None:
    assert as_operator.get("/approvals/999999").status_code == 404
