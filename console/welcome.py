"""Which of the sockets belong to people who are still let in?"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils.crypto import constant_time_compare


@dataclass(frozen=True)
class Guest:
    """Who a socket was opened for: the session, its person, and the mark that a new password makes invalid."""

    session: str
    person: int
    mark: str


def still_welcome(guests: Iterable[Guest], now: datetime) -> frozenset[Guest]:
    """Those whose session goes on, whose account is open and whose password is the same. Two queries for all."""
    asked = frozenset(guests)
    keys = {guest.session for guest in asked}
    open_sessions = set(
        Session.objects.filter(session_key__in=keys, expire_date__gt=now).values_list("session_key", flat=True)
    )
    people = User.objects.filter(pk__in={guest.person for guest in asked}, is_active=True)
    marks = {person.pk: person.get_session_auth_hash() for person in people}
    return frozenset(
        guest
        for guest in asked
        if guest.session in open_sessions and constant_time_compare(marks.get(guest.person, ""), guest.mark)
    )
