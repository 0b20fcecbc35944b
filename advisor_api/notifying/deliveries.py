"""How does a message come to its end? Each step by compare-and-swap, its end with an event of the trail."""

import uuid
from dataclasses import replace
from datetime import datetime, timedelta

from django.db import transaction
from django.urls import reverse

from advisor_api import outgoing
from advisor_api.notification_models import Delivery, NotificationRoute
from advisor_api.notifying.gathering_up import put
from advisor_api.notifying.message import Thing, clean
from advisor_api.notifying.topic import NotificationTopic as Topic
from advisor_api.refusals import Forbidden, Stale
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.in_sight import hidden_now
from audit.level import Level
from audit.masking import masked
from audit.trail import Actor, Entry, Subject, record

NOTIFIER = Actor(ActorKind.RULE, "notifications")
AT_ONCE = 50
MOST_UNCLEAR = 2
"""Tries in a row that ended without a word, because their worker died: then it may have arrived twice already."""
OLD_AT_ONCE = 500


def due_deliveries(now: datetime) -> list[Delivery]:
    """What may be sent now, the longest due first; what cannot be sent is written down as that."""
    due = Delivery.objects.filter(due_at__lte=now).select_related("route").order_by("due_at", "pk")
    ready = []
    for row in due[:AT_ONCE]:
        if row.route is None or not row.route.enabled:
            close(row, "failed", "Nobody is told there any more.", now)
        elif row.unclear >= MOST_UNCLEAR:
            close(row, "failed", "Nobody wrote down what came of the last tries: it may have arrived.", now)
        else:
            ready.append(row)
    return ready


def claim(row: Delivery, now: datetime) -> bool:
    """The message for us alone, as it was read; false when somebody was first or something joined it."""
    seconds = row.route.timeout_seconds if row.route else 0
    if not Delivery.objects.filter(pk=row.pk, count=row.count).exists():
        return False
    if not outgoing.claim(row, seconds, now, unclear=row.unclear + 1):
        return False
    row.refresh_from_db()  # nothing joins what was tried
    return True


def keep_trying(row: Delivery, said: str, after: timedelta, now: datetime) -> None:
    """It was not taken, for a reason that may pass: once more after a pause, until it is too old."""
    if outgoing.is_given_up(row, after, now):
        close(row, "failed", said, now)
    else:
        outgoing.try_later(row, masked(said), now, unclear=0)


def close(row: Delivery, outcome: str, said: str, now: datetime) -> bool:
    """It is over, with one event of the trail; whether it was still ours."""
    told = masked(said)
    return outgoing.close(row, outcome, told, _entry(row, outcome, told), now, unclear=0)


def send_again(row: Delivery, actor: Actor, now: datetime) -> Delivery:
    """A person has a message that was given up sent once more, under its old key. Raises `Stale` otherwise."""
    sentence = f"{actor.name} has {row.name} told again: {row.title}"
    entry = replace(_entry(row, "waiting", ""), actor=actor, sentence=sentence[:1000], producer_key=None)
    if not outgoing.open_again(row, entry, now, unclear=0):
        raise Stale(f"What {row.name} was to be told is not given up: nothing is sent again.")
    return row


def send_test(route: NotificationRoute, actor: Actor, now: datetime) -> Delivery:
    """A test message, as any other, to be sent by a worker.

    Raises `Stale` for a route that is switched off, `Forbidden` for one of all clusters and who does not see all.
    """
    if not route.enabled:
        raise Stale(f"{route.name} is switched off: nothing is sent there.")
    if route.cluster is None and hidden_now().keys:
        raise Forbidden("A route of all clusters is for those who see all of them.")
    cluster = route.cluster.name if route.cluster else ""
    subject = f"{Topic.TEST.value}:{uuid.uuid4()}"
    sentence = f"A test message that {actor.name} asked for. Nothing has happened."
    thing = Thing(subject, Topic.TEST.value, Level.INFO.value, cluster, sentence, reverse("notifications"), now)
    with transaction.atomic():
        put(route, {uuid.uuid4().hex: thing}, now)
        row = Delivery.objects.filter(route=route, topic=Topic.TEST.value).order_by("-id")[0]
        said = f"{actor.name} has a test message sent to {route.name}."
        record([replace(_entry(row, "waiting", ""), actor=actor, sentence=said, producer_key=None)], now)
    return row


def forget_old(age: timedelta, now: datetime) -> int:
    """Delete messages that were over before `now - age`, a bounded part of them; how many."""
    old = Delivery.objects.filter(over_at__lt=now - age).order_by("over_at")
    keys = list(old.values_list("pk", flat=True)[:OLD_AT_ONCE])
    if keys:
        Delivery.objects.filter(pk__in=keys).delete()
    return len(keys)


def _entry(row: Delivery, outcome: str, said: str) -> Entry:
    title = clean(row.title, 200)
    failed = f"{row.name} could not be told: {said} ({title})"
    what = f"{row.name} was told: {title}" if outcome == "sent" else failed
    again = f":{row.again_at.timestamp():.6f}" if row.again_at else ""
    return Entry(
        type=EventType.NOTIFICATION,
        subject=Subject(cluster=row.cluster),
        actor=NOTIFIER,
        sentence=what[:1000],
        level=Level.WARNING if outcome == "failed" else Level.INFO,
        action="notify",
        payload={
            "route": row.name,
            "topic": row.topic,
            "key": row.key,
            "count": row.count,
            "outcome": outcome,
            "tries": row.tries,
        },
        producer_key=f"notify:{row.key}{again}"[:128],
    )
