"""How is a cluster's trail asked for in layer B?"""

from typing import Any

from rest_framework import serializers

from advisor_api.trail_export import FORMATS
from advisor_api.trail_search import Filters
from advisor_api.wire.events import LEVELS, EventsAnswer
from advisor_api.wire.fields import Form, Int64, WireChoice
from audit.actor_kind import ActorKind
from audit.event_type import EventType

PAGE_LIMIT = 100


def _word(longest: int, said: str) -> Any:
    return serializers.CharField(default="", allow_blank=True, max_length=longest, help_text=said)


class TrailFilters(Form):
    """All filters are exact and hold together; the times are those at which Rekindle stored the event."""

    jobId = Int64(default=None, allow_null=True)
    attemptIndex = serializers.IntegerField(default=None, allow_null=True, min_value=0, max_value=2**31 - 1)
    heimdallJobId = serializers.UUIDField(default=None, allow_null=True)
    node = _word(255, "Of a node, by its name in the scheduler.")
    user = _word(64, "Of the attempts of this user's jobs.")
    pattern = _word(128, "Signature, rule or fingerprint that it names.")
    action = _word(64, "What was done.")
    actor = _word(128, "Who did it.")
    actorKind = serializers.ChoiceField(choices=ActorKind.choices(), default="")
    eventType = serializers.ChoiceField(choices=EventType.choices(), default="")
    eventLevel = WireChoice("EventLevel", LEVELS, default="")
    traceId = _word(32, "Of one recovery.")
    since = serializers.DateTimeField(default=None, allow_null=True)
    until = serializers.DateTimeField(default=None, allow_null=True, help_text="Exclusive.")


class TrailQuery(TrailFilters):
    """A page, newest first unless it is said otherwise."""

    sortBy = serializers.ChoiceField(choices=["received_at:asc", "received_at:desc"], default="received_at:desc")
    cursor = serializers.CharField(default="", allow_blank=True)
    limit = serializers.IntegerField(default=PAGE_LIMIT, min_value=1, max_value=PAGE_LIMIT)


class ExportQuery(TrailFilters):
    """Oldest first, to the moment of the request."""

    fileFormat = serializers.ChoiceField(choices=sorted(FORMATS), default="jsonl")
    pseudonyms = serializers.BooleanField(default=False, help_text="Names of people become keyed hashes.")


class TrailAnswer(EventsAnswer):
    """A page of the trail. Older events than `archivedBefore` are in the site's archive, and not found here."""

    archivedBefore = serializers.DateTimeField(allow_null=True)


def filters_of(asked: dict[str, Any]) -> Filters:
    """What a query asks for, in the domain's words."""
    return Filters(
        job_number=asked["jobId"],
        attempt_index=asked["attemptIndex"],
        heimdall_job_id=asked["heimdallJobId"],
        node=asked["node"],
        user=asked["user"],
        pattern=asked["pattern"],
        action=asked["action"],
        actor=asked["actor"],
        actor_kind=asked["actorKind"],
        type=asked["eventType"],
        level=asked["eventLevel"],
        trace_id=asked["traceId"],
        since=asked["since"],
        until=asked["until"],
    )
