"""How does a site's signature come, change and go? Each time a new version, with an event that says why."""

from datetime import datetime

from django.db import IntegrityError, transaction

from audit.event_type import EventType
from audit.in_sight import FOR_WHO_SEES_ALL, hidden_now
from audit.level import Level
from audit.trail import Actor, Entry, Subject, record
from detectors.catalogue.catalogue import Catalogue, catalogue
from detectors.catalogue.entries import CatalogueError, Signature
from detectors.catalogue.site import MOST, extended, site_signature
from detectors.models import SiteSignature
from detectors.site_catalogues import newest_versions, row_of, site_catalogues


class Refused(Exception):
    """It cannot be stored. The message is one sentence; nothing was changed."""


def checked(row: SiteSignature) -> Signature:
    """The signature that a row, stored or not, stands for. Raises `CatalogueError`."""
    return site_signature(row_of(row), catalogue())


def catalogue_with(row: SiteSignature, made: Signature) -> Catalogue:
    """The catalogue of the row's cluster as it would be with it."""
    known = site_catalogues().of(row.cluster_id)
    own = known.signatures[len(catalogue().signatures) :]
    return extended(catalogue(), [*(one for one in own if one.id != made.id), made])


def keep(row: SiteSignature, before: SiteSignature | None, actor: Actor, now: datetime) -> SiteSignature:
    """Store `row` as the first version, or as the one after `before`. Raises `Refused`."""
    try:
        checked(row)
    except CatalogueError as error:
        raise Refused(str(error)) from error
    if before is None and newest_versions().count() >= MOST:
        raise Refused(f"The site has {MOST} signatures, and more would make every line slower.")
    if before is not None and (row.name, row.cluster_id) != (before.name, before.cluster_id):
        raise Refused("Id and cluster of a signature stay; add another one.")
    row.pk, row.version = None, before.version + 1 if before else 1
    return _insert(row, "changed" if before else "added", actor, now)


def disable(current: SiteSignature, note: str, actor: Actor, now: datetime) -> SiteSignature:
    """No line has the signature any more, from each worker's next turn on. Raises `Refused`."""
    if not current.enabled:
        raise Refused(f"'{current.name}' is disabled already.")
    if not note.strip():
        raise Refused("Say why it is disabled.")
    row = SiteSignature.objects.get(pk=current.pk)
    row.pk, row.version, row.enabled, row.note = None, current.version + 1, False, note.strip()[:500]
    return _insert(row, "disabled", actor, now)


def _insert(row: SiteSignature, what: str, actor: Actor, now: datetime) -> SiteSignature:
    if row.cluster_id is None and hidden_now().keys:
        raise Refused(str(FOR_WHO_SEES_ALL))
    row.created_at, row.created_by = now, actor.name[:150]
    row.confidence = float(row.confidence)
    try:
        with transaction.atomic():
            row.save(force_insert=True)
            record([_event(row, what, actor)], now)
    except IntegrityError as error:
        raise Refused(f"Somebody else stored '{row.name}' meanwhile; look at it again.") from error
    return row


def _event(row: SiteSignature, what: str, actor: Actor) -> Entry:
    where = row.cluster.name if row.cluster else "all clusters"
    return Entry(
        type=EventType.CONFIGURATION,
        subject=Subject(cluster=row.cluster.name if row.cluster else ""),
        actor=actor,
        sentence=f"{actor.name} {what} the signature '{row.name}' of {where}: {row.note}",
        level=Level.WARNING,
        pattern=row.name,
        payload={"version": row.version, "enabled": row.enabled, "row": row.pk, **row_of(row)},
    )
