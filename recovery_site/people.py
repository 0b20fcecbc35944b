"""Who may change whose rights, and what ends when an account is closed?"""

from datetime import datetime

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import Group, Permission, User
from django.contrib.sessions.models import Session

from console.models import SignInLink
from workloads.seen_by import groups_that_see_more, hidden_from

MAY_CHANGE_PEOPLE = "auth.change_user"


def may_change(person: User, other: User) -> bool:
    """Whether `person` may change `other`: nobody may take over an account that may do or see more than he may.

    He could otherwise set its password and be it.
    """
    if not person.has_perm(MAY_CHANGE_PEOPLE):
        return False
    if person.is_superuser:
        return True
    if other.is_superuser or not _rights_of(other) <= person.get_all_permissions():
        return False
    return hidden_from(person).names <= hidden_from(other).names


def groups_to_give(person: User) -> list[int]:
    """The keys of the groups that `person` may put others into: those that may and see no more than he does."""
    groups = Group.objects.prefetch_related("permissions__content_type")
    if person.is_superuser:
        return [group.pk for group in groups]
    held, beyond = person.get_all_permissions(), groups_that_see_more(person)
    rights = {group: {_name(one) for one in group.permissions.all()} for group in groups}
    return [group.pk for group in groups if rights[group] <= held and group.name not in beyond]


def others_remain(person: User) -> bool:
    """Whether somebody else can open the admin and change people's rights. Locks those who can until the end.

    Call it inside a transaction: two who close each other's account at the same moment are one after the other.
    """
    staff = list(User.objects.select_for_update().filter(is_active=True, is_staff=True).order_by("pk"))
    others = (other for other in staff if other.pk != person.pk)  # the person is locked too: in one order
    return any(other.is_superuser or MAY_CHANGE_PEOPLE in _rights_of(other) for other in others)


def end_sessions(person: User, now: datetime) -> int:
    """End all sessions of a person and the one-time links; how many sessions. Open sockets end with them."""
    SignInLink.objects.filter(user=person, used_at=None).update(used_at=now)
    mine = [
        session.pk
        for session in Session.objects.filter(expire_date__gt=now).iterator()
        if session.get_decoded().get(SESSION_KEY) == str(person.pk)
    ]
    Session.objects.filter(pk__in=mine).delete()
    return len(mine)


def _rights_of(other: User) -> set[str]:
    """Also of one who is not active: he may be let in again."""
    own = Permission.objects.filter(user=other) | Permission.objects.filter(group__user=other)
    return {_name(one) for one in own.select_related("content_type").distinct()}


def _name(one: Permission) -> str:
    return f"{one.content_type.app_label}.{one.codename}"
