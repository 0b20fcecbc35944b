"""Which of the sockets belong to people who are still let in, and what may these do now?"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils.crypto import constant_time_compare

from console.rights import marks_of
from workloads.seen_by import hidden_from_each


@dataclass(frozen=True)
class Guest:
    """Who a socket was opened for: the session, its person, and the mark that a new password makes invalid."""

    session: str
    person: int
    mark: str


@dataclass(frozen=True)
class Standing:
    """What a person may do, as a mark, and the names of the clusters that he does not see."""

    rights: str
    hidden: frozenset[str] = frozenset()


def still_welcome(guests: Iterable[Guest], now: datetime) -> dict[Guest, Standing]:
    """Those whose session goes on, whose account is open and whose password is the same, each with what its person
    may do and see now. Six or seven queries for all.
    """
    asked = frozenset(guests)
    keys = {guest.session for guest in asked}
    open_sessions = set(
        Session.objects.filter(session_key__in=keys, expire_date__gt=now).values_list("session_key", flat=True)
    )
    people = list(User.objects.filter(pk__in={guest.person for guest in asked}, is_active=True))
    marks = {person.pk: person.get_session_auth_hash() for person in people}
    hidden = hidden_from_each(people)
    rights = marks_of(people, hidden)
    return {
        guest: Standing(rights[guest.person], hidden[guest.person].names)
        for guest in asked
        if guest.session in open_sessions and constant_time_compare(marks.get(guest.person, ""), guest.mark)
    }
