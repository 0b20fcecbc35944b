"""How do clusters, pauses and exclusions look on the wire?"""

from typing import Any

from rest_framework import serializers

from advisor_api.pausing import SCOPES, VALUE_LIMIT
from advisor_api.switching import REASON_LIMIT
from advisor_api.wire.fields import Form, Int64, Text, WireChoice, moment, names
from workloads.mode import Mode

MODES = {mode: mode.value for mode in Mode}
WANTED_MODES: dict[Any, str] = {**MODES, "observe": "observe"}
SCOPE_NAMES = {scope: scope for scope in SCOPES}


class Pause(Form):
    """Nothing is done on what it names until its end. A pause of the cluster has no value."""

    id = Int64(source="pk")
    cluster = serializers.CharField(source="cluster.name")
    scope = WireChoice("PauseScope", SCOPE_NAMES)
    value = serializers.CharField(allow_blank=True)
    reason = serializers.CharField()
    owner = serializers.CharField()
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()


class HeldLease(Form):
    """Which controller may act until when."""

    holder = serializers.CharField()
    fence = Int64()
    until = serializers.DateTimeField()


class SourceSight(Form):
    """How well a source is seen: its last answer, and since when there is none, and why."""

    source = serializers.ChoiceField(choices=["scheduler", "log_store", "metrics"])  # type: ignore[assignment]
    seenAt = moment(source="seen_at")
    cannotSeeSince = moment(source="since")
    cannotSeeReason = serializers.CharField(source="reason", allow_blank=True)


class Cluster(Form):
    """One scheduler installation with its mode and gates, and how well it is seen."""

    name = serializers.CharField(source="cluster.name")
    environment = serializers.CharField(source="cluster.environment")
    schedulerKind = serializers.CharField(source="cluster.scheduler_kind")
    mode = WireChoice("Mode", MODES, source="cluster.mode")
    modeVersion = Int64(source="cluster.mode_version")
    acknowledgeSchedulerActions = serializers.BooleanField(source="cluster.acknowledge_scheduler_actions")
    partitions = names(source="cluster.partitions")
    optOut = serializers.BooleanField(source="cluster.opt_out")
    enabled = serializers.BooleanField(source="cluster.enabled")
    pauses = Pause(many=True)
    cannotSeeSince = moment(source="cluster.cannot_see_since")
    cannotSeeReason = serializers.CharField(source="cluster.cannot_see_reason", allow_blank=True)
    seenAt = moment(source="cluster.seen_at")
    sources = SourceSight(many=True)
    schedulerVersion = serializers.CharField(source="cluster.scheduler_version", allow_blank=True)
    schedulerTested = serializers.BooleanField(source="cluster.scheduler_tested")
    liveAttempts = serializers.IntegerField(source="live_attempts")
    blindAttempts = serializers.IntegerField(source="blind_attempts")
    lease = HeldLease(allow_null=True)


class ClustersAnswer(Form):
    """The clusters that the caller may see."""

    clusters = Cluster(many=True)
    count = serializers.IntegerField()
    nextPageToken = serializers.CharField(allow_blank=True)


class ModeChange(Form):
    """Another mode, with the version of the mode that was seen. `observe` is stored as `monitor`."""

    mode = WireChoice("ModeRequest", WANTED_MODES)
    modeVersion = Int64()
    reason = Text(max_length=REASON_LIMIT)


class PauseRequest(Form):
    """What is to be left alone, until when and why."""

    scope = WireChoice("PauseScope", SCOPE_NAMES)
    value = Text(default="", allow_blank=True, max_length=VALUE_LIMIT)
    reason = Text(max_length=REASON_LIMIT)
    until = serializers.DateTimeField()


class PauseAnswer(Form):
    """One pause."""

    pause = Pause()


class PausesAnswer(Form):
    """Pauses that hold."""

    pauses = Pause(many=True)
    count = serializers.IntegerField()
    nextPageToken = serializers.CharField(allow_blank=True)


class Exclusion(Form):
    """A node that new attempts should not use."""

    id = Int64(source="pk")
    cluster = serializers.CharField(source="cluster.name")
    node = serializers.CharField()
    reason = serializers.CharField()
    owner = serializers.CharField()
    verdictId = serializers.UUIDField(source="verdict_id", allow_null=True)
    confidence = serializers.FloatField()
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    liftedAt = moment(source="lifted_at")
    liftedBy = serializers.CharField(source="lifted_by", allow_blank=True)


class ExclusionRequest(Form):
    """Which node, until when and why."""

    node = Text(max_length=255)
    reason = Text(max_length=REASON_LIMIT)
    until = serializers.DateTimeField()


class ExclusionAnswer(Form):
    """One exclusion."""

    exclusion = Exclusion()


class ExclusionsAnswer(Form):
    """Exclusions, newest first."""

    exclusions = Exclusion(many=True)
    count = serializers.IntegerField()
    nextPageToken = serializers.CharField(allow_blank=True)


class ActiveQuery(Form):
    """A page of what holds now, or of everything."""

    onlyActive = serializers.BooleanField(default=True)
    page = serializers.CharField(default="", allow_blank=True)
    limit = serializers.IntegerField(default=100, min_value=1, max_value=250)
