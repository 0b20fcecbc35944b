"""Which clusters are listed, by which filters of the address, and how does each stand?"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from advisor_api.cluster_view import SeenSource, seen_clusters
from advisor_api.models import ControllerLease
from advisor_api.node_standing import Standing
from advisor_api.standing_view import standings_of
from console.cluster_rows import ClusterRow, cluster_rows
from console.source_health import LABELS
from workloads.mode import Mode
from workloads.models import Cluster

KINDS = dict(Cluster._meta.get_field("scheduler_kind").choices or ())


@dataclass(frozen=True)
class ClustersWanted:
    """What the address asks for. Whatever is not understood is left out, and `mistake` says so."""

    kind: str = ""
    mode: str = ""
    mistake: str = ""


@dataclass(frozen=True)
class SourceNow:
    """One source of a cluster, as it stands now."""

    label: str
    seen: SeenSource


@dataclass(frozen=True)
class ClusterLine:
    """One cluster as a line of the list. `standings`: how many of its nodes stand in each field."""

    row: ClusterRow
    sources: Sequence[SourceNow]
    lease: ControllerLease | None
    standings: Sequence[tuple[Standing, int]]


def read_clusters_wanted(query: Mapping[str, str]) -> ClustersWanted:
    """What a query string asks for."""
    kind, mode = query.get("kind", ""), query.get("mode", "")
    mistakes = []
    if kind and kind not in KINDS:
        mistakes.append(
            _("There is no kind of scheduler of that name; known are %(names)s.") % {"names": ", ".join(KINDS)}
        )
    if mode and mode not in set(Mode):
        mistakes.append(_("There is no mode of that name; known are %(names)s.") % {"names": ", ".join(Mode)})
    return ClustersWanted(kind if kind in KINDS else "", mode if mode in set(Mode) else "", " ".join(mistakes))


def cluster_list(wanted: ClustersWanted, now: datetime) -> list[ClusterLine]:
    """The clusters by name. A fixed number of queries, however many clusters and nodes there are."""
    rows = [
        row
        for row in cluster_rows(now)
        if wanted.kind in {"", row.cluster.scheduler_kind} and wanted.mode in {"", row.cluster.mode}
    ]
    clusters = [row.cluster for row in rows]
    seen = {one.cluster.pk: one for one in seen_clusters(clusters, now)}
    counts: Counter[tuple[int, Standing]] = Counter()
    for (cluster, _name), one in standings_of(clusters, now).items():
        counts[cluster, one.standing] += 1
    return [
        ClusterLine(
            row,
            [SourceNow(str(LABELS.get(one.source, one.source)), one) for one in seen[row.cluster.pk].sources],
            seen[row.cluster.pk].lease,
            [(standing, counts[row.cluster.pk, standing]) for standing in Standing],
        )
        for row in rows
    ]
