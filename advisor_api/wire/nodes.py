"""How do nodes and their history look on the wire?"""

from typing import Any

from rest_framework import serializers

from advisor_api.wire.clusters import Exclusion
from advisor_api.wire.fields import Form, Int64, moment, names
from advisor_api.wire.health_events import HealthEvent
from workloads.models import Node as NodeRow


class Node(Form):
    """One node as the scheduler describes it."""

    name = serializers.CharField()
    state = serializers.CharField()
    available = serializers.BooleanField()
    excluded = serializers.SerializerMethodField()
    reason = serializers.CharField(allow_blank=True)
    reasonBy = serializers.CharField(source="reason_by", allow_blank=True)
    reasonAt = moment(source="reason_at")
    bootedAt = moment(source="booted_at")
    partitions = names()
    seenAt = serializers.DateTimeField(source="seen_at")

    def get_excluded(self, node: NodeRow) -> bool:
        """Whether it is excluded now."""
        excluded: set[Any] = self.context.get("excluded", set())
        return node.name in excluded


class AttemptOnNode(Form):
    """An attempt that ran there."""

    heimdallJobId = serializers.UUIDField(source="heimdall_id")
    jobId = Int64(source="job.number")
    attemptIndex = serializers.IntegerField(source="index")
    user = serializers.CharField(source="job.user")
    state = serializers.CharField()
    startedAt = moment(source="started_at")
    endedAt = moment(source="ended_at")


class IncidentOnNode(Form):
    """A verdict that names it."""

    verdictId = serializers.UUIDField(source="verdict.uuid")
    heimdallJobId = serializers.UUIDField(source="verdict.attempt.heimdall_id")
    jobId = Int64(source="verdict.attempt.job.number")
    attemptIndex = serializers.IntegerField(source="verdict.attempt.index")
    layer = serializers.CharField(source="verdict.layer")
    sentence = serializers.CharField(source="verdict.sentence")
    role = serializers.CharField(allow_blank=True)
    confidence = serializers.FloatField(allow_null=True)
    happenedAt = serializers.DateTimeField(source="verdict.happened_at")


class NodeAnswer(Form):
    """A node with its history, newest first, at most 100 rows each out of the cluster's newest 1000."""

    node = Node()
    attempts = AttemptOnNode(many=True)
    incidents = IncidentOnNode(many=True)
    exclusions = Exclusion(many=True)
    healthEvents = HealthEvent(many=True, source="health_events")


class NodesAnswer(Form):
    """A page of nodes by name."""

    nodes = Node(many=True)
    count = serializers.IntegerField()
    nextPageToken = serializers.CharField(allow_blank=True)
