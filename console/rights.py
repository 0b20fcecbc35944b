"""What may a person do and see, as a mark that changes when it does?

A page says with which mark it was made, and the frames of its socket tell the mark of now.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from django.contrib.auth.models import AbstractUser, AnonymousUser, Group, Permission, User

from audit.in_sight import Hidden, hidden_now

MARK = re.compile(r"[0-9a-f]{16}")


def mark_of(person: AbstractUser | AnonymousUser) -> str:
    """The mark of somebody whose page is made; of a stranger empty. No query where a right was asked for before."""
    if not isinstance(person, User):
        return ""
    named = () if person.is_superuser else person.get_all_permissions()
    return _mark(person, named, hidden_now())


def marks_of(people: Collection[User], hidden: Mapping[int, Hidden]) -> dict[int, str]:
    """The marks of many, by key, in three queries; `hidden` is what each does not see."""
    keys = [person.pk for person in people if not person.is_superuser]
    names = {
        pk: f"{app}.{codename}"
        for pk, app, codename in Permission.objects.values_list("pk", "content_type__app_label", "codename")
    }
    held: dict[int, set[str]] = defaultdict(set)
    asked = frozenset(keys)
    own = User.user_permissions.through.objects.filter(user_id__in=keys)
    of_groups = Group.permissions.through.objects.filter(group__user__in=keys)
    for pk, permission in own.values_list("user_id", "permission_id"):
        held[pk].add(names.get(permission, ""))
    for pk, permission in of_groups.values_list("group__user", "permission_id"):
        if pk in asked:
            held[pk].add(names.get(permission, ""))
    return {person.pk: _mark(person, held[person.pk], hidden[person.pk]) for person in people}


def _mark(person: User, named: Iterable[str], hidden: Hidden) -> str:
    everything, staff = "everything" if person.is_superuser else "", "staff" if person.is_staff else ""
    text = "\n".join((everything, staff, *sorted(set(named)), "", *sorted(hidden.names)))
    return hashlib.sha256(text.encode()).hexdigest()[:16]
