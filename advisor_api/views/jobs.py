"""Doors to jobs and workflows."""

from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.authentication import READERS, REPORTERS, Roles
from advisor_api.finding import attempt_by_label, attempt_by_uuid
from advisor_api.job_lists import as_workflows, attempts_asked_for, attempts_of_number, workflows_of
from advisor_api.paging import Place, binding, numbered, page_of, read_token
from advisor_api.refusals import Bad, NotFound
from advisor_api.registering import Report, register
from advisor_api.seeing import seen_jobs
from advisor_api.views.door import Door, clock
from advisor_api.wire import jobs as wire
from advisor_api.wire.errors import answers
from advisor_api.wire.fields import LARGEST
from workloads.models import Attempt

PAGING = {"page", "pageToken", "pageNumber", "limit"}


class Jobs(Door):
    """All attempts of a cluster, by creation time."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS, "POST": REPORTERS}

    @extend_schema(parameters=[wire.JobsQuery], responses=answers({200: wire.JobsAnswer}), operation_id="listJobs")
    def get(self, request: Request) -> Response:
        """The attempts that the filters leave."""
        asked, cluster = self.asked(wire.JobsQuery), self.cluster()
        of = bound("jobs", cluster.name, asked)
        page = page_of(attempts_asked_for(cluster, asked), place_of(asked, of), asked["limit"], bound_to=of)
        content = {"jobs": seen_jobs(page.rows), "count": len(page.rows), "nextPageToken": page.next_token}
        return self.answer(wire.JobsAnswer, content)

    @extend_schema(
        request=wire.ReportedJob,
        responses=answers({200: wire.JobAnswer, 201: wire.JobAnswer}, 409, 413),
        operation_id="reportJob",
    )
    def post(self, request: Request) -> Response:
        """Report an attempt; the answer carries its heimdallJobId, which the server computes."""
        report = report_of(self.sent(wire.ReportedJob))
        attempt, made = register(self.cluster(), report, self.caller.actor, clock())
        return self.answer(wire.JobAnswer, {"job": seen_jobs([attempt])[0]}, 201 if made else 200)


class OneJob(Door):
    """One attempt, by `{job_id}-{attempt_index}` or by its heimdallJobId."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(parameters=[wire.JobQuery], responses=answers({200: wire.JobAnswer}, 404), operation_id="getJob")
    def get(self, request: Request, job_id: str) -> Response:
        """The attempt as it is now."""
        attempt = self._attempt(job_id, by_uuid=self.asked(wire.JobQuery)["useHeimdallId"])
        return self.answer(wire.JobAnswer, {"job": seen_jobs([attempt])[0]})

    def _attempt(self, job_id: str, *, by_uuid: bool) -> Attempt:
        if not by_uuid:
            return attempt_by_label(self.cluster(), job_id)
        try:
            return attempt_by_uuid(self.caller, UUID(job_id), self.cluster_name)
        except ValueError:
            raise Bad("With useHeimdallId=true the id is a UUID.") from None


class JobsOfNumber(Door):
    """All attempts of all submissions that had a job number."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(
        parameters=[wire.PageQuery], responses=answers({200: wire.JobsAnswer}), operation_id="listJobsOfNumber"
    )
    def get(self, request: Request, number: str) -> Response:
        """The attempts, oldest first."""
        if not number.isascii() or not number.isdigit() or len(number) > 19 or int(number) > LARGEST:
            raise Bad("The scheduler's job id is a whole number.")
        asked, cluster = self.asked(wire.PageQuery), self.cluster()
        of = bound("jobs-of-number", cluster.name, {"number": number})
        page = page_of(
            attempts_of_number(cluster, int(number)), read_token(asked["page"], of), asked["limit"], bound_to=of
        )
        content = {"jobs": seen_jobs(page.rows), "count": len(page.rows), "nextPageToken": page.next_token}
        return self.answer(wire.JobsAnswer, content)


class Workflows(Door):
    """Workflows by their id."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(
        parameters=[wire.NumberedPageQuery],
        responses=answers({200: wire.WorkflowsAnswer}),
        operation_id="listWorkflows",
    )
    def get(self, request: Request) -> Response:
        """A page of workflows."""
        asked, cluster = self.asked(wire.NumberedPageQuery), self.cluster()
        of = bound("workflows", cluster.name, {})
        place = place_of(asked, of)
        page = page_of(workflows_of(cluster), place, asked["limit"], bound_to=of, keys=("workflow_id",))
        rows = as_workflows(page.rows)
        content = {"workflows": rows, "count": len(rows), "nextPageToken": page.next_token}
        return self.answer(wire.WorkflowsAnswer, content)


class WorkflowLookup(Door):
    """One workflow; its id is free text and therefore a parameter."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(
        parameters=[wire.WorkflowQuery],
        responses=answers({200: wire.WorkflowAnswer}, 404),
        operation_id="lookupWorkflow",
    )
    def get(self, request: Request) -> Response:
        """The workflow with this id."""
        wanted = self.asked(wire.WorkflowQuery)["workflowId"]
        rows = as_workflows(list(workflows_of(self.cluster()).filter(workflow_id=wanted)[:1]))
        if not rows:
            raise NotFound("There is no workflow with this id.")
        return self.answer(wire.WorkflowAnswer, {"workflow": rows[0]})


def bound(name: str, cluster: str, asked: dict[str, Any]) -> str:
    """What the page tokens of a list are bound to: its name, its cluster and its filters."""
    filters = {key: value for key, value in asked.items() if key not in PAGING}
    return binding(name, {**filters, "cluster": cluster})


def place_of(asked: dict[str, Any], of: str) -> Place:
    """Where a page of a numbered list begins."""
    token = asked["pageToken"]
    if asked["pageNumber"] is not None or (token.isascii() and token.isdigit()):
        return numbered(asked["pageNumber"], token, asked["limit"])
    return read_token(token, of)


def report_of(sent: dict[str, Any]) -> Report:
    """The body of a report in the domain's words."""
    constraints = sent["nodeConstraints"]
    return Report(
        workflow_id=sent["workflowId"],
        heimdall_id=sent["heimdallJobId"],
        number=sent["jobId"],
        index=sent["attemptIndex"],
        name=sent["jobName"],
        user=sent["user"],
        nodes=tuple(sent["allocatedNodes"]),
        gpu_count_per_node=sent["gpuCountPerNode"],
        node_constraints=dict(constraints) if constraints else {},
        additional_properties=sent["additionalProperties"],
        state=sent["state"],
    )
