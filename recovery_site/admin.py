"""How does the trail learn whose rights were changed? Each page of people and groups writes an event."""

import json
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, Subject, record

if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
    People = UserAdmin[User]
else:  # they take no type argument when it runs
    Base = admin.ModelAdmin
    People = UserAdmin


class WrittenDown(Base):
    """One event beside each line of Django's own log, in the same transaction; never what a password is."""

    actions: Any = None  # a bulk deletion is no single transaction

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Somebody was added."""
        record([_entry(request, obj, "added", message)], timezone.now())
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Fields, groups, permissions or the password were changed."""
        record([_entry(request, obj, "changed", message)], timezone.now())
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """Rows are about to be deleted."""
        record([_entry(request, obj, "deleted", "") for obj in queryset], timezone.now())
        return super().log_deletions(request, queryset)


def _entry(request: HttpRequest, obj: Model, what: str, message: Any) -> Entry:
    person = request.user.get_username()
    kind = "person" if isinstance(obj, User) else "group"
    return Entry(
        type=EventType.CONFIGURATION,
        subject=Subject(cluster=""),
        actor=Actor(ActorKind.PERSON, person),
        sentence=f"{person} {what} the {kind} {obj}.",
        level=Level.WARNING,
        action="rights",
        payload={"said": json.loads(json.dumps(message, default=str)), "after": _rights(obj)},
    )


def _rights(obj: Model) -> dict[str, Any]:
    if isinstance(obj, User):
        return {
            "active": obj.is_active,
            "staff": obj.is_staff,
            "superuser": obj.is_superuser,
            "groups": sorted(obj.groups.values_list("name", flat=True)),
            "permissions": sorted(obj.user_permissions.values_list("codename", flat=True)),
        }
    if isinstance(obj, Group):
        return {"permissions": sorted(obj.permissions.values_list("codename", flat=True))}
    return {}


class PersonAdmin(WrittenDown, People):
    """People who sign in."""

    def user_change_password(
        self, request: HttpRequest, id: str, form_url: str = ""
    ) -> HttpResponse:  # Django's own name
        """A new password and its event, or neither."""
        with transaction.atomic():
            return super().user_change_password(request, id, form_url)


class RightsAdmin(WrittenDown, GroupAdmin):
    """Groups of rights."""


admin.site.unregister(User)
admin.site.unregister(Group)
admin.site.register(User, PersonAdmin)
admin.site.register(Group, RightsAdmin)
