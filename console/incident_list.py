"""Which incidents stand on one page of the list, and what is said of each?

A page costs the same few queries however many incidents there are.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, F, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import Lower, RowNumber

from advisor_api.incident_view import SeenIncident, seen_incidents
from advisor_api.silence_facts import of_incidents
from advisor_api.silence_models import Silence
from advisor_api.silencing import active_silences, covers
from console.incident_state import IncidentState, ShownIncidents
from console.incident_wanted import IncidentsWanted
from detectors.catalogue.layer import Layer
from detectors.models import Incident, IncidentNode, Verdict

PAGE = 50
NAMED = 3  # jobs, and nodes, that a line names
CANDIDATES = 5000  # open incidents that are held against silences when those that are silenced are asked for


@dataclass(frozen=True)
class IncidentLine:
    """One incident as a line, with the newest of its attempts and the first of its nodes by name."""

    seen: SeenIncident
    layer: Layer
    state: IncidentState
    silence: Silence | None
    attempts: tuple[Verdict, ...]
    nodes: tuple[str, ...]

    @property
    def incident(self) -> Incident:
        """Its row."""
        return self.seen.incident

    @property
    def more_nodes(self) -> int:
        """How many are not named."""
        return self.seen.nodes - len(self.nodes)

    @property
    def named_nodes(self) -> str:
        """`n03, n04 …`: the nodes that are named, and a sign that there are others."""
        return ", ".join(self.nodes) + (" …" if self.more_nodes > 0 else "")

    @property
    def more_jobs(self) -> int:
        """How many are not named."""
        return self.seen.jobs - len({one.attempt.job_id for one in self.attempts})


@dataclass(frozen=True)
class IncidentList:
    """A page of incidents; `more`: there are others after it."""

    lines: tuple[IncidentLine, ...]
    more: bool


def incident_list(wanted: IncidentsWanted, now: datetime) -> IncidentList:
    """The incidents that are asked for, the last failure first."""
    rows = _filtered(wanted, now).select_related("cluster").order_by("-last_seen_at", "-pk")
    begin = (wanted.page - 1) * PAGE
    found = list(rows[begin : begin + PAGE + 1])
    return IncidentList(tuple(incident_lines(found[:PAGE], now)), len(found) > PAGE)


def incident_lines(incidents: Sequence[Incident], now: datetime) -> list[IncidentLine]:
    """Incidents, with their clusters, as lines in the same order."""
    keys = [one.pk for one in incidents]
    silences, attempts, nodes = silences_of(incidents, now), _attempts(keys), _nodes(keys)
    return [
        IncidentLine(
            seen,
            Layer(seen.incident.layer),
            state_of(seen.incident),
            silences.get(seen.incident.pk),
            tuple(attempts[seen.incident.pk]),
            tuple(nodes[seen.incident.pk]),
        )
        for seen in seen_incidents(incidents)
    ]


def state_of(incident: Incident) -> IncidentState:
    """How it stands."""
    if incident.ended_at is not None:
        return IncidentState.OVER
    return IncidentState.ACKNOWLEDGED if incident.acknowledged_at else IncidentState.OPEN


def silences_of(incidents: Iterable[Incident], now: datetime) -> Mapping[int, Silence]:
    """The silence that covers each open incident that one covers: of several the one that ends last."""
    opened = [one.pk for one in incidents if one.ended_at is None]
    holding = list(active_silences(now).order_by("-until", "-pk")) if opened else []
    if not holding:
        return {}
    found = {}
    for key, spoken in of_incidents(opened, holding).items():
        by = next((one for one in holding if covers(one, spoken)), None)
        if by is not None:
            found[key] = by
    return found


def _filtered(wanted: IncidentsWanted, now: datetime) -> QuerySet[Incident]:
    rows = _shown(ShownIncidents(wanted.state), now)
    if wanted.cluster:
        rows = rows.filter(cluster__name=wanted.cluster)
    if wanted.layer:
        rows = rows.filter(layer=wanted.layer)
    if wanted.node:
        rows = rows.filter(Exists(IncidentNode.objects.filter(incident=OuterRef("pk"), node=wanted.node)))
    if wanted.signature:
        standing = Verdict.objects.filter(incident=OuterRef("pk"), newer=None, signature=wanted.signature)
        rows = rows.filter(Exists(standing))
    if wanted.q:
        text = wanted.q.lower()
        # A database with a binary collation compares letters exactly, whatever `icontains` asks for.
        rows = rows.alias(in_lower_case=Lower("sentence"))
        rows = rows.filter(Q(in_lower_case__contains=text) | Q(fingerprint__startswith=text))
    return rows


def _shown(shown: ShownIncidents, now: datetime) -> QuerySet[Incident]:
    rows = Incident.objects.all()
    if shown is ShownIncidents.EVERY:
        return rows
    if shown is ShownIncidents.OVER:
        return rows.filter(ended_at__isnull=False)
    rows = rows.filter(ended_at=None)
    if shown is ShownIncidents.NEW:
        return rows.filter(acknowledged_at=None)
    if shown is ShownIncidents.ACKNOWLEDGED:
        return rows.filter(acknowledged_at__isnull=False)
    if shown is ShownIncidents.SILENCED:
        return rows.filter(pk__in=_silenced(rows, now))
    return rows


def _silenced(opened: QuerySet[Incident], now: datetime) -> list[int]:
    """Open incidents that a silence covers: the few that may fit are read, and held against the silences."""
    may = Q(pk__in=())
    for one in active_silences(now):
        fits = Q(cluster=one.cluster)
        if one.fingerprint:
            fits &= Q(fingerprint=one.fingerprint)
        if one.node:
            fits &= Q(Exists(IncidentNode.objects.filter(incident=OuterRef("pk"), node=one.node)))
        may |= fits
    return list(silences_of(opened.filter(may).order_by("-last_seen_at")[:CANDIDATES], now))


def _attempts(keys: Sequence[int]) -> Mapping[int, list[Verdict]]:
    """The newest verdicts of each, with attempt and job: each is one step into an index, however many there are."""
    own = Verdict.objects.filter(incident=OuterRef("pk"), newer=None).order_by("-happened_at", "-pk")
    places = [Subquery(own.values("pk")[n : n + 1]) for n in range(NAMED)]
    named = Incident.objects.filter(pk__in=keys).order_by().values_list(*places)
    newest = Verdict.objects.filter(pk__in=[one for row in named for one in row if one is not None])
    found: dict[int, list[Verdict]] = defaultdict(list)
    for row in newest.select_related("attempt__job").defer("body", "implicated").order_by("-happened_at", "-pk"):
        found[row.incident_id or 0].append(row)
    return found


def _nodes(keys: Sequence[int]) -> Mapping[int, list[str]]:
    place = Window(RowNumber(), partition_by=F("incident"), order_by=F("node").asc())
    rows = IncidentNode.objects.filter(incident__in=keys).annotate(place=place).filter(place__lte=NAMED)
    found: dict[int, list[str]] = defaultdict(list)
    for key, node in rows.order_by("node").values_list("incident", "node"):
        found[key].append(node)
    return found
