"""Does the console show what was told to whom, and send again and test only for whoever may?"""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from advisor_api.notification_models import Delivery, NotificationRoute
from audit.event_type import EventType
from audit.models import AuditEvent
from tests.advisor_api.notifying.world import a_route, blind, tell
from tests.console.sample import HOSTILE, Sample


@pytest.fixture
def told(rows: Sample, now: datetime) -> Delivery:
    a_route(now=now, name="ops", address="http://127.0.0.1:9/hook", topics=["blind"])
    NotificationRoute.objects.update(since=now)
    tell(blind(rows.blind.attempts.order_by("-index")[0], now, HOSTILE), now=now)
    row = Delivery.objects.get()
    Delivery.objects.update(outcome="failed", said="it answered 403: <b>no</b>", over_at=now, due_at=None, tries=2)
    return row


@pytest.fixture
def as_sender(rows: Sample) -> Client:
    user = User.objects.create_user("nora")
    names = ["change_notificationroute", "view_notificationroute"]
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    client = Client()
    client.force_login(user)
    return client


def test_what_was_told_to_whom_and_why_it_failed(as_sender: Client, told: Delivery) -> None:
    page = as_sender.get("/notifications").content.decode()
    assert "Given up" in page
    assert "http://127.0.0.1:9/hook" in page
    assert "it answered 403: &lt;b&gt;no&lt;/b&gt;" in page
    assert "<script>alert" not in page
    assert "\u202e" not in page
    one = as_sender.get(f"/notifications/{told.pk}").content.decode()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in one
    assert "Send again" in one


def test_a_viewer_sees_what_was_told_and_no_address(as_viewer: Client, told: Delivery) -> None:
    for path in ("/notifications", f"/notifications/{told.pk}"):
        page = as_viewer.get(path).content.decode()
        assert "Given up" in page
        assert "127.0.0.1:9/hook" not in page
        assert "Send" not in page.replace("Sent", "")


def test_a_viewer_sends_nothing(as_viewer: Client, told: Delivery) -> None:
    assert as_viewer.post("/notifications", {"route": "ops"}).status_code == 403
    assert as_viewer.post(f"/notifications/{told.pk}").status_code == 403
    assert Delivery.objects.get().outcome == "failed"


def test_a_stranger_is_asked_to_sign_in(client: Client, told: Delivery) -> None:
    for path in ("/notifications", f"/notifications/{told.pk}"):
        assert client.get(path).status_code == 302
        assert client.post(path).status_code == 302


def test_what_was_given_up_is_sent_again_once(as_sender: Client, told: Delivery) -> None:
    path = f"/notifications/{told.pk}"
    assert as_sender.post(path).status_code == 302
    assert as_sender.post(path).status_code == 409
    row = Delivery.objects.get()
    assert (row.outcome, row.said, row.key) == ("waiting", "", told.key)
    said = AuditEvent.objects.filter(type=EventType.NOTIFICATION.value).get()
    assert said.sentence.startswith("nora has ops told again: ")


def test_a_test_message_waits_for_a_worker(as_sender: Client, told: Delivery) -> None:
    assert as_sender.post("/notifications", {"route": "ops"}).status_code == 302
    row = Delivery.objects.get(topic="test")
    assert (row.outcome, row.tries) == ("waiting", 0)
    assert row.due_at - row.made_at < timedelta(seconds=10)
    assert as_sender.post("/notifications", {"route": "nobody"}).status_code == 404
    NotificationRoute.objects.update(enabled=False)
    assert as_sender.post("/notifications", {"route": "ops"}).status_code == 409
    assert Delivery.objects.filter(topic="test").count() == 1


def test_there_is_no_such_message(as_viewer: Client, rows: Sample) -> None:
    assert as_viewer.get("/notifications/999").status_code == 404


def test_nobody_is_told_yet(as_viewer: Client, rows: Sample) -> None:
    page = as_viewer.get("/notifications").content.decode()
    assert "Nobody is told of anything yet." in page
