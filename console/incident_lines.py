"""Which incidents are there, and what belongs to one? Lines for the overview, the list and the page of one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from advisor_api.gathering import active_exclusions
from advisor_api.incident_view import SeenIncident, WholeIncident, seen_incidents, whole_incident
from advisor_api.models import Exclusion
from advisor_api.refusals import NotFound
from console.asking import Asked
from detectors.catalogue.layer import Layer
from detectors.models import Incident, Verdict
from workloads.models import Cluster

ON_OVERVIEW = 8
ON_LIST = 100
OVER_SINCE = timedelta(days=7)


@dataclass(frozen=True)
class Line:
    """One incident as a line."""

    seen: SeenIncident
    layer: Layer

    @property
    def incident(self) -> Incident:
        """Its row."""
        return self.seen.incident


@dataclass(frozen=True)
class Page:
    """One incident as a page. `exclusions`: those that a verdict on its attempts made and that still hold."""

    line: Line
    verdicts: Sequence[Verdict]
    nodes: Sequence[str]
    exclusions: Sequence[Exclusion]


def incidents_now(asked: Asked) -> dict[str, Any]:
    """The newest open incidents of all clusters."""
    opened = Incident.objects.filter(ended_at=None)
    return {"lines": _lines(opened.select_related("cluster")[:ON_OVERVIEW]), "more": opened.count() - ON_OVERVIEW}


def incidents_open(asked: Asked) -> dict[str, Any]:
    """Every open incident, as far as the list goes."""
    return {"lines": _lines(Incident.objects.filter(ended_at=None).select_related("cluster")[:ON_LIST])}


def incidents_over(asked: Asked) -> dict[str, Any]:
    """What ended within the last week."""
    over = Incident.objects.filter(ended_at__gt=asked.now - OVER_SINCE).order_by("-ended_at", "-pk")
    return {"lines": _lines(over.select_related("cluster")[:ON_LIST])}


def incident_page(uuid: UUID, now: datetime) -> Page | None:
    """Everything about one incident; `None` when there is none."""
    try:
        whole: WholeIncident = whole_incident(list(Cluster.objects.all()), uuid)
    except NotFound:
        return None
    incident = whole.seen.incident
    attempts = [verdict.attempt_id for verdict in whole.verdicts]
    uuids = Verdict.objects.filter(attempt__in=attempts).values("uuid")
    exclusions = active_exclusions(incident.cluster, now).filter(verdict_id__in=uuids).order_by("node")
    line = Line(whole.seen, Layer(incident.layer))
    return Page(line, whole.verdicts, whole.nodes, list(exclusions[:ON_LIST]))


def _lines(incidents: Iterable[Incident]) -> list[Line]:
    return [Line(seen, Layer(seen.incident.layer)) for seen in seen_incidents(list(incidents))]
