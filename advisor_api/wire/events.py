"""How do events of the trail look on the wire?"""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from advisor_api.trail_intake import EPOCH
from advisor_api.trail_reading import producer_of, type_of
from advisor_api.wire.fields import AnyJson, Form, Id, Int64, Text, WireChoice
from audit.level import Level
from audit.models import AuditEvent

ITEMS_LIMIT = 250
PAGE_LIMIT = 100
LEVELS = {level: level.value for level in Level}


@extend_schema_field({"type": "string", "format": "int64"})
class Micros(serializers.Field[Any, Any, str, Any]):
    """A time in microseconds since 1970, as text."""

    def to_representation(self, value: Any) -> str:
        """`"1764410537000000"`."""
        span = value - EPOCH
        return str((span.days * 86400 + span.seconds) * 1_000_000 + span.microseconds)


class Event(Form):
    """One event of the trail."""

    eventId = serializers.UUIDField(source="uuid")
    heimdallJobId = serializers.UUIDField(source="heimdall_job_id", allow_null=True)
    jobId = Int64(source="job_number", allow_null=True)
    attemptIndex = serializers.IntegerField(source="attempt_index", allow_null=True)
    eventType = serializers.SerializerMethodField()
    eventLevel = WireChoice("EventLevel", LEVELS, source="level")
    eventProducer = serializers.SerializerMethodField()
    actor = serializers.CharField()
    sentence = serializers.CharField()
    node = serializers.CharField()
    pattern = serializers.CharField()
    action = serializers.CharField()
    generation = Int64(source="advice_generation", allow_null=True)
    verdictId = serializers.UUIDField(source="verdict_id", allow_null=True)
    payload = AnyJson()
    eventProducedAt = Micros(source="produced_at")
    receivedAt = serializers.DateTimeField(source="at")

    def get_eventType(self, event: AuditEvent) -> str:
        """What it is an event of."""
        return type_of(event)

    def get_eventProducer(self, event: AuditEvent) -> str:
        """Who wrote it."""
        return producer_of(event)


class EventsAnswer(Form):
    """A page of events; `cursor` leads to the next one and is empty at the end."""

    items = Event(many=True)
    cursor = serializers.CharField(allow_blank=True)


class EventsQuery(Form):
    """Either heimdallJobId or jobId is needed; the filters are exact, the times inclusive."""

    heimdallJobId = serializers.UUIDField(default=None, allow_null=True)
    jobId = Int64(default=None, allow_null=True)
    attemptIndex = serializers.IntegerField(default=None, allow_null=True, min_value=0, max_value=2**31 - 1)
    eventType = serializers.CharField(default="", max_length=128)
    eventLevel = WireChoice("EventLevel", LEVELS, default="")
    eventProducer = serializers.CharField(default="", max_length=128)
    minEventProducedAt = Int64(default=None, allow_null=True)
    maxEventProducedAt = Int64(default=None, allow_null=True)
    sortBy = serializers.ChoiceField(
        choices=["event_produced_at:asc", "event_produced_at:desc"], default="event_produced_at:asc"
    )
    cursor = serializers.CharField(default="", allow_blank=True)
    limit = serializers.IntegerField(default=PAGE_LIMIT, min_value=1, max_value=PAGE_LIMIT)


class ReportedEvent(Form):
    """One event of a client."""

    heimdallJobId = Id(default=None, allow_null=True)
    eventProducer = Text(max_length=128)
    eventType = Text(max_length=128)
    eventLevel = WireChoice("EventLevel", LEVELS, default=Level.INFO)
    payload = serializers.DictField(default=dict)
    eventProducedAt = Int64()
    idempotencyKey = Text(max_length=512)


class ReportedEvents(Form):
    """Events of a client; each is judged by itself."""

    items = serializers.ListField(child=AnyJson(allow_null=True), min_length=1, max_length=ITEMS_LIMIT)


class ReportedEventsBody(Form):
    """Events of a client, for the API document."""

    items = serializers.ListField(child=ReportedEvent(), min_length=1, max_length=ITEMS_LIMIT)


class Accepted(Form):
    """How many are stored, now or before; `partialSuccess` when some were not."""

    accepted = serializers.IntegerField()
    partialSuccess = serializers.DictField(required=False)


class TimelineAnswer(Form):
    """A page of a timeline, in order."""

    events = Event(many=True)
    count = serializers.IntegerField()
    nextPageToken = serializers.CharField(allow_blank=True)
