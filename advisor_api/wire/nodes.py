"""How do nodes and their history look on the wire?"""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from advisor_api.node_facts import Stands
from advisor_api.node_standing import Standing
from advisor_api.wire.clusters import Exclusion
from advisor_api.wire.fields import Form, Int64, moment, names
from advisor_api.wire.health_events import HealthEvent
from advisor_api.wire.jobs import PageQuery
from workloads.models import Node as NodeRow


class Node(Form):
    """One node as the scheduler describes it."""

    name = serializers.CharField()
    state = serializers.CharField()
    available = serializers.BooleanField()
    excluded = serializers.SerializerMethodField()
    standing = serializers.SerializerMethodField()
    standingBecause = serializers.SerializerMethodField()
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

    @extend_schema_field(serializers.ChoiceField(choices=Standing.choices()))
    def get_standing(self, node: NodeRow) -> str:
        """Its field: in use or not, with evidence against it or without."""
        return self._stands(node).standing.value

    def get_standingBecause(self, node: NodeRow) -> str:
        """Why, in a few words; empty for a node that is effective."""
        return self._stands(node).why

    def _stands(self, node: NodeRow) -> Stands:
        found: dict[str, Stands] = self.context["standings"]
        return found.get(node.name, Stands(Standing.EFFECTIVE, ""))


class StandingCounts(Form):
    """How many nodes of the cluster stand in each field."""

    effective = serializers.IntegerField()
    at_risk = serializers.IntegerField()
    isolated = serializers.IntegerField()
    stranded = serializers.IntegerField()


class NodesQuery(PageQuery):
    """A page of the nodes, or of those in one field."""

    standing = serializers.ChoiceField(choices=Standing.choices(), default="", allow_blank=True)


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
    """A page of nodes by name. `standings` counts all nodes of the cluster."""

    nodes = Node(many=True)
    standings = StandingCounts()
    count = serializers.IntegerField()
    nextPageToken = serializers.CharField(allow_blank=True)
