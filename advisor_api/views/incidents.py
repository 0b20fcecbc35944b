"""Doors to incidents: failures that belong together."""

from typing import ClassVar
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.authentication import READERS, Roles
from advisor_api.finding import clusters_of
from advisor_api.incident_view import seen_incidents, whole_incident
from advisor_api.paging import page_of, read_token
from advisor_api.views.door import Door
from advisor_api.views.jobs import bound
from advisor_api.wire import incidents as wire
from advisor_api.wire.errors import answers
from detectors.models import Incident


class Incidents(Door):
    """The incidents of a cluster."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(
        parameters=[wire.IncidentsQuery],
        responses=answers({200: wire.IncidentsAnswer}),
        operation_id="listIncidents",
    )
    def get(self, request: Request) -> Response:
        """The newest first."""
        asked, cluster = self.asked(wire.IncidentsQuery), self.cluster()
        of = bound("incidents", cluster.name, asked)
        rows = Incident.objects.filter(cluster=cluster, **({"ended_at": None} if asked["onlyOpen"] else {}))
        page = page_of(rows, read_token(asked["page"], of), asked["limit"], bound_to=of, descending=True)
        content = {
            "incidents": seen_incidents(page.rows),
            "count": len(page.rows),
            "nextPageToken": page.next_token,
        }
        return self.answer(wire.IncidentsAnswer, content)


class OneIncident(Door):
    """One incident."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(responses=answers({200: wire.IncidentAnswer}, 404), operation_id="getIncident")
    def get(self, request: Request, uuid: UUID) -> Response:
        """The incident with its attempts and nodes."""
        return self.answer(wire.IncidentAnswer, whole_incident(clusters_of(self.caller, self.cluster_name), uuid))
