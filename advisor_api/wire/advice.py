"""How does an advice look on the wire, and what may be said of it?"""

from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers

from advisor_api.approving import REASON_LIMIT
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from advisor_api.wire.fields import (
    DISPOSITIONS,
    REASONS,
    SHOWN_DISPOSITIONS,
    SHOWN_OPERATIONS,
    Form,
    Int64,
    Text,
    WireChoice,
    moment,
    names,
)
from advisor_api.wire.jobs import DESIRED, SHOWN_STATUSES, PageQuery
from workloads.mode import Mode

MODES = {mode: mode.value for mode in Mode}


class AdviceConstraints(Form):
    """Nodes to leave out, and the array whose waiting tasks should leave them out as well."""

    excludedNodes = names(source="excluded_nodes")
    waitingTasksOf = Int64(source="waiting_tasks_of", allow_null=True)


class DetectedIssue(Form):
    """One symptom behind the advice."""

    kind = serializers.CharField()
    layer = serializers.CharField()
    signature = serializers.CharField()
    sentence = serializers.CharField()
    nodes = names()


class AdviceObservedState(Form):
    """What the scheduler showed of the attempt when it was last observed."""

    jmState = serializers.CharField(source="jm_state")
    status = WireChoice("JobStatus", SHOWN_STATUSES)
    restarts = serializers.IntegerField(source="attempt.index")
    submittedAt = moment(source="attempt.submitted_at")
    nodes = names(source="attempt.nodes")


class TraceContext(Form):
    """W3C trace context of the recovery."""

    traceparent = serializers.CharField()


class Reconciliation(Form):
    """How far it came."""

    disposition = WireChoice("AdviceReconciliationDisposition", SHOWN_DISPOSITIONS, source="advice.state")
    reason = WireChoice("AdviceReconciliationReason", REASONS, source="advice.state_reason")


ADVICE_EXAMPLE = {
    "heimdallJobId": "3f0c5a1e-7b0e-5d36-9a43-5b8f6c1e2d10",
    "generation": "1",
    "jobId": "12345",
    "attemptIndex": 0,
    "cluster": "demo",
    "environment": "demo",
    "partition": "main",
    "user": "trainer",
    "schedulerSystem": "slurm",
    "schedulerScope": "demo",
    "operation": "RECOVERY_OPERATION_RESTART",
    "desiredState": "RUNNING_AGAIN",
    "nodeConstraints": {"excludedNodes": ["n03"], "waitingTasksOf": None},
    "detectedIssues": [
        {
            "kind": "crash",
            "layer": "hardware.gpu",
            "signature": "xid.48",
            "sentence": "Xid 48: uncorrectable double-bit ECC error on n03.",
            "nodes": ["n03"],
        }
    ],
    "observedState": {
        "jmState": "FAILED",
        "status": "JOB_STATUS_STOPPED",
        "restarts": 0,
        "submittedAt": "2026-11-29T10:00:00Z",
        "nodes": ["n01", "n02", "n03"],
    },
    "rule": "named_node",
    "reason": "n03 is named as the cause, surely enough to be left out",
    "verdictId": "8d0f3b62-53f4-4c55-8a3b-0a2f8f0e7a11",
    "notBefore": "2026-11-29T10:42:20Z",
    "holdUntil": "2026-11-29T10:47:20Z",
    "expiresAt": "2026-11-29T10:57:20Z",
    "createdAt": "2026-11-29T10:42:20Z",
    "modeAtDecision": "action",
    "mayBeActedOn": True,
    "whyNot": "",
    "sequenceId": "b7a0c8de-2f5c-4e7e-9a41-6c1f0d9be4a2",
    "traceContext": {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
    "reconciliation": {
        "disposition": "ADVICE_RECONCILIATION_DISPOSITION_PENDING",
        "reason": "ADVICE_RECONCILIATION_REASON_UNSPECIFIED",
    },
}


@extend_schema_serializer(examples=[OpenApiExample("Restart without a node", ADVICE_EXAMPLE)])
class Advice(Form):
    """The durable decision on one attempt. Not a command: what the scheduler shows afterwards is reported back."""

    heimdallJobId = serializers.UUIDField(source="attempt.heimdall_id")
    generation = Int64(source="advice.generation")
    jobId = Int64(source="attempt.job.number")
    attemptIndex = serializers.IntegerField(source="attempt.index")
    cluster = serializers.CharField(source="attempt.job.cluster.name")
    environment = serializers.CharField(source="attempt.job.cluster.environment")
    partition = serializers.CharField(source="attempt.job.partition")
    user = serializers.CharField(source="attempt.job.user")
    schedulerSystem = serializers.CharField(source="attempt.job.cluster.scheduler_kind")
    schedulerScope = serializers.CharField(source="attempt.job.cluster.name")
    operation = WireChoice("RecoveryOperation", SHOWN_OPERATIONS, source="advice.operation")
    desiredState = WireChoice("DesiredStateName", DESIRED, source="advice.operation")
    nodeConstraints = AdviceConstraints(source="*")
    detectedIssues = DetectedIssue(many=True, source="issues")
    observedState = AdviceObservedState(source="*")
    rule = serializers.CharField(source="advice.rule")
    reason = serializers.CharField(source="advice.because")
    verdictId = serializers.UUIDField(source="advice.verdict.uuid", allow_null=True)
    notBefore = serializers.DateTimeField(source="advice.not_before")
    holdUntil = serializers.DateTimeField(source="advice.hold_until")
    expiresAt = serializers.DateTimeField(source="advice.expires_at")
    createdAt = serializers.DateTimeField(source="advice.created_at")
    modeAtDecision = WireChoice("Mode", MODES, source="advice.mode_at_decision")
    mayBeActedOn = serializers.BooleanField(source="may_be_acted_on")
    whyNot = serializers.CharField(source="why_not", allow_blank=True)
    sequenceId = serializers.UUIDField(source="recovery.uuid", allow_null=True)
    traceContext = TraceContext(source="*")
    reconciliation = Reconciliation(source="*")


class AdviceListAnswer(Form):
    """A page of advice, oldest first. `count` is the number in this answer."""

    advice = Advice(many=True)
    count = serializers.IntegerField()
    nextPageToken = serializers.CharField(allow_blank=True)


class AdviceQuery(PageQuery):
    """Which advice."""

    onlyActive = serializers.BooleanField(default=False)


class ReconciliationReport(Form):
    """What a controller saw of one generation."""

    observedGeneration = Int64()
    disposition = WireChoice("AdviceReconciliationDisposition", DISPOSITIONS)
    reason = WireChoice("AdviceReconciliationReason", REASONS, default=ReconciliationReason.UNSPECIFIED)


class Ruling(Form):
    """A person's word on the advice that was seen."""

    generation = Int64()
    reason = Text(max_length=REASON_LIMIT)
