"""How do incidents look on the wire?"""

from rest_framework import serializers

from advisor_api.wire.fields import Form, Int64, moment, names
from advisor_api.wire.jobs import PageQuery


class IncidentsQuery(PageQuery):
    """A page of incidents."""

    onlyOpen = serializers.BooleanField(default=False)


class Incident(Form):
    """Failures that belong together. `shared`: one cause for several hosts or jobs, for which no node is blamed."""

    incidentId = serializers.UUIDField(source="incident.uuid")
    layer = serializers.CharField(source="incident.layer")
    sentence = serializers.CharField(source="incident.sentence")
    fingerprint = serializers.CharField(source="incident.fingerprint")
    shared = serializers.BooleanField(source="incident.shared")
    firstSeenAt = serializers.DateTimeField(source="incident.first_seen_at")
    lastSeenAt = serializers.DateTimeField(source="incident.last_seen_at")
    endedAt = moment(source="incident.ended_at")
    attempts = serializers.IntegerField()
    jobs = serializers.IntegerField()
    users = serializers.IntegerField()
    nodes = serializers.IntegerField()


class AttemptOfIncident(Form):
    """An attempt whose newest verdict belongs to it."""

    verdictId = serializers.UUIDField(source="uuid")
    heimdallJobId = serializers.UUIDField(source="attempt.heimdall_id")
    jobId = Int64(source="attempt.job.number")
    attemptIndex = serializers.IntegerField(source="attempt.index")
    user = serializers.CharField(source="attempt.job.user")
    sentence = serializers.CharField()
    happenedAt = serializers.DateTimeField(source="happened_at")


class IncidentAnswer(Form):
    """An incident with its newest 100 attempts and the first 100 of its nodes."""

    incident = Incident(source="seen")
    attempts = AttemptOfIncident(many=True, source="verdicts")
    nodes = names()


class IncidentsAnswer(Form):
    """A page of incidents, the newest first."""

    incidents = Incident(many=True)
    count = serializers.IntegerField()
    nextPageToken = serializers.CharField(allow_blank=True)
