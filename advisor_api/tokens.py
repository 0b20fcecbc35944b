"""How is an API token made, replaced and taken back? Only its hash is stored: it is shown once."""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from advisor_api.models import ApiToken
from advisor_api.refusals import Bad, Stale
from advisor_api.token_role import TokenRole
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, Subject, record
from workloads.models import Cluster

PREFIX = "rekindle_"  # so that a scanner of secrets, and a person, sees what it is
LIFETIME = timedelta(days=90)
LONGEST = timedelta(days=366)
NAME_LIMIT = 64
RETIRED = " (until rotation "  # in the name of a token that was replaced and still works for a while


def digest_of(secret: str) -> str:
    """The stored form: SHA-256, 64 hexadecimal characters. The secret is random, so it needs no salt."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def issue(
    name: str,
    role: TokenRole,
    clusters: Sequence[Cluster],
    *,
    now: datetime,
    actor: Actor,
    lifetime: timedelta = LIFETIME,
) -> str:
    """Make a token and return it: the only time that it can be read. Raises `Bad`.

    A token without clusters may read nothing: an empty list never means all.
    """
    if not 0 < len(name) <= NAME_LIMIT or not name.isprintable():
        raise Bad(f"The name must be printable and 1 to {NAME_LIMIT} characters long.")
    if not timedelta(0) < lifetime <= LONGEST:
        raise Bad(f"A token lives at most {LONGEST.days} days.")
    secret = PREFIX + secrets.token_urlsafe(32)
    try:
        with transaction.atomic():
            token = ApiToken.objects.create(
                name=name,
                digest=digest_of(secret),
                role=role.value,
                created_at=now,
                created_by=actor.name[:128],
                expires_at=now + lifetime,
            )
            token.clusters.set(clusters)
            record([_entry(token, clusters, actor, "made", f"(until {token.expires_at:%Y-%m-%d}).")], now)
    except IntegrityError:
        raise Bad(f"There is a token {name!r} already.") from None
    return secret


def rotate(token: ApiToken, *, overlap: timedelta, now: datetime, actor: Actor, reason: str = "") -> str:
    """A new token under the same name, role and clusters; the old one works for `overlap` more. Raises `Stale`."""
    if token.revoked_at is not None or token.expires_at <= now:
        raise Stale(f"The token {token.name!r} does not work any more; make a new one.")
    if RETIRED in token.name:
        raise Stale(f"The token {token.name!r} was replaced already.")
    if overlap < timedelta(0):
        raise Bad("The overlap cannot be negative.")
    clusters = list(token.clusters.all())
    with transaction.atomic():
        retired = f"{token.name[: NAME_LIMIT - 24]}{RETIRED}{token.pk})"
        moved = ApiToken.objects.filter(pk=token.pk, name=token.name, revoked_at=None).update(
            name=retired, expires_at=min(token.expires_at, now + overlap)
        )
        if not moved:
            raise Stale("Somebody was first: the token has changed meanwhile.")
        how = f"(the old one works for {overlap} more){_because(reason)}"
        record([_entry(token, clusters, actor, "replaced", how)], now)
        lifetime = max(token.expires_at - token.created_at, timedelta(days=1))
        return issue(
            token.name, TokenRole(token.role), clusters, now=now, actor=actor, lifetime=min(lifetime, LONGEST)
        )


def revoke(token: ApiToken, *, now: datetime, actor: Actor, reason: str = "") -> None:
    """Take it back at once. Raises `Stale` when it was taken back before."""
    with transaction.atomic():
        if not ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
            raise Stale(f"The token {token.name!r} was revoked already.")
        record([_entry(token, list(token.clusters.all()), actor, "revoked", f"(at once){_because(reason)}")], now)


def _because(reason: str) -> str:
    return f": {reason}" if reason else "."


def _entry(token: ApiToken, clusters: Sequence[Cluster], actor: Actor, what: str, how: str) -> Entry:
    names = sorted(cluster.name for cluster in clusters)
    return Entry(
        type=EventType.TOKEN,
        subject=Subject(cluster=names[0] if len(names) == 1 else ""),
        actor=actor,
        sentence=f"The {token.role} token {token.name!r} was {what} {how}",
        level=Level.WARNING,
        action=what,
        payload={"name": token.name, "role": token.role, "clusters": names},
    )
