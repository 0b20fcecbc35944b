"""How do recoveries, milestones and leases look on the wire?"""

from rest_framework import serializers

from advisor_api.wire.fields import ACTIONS, OPERATIONS, Form, Id, Int64, Text, WireChoice


class RecoveryContext(Form):
    """One recovery: its id and its W3C trace context."""

    sequenceId = serializers.UUIDField()
    traceparent = serializers.CharField()


class SequenceAnswer(Form):
    """The recovery that was asked for."""

    recoveryContext = RecoveryContext()


class SequenceQuery(Form):
    """All of it is needed to name a recovery."""

    schedulerSystem = Text(max_length=16)
    schedulerScope = Text(max_length=64)
    jobId = Int64()
    sourceAttemptIndex = serializers.IntegerField(min_value=0, max_value=2**31 - 1)
    operation = WireChoice("RecoveryOperationRequest", OPERATIONS)


class MilestoneReport(Form):
    """A scheduler action that a controller completed."""

    sequenceId = Id()
    idempotencyKey = Text(max_length=512)
    operation = WireChoice("RecoveryOperationRequest", OPERATIONS)
    action = WireChoice("RecoverySchedulerAction", ACTIONS)
    time = serializers.DateTimeField()


class Milestone(Form):
    """A completed scheduler action as it is stored."""

    sequenceId = serializers.UUIDField(source="sequence.uuid")
    operation = WireChoice("RecoveryOperationRequest", OPERATIONS)
    action = WireChoice("RecoverySchedulerAction", ACTIONS)
    time = serializers.DateTimeField(source="done_at")
    receivedAt = serializers.DateTimeField(source="received_at")


class MilestoneAnswer(Form):
    """The milestone: the stored one, if it was reported before."""

    milestone = Milestone()


class LeaseRequest(Form):
    """Who wants the lease; `fence` is "0" for who holds none."""

    holder = serializers.RegexField(r"^[\x21-\x7e]{1,128}\Z")
    fence = Int64(default=0)


class Lease(Form):
    """The lease as granted, and the server's clock."""

    holder = serializers.CharField()
    fence = Int64()
    until = serializers.DateTimeField()
    now = serializers.DateTimeField()
