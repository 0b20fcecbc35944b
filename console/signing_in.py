"""Who may come in, and how often may a password be tried?

Throttle: a try is stored before the password is looked at, so that many at the same moment count too. More than
`TRIES_PER_NAME` within `WINDOW` for one user name from one address, or `TRIES_PER_ADDRESS` from one address, are
refused unseen. A name alone is never locked: a stranger could shut an operator out at 3 a.m.
"""

from datetime import datetime, timedelta
from ipaddress import IPv4Address, ip_address

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.crypto import salted_hmac

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, Subject, record
from console.models import SignInTry

WINDOW = timedelta(minutes=5)
TRIES_PER_NAME = 5
TRIES_PER_ADDRESS = 30
OF_THE_SITE = Subject(cluster="")  # a sign-in speaks of no cluster


class TooManyTries(Exception):
    """The password is not even looked at."""


def begin_try(name: str, address: str, now: datetime) -> SignInTry:
    """Count one try and give its row; `TooManyTries` when it is one too many."""
    SignInTry.objects.filter(at__lt=now - WINDOW).delete()
    name_hash, address_hash = _keyed("name", name.casefold()), _keyed("address", _counted_as(address))
    row = SignInTry.objects.create(name_hash=name_hash, address_hash=address_hash, at=now)
    recent = SignInTry.objects.filter(address_hash=address_hash, at__gte=now - WINDOW)
    if recent.filter(name_hash=name_hash).count() > TRIES_PER_NAME or recent.count() > TRIES_PER_ADDRESS:
        row.delete()  # refused ones do not prolong the wait
        raise TooManyTries
    return row


def password_was_wrong(user: User | None, address: str, now: datetime) -> None:
    """Write it into the trail; a name that nobody has is not written down."""
    who = user.get_username() if user else "an unknown name"  # stays English: stored
    sentence = f"Sign-in refused for {who}: wrong password."  # stays English: stored
    tell(sentence, who, address, now, Level.WARNING)


def password_was_right(user: User, row: SignInTry, address: str, now: datetime) -> None:
    """Forget the tries of this name from this address, and write the sign-in into the trail."""
    with transaction.atomic():
        SignInTry.objects.filter(name_hash=row.name_hash, address_hash=row.address_hash).delete()
        # stays English: stored
        tell(f"{user.get_username()} signed in with a password.", user.get_username(), address, now)


def provider_vouched(user: User, row: SignInTry | None, address: str, now: datetime) -> None:
    """Forget the try, and write the sign-in through the OpenID provider into the trail."""
    with transaction.atomic():
        if row is not None:
            row.delete()
        # stays English: stored
        tell(f"{user.get_username()} signed in through the provider.", user.get_username(), address, now)


def provider_did_not(name: str, address: str, now: datetime) -> None:
    """Write into the trail that somebody came back from the provider and was not let in."""
    who = name or "an unknown name"  # stays English: stored
    # stays English: stored
    tell(f"Sign-in through the provider refused for {who}.", who, address, now, Level.WARNING)


def signed_out(user: User, address: str, now: datetime) -> None:
    """Write a sign-out into the trail."""
    # stays English: stored
    tell(f"{user.get_username()} signed out.", user.get_username(), address, now)


def _counted_as(address: str) -> str:
    """Whoever has one IPv6 address has 2^64 of them: the network is counted."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    if isinstance(found, IPv4Address):
        return address
    return str(found.ipv4_mapped or f"{found.exploded[:19]}::/64")


def _keyed(salt: str, text: str) -> str:
    return salted_hmac(f"console.signing_in.{salt}", text, algorithm="sha256").hexdigest()


def tell(sentence: str, who: str, address: str, now: datetime, level: Level = Level.INFO) -> None:
    """Write one event of kind sign-in into the trail."""
    entry = Entry(
        type=EventType.SIGN_IN,
        subject=OF_THE_SITE,
        actor=Actor(ActorKind.PERSON, who),
        sentence=sentence,
        level=level,
        payload={"address": address},
    )
    record([entry], now)
