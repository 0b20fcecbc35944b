"""Doors to recoveries: their context, what was done in them, and who may act."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.authentication import CONTROLLERS, READERS, Roles
from advisor_api.finding import one_cluster
from advisor_api.handing import traceparent
from advisor_api.leasing import take_lease
from advisor_api.recoveries import find_sequence, sequence_by_uuid
from advisor_api.reporting import Done, milestone
from advisor_api.views.door import Door, clock
from advisor_api.wire import recovery as wire
from advisor_api.wire.errors import answers


class Sequences(Door):
    """Which recovery an attempt is in."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(
        parameters=[wire.SequenceQuery],
        responses=answers({200: wire.SequenceAnswer}, 404),
        operation_id="getRecoverySequence",
    )
    def get(self, request: Request) -> Response:
        """Its id and trace context. Looking for one creates nothing."""
        asked = self.asked(wire.SequenceQuery)
        found = find_sequence(
            self.cluster(),
            (asked["schedulerSystem"], asked["schedulerScope"]),
            (asked["jobId"], asked["sourceAttemptIndex"]),
            asked["operation"],
        )
        context = {"sequenceId": found.uuid, "traceparent": traceparent(found)}
        return self.answer(wire.SequenceAnswer, {"recoveryContext": context})


class Milestones(Door):
    """Completed scheduler actions."""

    roles: ClassVar[dict[str, Roles]] = {"POST": CONTROLLERS}

    @extend_schema(
        request=wire.MilestoneReport,
        responses=answers({200: wire.MilestoneAnswer, 201: wire.MilestoneAnswer}, 404, 409, 413),
        operation_id="reportMilestone",
    )
    def post(self, request: Request) -> Response:
        """Store it once by its key; the same again gives the first answer."""
        sent = self.sent(wire.MilestoneReport)
        sequence = sequence_by_uuid(self.caller, sent["sequenceId"], self.cluster_name)
        done = Done(sent["idempotencyKey"], sent["operation"], sent["action"], sent["time"])
        row, new = milestone(sequence, done, self.caller.actor, clock())
        return self.answer(wire.MilestoneAnswer, {"milestone": row}, 201 if new else 200)


class LeaseOfCluster(Door):
    """Which controller may act on a cluster."""

    roles: ClassVar[dict[str, Roles]] = {"PUT": CONTROLLERS}

    @extend_schema(
        request=wire.LeaseRequest, responses=answers({200: wire.Lease}, 404, 409, 413), operation_id="takeLease"
    )
    def put(self, request: Request, name: str) -> Response:
        """Take or extend it for 60 s; 409 when another one holds it or the fencing number is old."""
        sent, now = self.sent(wire.LeaseRequest), clock()
        cluster = one_cluster(self.caller, name)
        lease = take_lease(cluster, sent["holder"], sent["fence"], self.caller.actor, now)
        content = {"holder": lease.holder, "fence": lease.fence, "until": lease.until, "now": now}
        return self.answer(wire.Lease, content)
