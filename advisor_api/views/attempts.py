"""Doors to one attempt: what happened, what was concluded, what was decided."""

from typing import ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.attempt_view import newest_decision, newest_verdict
from advisor_api.authentication import READERS, Roles
from advisor_api.finding import attempt_by_uuid
from advisor_api.paging import binding, page_of, read_token
from advisor_api.trail_reading import timeline_of
from advisor_api.views.door import Door, clock
from advisor_api.wire import attempts as wire
from advisor_api.wire.errors import answers
from advisor_api.wire.events import TimelineAnswer
from advisor_api.wire.jobs import PageQuery


class Timeline(Door):
    """Everything that happened to one attempt."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(
        parameters=[PageQuery], responses=answers({200: TimelineAnswer}, 404), operation_id="getTimeline"
    )
    def get(self, request: Request, heimdall_id: UUID) -> Response:
        """Its events and those of its job, in the order in which they were stored."""
        asked = self.asked(PageQuery)
        attempt = attempt_by_uuid(self.caller, heimdall_id, self.cluster_name)
        of = binding("timeline", {"attempt": heimdall_id})
        page = page_of(timeline_of(attempt), read_token(asked["page"], of), asked["limit"], bound_to=of)
        content = {"events": page.rows, "count": len(page.rows), "nextPageToken": page.next_token}
        return self.answer(TimelineAnswer, content)


class VerdictOfAttempt(Door):
    """Why it failed."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(responses=answers({200: wire.VerdictAnswer}, 404), operation_id="getVerdict")
    def get(self, request: Request, heimdall_id: UUID) -> Response:
        """The newest verdict with its evidence and rivals."""
        attempt = attempt_by_uuid(self.caller, heimdall_id, self.cluster_name)
        return self.answer(wire.VerdictAnswer, {"verdict": newest_verdict(attempt)})


class DecisionOnAttempt(Door):
    """What should happen next, and why."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(responses=answers({200: wire.DecisionAnswer}, 404), operation_id="getDecision")
    def get(self, request: Request, heimdall_id: UUID) -> Response:
        """Every rule that was looked at, with its inputs."""
        attempt = attempt_by_uuid(self.caller, heimdall_id, self.cluster_name)
        return self.answer(wire.DecisionAnswer, {"decision": newest_decision(attempt, clock())})
