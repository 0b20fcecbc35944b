"""How do events of a client get into the trail: once each, durable when answered, and under its own name?

A client may say *intent* and *action*; whatever else it says is stored as reported by a client, under the type and
producer that it gave: no token can put a person's or a rule's name under an event.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError, OperationalError, transaction

from advisor_api.commanding import note_command
from advisor_api.models import Advice
from advisor_api.policy.advice_state import AdviceState
from advisor_api.refusals import Bad
from advisor_api.reporting import scoped_key
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.masking import masked, masked_json
from audit.models import AuditEvent
from audit.trail import Actor, Entry, Subject, record
from workloads.models import Attempt, Cluster
from workloads.subjects import subject_of_cluster

PAYLOAD_LIMIT = 16384  # characters of one payload as JSON
AHEAD = timedelta(days=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TRIES = 3
DEADLOCK = 1213  # MariaDB's and MySQL's number for it; the transaction was undone and may be tried again
OWN_TYPES = {EventType.INTENT.value: EventType.INTENT, EventType.ACTION.value: EventType.ACTION}
OWN_PRODUCERS = {"controller": ActorKind.CONTROLLER, "watchdog": ActorKind.WATCHDOG}


@dataclass(frozen=True)
class Reported:
    """One event as a client sent it. `key` makes it the same one when it is sent again."""

    heimdall_id: UUID | None
    producer: str
    type: str
    level: Level
    payload: Mapping[str, Any]
    produced_micros: int
    key: str


@dataclass(frozen=True)
class Taken:
    """How many were accepted (stored now or before), and why which others were not."""

    accepted: int
    rejected: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Source:
    """Whose events they are. `may_act`: a controller, whose intents count."""

    cluster: Cluster
    actor: Actor
    may_act: bool


@dataclass(frozen=True)
class _Known:
    """What is stored of the attempts that events name; the rows only where a controller begins to act."""

    subjects: Mapping[UUID, Subject]
    to_begin: Mapping[UUID, Attempt]


def take_in(source: Source, events: Sequence[Reported | str], now: datetime) -> Taken:
    """Store the events, each once by its key; a `str` stands for one that was unreadable, and says why.

    When this returns the accepted ones are committed.
    """
    for attempt in range(TRIES):
        try:
            with transaction.atomic():
                return _take_in(source, events, now)
        except (IntegrityError, OperationalError) as error:
            # The same events arrived twice at once: the other ones are there by now.
            if attempt == TRIES - 1 or not (isinstance(error, IntegrityError) or error.args[:1] == (DEADLOCK,)):
                raise
    raise AssertionError("the loop returns or raises")


def _take_in(source: Source, events: Sequence[Reported | str], now: datetime) -> Taken:
    keys = {scoped_key(source.cluster, event.key) for event in events if not isinstance(event, str)}
    stored = set(AuditEvent.objects.filter(producer_key__in=keys).values_list("producer_key", flat=True))
    known = _Known(_subjects(source.cluster, events), _to_begin(source, events))
    entries, rejected, accepted = [], [], 0
    for index, event in enumerate(events):
        try:
            key = _key(source, event)
            if key not in stored:
                entries.append(_entry(source, known, event, key, now))
                stored.add(key)
            accepted += 1
        except Bad as error:
            rejected.append((index, str(error)))
    record(entries, now)
    return Taken(accepted, tuple(rejected))


def _key(source: Source, event: Reported | str) -> str:
    if isinstance(event, str):
        raise Bad(event)
    return scoped_key(source.cluster, event.key)


def _subjects(cluster: Cluster, events: Sequence[Reported | str]) -> dict[UUID, Subject]:
    """What the events speak of, without the rows themselves: there may be as many as there are events."""
    wanted = {event.heimdall_id for event in events if not isinstance(event, str) and event.heimdall_id}
    rows = Attempt.objects.filter(heimdall_id__in=wanted, job__cluster=cluster)
    columns = rows.values_list("heimdall_id", "job__number", "job__epoch", "index", "job__user")
    return {
        uuid: Subject(cluster.name, number, epoch, index, uuid, user=user)
        for uuid, number, epoch, index, user in columns
    }


def _to_begin(source: Source, events: Sequence[Reported | str]) -> dict[UUID, Attempt]:
    intents = [event for event in events if not isinstance(event, str) and _begins(source, event)]
    wanted = {event.heimdall_id for event in intents if event.heimdall_id}
    if not wanted:
        return {}
    rows = Attempt.objects.select_related("job__cluster").filter(
        heimdall_id__in=wanted, job__cluster=source.cluster
    )
    return {attempt.heimdall_id: attempt for attempt in rows}


def _begins(source: Source, event: Reported) -> bool:
    intends = source.may_act and event.type == EventType.INTENT.value and event.producer == "controller"
    return intends and event.heimdall_id is not None and _generation(event.payload) is not None


def _entry(source: Source, known: _Known, event: Reported | str, key: str, now: datetime) -> Entry:
    if isinstance(event, str):
        raise Bad(event)
    subject = known.subjects.get(event.heimdall_id) if event.heimdall_id else subject_of_cluster(source.cluster)
    if subject is None:
        raise Bad(f"heimdallJobId {event.heimdall_id} is not known on {source.cluster.name}.")
    if len(json.dumps(event.payload)) > PAYLOAD_LIMIT:
        raise Bad(f"payload is longer than {PAYLOAD_LIMIT} characters.")
    type_ = OWN_TYPES.get(event.type, EventType.CLIENT) if source.may_act else EventType.CLIENT
    generation = _generation(event.payload)
    attempt = known.to_begin.get(event.heimdall_id) if event.heimdall_id else None
    if attempt is not None and generation is not None and _begins(source, event):
        _may_begin(attempt, generation)
        note_command(attempt, now, now)
    return Entry(
        type=type_,
        subject=subject,
        actor=_actor(source, event),
        sentence=_sentence(event, subject),
        level=event.level,
        pattern=event.type if type_ is EventType.CLIENT else "",
        action=masked(str(event.payload.get("action", "")))[:64],
        advice_generation=generation,
        scheduler_at=produced_at(event.produced_micros, now),
        payload=masked_json(dict(event.payload)),
        producer_key=key,
    )


def _may_begin(attempt: Attempt, generation: int) -> None:
    """An intent must be for the newest, open generation. Locked, so that none is superseded at this moment."""
    newest = Advice.objects.select_for_update().filter(attempt=attempt).order_by("-generation").first()
    if newest is None or newest.generation != generation:
        raise Bad(f"Generation {generation} of {attempt.label} is not the newest one: begin nothing.")
    if newest.state != AdviceState.PENDING:
        raise Bad(f"The advice on {attempt.label} is {AdviceState(newest.state).label.lower()}: begin nothing.")


def _generation(payload: Mapping[str, Any]) -> int | None:
    text = str(payload.get("generation", ""))
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _actor(source: Source, event: Reported) -> Actor:
    if source.may_act and event.producer in OWN_PRODUCERS:
        return Actor(OWN_PRODUCERS[event.producer], source.actor.name)
    return Actor(ActorKind.TOKEN, event.producer)


def _sentence(event: Reported, subject: Subject) -> str:
    what = masked(str(event.payload.get("sentence") or event.payload.get("action") or "reported"))
    on = f" on {subject.job_number}-{subject.attempt_index}" if subject.heimdall_job_id else ""
    if event.type == EventType.INTENT.value:
        return f"About to act{on}: {what[:400]}."
    return f"{event.producer}: {event.type}{on}: {what[:400]}."


def produced_at(micros: int, now: datetime) -> datetime:
    """The producer's time. Raises `Bad` for one that lies far in the future."""
    try:
        moment = EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise Bad("eventProducedAt is no time.") from None
    if moment > now + AHEAD:
        raise Bad("eventProducedAt lies in the future; it is in microseconds since 1970.")
    return moment
