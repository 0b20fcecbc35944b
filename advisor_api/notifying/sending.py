"""How does a message leave? By a worker, in a thread of its own, within the time limit of its route."""

import json
import smtplib
from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage, get_connection
from django.utils import timezone

from advisor_api.notification_models import NEEDS_CREDENTIAL, Delivery, NotificationRoute, recipients_of
from advisor_api.notifying import signing
from advisor_api.notifying.deliveries import claim, close, due_deliveries, keep_trying
from advisor_api.notifying.gathering_up import message_of
from advisor_api.notifying.message import Message, clean
from advisor_api.notifying.shapes import SHAPES
from advisor_api.outgoing_threads import start_each
from detectors.credential_folder import credential_named, secret_named
from detectors.provider_tasks import Places
from detectors.providers.posting import ACCEPTED, post
from detectors.providers.provider import NoAnswer, NothingYet
from detectors.stores.store import StoreTrouble
from workloads.log_stores import readable_by_all, store_address

PLACES = Places()


def start_due(now: datetime) -> int:
    """Start what is due and finds a place; how many."""
    due = ((row, row.route_id) for row in due_deliveries(now) if row.route_id is not None)
    return start_each(due, PLACES, lambda row: claim(row, now), lambda row: deliver(row, timezone.now))


def deliver(row: Delivery, clock: Callable[[], datetime]) -> None:
    """Send a claimed message, and keep what came of it."""
    age = timedelta(hours=settings.REKINDLE["REKINDLE_NOTIFY_HOURS"])
    try:
        said = send(row, clock())
    except NothingYet as trouble:
        keep_trying(row, str(trouble), age, clock())
    except (NoAnswer, StoreTrouble) as trouble:
        close(row, "failed", str(trouble), clock())
    else:
        close(row, "sent", said, clock())


def send(row: Delivery, at: datetime) -> str:
    """Send it; what there is to say of it. Raises `NothingYet` when it may pass, `NoAnswer`, `StoreTrouble`."""
    route = row.route
    if route is None:
        raise NoAnswer("nobody is told there any more")
    message = message_of(row)
    if route.kind == "mail":
        return _mail(route, message)
    body = json.dumps(SHAPES[route.kind](message), allow_nan=False).encode()
    _post(route, message, body, at)
    return ""


def _post(route: NotificationRoute, message: Message, body: bytes, at: datetime) -> None:
    more, authorization, address = {}, "", route.address
    kind = NEEDS_CREDENTIAL.get(route.kind)
    if kind:
        secret = secret_named(route.credential, kind)
        authorities = secret.authorities
        if kind == "secret":
            more = {signing.HEADER: signing.signature(secret.value, body, at)}
        else:
            address = _hidden_address(route, secret.value)
    else:
        credential = credential_named(route.credential)
        authorities, authorization = credential.authorities, credential.authorization
    if route.kind == "alertmanager":
        address = f"{address.rstrip('/')}/api/v2/alerts"
    seconds = route.timeout_seconds
    post(address, body, authorization, authorities, seconds, taken=ACCEPTED, key=message.key, more=more)


def _hidden_address(route: NotificationRoute, address: str) -> str:
    """Where the address is itself the secret; its words are never repeated."""
    try:
        store_address(address)
    except ValidationError:
        raise NoAnswer(f"the credential {route.credential} holds no address that can be used") from None
    if readable_by_all(address):
        raise NoAnswer(f"the address in the credential {route.credential} must begin with https://")
    return address


def _mail(route: NotificationRoute, message: Message) -> str:
    if not settings.REKINDLE["REKINDLE_MAIL_URL"]:
        raise NoAnswer("REKINDLE_MAIL_URL does not say by which mail server")
    sender = settings.REKINDLE["REKINDLE_MAIL_FROM"]
    mail = EmailMessage(
        subject=clean(message.title, 200),
        body=message.text,
        from_email=sender,
        to=recipients_of(route.recipients),
        connection=get_connection(timeout=route.timeout_seconds),
        headers={
            # The same whenever it is sent again, so that mailboxes can tell.
            "Message-ID": f"<{message.key}@{sender.rpartition('@')[2]}>",
            "Auto-Submitted": "auto-generated",
            "X-Rekindle-Key": message.key,
        },
    )
    try:
        mail.send()
    except smtplib.SMTPRecipientsRefused as error:
        raise _refused(max(code for code, _said in error.recipients.values()), str(error)) from None
    except smtplib.SMTPResponseException as error:
        raise _refused(error.smtp_code, _words(error.smtp_error)) from None
    except (smtplib.SMTPException, OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or type(error).__name__
        raise NothingYet(f"the mail server did not take it: {said}"[:300]) from None
    return ""


def _refused(code: int, said: str) -> NoAnswer:
    """5xx is for good, 4xx is for now (RFC 5321, 4.2.1)."""
    kind = NothingYet if 400 <= code < 500 else NoAnswer
    return kind(f"the mail server answered {code}: {clean(said, 200)}")


def _words(said: bytes | str) -> str:
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else said
