"""What belongs to an incident? How many attempts, jobs, users and nodes, and which."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count

from advisor_api.refusals import NotFound
from detectors.models import Incident, IncidentNode, Verdict
from workloads.models import Cluster

SHOWN = 100  # attempts, and nodes, of one incident


@dataclass(frozen=True)
class SeenIncident:
    """An incident with what it counts. `users` are counted by name."""

    incident: Incident
    attempts: int = 0
    jobs: int = 0
    users: int = 0
    nodes: int = 0


@dataclass(frozen=True)
class WholeIncident:
    """One incident with its newest verdicts, newest first, and the names of its nodes."""

    seen: SeenIncident
    verdicts: tuple[Verdict, ...]
    nodes: tuple[str, ...]


def seen_incidents(incidents: Sequence[Incident]) -> list[SeenIncident]:
    """The same in their order, with what their rows count. One query however many they are."""
    keys = [incident.pk for incident in incidents]
    named = IncidentNode.objects.filter(incident__in=keys).order_by().values("incident").annotate(nodes=Count("pk"))
    nodes = {row["incident"]: row["nodes"] for row in named}
    return [
        SeenIncident(one, one.attempt_count, one.job_count, one.user_count, nodes.get(one.pk, 0))
        for one in incidents
    ]


def whole_incident(clusters: Sequence[Cluster], uuid: UUID) -> WholeIncident:
    """One incident of these clusters; `NotFound` otherwise. Four queries."""
    incident = Incident.objects.select_related("cluster").filter(cluster__in=clusters, uuid=uuid).first()
    if incident is None:
        raise NotFound(f"There is no incident {uuid}.")
    standing = Verdict.objects.select_related("attempt__job").filter(incident=incident, newer=None).defer("body")
    return WholeIncident(
        seen_incidents([incident])[0],
        tuple(standing.order_by("-happened_at", "-pk")[:SHOWN]),
        tuple(incident.nodes.order_by("node").values_list("node", flat=True)[:SHOWN]),
    )
