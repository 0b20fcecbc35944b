"""A chain to be tampered with: events, seals and checkpoints as the site writes them, at chosen moments."""

from datetime import UTC, datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import connection

from audit import append_only
from audit.actor_kind import ActorKind
from audit.checkpoints import sign_due
from audit.event_type import EventType
from audit.keyring import of_publics
from audit.models import AuditEvent, AuditSeal
from audit.row_text import START, digest, texts_of
from audit.sealing import seal_waiting
from audit.signing import public_half
from audit.trail import Actor, Entry, Subject, record

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = public_half(KEY)
RING = of_publics(PUBLIC)
MINUTE = timedelta(minutes=1)


def write(number: int, cluster: str = "demo", at: datetime = NOW) -> list[AuditEvent]:
    """So many events, unsealed."""
    entry = Entry(
        type=EventType.CONFIGURATION,
        subject=Subject(cluster=cluster, job_number=7),
        actor=Actor(ActorKind.PERSON, "olga"),
        sentence="A value was changed.",
        payload={"a": 1, "text": "é \u2028 'x' \"y\""},
    )
    return record([entry] * number, at)


def grown(number: int, at: datetime, cluster: str = "demo", signed: bool = True) -> None:
    """So many more links, and a checkpoint at their end."""
    write(number, cluster, at)
    seal_waiting(at)
    if signed:
        sign_due(lambda: KEY, at)


def sql(statement: str, *values: Any) -> None:
    """What somebody does who may drop triggers."""
    append_only.remove()
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
    finally:
        append_only.restore()


def written_anew(first: int = 1, link: str = START, cluster: str = "demo") -> str:
    """Make the seals from `first` on fit again, as somebody does who knows how it is made; the last link."""
    for each in AuditSeal.objects.filter(cluster=cluster, seq__gte=first).order_by("seq"):
        link = digest(link, cluster, each.seq, texts_of([each.event])[each.event])
        sql("UPDATE audit_auditseal SET digest = %s WHERE seq = %s AND cluster = %s", link, each.seq, cluster)
    return link
