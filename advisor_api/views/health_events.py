"""Doors to the health of nodes: what others push."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.authentication import REPORTERS, Roles
from advisor_api.health_intake import take_events
from advisor_api.health_shapes import read_pushed
from advisor_api.views.door import Door, clock
from advisor_api.wire import health_events as wire
from advisor_api.wire.errors import answers


class HealthEvents(Door):
    """What a checker of nodes tells."""

    roles: ClassVar[dict[str, Roles]] = {"POST": REPORTERS}

    @extend_schema(
        request={"application/json": wire.PUSHED},
        responses=answers({200: wire.TakenIn}, 413, 415),
        operation_id="pushHealthEvents",
    )
    def post(self, request: Request) -> Response:
        """Store health events, each once; NVSentinel's form and an Alertmanager webhook are read.

        All or none: with one that cannot be read nothing is stored. A healthy or resolved one clears what is open
        of the same node and check.
        """
        cluster, now = self.cluster(), clock()
        pushed = read_pushed(request.data, now)
        taken = take_events(cluster, pushed.events, self.caller.actor, now)
        content: dict[str, Any] = {
            "accepted": len(pushed.events),
            "stored": taken.stored,
            "cleared": len(taken.cleared),
            "unknownNodes": taken.unknown_nodes,
            "passedOver": pushed.passed_over,
        }
        return self.answer(wire.TakenIn, content)
