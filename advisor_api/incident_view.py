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
    """The same in their order, counted. Two queries however many they are."""
    keys = [incident.pk for incident in incidents]
    standing = Verdict.objects.filter(incident__in=keys, newer=None).order_by().values("incident")
    rows = standing.annotate(
        attempts=Count("attempt", distinct=True),
        jobs=Count("attempt__job", distinct=True),
        users=Count("attempt__job__user", distinct=True),
    )
    counted = {row["incident"]: (row["attempts"], row["jobs"], row["users"]) for row in rows}
    named = IncidentNode.objects.filter(incident__in=keys).order_by().values("incident").annotate(nodes=Count("pk"))
    nodes = {row["incident"]: row["nodes"] for row in named}
    return [
        SeenIncident(incident, *counted.get(incident.pk, (0, 0, 0)), nodes=nodes.get(incident.pk, 0))
        for incident in incidents
    ]


def whole_incident(clusters: Sequence[Cluster], uuid: UUID) -> WholeIncident:
    """One incident of these clusters; `NotFound` otherwise. Five queries."""
    incident = Incident.objects.select_related("cluster").filter(cluster__in=clusters, uuid=uuid).first()
    if incident is None:
        raise NotFound(f"There is no incident {uuid}.")
    standing = Verdict.objects.select_related("attempt__job").filter(incident=incident, newer=None).defer("body")
    return WholeIncident(
        seen_incidents([incident])[0],
        tuple(standing.order_by("-happened_at", "-pk")[:SHOWN]),
        tuple(incident.nodes.order_by("node").values_list("node", flat=True)[:SHOWN]),
    )
