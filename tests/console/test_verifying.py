"""Is the trail verified at the push of a button, by who may, by a worker, and is the answer shown?"""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from kombu.exceptions import OperationalError
from pytest_django import DjangoAssertNumQueries

from audit import append_only
from audit.models import AuditEvent
from audit.sealing import seal_waiting
from audit.tasks import verify_chain
from console.chain_lines import PATIENCE, is_asked
from console.rendering import bodies
from tests.console.sample import Sample

VERIFY = "/audit/verify"


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What a worker was asked; nobody answers until the test does."""
    asked: list[tuple[str, str]] = []
    monkeypatch.setattr(verify_chain, "apply_async", lambda args, expires: asked.append(args))
    return asked


@pytest.fixture
def chain(rows: Sample, now: datetime) -> Sample:
    seal_waiting(now)
    return rows


def shown(client: Client) -> str:
    bodies.forget()
    return str(client.get(reverse("audit")).content.decode())


def test_a_worker_is_asked_and_its_answer_is_shown(
    as_operator: Client, chain: Sample, queue: list[tuple[str, str]], now: datetime
) -> None:
    assert "never asked for here" in shown(as_operator)
    answer = as_operator.post(VERIFY, {"cluster": "demo"}, follow=True)
    assert "A worker verifies the trail of demo" in answer.content.decode()
    assert queue == [("demo", "operator")]
    assert "under way" in shown(as_operator)
    again = as_operator.post(VERIFY, {"cluster": "demo"}, follow=True)
    assert "is being verified already" in again.content.decode() and len(queue) == 1
    verify_chain(*queue[0])
    text = shown(as_operator)
    assert ">holds</span>" in text and "The trail of demo is as it was written" in text and "under way" not in text
    actions = list(AuditEvent.objects.filter(type="verified").order_by("pk").values_list("action", "actor"))
    assert actions == [("asked", "operator"), ("holds", "verify")]
    assert not is_asked("demo", now)


def test_an_answer_that_does_not_come_is_said_and_may_be_asked_for_again(
    as_operator: Client, chain: Sample, queue: list[tuple[str, str]], now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_operator.post(VERIFY, {"cluster": "demo"})
    later = now + PATIENCE + timedelta(seconds=30)
    monkeypatch.setattr("console.views.asked.timezone.now", lambda: later)
    assert "does a worker run?" in shown(as_operator)
    assert is_asked("demo", now) and not is_asked("demo", later)


def test_a_broker_that_is_away_is_said_and_leaves_no_question(
    as_operator: Client, chain: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_given: object, **_named: object) -> None:
        raise OperationalError

    monkeypatch.setattr(verify_chain, "apply_async", away)
    answer = as_operator.post(VERIFY, {"cluster": "demo"}, follow=True)
    assert "the broker does not answer" in answer.content.decode()
    assert not AuditEvent.objects.filter(type="verified").exists()


@pytest.mark.django_db(transaction=True)
def test_a_trail_that_was_changed_is_shown_in_red(as_viewer: Client, chain: Sample) -> None:
    append_only.remove()
    AuditEvent.objects.filter(cluster="demo", type="verdict").update(actor="mallory")
    append_only.restore()
    verify_chain("demo", "somebody")
    text = shown(as_viewer)
    assert ">changed</span>" in text and "NOT as it was written" in text


@pytest.mark.parametrize("cluster", ["nowhere", "\0", "x" * 500])
def test_a_trail_that_is_not_there_is_404(
    cluster: str, as_operator: Client, chain: Sample, queue: list[tuple[str, str]]
) -> None:
    assert as_operator.post(VERIFY, {"cluster": cluster}).status_code == 404
    assert queue == []


def test_who_may_ask(
    client: Client, as_viewer: Client, cast: dict[str, User], chain: Sample, queue: list[tuple[str, str]]
) -> None:
    assert Client().post(VERIFY, {"cluster": "demo"}).status_code == 302
    assert as_viewer.post(VERIFY, {"cluster": "demo"}).status_code == 403
    assert as_viewer.get(VERIFY).status_code == 405
    assert "Verify now" not in shown(as_viewer)
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(cast["operator"])
    assert strict.post(VERIFY, {"cluster": "demo"}).status_code == 403
    assert queue == []


def test_the_number_of_queries_does_not_grow_with_chains(
    as_viewer: Client, chain: Sample, now: datetime, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for name in ("demo", "far-away", ""):
        verify_chain(name, "x")
    bodies.forget()
    with django_assert_max_num_queries(14):
        as_viewer.get("/panels/audit_chains")
