"""Doors to the trail: what clients report, and what is asked for."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.authentication import READERS, REPORTERS, Roles
from advisor_api.errors import first_mistake
from advisor_api.finding import clusters_of
from advisor_api.paging import binding, page_of, read_token
from advisor_api.token_role import TokenRole
from advisor_api.trail_intake import Reported, Source, take_in
from advisor_api.trail_reading import PRODUCED, events_asked_for
from advisor_api.views.door import Door, clock
from advisor_api.wire import events as wire
from advisor_api.wire.errors import answers
from audit.level import Level

PAGING = {"cursor", "limit"}


class AuditEvents(Door):
    """The append-only trail."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS, "POST": REPORTERS}

    @extend_schema(
        parameters=[wire.EventsQuery],
        responses=answers({200: wire.EventsAnswer}, 404),
        operation_id="listAuditEvents",
    )
    def get(self, request: Request) -> Response:
        """Events of one attempt or of one job."""
        asked = self.asked(wire.EventsQuery)
        clusters = clusters_of(self.caller, self.cluster_name)
        of = binding(
            "events",
            {
                **{key: value for key, value in asked.items() if key not in PAGING},
                "clusters": [cluster.name for cluster in clusters],
            },
        )
        page = page_of(
            events_asked_for(clusters, asked),
            read_token(asked["cursor"], of),
            asked["limit"],
            bound_to=of,
            keys=(PRODUCED, "pk"),
            descending=asked["sortBy"].endswith(":desc"),
        )
        return self.answer(wire.EventsAnswer, {"items": page.rows, "cursor": page.next_token})

    @extend_schema(
        request=wire.ReportedEventsBody,
        responses=answers({200: wire.Accepted}, 413),
        operation_id="reportAuditEvents",
    )
    def post(self, request: Request) -> Response:
        """Store events, each once by its key; what is accepted is durable when this answers."""
        sent = self.sent(wire.ReportedEvents)["items"]
        source = Source(self.cluster(), self.caller.actor, TokenRole.CONTROLLER in self.caller.roles)
        form = wire.ReportedEvent()  # one for all: to make it costs more than to store an event
        taken = take_in(source, [reported(form, item) for item in sent], clock())
        content: dict[str, Any] = {"accepted": taken.accepted}
        if taken.rejected:
            rejected = [{"index": index, "message": message} for index, message in taken.rejected]
            content["partialSuccess"] = {**content, "rejected": rejected}
        return Response(content)


def reported(form: wire.ReportedEvent, item: object) -> Reported | str:
    """One event of the body, or the sentence that says what is wrong with it."""
    try:
        found = form.run_validation(item)
    except ValidationError as error:
        return first_mistake(error.detail)
    return Reported(
        heimdall_id=found["heimdallJobId"],
        producer=found["eventProducer"],
        type=found["eventType"],
        level=Level(found["eventLevel"]),
        payload=found["payload"],
        produced_micros=found["eventProducedAt"],
        key=found["idempotencyKey"],
    )
