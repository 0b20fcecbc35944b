"""How does an administrator change people and groups? Each page of them writes an event in the same transaction."""

import json
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Count, ManyToManyField, Model, QuerySet
from django.forms import CheckboxSelectMultiple
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from advisor_api.insert_only import actor_of
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.read_only import AdminPage
from audit.trail import Actor, Entry, Subject, record
from recovery_site.groups import GROUPS
from recovery_site.people import end_sessions, may_change
from recovery_site.people_forms import PersonForm
from workloads.seen_by import clusters_for, set_seen_by

if TYPE_CHECKING:
    People = UserAdmin[User]
else:  # takes no type argument when it runs
    People = UserAdmin


MANY: Any = {ManyToManyField: {"widget": CheckboxSelectMultiple}}
"""Many of many are ticked in a list: it needs no script, and says what is ticked."""


class WrittenDown(AdminPage):
    """One event beside each line of Django's own log, in the same transaction; never what a password is."""

    actions: Any = None  # a bulk deletion is no single transaction

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Somebody was added."""
        record([_entry(request, obj, "added", message)], timezone.now())
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        """Fields, groups, permissions or the password were changed. What changed nothing is not told."""
        if not message:
            return None
        record([_entry(request, obj, "changed", message)], timezone.now())
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        """Rows are about to be deleted."""
        record([_entry(request, obj, "deleted", "") for obj in queryset], timezone.now())
        return super().log_deletions(request, queryset)

    def trail_of(self, obj: Model) -> dict[str, str]:
        """What was done to people and groups."""
        return {"cluster": "(site)", "type": EventType.CONFIGURATION.value, "action": "rights"}


def _entry(request: HttpRequest, obj: Model, what: str, message: Any) -> Entry:
    person = request.user.get_username()
    kind = "person" if isinstance(obj, User) else "group"
    return Entry(
        type=EventType.CONFIGURATION,
        subject=Subject(cluster=""),
        actor=Actor(ActorKind.PERSON, person),
        sentence=f"{person} {what} the {kind} {obj}.",  # stays English: stored
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
    """People who sign in. An account is closed, never deleted: the trail speaks of its name."""

    form = PersonForm
    list_display = ("username", "called", "role", "is_active", "is_staff", "last_login")
    list_filter = ("is_active", "is_staff", "is_superuser", "groups")
    search_fields = ("username", "first_name", "last_name", "email")
    search_help_text = gettext_lazy("Words of the user name, the name or the mail address.")
    filter_horizontal = ()
    formfield_overrides: ClassVar[Any] = MANY
    readonly_fields = ("secret", "last_login", "date_joined")
    names = ("username", "secret", "first_name", "last_name", "email")
    closed: int | None = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        """With the groups of each, without what its password is."""
        rows: QuerySet[User] = super().get_queryset(request)
        return rows.prefetch_related("groups")

    @admin.display(description=gettext_lazy("name"))
    def called(self, obj: User) -> str:
        """First and last name."""
        return obj.get_full_name()

    @admin.display(description=gettext_lazy("may do"))
    def role(self, obj: User) -> str:
        """In words."""
        if not obj.is_active:
            return _("nothing: the account is closed")
        if obj.is_superuser:
            return _("everything (superuser)")
        return ", ".join(sorted(group.name for group in obj.groups.all())) or _("read")

    @admin.display(description=gettext_lazy("password"))
    def secret(self, obj: User) -> SafeString:
        """Whether there is one, never what it is."""
        if obj.has_usable_password():
            return format_html(_('Set, and never shown. <a href="{}">Set another one</a>'), "../password/")
        return format_html(
            _('None: signs in through the provider or by a link. <a href="{}">Set one</a>'), "../password/"
        )

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Who it is, what it may do; single permissions for superusers alone."""
        if obj is None:
            return super().get_fieldsets(request, obj)
        rights = ("is_active", "groups", "is_staff")
        more = ("is_superuser", "user_permissions") if request.user.is_superuser else ()
        return (
            (None, {"fields": self.names}),
            (_("What this person may do"), {"fields": (*rights, *more)}),
            (_("When"), {"fields": ("last_login", "date_joined")}),
        )

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        """The form, which is told who asks."""
        made: Any = super().get_form(request, obj, change=change, **options)
        made.asking = request.user
        words = {
            "is_active": _("Unticked, the account is closed: all sessions and open pages end, nothing is lost."),
            "is_staff": _("May open this admin, and see there what the groups allow."),
            "is_superuser": _("May do everything, here and in the console, whatever the groups say."),
        }
        for name, help_text in words.items():
            if name in made.base_fields:
                made.base_fields[name].help_text = help_text
        return made

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may change people, but none that may do more."""
        allowed = super().has_change_permission(request, obj)
        return allowed and (obj is None or may_change(request.user, obj))  # type: ignore[arg-type]  # staff

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Store it; an account that is closed loses its sessions."""
        super().save_model(request, obj, form, change)
        if change and "is_active" in form.changed_data and not obj.is_active:
            ended = end_sessions(obj, timezone.now())
            said = ngettext(
                "The account %(name)s is closed; %(count)s session ended.",
                "The account %(name)s is closed; %(count)s sessions ended.",
                ended,
            )
            self.message_user(request, said % {"name": obj, "count": ended}, messages.WARNING)

    def user_change_password(
        self, request: HttpRequest, id: str, form_url: str = ""
    ) -> HttpResponse:  # Django's own name
        """A new password and its event, or neither."""
        with transaction.atomic():
            return super().user_change_password(request, id, form_url)


class RightsAdmin(WrittenDown, GroupAdmin):
    """Groups of rights. Only a superuser shapes them: whoever could would give himself everything."""

    list_display = ("name", "people", "rights")
    filter_horizontal = ()
    formfield_overrides: ClassVar[Any] = MANY
    search_fields = ("name",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Group]:
        """With how many are in each."""
        rows: QuerySet[Group] = super().get_queryset(request)
        people, rights = Count("user", distinct=True), Count("permissions", distinct=True)
        return rows.annotate(people=people, rights=rights)

    @admin.display(description=gettext_lazy("people"))
    def people(self, obj: Any) -> int:
        """How many are in it."""
        return int(obj.people)

    @admin.display(description=gettext_lazy("rights"))
    def rights(self, obj: Any) -> int:
        """How many it gives."""
        return int(obj.rights)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Superusers."""
        return bool(request.user.is_active and request.user.is_superuser)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Superusers."""
        return self.has_add_permission(request)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Superusers, where nobody is in it and the site does not make it anew."""
        if obj is None or not self.has_add_permission(request):
            return False
        return obj.name not in GROUPS and not obj.user_set.exists() and not clusters_for(obj.name)

    def save_model(self, request: HttpRequest, obj: Group, form: Any, change: bool) -> None:
        """Store it; clusters that are for this group name it by its new name."""
        super().save_model(request, obj, form, change)
        before = form.initial.get("name", "") if change and "name" in form.changed_data else ""
        for cluster in clusters_for(before) if before else ():
            named = [obj.name if name == before else name for name in cluster.seen_by]
            set_seen_by(cluster, named, actor_of(request), timezone.now())


admin.site.unregister(User)
admin.site.unregister(Group)
admin.site.register(User, PersonAdmin)
admin.site.register(Group, RightsAdmin)
