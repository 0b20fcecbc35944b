"""How do pushed health events look on the wire? As their senders write them; the answer is ours."""

from typing import Any

from rest_framework import serializers

from advisor_api.wire.fields import Form

_TEXT: dict[str, Any] = {"type": "string"}
_MAYBE: dict[str, Any] = {"type": ["string", "null"]}  # null is as if it were left out
_TIME: dict[str, Any] = {"type": "string", "format": "date-time"}
_TEXTS: dict[str, Any] = {"type": "object", "additionalProperties": _TEXT}
HEALTH_EVENT: dict[str, Any] = {
    "type": "object",
    "description": "NVSentinel's health event. Further fields are passed over.",
    "required": ["nodeName", "checkName", "generatedTimestamp"],
    "properties": {
        "agent": _MAYBE,
        "componentClass": {**_MAYBE, "examples": ["GPU", "NVSwitch", "NIC"]},
        "checkName": _TEXT,
        "isFatal": {"type": ["boolean", "null"], "default": False},
        "isHealthy": {"type": ["boolean", "null"], "default": False},
        "message": _MAYBE,
        "recommendedAction": {"type": ["string", "integer", "null"]},
        "errorCode": {"type": ["array", "null"], "items": {"type": ["string", "integer"]}},
        "entitiesImpacted": {
            "type": ["array", "null"],
            "items": {"type": "object", "properties": {"entityType": _MAYBE, "entityValue": _MAYBE}},
        },
        "generatedTimestamp": _TIME,
        "nodeName": _TEXT,
    },
    "examples": [
        {
            "version": 1,
            "agent": "gpu-health-monitor",
            "componentClass": "GPU",
            "checkName": "GpuXidError",
            "isFatal": True,
            "isHealthy": False,
            "message": "GPU has fallen off the bus",
            "recommendedAction": "RESTART_BM",
            "errorCode": ["79"],
            "entitiesImpacted": [{"entityType": "GPU", "entityValue": "3"}],
            "generatedTimestamp": "2026-11-29T12:00:00Z",
            "nodeName": "n03",
        }
    ],
}
EVENTS: dict[str, Any] = {
    "type": "object",
    "description": "Several health events.",
    "required": ["events"],
    "properties": {"events": {"type": "array", "minItems": 1, "maxItems": 500, "items": HEALTH_EVENT}},
}
WEBHOOK: dict[str, Any] = {
    "type": "object",
    "description": (
        "An Alertmanager webhook. The node is read from the labels node, nodename, hostname or instance; an entry"
        " with none of them is passed over. Fatal: severity is critical, fatal or emergency."
    ),
    "required": ["alerts"],
    "properties": {
        "alerts": {
            "type": "array",
            "minItems": 1,
            "maxItems": 500,
            "items": {
                "type": "object",
                "required": ["status", "labels", "startsAt"],
                "properties": {
                    "status": {"type": "string", "enum": ["firing", "resolved"]},
                    "labels": _TEXTS,
                    "annotations": {**_TEXTS, "type": ["object", "null"]},
                    "startsAt": _TIME,
                    "endsAt": {"description": "A time; read when resolved."},
                    "fingerprint": {"description": "What makes two the same: a text."},
                },
            },
        }
    },
}
PUSHED: dict[str, Any] = {"anyOf": [HEALTH_EVENT, EVENTS, WEBHOOK]}
"""What may be pushed, for the API document."""


class TakenIn(Form):
    """What came of it: events read, stored now, open ones that were cleared, of nodes that the scheduler does not
    know, and webhook entries that speak of no node."""

    accepted = serializers.IntegerField()
    stored = serializers.IntegerField()
    cleared = serializers.IntegerField()
    unknownNodes = serializers.IntegerField()
    passedOver = serializers.IntegerField()


class HealthEvent(Form):
    """What was told of a node."""

    eventId = serializers.UUIDField(source="uuid")
    check = serializers.CharField(source="check_name")
    component = serializers.CharField(allow_blank=True)
    entity = serializers.CharField(allow_blank=True)
    fatal = serializers.BooleanField()
    codes = serializers.ListField(child=serializers.CharField())
    message = serializers.CharField(allow_blank=True)
    toldAs = serializers.CharField(source="source")
    happenedAt = serializers.DateTimeField(source="happened_at")
    clearedAt = serializers.DateTimeField(source="cleared_at", allow_null=True)
