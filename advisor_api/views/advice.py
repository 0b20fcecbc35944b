"""Doors to advice: the list for controllers, what they saw, and what a person says."""

from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.approving import approve, expire, newest_advice, reject
from advisor_api.authentication import CONTROLLERS, OPERATORS, READERS, Roles
from advisor_api.finding import attempt_by_uuid
from advisor_api.handing import advice_of, handed
from advisor_api.models import Advice
from advisor_api.paging import page_of, read_token
from advisor_api.policy.operation import Operation
from advisor_api.refusals import NotFound
from advisor_api.reporting import reconcile
from advisor_api.views.door import Door, clock
from advisor_api.views.jobs import bound
from advisor_api.wire import advice as wire
from advisor_api.wire.errors import answers
from audit.trail import Actor


class AdviceList(Door):
    """Advice as controllers read it."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(
        parameters=[wire.AdviceQuery], responses=answers({200: wire.AdviceListAnswer}), operation_id="listAdvice"
    )
    def get(self, request: Request) -> Response:
        """The newest advice of each attempt; never what only asks a person."""
        asked, cluster = self.asked(wire.AdviceQuery), self.cluster()
        of = bound("advice", cluster.name, asked)
        rows = advice_of(cluster, only_active=asked["onlyActive"])
        page = page_of(rows, read_token(asked["page"], of), asked["limit"], bound_to=of)
        found = handed(page.rows, cluster, clock())
        return self.answer(
            wire.AdviceListAnswer, {"advice": found, "count": len(found), "nextPageToken": page.next_token}
        )


class ReconciliationStatus(Door):
    """What a controller saw of an advice."""

    roles: ClassVar[dict[str, Roles]] = {"PUT": CONTROLLERS}

    @extend_schema(
        request=wire.ReconciliationReport,
        responses=answers({200: wire.Advice}, 404, 409, 413),
        operation_id="reportReconciliation",
    )
    def put(self, request: Request, heimdall_id: UUID) -> Response:
        """Store it, once per generation; the same again gives the first answer."""
        sent, now = self.sent(wire.ReconciliationReport), clock()
        advice = _served(newest_advice(attempt_by_uuid(self.caller, heimdall_id, self.cluster_name)))
        state, reason = sent["disposition"], sent["reason"]
        actor = self.caller.actor
        advice = reconcile(advice, sent["observedGeneration"], state, reason, actor=actor, now=now)
        return self.answer(wire.Advice, handed([advice], advice.attempt.job.cluster, now)[0])


class _Verb(Door):
    """A person's word on the newest advice of an attempt."""

    roles: ClassVar[dict[str, Roles]] = {"POST": OPERATORS}
    act: Callable[[Advice, int, str, Actor, datetime], Advice]

    def rule(self, heimdall_id: UUID) -> Response:
        """Take the word and answer with the advice as it is now."""
        sent, now = self.sent(wire.Ruling), clock()
        advice = newest_advice(attempt_by_uuid(self.caller, heimdall_id, self.cluster_name))
        advice = type(self).act(advice, sent["generation"], sent["reason"], self.caller.actor, now)
        return self.answer(wire.Advice, handed([advice], advice.attempt.job.cluster, now)[0])


RULING: dict[str, Any] = {"request": wire.Ruling, "responses": answers({200: wire.Advice}, 404, 409, 413)}


class Approve(_Verb):
    """Let an advice be carried out."""

    act = staticmethod(approve)

    @extend_schema(**RULING, operation_id="approveAdvice")
    def post(self, request: Request, heimdall_id: UUID) -> Response:
        """Needs the generation seen and a reason; 409 when it moved, is late or not needed any more."""
        return self.rule(heimdall_id)


class Reject(_Verb):
    """Never carry an advice out."""

    act = staticmethod(reject)

    @extend_schema(**RULING, operation_id="rejectAdvice")
    def post(self, request: Request, heimdall_id: UUID) -> Response:
        """Needs the generation seen and a reason."""
        return self.rule(heimdall_id)


class Expire(_Verb):
    """Close an advice before its time."""

    act = staticmethod(expire)

    @extend_schema(**RULING, operation_id="expireAdvice")
    def post(self, request: Request, heimdall_id: UUID) -> Response:
        """Needs the generation seen and a reason."""
        return self.rule(heimdall_id)


def _served(advice: Advice) -> Advice:
    if advice.operation == Operation.WAIT:
        raise NotFound(f"There is no advice for a controller on {advice.attempt.label}.")
    return advice
