"""How do jobs and workflows look on the wire? Each job is one attempt."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework import serializers

from advisor_api.paging import MOST, USUAL
from advisor_api.policy.operation import Operation
from advisor_api.seeing import UNSPECIFIED
from advisor_api.wire.fields import (
    LARGEST,
    SHOWN_DISPOSITIONS,
    SHOWN_OPERATIONS,
    AnyJson,
    Form,
    Id,
    Int64,
    Text,
    WireChoice,
    moment,
    names,
)
from schedulers.states import JobState

PROPERTIES_LIMIT = 16384  # characters of additionalProperties as JSON
NODES_LIMIT = 20000
DESIRED: dict[Any, str] = {each: each.desired_state for each in Operation}
STATUSES: dict[Any, str] = {
    JobState.UNKNOWN: UNSPECIFIED,
    JobState.PENDING: "JOB_STATUS_PENDING",
    JobState.RUNNING: "JOB_STATUS_RUNNING",
    JobState.GONE: "JOB_STATUS_STOPPED",
}
"""What a client may say of a job, and the state that it means until a listing says more."""
SHOWN_STATUSES = {name: name for name in STATUSES.values()}


class NodeConstraints(Form):
    """Nodes that the job should not run on."""

    excludedNodes = names(source="excluded_nodes")


class ObservedState(Form):
    """What the scheduler shows of the attempt."""

    jmState = serializers.CharField(source="jm_state")
    status = WireChoice("JobStatus", SHOWN_STATUSES)
    reason = serializers.CharField(source="attempt.reason")
    restarts = serializers.IntegerField(source="attempt.index")
    exitCode = serializers.IntegerField(source="attempt.exit_code", allow_null=True)
    exitSignal = serializers.IntegerField(source="attempt.exit_signal", allow_null=True)
    submittedAt = moment(source="attempt.submitted_at")
    startedAt = moment(source="attempt.started_at")
    endedAt = moment(source="attempt.ended_at")
    nodes = names(source="attempt.nodes")


class DesiredState(Form):
    """What the newest advice wants."""

    state = WireChoice("DesiredStateName", DESIRED, source="operation")
    generation = Int64()
    operation = WireChoice("RecoveryOperation", SHOWN_OPERATIONS)
    disposition = WireChoice("AdviceReconciliationDisposition", SHOWN_DISPOSITIONS, source="state")


class Progress(Form):
    """How far the training is."""

    lastStep = Int64(source="last_step", allow_null=True)
    lastStepAt = moment(source="last_step_at")
    lastCheckpointStep = Int64(source="last_checkpoint_step", allow_null=True)
    loadedCheckpointStep = Int64(source="loaded_checkpoint_step", allow_null=True)
    stepSeconds = serializers.FloatField(source="baseline_step_seconds", allow_null=True)
    phase = serializers.CharField()
    blindSince = moment(source="blind_since")


JOB_EXAMPLE = {
    "heimdallJobId": "3f0c5a1e-7b0e-5d36-9a43-5b8f6c1e2d10",
    "jobId": "12345",
    "attemptIndex": 0,
    "workflowId": "pretrain-7b",
    "jobName": "llama-7b",
    "cluster": "demo",
    "environment": "demo",
    "user": "trainer",
    "account": "research",
    "partition": "main",
    "nodeCount": 3,
    "allocatedNodes": ["n01", "n02", "n03"],
    "gpuCountPerNode": 8,
    "state": "JOB_STATUS_STOPPED",
    "jmState": "FAILED",
    "observedState": {
        "jmState": "FAILED",
        "status": "JOB_STATUS_STOPPED",
        "reason": "NonZeroExitCode",
        "restarts": 0,
        "exitCode": 1,
        "exitSignal": 0,
        "submittedAt": "2026-11-29T10:00:00Z",
        "startedAt": "2026-11-29T10:00:05Z",
        "endedAt": "2026-11-29T10:42:17Z",
        "nodes": ["n01", "n02", "n03"],
    },
    "desiredState": {
        "state": "RUNNING_AGAIN",
        "generation": "1",
        "operation": "RECOVERY_OPERATION_RESTART",
        "disposition": "ADVICE_RECONCILIATION_DISPOSITION_PENDING",
    },
    "nodeConstraints": {"excludedNodes": ["n03"]},
    "progress": {
        "lastStep": "4210",
        "lastStepAt": "2026-11-29T10:42:10Z",
        "lastCheckpointStep": "4200",
        "loadedCheckpointStep": None,
        "stepSeconds": 0.6,
        "phase": "ended",
        "blindSince": None,
    },
    "additionalProperties": {},
    "createdAt": "2026-11-29T10:00:01Z",
}


@extend_schema_serializer(examples=[OpenApiExample("A failed attempt", JOB_EXAMPLE)])
class Job(Form):
    """One attempt of a job: what is observed and what is wanted."""

    heimdallJobId = serializers.UUIDField(source="attempt.heimdall_id")
    jobId = Int64(source="attempt.job.number")
    attemptIndex = serializers.IntegerField(source="attempt.index")
    workflowId = serializers.CharField(source="attempt.job.workflow_id")
    jobName = serializers.CharField(source="attempt.job.name")
    cluster = serializers.CharField(source="attempt.job.cluster.name")
    environment = serializers.CharField(source="attempt.job.cluster.environment")
    user = serializers.CharField(source="attempt.job.user")
    account = serializers.CharField(source="attempt.job.account")
    partition = serializers.CharField(source="attempt.job.partition")
    nodeCount = serializers.IntegerField(source="attempt.job.node_count")
    allocatedNodes = names(source="attempt.nodes")
    gpuCountPerNode = serializers.IntegerField(source="report.gpu_count_per_node", default=0)
    state = WireChoice("JobStatus", SHOWN_STATUSES, source="status")
    jmState = serializers.CharField(source="jm_state")
    observedState = ObservedState(source="*")
    desiredState = DesiredState(source="advice", allow_null=True)
    nodeConstraints = NodeConstraints(source="*")
    progress = Progress(source="attempt")
    additionalProperties = AnyJson(source="report.additional_properties", default=dict)
    createdAt = serializers.DateTimeField(source="attempt.first_seen_at")


class JobAnswer(Form):
    """One job."""

    job = Job()


class JobsAnswer(Form):
    """A page of jobs by creation time. `count` is the number in this answer."""

    jobs = Job(many=True)
    count = serializers.IntegerField()
    nextPageToken = serializers.CharField(allow_blank=True)


class JobQuery(Form):
    """Which form the id in the path has."""

    useHeimdallId = serializers.BooleanField(default=False)


class PageQuery(Form):
    """A page of a list."""

    page = serializers.CharField(default="", allow_blank=True)
    limit = serializers.IntegerField(default=USUAL, min_value=1, max_value=MOST)


class NumberedPageQuery(Form):
    """A page by token, by decimal zero-based offset, or by one-based number."""

    pageToken = serializers.CharField(default="", allow_blank=True)
    pageNumber = serializers.IntegerField(default=None, allow_null=True, min_value=1, max_value=LARGEST)
    limit = serializers.IntegerField(default=USUAL, min_value=1, max_value=MOST)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Not both ways of paging."""
        if attrs["pageToken"] and attrs["pageNumber"] is not None:
            raise serializers.ValidationError("pageToken and pageNumber exclude each other")
        return attrs


class JobsQuery(NumberedPageQuery):
    """Filters of the list of jobs."""

    workflowIds = serializers.ListField(child=Text(max_length=256), default=list, max_length=100)
    jobIds = serializers.ListField(child=Int64(), default=list, max_length=250)
    jmState = serializers.CharField(default="", max_length=64)
    reconciliationEligibleJobs = serializers.BooleanField(default=False)
    completedJobs = serializers.BooleanField(default=None, allow_null=True)
    endTimeFrom = serializers.DateTimeField(default=None, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Filters that exclude each other."""
        given = {
            "jmState": bool(attrs["jmState"]),
            "reconciliationEligibleJobs": attrs["reconciliationEligibleJobs"],
            "completedJobs": attrs["completedJobs"] is not None,
        }
        together = [name for name, there in given.items() if there]
        if len(together) > 1:
            raise serializers.ValidationError(f"{' and '.join(together)} exclude each other")
        return super().validate(attrs)


class ReportedConstraints(Form):
    """Nodes that the job should not run on."""

    excludedNodes = serializers.ListField(child=Text(max_length=255), default=list, max_length=NODES_LIMIT)


class ReportedJob(Form):
    """What a client says of an attempt."""

    workflowId = Text(max_length=256)
    heimdallJobId = Id(default=None, allow_null=True)
    jobId = Int64(default=None, allow_null=True)
    attemptIndex = serializers.IntegerField(default=None, allow_null=True, min_value=0, max_value=2**31 - 1)
    jobName = Text(default="", max_length=255, allow_blank=True)
    user = Text(default="", max_length=64, allow_blank=True)
    allocatedNodes = serializers.ListField(child=Text(max_length=255), default=list, max_length=NODES_LIMIT)
    gpuCountPerNode = serializers.IntegerField(default=0, min_value=0, max_value=1024)
    nodeConstraints = ReportedConstraints(default=dict)
    additionalProperties = AnyJson(default=dict)
    state = WireChoice("JobStatus", STATUSES, default=JobState.UNKNOWN)

    def validate_additionalProperties(self, value: Any) -> Any:
        """An object of bounded size."""
        if not isinstance(value, dict) or len(str(value)) > PROPERTIES_LIMIT:
            raise serializers.ValidationError(f"must be an object of at most {PROPERTIES_LIMIT} characters")
        return value


class Workflow(Form):
    """Jobs that belong to one experiment, by their explicit id."""

    workflowId = serializers.CharField(source="workflow_id")
    schedulerWorkflowId = serializers.CharField(default="")
    name = serializers.CharField()
    startTime = moment(source="start_time")
    endTime = moment(source="end_time")


class WorkflowAnswer(Form):
    """One workflow."""

    workflow = Workflow()


class WorkflowsAnswer(Form):
    """A page of workflows by id."""

    workflows = Workflow(many=True)
    count = serializers.IntegerField()
    nextPageToken = serializers.CharField(allow_blank=True)


class WorkflowQuery(Form):
    """Ids of workflows are free text, hence a parameter instead of a path."""

    workflowId = Text(max_length=256)
