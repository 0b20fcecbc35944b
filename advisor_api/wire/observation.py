"""How does a pushed observation look on the wire? As `schedulers.observation` writes it; the answer is ours."""

from typing import Any

from rest_framework import serializers

from advisor_api.wire.fields import Form, Int64, moment
from schedulers.observation import LONGEST_RAW, MOST_ASKED, VERSION, schema_of
from schedulers.port import AccountedAttempt, JobRow, Limits, NodeRow

_VERSION: dict[str, Any] = {"type": "integer", "enum": [VERSION]}
_SEQUENCE: dict[str, Any] = {"type": "string", "format": "int64", "pattern": "^[0-9]{1,19}$"}
WHOLE: dict[str, Any] = {
    "type": "object",
    "description": "Everything that the scheduler listed at one moment.",
    "required": ["version", "sequence", "complete", "now", "jobs", "nodes", "limits", "answers"],
    "properties": {
        "version": _VERSION,
        "sequence": _SEQUENCE,
        "complete": {"type": "boolean", "enum": [True]},
        "now": {
            "type": "string",
            "format": "date-time",
            "description": "The scheduler's own time, before it listed.",
        },
        "jobs": {"type": "array", "items": schema_of(JobRow)},
        "nodes": {"type": "array", "items": schema_of(NodeRow)},
        "limits": schema_of(Limits),
        "answers": {
            "type": "boolean",
            "description": "Whether it answered a ping too; without it an empty list of jobs is no answer.",
        },
        "accounting": {
            "type": "boolean",
            "default": True,
            "description": "False: the installation keeps no record of ended jobs.",
        },
        "ended": {
            "type": "array",
            "maxItems": MOST_ASKED,
            "description": "What the accounting says of jobs that were wanted; no attempts: it knows none.",
            "items": {
                "type": "object",
                "required": ["number", "attempts"],
                "properties": {
                    "number": {"type": "integer"},
                    "attempts": {"type": "array", "items": schema_of(AccountedAttempt)},
                },
            },
        },
    },
    "examples": [
        {
            "version": VERSION,
            "sequence": "1796040000000",
            "complete": True,
            "now": "2026-11-30T12:00:00Z",
            "jobs": [
                {
                    "number": 12345,
                    "name": "pretrain",
                    "user": "trainer",
                    "partition": "main",
                    "state": "running",
                    "word": "RUNNING",
                    "reason": "None",
                    "restarts": 0,
                    "submittedAt": "2026-11-30T11:00:00Z",
                    "startedAt": "2026-11-30T11:00:05Z",
                    "endedAt": None,
                    "exitCode": 0,
                    "exitSignal": 0,
                    "nodes": ["n01", "n02"],
                    "nodeCount": 2,
                }
            ],
            "nodes": [{"name": "n01", "states": ["allocated"], "partitions": ["main"]}],
            "limits": {
                "version": "22.05.8",
                "clusterName": "demo",
                "minJobAge": 300,
                "requeueWait": 121,
                "killWait": 30,
                "tested": True,
            },
            "answers": True,
        }
    ],
}
UNSEEN: dict[str, Any] = {
    "type": "object",
    "description": "The scheduler was asked and gave no usable answer: the cluster cannot be seen.",
    "required": ["version", "sequence", "complete", "reason"],
    "properties": {
        "version": _VERSION,
        "sequence": _SEQUENCE,
        "complete": {"type": "boolean", "enum": [False]},
        "reason": {"type": "string"},
        "raw": {"type": "string", "description": f"Its answer, cut to {LONGEST_RAW} characters."},
    },
}
OBSERVATION: dict[str, Any] = {"oneOf": [WHOLE, UNSEEN]}
"""What may be pushed, for the API document."""


class Taken(Form):
    """What came of a push, and about which jobs the next one should bring the accounting's word.

    `stored` is false for a listing that was overtaken by another, or that is no proof (an empty one of a scheduler
    that answers nothing else)."""

    stored = serializers.BooleanField()
    sequence = Int64()
    wanted = serializers.ListField(child=serializers.IntegerField())


class Pushed(Form):
    """Where pushing stands: the last sequence, the scheduler's time in the last listing, and what is wanted."""

    sequence = Int64(source="cluster.pushed_sequence")
    schedulerTime = moment(source="cluster.pushed_clock_at")
    seenAt = moment(source="cluster.seen_at")
    wanted = serializers.ListField(child=serializers.IntegerField())
