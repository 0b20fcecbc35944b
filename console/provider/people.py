"""Whose account belongs to somebody that the provider vouches for, and what may it do?

An account is found by issuer and subject alone: mail addresses and names can be chosen, or pass to somebody else.
Rights follow the groups at each sign-in, by the role and by the groups of the site that theirs lead into. Other
groups are never touched. Superusers are made by hand, and stay as they were made.
"""

import hashlib
import json
import logging
import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, Subject, record
from console.models import ProviderIdentity
from console.provider.refusal import NotLetIn

log = logging.getLogger(__name__)

GROUPS_OF = {
    "viewer": frozenset[str](),
    "operator": frozenset({"Operators"}),
    "admin": frozenset({"Administrators"}),
}
"""The groups of people behind each role, from the least to the most. Whoever is signed in may read."""
FOLLOWED = frozenset().union(*GROUPS_OF.values())
MOST_GROUPS = 10_000  # of one person; more than that is a mistake of the provider or worse
TOO_MANY = gettext_lazy("The provider says that you are in too many groups. Ask the site's administrators.")
NO_GROUP = gettext_lazy("None of your groups may use this site. Ask its administrators for access.")
RULE = Actor(ActorKind.RULE, "groups of the provider")  # stays English: stored


@dataclass(frozen=True)
class Vouched:
    """Whom the provider vouches for: `groups` as it says them, `called` what the person likes to be called."""

    issuer: str
    subject: str
    groups: frozenset[str]
    called: str

    @property
    def digest(self) -> str:
        """One of its own for each issuer and subject; SHA-256."""
        return hashlib.sha256(json.dumps([self.issuer, self.subject]).encode()).hexdigest()


def groups_in(value: Any) -> frozenset[str]:
    """The groups in a claim: a list of texts, or one text. Anything else is none. Raises `NotLetIn` for too many.

    They are compared with those of the settings and go nowhere else.
    """
    if isinstance(value, str):
        return frozenset({value})
    if isinstance(value, list) and len(value) > MOST_GROUPS:
        raise NotLetIn(TOO_MANY)
    return frozenset(one for one in value if isinstance(one, str)) if isinstance(value, list) else frozenset()


def role_of(groups: frozenset[str], roles: Mapping[str, str]) -> str | None:
    """The highest role of these groups."""
    held = {roles[group] for group in groups if group in roles}
    return next((role for role in reversed(GROUPS_OF) if role in held), None)


def let_in(
    vouched: Vouched, roles: Mapping[str, str], site_groups: Mapping[str, frozenset[str]], now: datetime
) -> User:
    """The account, made at the first sign-in, with the rights of its groups now. Raises `NotLetIn`.

    `site_groups`: of each group of the provider, which of the site's it leads into. They let nobody in.
    """
    role = role_of(vouched.groups, roles)
    followed = FOLLOWED.union(*site_groups.values())
    user = _known(vouched)
    if role is None:
        if user is None:
            raise NotLetIn(NO_GROUP)
        _follow(user, _Given(followed), now, out=True)
        raise NotLetIn(NO_GROUP, user.get_username())
    user = user or _made(vouched, now)
    if not user.is_active:
        raise NotLetIn(_("This account may not sign in."), user.get_username())
    led = (ours for group, ours in site_groups.items() if group in vouched.groups)
    return _follow(user, _Given(followed, GROUPS_OF[role].union(*led), role == "admin"), now)


def _known(vouched: Vouched) -> User | None:
    found = ProviderIdentity.objects.select_related("user").filter(digest=vouched.digest).first()
    return found.user if found else None


def _made(vouched: Vouched, now: datetime) -> User:
    """A new account, which no password opens. Of two sign-ins at the same moment one makes it."""
    readable = re.sub(r"[^a-z0-9_-]+", "-", vouched.called[:200].lower()).strip("-")[:40]
    name = f"{readable or 'person'}.oidc-{vouched.digest[:16]}"
    try:
        with transaction.atomic():
            user = User.objects.create_user(name)
            ProviderIdentity.objects.create(user=user, digest=vouched.digest)
            # stays English: stored
            _tell(user, f"{name} was added at the first sign-in through the provider.", now)
    except IntegrityError:
        known = _known(vouched)
        if known is None:
            log.warning("the account %s is there and does not belong to the provider's", name)
            raise NotLetIn(_("Your account could not be made. Ask the site's administrators.")) from None
        return known
    return user


@dataclass(frozen=True)
class _Given:
    """What somebody is given: of the groups that are `followed`, these and no others."""

    followed: frozenset[str]
    groups: frozenset[str] = frozenset()
    staff: bool = False


def _follow(user: User, given: _Given, now: datetime, *, out: bool = False) -> User:
    """Give and take what the groups say. `out`: also end all sessions, unless a password opens the account."""
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=user.pk)  # two sign-ins at once: one after the other
        if user.is_superuser:
            return user
        there = {group.name: group for group in Group.objects.filter(name__in=given.followed)}
        held = frozenset(user.groups.values_list("name", flat=True)) & given.followed
        if missing := given.groups - there.keys():
            log.warning("the provider's groups lead into groups that are not there: %s", sorted(missing))
        got, lost = (given.groups & there.keys()) - held, held - given.groups
        closing = out and not user.has_usable_password()
        if not got and not lost and user.is_staff == given.staff and not closing:
            return user
        user.groups.remove(*(there[name] for name in lost))
        user.groups.add(*(there[name] for name in got))
        user.is_staff = given.staff
        if closing:
            user.set_unusable_password()  # another one: sessions hang on it
        user.save(update_fields=["is_staff", "password"])
        # stays English: stored
        what = "has no group of the provider any more and lost its rights" if out else "has other rights now"
        _tell(user, f"{user.get_username()} {what}{_named(got, lost)}.", now, got=sorted(got), lost=sorted(lost))
    return user


def _named(got: Set[str], lost: Set[str]) -> str:
    """` (got A, B; lost C)`, or nothing."""
    both = (("got", got), ("lost", lost))
    said = "; ".join(f"{word} {', '.join(sorted(names))}" for word, names in both if names)
    return f" ({said})" if said else ""


def _tell(user: User, sentence: str, now: datetime, **groups: list[str]) -> None:
    entry = Entry(
        type=EventType.CONFIGURATION,
        subject=Subject(cluster=""),
        actor=RULE,
        sentence=sentence,
        level=Level.WARNING,
        action="rights",
        payload={
            **groups,
            "after": {
                "active": user.is_active,
                "staff": user.is_staff,
                "superuser": user.is_superuser,
                "groups": sorted(user.groups.values_list("name", flat=True)),
            },
        },
    )
    record([entry], now)
