"""How does a one-time sign-in work? A random token, stored as a hash, used up by the first who posts it."""

import hashlib
import secrets
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse

from console.models import SignInLink
from console.signing_in import tell

LINK_LIFETIME = timedelta(minutes=15)
KEPT = timedelta(days=30)  # how long an expired link still answers "expired" from its row


class LinkNotUsable(Exception):
    """The one-time link is unknown, used, expired, or its user may not sign in."""


def make_link(user: User, now: datetime, lifetime: timedelta = LINK_LIFETIME) -> str:
    """A new one-time link for `user`: its path below the site's address. Only the hash of its token is stored."""
    token = secrets.token_urlsafe(32)
    SignInLink.objects.filter(expires_at__lt=now - KEPT).delete()
    SignInLink.objects.create(user=user, digest=_digest(token), expires_at=now + lifetime)
    return reverse("sign-in-once", args=[token])


def look_at_link(token: str, now: datetime) -> User:
    """Whom the link would sign in; it stays usable. Raises `LinkNotUsable`."""
    link = SignInLink.objects.select_related("user").filter(digest=_digest(token)).first()
    if link is None or link.used_at or link.expires_at <= now or not link.user.is_active:
        raise LinkNotUsable
    return link.user


def use_link(token: str, address: str, now: datetime) -> User:
    """Use the link up and give its user; of two at the same moment one wins. Raises `LinkNotUsable`."""
    user = look_at_link(token, now)
    unused = SignInLink.objects.filter(digest=_digest(token), used_at=None, expires_at__gt=now)
    with transaction.atomic():
        if not unused.update(used_at=now):
            raise LinkNotUsable
        # stays English: stored
        tell(f"{user.get_username()} signed in with a one-time link.", user.get_username(), address, now)
    return user


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
