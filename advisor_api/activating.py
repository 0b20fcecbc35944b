"""How does a policy version come to be, get its force, and lose it again?"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from advisor_api.models import PolicyActivation, PolicyVersion
from advisor_api.policies import Place, in_force, place_of
from advisor_api.policy.level import PolicyLevel
from advisor_api.policy.text import PolicyText, check
from advisor_api.policy.values import BadPolicy
from advisor_api.refusals import Bad, NotFound, Stale
from audit.event_type import EventType
from audit.in_sight import FOR_WHO_SEES_ALL, hidden_now
from audit.level import Level
from audit.trail import Actor, Entry, Subject, record
from workloads.models import Cluster
from workloads.stored_text import storable

REASON_LIMIT = 500


def add_version(
    place: Place, values: Mapping[str, Any], note: str, *, actor: Actor, now: datetime
) -> PolicyVersion:
    """Store a version; it holds from its activation on. Raises `Bad` for values or a place that make no sense."""
    try:
        check(PolicyText(values, place.cluster.name if place.cluster else "", place.partition, place.user, note))
    except BadPolicy as error:
        raise Bad(str(error)) from error
    _check_sight(place)
    with transaction.atomic():
        version = PolicyVersion.objects.create(
            cluster=place.cluster,
            partition=place.partition,
            user=place.user,
            values=dict(values),
            note=storable(note, 500),
            created_at=now,
            created_by=actor.name[:128],
        )
        sentence = f"{actor.name} added policy {version.pk} of {place}; it is not active yet. {version.note}"
        record([_entry(place, actor, sentence.strip(), {"policy": version.pk, "values": version.values})], now)
    return version


def activate(
    version: PolicyVersion, number_seen: int, reason: str, *, actor: Actor, now: datetime
) -> PolicyActivation:
    """Let a version hold at its place, by compare-and-swap on the number of the activation that the caller saw.

    Any version may become active again. Raises `Bad` for an empty reason or the active version, `Stale` when
    somebody was first.
    """
    return _switch(place_of(version), version, number_seen, reason, actor=actor, now=now)


def establish(place: Place, values: Mapping[str, Any], note: str, *, actor: Actor, now: datetime) -> PolicyVersion:
    """Add a version and activate it at once, whatever holds at the place; its note is the reason."""
    with transaction.atomic():
        version = add_version(place, values, note, actor=actor, now=now)
        activate(version, standing(place)[0], note, actor=actor, now=now)
    return version


def withdraw_policy(
    place: Place, number_seen: int, reason: str, *, actor: Actor, now: datetime
) -> PolicyActivation:
    """Say nothing at a place any more: the levels below hold. Raises as `activate`."""
    if place.level is PolicyLevel.EVERYWHERE:
        raise Bad("The policy of all clusters is not withdrawn: activate one without values for the defaults.")
    return _switch(place, None, number_seen, reason, actor=actor, now=now)


def standing(place: Place) -> tuple[int, PolicyVersion | None]:
    """The number of the activation that holds at a place (0: there was none), and its version."""
    row = in_force([place.key]).first()
    return (row.number, row.version) if row is not None else (0, None)


def find_version(number: int) -> PolicyVersion:
    """The version with this number; `NotFound`."""
    row = PolicyVersion.objects.select_related("cluster").filter(pk=number).first()
    if row is None:
        raise NotFound(f"There is no policy version {number}.")
    return row


def find_place(cluster: str, partition: str, user: str) -> Place:
    """The place of these names; `NotFound` for an unknown cluster, `Bad` for names that do not go together."""
    try:
        check(PolicyText({}, cluster, partition, user))
    except BadPolicy as error:
        raise Bad(str(error)) from error
    found = Cluster.objects.filter(name=cluster).first() if cluster else None
    if cluster and found is None:
        raise NotFound(f"There is no cluster {cluster!r}.")
    return Place(found, partition, user)


def as_text(version: PolicyVersion) -> PolicyText:
    """A version as it is carried. Reads `version.cluster`."""
    cluster = version.cluster.name if version.cluster else ""
    return PolicyText(version.values, cluster, version.partition, version.user, version.note)


def _switch(
    place: Place, version: PolicyVersion | None, number_seen: int, reason: str, *, actor: Actor, now: datetime
) -> PolicyActivation:
    if not reason.strip():
        raise Bad("Say why: the reason stands in the trail.")
    if len(reason) > REASON_LIMIT or storable(reason, REASON_LIMIT) != reason:
        raise Bad(f"The reason must be plain text of at most {REASON_LIMIT} characters.")
    _check_sight(place)
    number, before = standing(place)
    if number != number_seen:
        raise Stale(f"Somebody was first: {_named(before)} of {place} is active since you looked.")
    if (before and before.pk) == (version and version.pk):
        raise Bad(f"{_named(version).capitalize()} of {place} is what holds already.")
    try:
        with transaction.atomic():
            row = PolicyActivation.objects.create(
                place=place.key,
                number=number + 1,
                cluster=place.cluster,
                version=version,
                reason=reason,
                activated_at=now,
                activated_by=actor.name[:128],
            )
            record([_switched(place, before, version, reason, actor)], now)
    except IntegrityError as error:  # the number was taken between our look and our write
        raise Stale(f"Somebody was first: another policy of {place} was activated just now.") from error
    return row


def _check_sight(place: Place) -> None:
    if place.cluster is None and hidden_now().keys:
        raise Bad(str(FOR_WHO_SEES_ALL))


def _named(version: PolicyVersion | None) -> str:
    return f"policy {version.pk}" if version else "no policy"


def _switched(
    place: Place, before: PolicyVersion | None, after: PolicyVersion | None, reason: str, actor: Actor
) -> Entry:
    what = f"made policy {after.pk} of {place} the active one" if after else f"withdrew the policy of {place}"
    payload = {
        "policy": after.pk if after else None,
        "before": before.pk if before else None,
        "values": after.values if after else {},
        "reason": reason,
    }
    return _entry(place, actor, f"{actor.name} {what} (before: {_named(before)}): {reason}", payload)


def _entry(place: Place, actor: Actor, sentence: str, payload: dict[str, Any]) -> Entry:
    return Entry(
        type=EventType.CONFIGURATION,
        subject=Subject(cluster=place.cluster.name if place.cluster else ""),
        actor=actor,
        sentence=sentence,
        level=Level.WARNING,
        action="policy",
        payload=payload,
    )
