"""Does a message arrive, once, signed, within its time, and is what came of it kept?"""

import hashlib
import hmac
import json
import re
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError
from django.test import Client, override_settings
from django.utils import timezone

from advisor_api.notification_models import Delivery, NotificationRoute
from advisor_api.notifying.deliveries import claim, due_deliveries, forget_old, send_again, send_test
from advisor_api.notifying.sending import PLACES, send, start_due
from advisor_api.refusals import Stale
from audit.event_type import EventType
from audit.models import AuditEvent
from tests.advisor_api.notifying.world import (
    Receiver,
    Smtp,
    a_mail_server,
    a_receiver,
    a_route,
    blind,
    only,
    sweep,
    tell,
)
from tests.advisor_api.world import NOW, OPERATOR, a_cluster, a_job, an_attempt, seconds

pytestmark = pytest.mark.django_db
SOON = NOW + seconds(10)
SECRET = "correct horse battery"
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def hook() -> Iterator[str]:
    with a_receiver() as address:
        yield address


@pytest.fixture
def mail() -> Iterator[int]:
    with a_mail_server() as port:
        backend = "advisor_api.notifying.mail_backend.TimedBackend"
        named = {"REKINDLE_MAIL_URL": "smtp://there", "REKINDLE_MAIL_FROM": "rekindle@example.org"}
        with override_settings(
            EMAIL_BACKEND=backend, EMAIL_HOST="127.0.0.1", EMAIL_PORT=port, REKINDLE={**settings.REKINDLE, **named}
        ):
            yield port


@pytest.fixture
def credentials(tmp_path: Path) -> Iterator[Path]:
    with override_settings(REKINDLE={**settings.REKINDLE, "REKINDLE_CREDENTIALS_DIR": str(tmp_path)}):
        yield tmp_path


def credential(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o600)


def told(why: str = "no file", **values: Any) -> Delivery:
    cluster = a_cluster()
    a_route(**values)
    tell(blind(an_attempt(a_job(cluster)), why=why))
    return only()


def events() -> list[tuple[str, str, str]]:
    found = AuditEvent.objects.filter(type=EventType.NOTIFICATION.value).order_by("id")
    return [(event.level, event.actor, event.sentence) for event in found]


class TestPosting:
    def test_a_webhook_is_signed_as_the_guide_says(self, hook: str, credentials: Path) -> None:
        credential(credentials, "hook", f"secret {SECRET}\n")
        row = told(kind="webhook", address=f"{hook}/in", credential="hook")
        assert (sweep(NOW), sweep(SOON), sweep(SOON)) == (0, 1, 0)
        ((path, headers, body),) = Receiver.got
        assert (path, headers["Idempotency-Key"], headers["Content-Type"]) == ("/in", row.key, "application/json")
        stamp, mac = re.fullmatch(r"t=(\d+),v1=([0-9a-f]{64})", headers["Rekindle-Signature"]).groups()  # type: ignore[union-attr]
        assert int(stamp) == int(SOON.timestamp())
        assert hmac.new(SECRET.encode(), f"{stamp}.".encode() + body, hashlib.sha256).hexdigest() == mac
        guide = (ROOT / "docs" / "operators-guide.md").read_text()
        code = re.search(r"```python\n(def is_from_rekindle.*?)```", guide, re.DOTALL)
        assert code
        names: dict[str, Any] = {}
        exec("import hashlib, hmac, time\n" + code[1], names)  # noqa: S102  # our own guide
        ours, sent = names["is_from_rekindle"], headers["Rekindle-Signature"]
        now = SOON.timestamp()
        assert ours(SECRET, sent, body, now)
        wrong = ((SECRET, sent, body + b" ", now), ("other", sent, body, now), (SECRET, sent, body, now + 301))
        assert not any(ours(*one) for one in wrong)
        assert not ours(SECRET, "t=x", body, now)
        assert json.loads(body)["title"] == row.title
        assert events() == [("info", "notifications", f"ops was told: {row.title}")]
        assert SECRET not in json.dumps(list(Delivery.objects.values()), default=str)

    def test_slack_s_address_is_the_secret(self, hook: str, credentials: Path) -> None:
        credential(credentials, "chat", f"address {hook}/services/T0/B0/XXXX")
        told(kind="slack", credential="chat")
        Receiver.answers = [403]
        sweep(SOON)
        assert Receiver.got[0][0] == "/services/T0/B0/XXXX"
        row = only()
        assert (row.outcome, row.said) == ("failed", "it answered 403: nothing")
        assert "XXXX" not in json.dumps(list(Delivery.objects.values()), default=str) + str(events())

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("address http://chat.example.org/services/x", "the address in the credential chat must begin with https://"),
            ("address file:///etc/passwd/and/more", "the credential chat holds no address that can be used"),
            ("secret correct horse battery", "the credential chat must be 'address …'"),
            ("address https://u:p@chat.example.org/", "the credential chat holds no address that can be used"),
        ],
    )  # fmt: skip
    def test_an_address_that_cannot_be_used_is_said_without_it(
        self, credentials: Path, text: str, said: str
    ) -> None:
        credential(credentials, "chat", text)
        told(kind="slack", credential="chat")
        sweep(SOON)
        assert only().outcome == "failed"
        assert only().said.startswith(said)

    def test_alertmanager_s_api_and_webhook(self, hook: str) -> None:
        told(kind="alertmanager", address=f"{hook}/am/")
        sweep(SOON)
        path, _headers, body = Receiver.got[0]
        assert path == "/am/api/v2/alerts"
        assert json.loads(body)[0]["labels"]["alertname"] == "RekindleBlind"

    def test_where_it_points_to_is_not_followed(self, hook: str) -> None:
        told(kind="receiver", address=f"{hook}/turn")
        Receiver.answers = [302]
        sweep(SOON)
        assert (only().outcome, only().said) == ("failed", "it answered 302: where it points to is not followed")

    def test_trouble_is_tried_again_under_the_same_key_and_given_up_with_an_event(self, hook: str) -> None:
        row = told(kind="receiver", address=hook)
        Receiver.answers = [503, 429, 503]
        now = SOON
        for pause in (5, 30):
            assert sweep(now) == 1
            row.refresh_from_db()
            assert (row.outcome, row.due_at) == ("waiting", now + seconds(pause))
            now = now + seconds(pause)
        Delivery.objects.update(made_at=now - timedelta(hours=7))
        sweep(now)
        row.refresh_from_db()
        assert (row.outcome, row.tries) == ("failed", 3)
        assert {headers["Idempotency-Key"] for _, headers, _ in Receiver.got} == {row.key}
        ((level, _actor, sentence),) = events()
        assert level == "warning"
        assert sentence.startswith("ops could not be told: it answered 503")
        send_again(row, OPERATOR, now)
        with pytest.raises(Stale):
            send_again(row, OPERATOR, now)
        sweep(now)
        assert (only().outcome, len(Receiver.got)) == ("sent", 4)
        assert [actor for _level, actor, _ in events()] == ["notifications", "olga", "notifications"]

    def test_silence_is_cut_at_the_time_limit(self, hook: str) -> None:
        row = told(kind="receiver", address=hook, timeout_seconds=1)
        Receiver.delay = 30
        begin = time.monotonic()
        sweep(SOON)
        assert time.monotonic() - begin < 20
        row.refresh_from_db()
        assert row.outcome == "waiting"
        assert "within 1 s" in row.said

    def test_a_worker_that_dies_after_sending_repeats_it_once_at_most(self, hook: str) -> None:
        row = told(kind="receiver", address=hook)
        now = SOON
        for _life in range(4):
            for one in due_deliveries(now):
                assert claim(one, now)
                send(one, now)  # and dies before it writes what came
            now += timedelta(minutes=5)
        row.refresh_from_db()
        assert (row.outcome, len(Receiver.got)) == ("failed", 2)
        assert row.said == "Nobody wrote down what came of the last tries: it may have arrived."

    def test_of_two_workers_one_sends(self, hook: str) -> None:
        told(kind="receiver", address=hook)
        first, second = due_deliveries(SOON)[0], due_deliveries(SOON)[0]
        assert [claim(first, SOON), claim(second, SOON)] == [True, False]

    def test_a_route_that_is_switched_off_gets_nothing(self, hook: str) -> None:
        told(kind="receiver", address=hook)
        NotificationRoute.objects.update(enabled=False)
        assert sweep(SOON) == 0
        assert (only().outcome, only().said) == ("failed", "Nobody is told there any more.")
        with pytest.raises(Stale):
            send_test(NotificationRoute.objects.get(), OPERATOR, NOW)

    def test_a_test_message_arrives(self, hook: str) -> None:
        send_test(a_route(kind="receiver", address=hook), OPERATOR, NOW)
        send_test(NotificationRoute.objects.get(), OPERATOR, NOW)
        assert sweep(SOON) == 1
        body = json.loads(Receiver.got[0][2])
        assert body["alerts"][0]["labels"]["alertname"] == "RekindleTest"
        assert only().title.startswith("[all clusters] 2 ") or only().count == 2
        assert [actor for _level, actor, _ in events()] == ["olga", "olga", "notifications"]


class TestMail:
    def test_it_arrives_with_headers_that_nobody_wrote(self, mail: int) -> None:
        why = "x\r\nBcc: evil@example.org\r\n\r\n<script> password=hunter2hunter2 \u202e"
        row = told(why, kind="mail", recipients="ops@example.org, night@example.org")
        assert sweep(SOON) == 1
        ((sender, to, text),) = Smtp.mails
        assert sender == "<rekindle@example.org>"
        assert to == ["<ops@example.org>", "<night@example.org>"]
        head = text.replace("\r", "").partition("\n\n")[0]
        assert f"Message-ID: <{row.key}@example.org>" in head
        assert "Auto-Submitted: auto-generated" in head
        assert not re.search(r"^Bcc", head, re.MULTILINE)
        assert "hunter2" not in text
        assert only().outcome == "sent"

    @pytest.mark.parametrize(
        ("answers", "outcome", "said"),
        [
            ({"RCPT": "550 no such box"}, "failed", "the mail server answered 550"),
            ({"RCPT": "450 later"}, "waiting", "the mail server answered 450"),
            ({"DATA": "554 spam"}, "failed", "the mail server answered 554: spam"),
            ({"MAIL": "421 busy"}, "waiting", "the mail server answered 421"),
        ],
    )
    def test_what_it_answers_decides(self, mail: int, answers: dict[str, str], outcome: str, said: str) -> None:
        told(kind="mail", recipients="ops@example.org")
        Smtp.answers = answers
        sweep(SOON)
        assert only().outcome == outcome
        assert only().said.startswith(said)

    def test_a_server_that_drips_is_cut_at_the_time_limit(self, mail: int) -> None:
        told(kind="mail", recipients="ops@example.org", timeout_seconds=1)
        Smtp.drips = True
        begin = time.monotonic()
        sweep(SOON)
        assert time.monotonic() - begin < 20  # of ever that it drips
        assert only().outcome == "waiting"

    def test_nobody_there(self, mail: int) -> None:
        told(kind="mail", recipients="ops@example.org")
        with override_settings(EMAIL_PORT=1):
            sweep(SOON)
        assert only().said == "the mail server did not take it: Connection refused"

    def test_without_a_mail_server_it_says_so(self) -> None:
        told(kind="mail", recipients="ops@example.org")
        sweep(SOON)
        assert only().said == "REKINDLE_MAIL_URL does not say by which mail server"


BAD = [
    {"kind": "mail", "recipients": ""},
    {"kind": "mail", "recipients": "ops"},
    {"kind": "mail", "recipients": "ops@example.org\nBcc: x@example.org"},
    {"kind": "mail", "recipients": ",".join(f"a{n}@example.org" for n in range(21))},
    {"kind": "mail", "recipients": "a@example.org", "credential": "x"},
    {"kind": "webhook", "address": "https://x.example.org"},
    {"kind": "webhook", "address": "file:///etc/passwd", "credential": "x"},
    {"kind": "webhook", "address": "https://u:p@x.example.org", "credential": "x"},
    {"kind": "webhook", "address": "https://x.example.org", "credential": "../x"},
    {"kind": "webhook", "address": "https://x.example.org", "credential": "x", "recipients": "a@example.org"},
    {"kind": "slack"},
    {"kind": "slack", "credential": "x", "address": "https://hooks.example.org/secret"},
    {"kind": "alertmanager", "address": "http://am.example.org", "credential": "x"},
    {"kind": "alertmanager", "address": ""},
    {"name": "a b"},
    {"topics": ["everything"]},
    {"topics": ["test"]},
    {"topics": "blind"},
    {"title": "$nothing"},
    {"text": "$"},
    {"least_level": "debug"},
    {"timeout_seconds": 0},
]


@pytest.mark.parametrize("values", BAD)
def test_what_cannot_work_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        a_route(**values)


def test_what_is_over_for_long_is_forgotten(hook: str) -> None:
    told(kind="receiver", address=hook)
    assert forget_old(timedelta(days=1), SOON + timedelta(days=9)) == 0
    sweep(SOON)
    assert forget_old(timedelta(days=1), SOON) == 0
    assert forget_old(timedelta(days=1), SOON + timedelta(days=2)) == 1
    assert not Delivery.objects.exists()


class TestAdmin:
    PATH = "/admin/advisor_api/notificationroute"

    def test_added_changed_and_never_deleted_with_an_event_each(self, admin_client: Client) -> None:
        form = {
            "name": "ops", "cluster": "", "least_level": "warning", "topics": "[]", "kind": "mail",
            "recipients": "ops@example.org", "timeout_seconds": 10, "enabled": "on",
        }  # fmt: skip
        assert admin_client.post(f"{self.PATH}/add/", form).status_code == 302
        route = NotificationRoute.objects.get()
        assert timezone.now() - route.since < timedelta(minutes=1)
        change = f"{self.PATH}/{route.pk}/change/"
        assert admin_client.post(change, {**form, "topics": '["failed"]'}).status_code == 302
        assert admin_client.post(change, {**form, "kind": "slack"}).status_code == 200
        assert admin_client.post(f"{self.PATH}/{route.pk}/delete/", {"post": "yes"}).status_code == 403
        found = AuditEvent.objects.filter(type=EventType.CONFIGURATION.value).order_by("id")
        assert [event.sentence for event in found] == [
            "admin added the notification route ops of all clusters.",
            "admin changed topics of the notification route ops of all clusters.",
        ]
        assert NotificationRoute.objects.get().topics == ["failed"]

    def test_a_test_message_and_what_was_given_up(self, admin_client: Client) -> None:
        route = a_route(now=timezone.now())
        admin_client.post(f"{self.PATH}/", {"action": "send_a_test", "_selected_action": [route.pk]})
        row = only()
        assert row.topic == "test"
        Delivery.objects.update(outcome="failed", due_at=None, over_at=timezone.now())
        listed = "/admin/advisor_api/delivery/"
        admin_client.post(listed, {"action": "send_again", "_selected_action": [row.pk]})
        assert only().outcome == "waiting"
        assert "Test message" in admin_client.get(listed).content.decode()


@pytest.mark.django_db(transaction=True)
def test_the_sweep_sends_in_threads_of_their_own() -> None:
    now = timezone.now()
    with a_receiver() as hook:
        a_route(kind="receiver", address=hook, now=now)
        tell(blind(an_attempt(a_job(a_cluster(now=now), now=now), now=now), now), now=now)
        Delivery.objects.update(due_at=now)
        assert start_due(timezone.now()) == 1
        deadline = time.monotonic() + 90
        while PLACES.taken and time.monotonic() < deadline:
            time.sleep(0.01)
        assert len(Receiver.got) == 1
    assert only().outcome == "sent"
