"""Which catalogue holds for a cluster: the shipped one, or one with signatures that the site has added?

Every process asks the database whether the signatures changed, once a turn and in one small query; so a change
is there in the next turn of every worker, and no restart is needed.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Max, QuerySet

from audit.in_sight import in_full_sight
from detectors.catalogue.catalogue import Catalogue, catalogue
from detectors.catalogue.entries import CatalogueError, Signature
from detectors.catalogue.matching import forget_except
from detectors.catalogue.site import extended, site_signature
from detectors.models import SiteSignature

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SiteCatalogues:
    """The catalogues of all clusters at one moment.

    `refused`: by name, why a stored signature is left out; a later release may refuse what an earlier one took.
    `mark`: what tells that the stored signatures changed.
    """

    mark: Any
    everywhere: Catalogue
    by_cluster: Mapping[int, Catalogue] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    def of(self, cluster_id: int | None) -> Catalogue:
        """The catalogue of a cluster."""
        return self.everywhere if cluster_id is None else self.by_cluster.get(cluster_id, self.everywhere)


class Keeper:
    """The catalogues of one process, read again when the stored signatures changed."""

    def __init__(self) -> None:
        self._current: SiteCatalogues | None = None

    def current(self) -> SiteCatalogues:
        """As stored now: one query, and a second one after a change."""
        with in_full_sight():  # it is everybody's, whoever asks for it first
            mark, known = _mark(), self._current
            if known is None or known.mark != mark:
                known = self._current = build(newest_versions(), mark)
                used = {one.version for one in known.by_cluster.values()}
                forget_except(used | {known.everywhere.version})
        return known


_KEEPER = Keeper()


def site_catalogues() -> SiteCatalogues:
    """The catalogues of this process, as stored now."""
    return _KEEPER.current()


def newest_versions() -> QuerySet[SiteSignature]:
    """The version of each signature that holds, enabled or not."""
    newest = SiteSignature.objects.values("name").annotate(newest=Max("pk")).values("newest")
    return SiteSignature.objects.filter(pk__in=newest)


def build(rows: Iterable[SiteSignature], mark: Any = None) -> SiteCatalogues:
    """The catalogues with these versions. What is no longer usable is left out, and the reason is kept."""
    shipped = catalogue()
    made: list[tuple[SiteSignature, Signature]] = []
    refused: dict[str, str] = {}
    for row in sorted(rows, key=lambda row: row.name):
        try:
            made.append((row, site_signature(row_of(row), shipped)))
        except CatalogueError as error:
            refused[row.name] = str(error)
            log.warning("left out a site's signature: %s", error)
    every = [signature for row, signature in made if row.enabled and row.cluster_id is None]
    own: dict[int, list[Signature]] = defaultdict(list)
    for row, signature in made:
        if row.enabled and row.cluster_id is not None:
            own[row.cluster_id].append(signature)
    return SiteCatalogues(
        mark=mark,
        everywhere=_with(shipped, every, made),
        by_cluster={cluster: _with(shipped, [*every, *more], made) for cluster, more in own.items()},
        refused=refused,
    )


def row_of(stored: SiteSignature) -> dict[str, Any]:
    """A stored signature as an entry of a catalogue file."""
    return {
        "id": stored.name,
        "kind": stored.kind,
        "layer": stored.layer,
        "role": stored.role,
        "action": stored.action,
        "confidence": stored.confidence,
        "says": stored.says,
        "pattern": stored.pattern,
        "unless": stored.unless,
        "names": list(stored.names),
        "example": stored.example,
        "must_not": list(stored.must_not),
        "outranks": stored.outranks,
    }


def _with(shipped: Catalogue, added: list[Signature], made: list[tuple[SiteSignature, Signature]]) -> Catalogue:
    names = {one.id for one in added}
    return extended(shipped, added, [signature for _row, signature in made if signature.id not in names])


def _mark() -> Any:
    """Changes whenever a version is added or removed, in whatever order transactions end."""
    return SiteSignature.objects.aggregate(newest=Max("pk"), count=Count("pk"), at=Max("created_at"))
