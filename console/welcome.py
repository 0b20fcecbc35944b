"""Which of the sockets belong to people who are still let in, and what may these do now?"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils.crypto import constant_time_compare

from console.rights import marks_of


@dataclass(frozen=True)
class Guest:
    """Who a socket was opened for: the session, its person, and the mark that a new password makes invalid."""

    session: str
    person: int
    mark: str


def still_welcome(guests: Iterable[Guest], now: datetime) -> dict[Guest, str]:
    """Those whose session goes on, whose account is open and whose password is the same, each with the mark of what
    its person may do now. Five queries for all.
    """
    asked = frozenset(guests)
    keys = {guest.session for guest in asked}
    open_sessions = set(
        Session.objects.filter(session_key__in=keys, expire_date__gt=now).values_list("session_key", flat=True)
    )
    people = list(User.objects.filter(pk__in={guest.person for guest in asked}, is_active=True))
    marks = {person.pk: person.get_session_auth_hash() for person in people}
    rights = marks_of(people)
    return {
        guest: rights[guest.person]
        for guest in asked
        if guest.session in open_sessions and constant_time_compare(marks.get(guest.person, ""), guest.mark)
    }
