"""How do many things become one message?

The first thing opens a message that is due in a moment; what comes until then joins it, and each that joins lets it
wait a little longer, up to a minute. After a message about many things the next of its kind gathers for five
minutes: a storm of a thousand failures is one message with a count, and a long one is a message every five minutes.
"""

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.urls import reverse

from advisor_api.notification_models import Delivery, NotificationRoute, ToldSubject
from advisor_api.notifying.message import LISTED, Message, Thing, clean
from advisor_api.notifying.topic import NotificationTopic as Topic
from advisor_api.notifying.wording import TEXT, TEXT_LIMIT, TITLE, TITLE_LIMIT, headline, lines, worded

QUIET = timedelta(seconds=5)  # without anything new
LONGEST_WAIT = timedelta(seconds=60)  # from the first thing on
MANY = 5  # things: more are a storm
STORM_PAUSE = timedelta(minutes=5)  # between messages about a storm
LISTS = {Topic.APPROVAL.value: "approvals", Topic.INCIDENT.value: "incidents"}
"""Where several of them stand; several others stand on the cluster's page."""


def put(route: NotificationRoute, things: Mapping[str, Thing], now: datetime) -> None:
    """Put new things, by the key under which they are told, into messages of the route, in a transaction."""
    groups: dict[tuple[str, str, bool], dict[str, Thing]] = {}
    for key, thing in things.items():
        groups.setdefault((thing.topic, thing.cluster, thing.would), {})[key] = thing
    for keyed in groups.values():
        of_kind = list(keyed.values())
        delivery = _joined(route, of_kind, now) or _opened(route, of_kind, now)
        ToldSubject.objects.bulk_create(
            [ToldSubject(key=key, delivery=delivery, subject=thing.subject) for key, thing in keyed.items()],
            batch_size=500,
        )


def _latest(route: NotificationRoute, thing: Thing) -> Delivery | None:
    same = Delivery.objects.filter(route=route, topic=thing.topic, cluster=thing.cluster, would=thing.would)
    return same.exclude(outcome="silenced").order_by("-id").first()


def _joined(route: NotificationRoute, things: Sequence[Thing], now: datetime) -> Delivery | None:
    """The message that still gathers, with these in it; `None` when there is none, or it is being sent."""
    latest = _latest(route, things[0])
    if latest is None or latest.tries or latest.due_at is None or latest.outcome != "waiting":
        return None
    items = [*latest.items, *(thing.as_item() for thing in things[: max(0, LISTED - len(latest.items))])]
    count = latest.count + len(things)
    said = said_of(route, things[0], items, count, latest.first_at)
    still = Delivery.objects.filter(pk=latest.pk, tries=0, over_at=None, due_at=latest.due_at, count=latest.count)
    moved = still.update(
        items=items,
        count=count,
        last_at=max(latest.last_at, *(thing.at for thing in things)),
        due_at=max(latest.due_at, min(latest.made_at + LONGEST_WAIT, now + QUIET)),
        **said,
    )
    return latest if moved else None


def _opened(route: NotificationRoute, things: Sequence[Thing], now: datetime) -> Delivery:
    latest, first = _latest(route, things[0]), min(thing.at for thing in things)
    due_at = now + QUIET
    if latest is not None and latest.count > MANY:
        due_at = max(due_at, latest.made_at + STORM_PAUSE)
    items = [thing.as_item() for thing in things[:LISTED]]
    return Delivery.objects.create(
        route=route,
        name=route.name,
        kind=route.kind,
        whom=route.whom,
        key=uuid.uuid4().hex,
        topic=things[0].topic,
        level=things[0].level,
        cluster=things[0].cluster,
        would=things[0].would,
        count=len(things),
        items=items,
        first_at=first,
        last_at=max(thing.at for thing in things),
        made_at=now,
        due_at=due_at,
        **said_of(route, things[0], items, len(things), first),
    )


def said_of(
    route: NotificationRoute, thing: Thing, items: Sequence[Mapping[str, Any]], count: int, since: datetime
) -> dict[str, str]:
    """Title, text and page of a message about these."""
    base = base_address()
    path = str(items[0]["path"]) if count == 1 else _list_of(thing)
    more = count - len(items)
    values = {
        "cluster": thing.cluster or "all clusters",
        "count": str(count),
        "first": str(items[0]["sentence"]),
        "headline": headline(thing.topic, thing.would, count, str(items[0]["sentence"])),
        "level": thing.level,
        "lines": lines(items, base),
        "link": base + path,
        "more": f"… and {more} more\n" if more else "",
        "route": route.name,
        "since": f"{since:%Y-%m-%d %H:%M:%S} UTC",
        "topic": Topic(thing.topic).label.lower(),
    }
    title = worded(route.title or TITLE, values, 2 * TITLE_LIMIT)
    return {
        "title": clean(title, TITLE_LIMIT)[:TITLE_LIMIT],
        "text": worded(route.text or TEXT, values, TEXT_LIMIT),
        "path": path,
    }


def _list_of(thing: Thing) -> str:
    if thing.topic == Topic.TEST:
        return thing.path
    if thing.topic in LISTS and not thing.would:
        return reverse(LISTS[thing.topic])
    return reverse("cluster", args=[thing.cluster])


def base_address() -> str:
    """Under which people reach the console, without a slash at its end."""
    return str(settings.REKINDLE["REKINDLE_BASE_URL"]).rstrip("/")


def message_of(row: Delivery) -> Message:
    """A stored message as it is shaped and sent."""
    return Message(
        key=row.key,
        route=row.name,
        topic=row.topic,
        level=row.level,
        cluster=row.cluster,
        would=row.would,
        count=row.count,
        title=row.title,
        text=row.text,
        link=base_address() + row.path,
        base=base_address(),
        first_at=row.first_at,
        last_at=row.last_at,
        items=tuple(row.items),
    )
