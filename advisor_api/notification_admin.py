"""How does an administrator say who is told of what? Every change is an event of the trail."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from advisor_api.insert_only import InsertOnlyAdmin, actor_of, few
from advisor_api.notification_models import Delivery, NotificationRoute
from advisor_api.notifying.deliveries import send_again, send_test
from advisor_api.refusals import Refusal
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.in_sight import hidden_now
from audit.level import Level
from audit.read_only import AdminPage
from audit.trail import Actor, Entry, Subject, record
from workloads.models import Cluster
from workloads.seen_by import seen_or_all

if TYPE_CHECKING:
    Form = ModelForm[NotificationRoute]
else:  # takes no type argument when it runs
    Form = ModelForm


class RouteForm(Form):
    """Who is told. What all clusters tell is for those who see all of them."""

    def clean_name(self) -> str:
        """Also a route that is out of sight has its name for itself."""
        name: str = self.cleaned_data["name"]
        if NotificationRoute._base_manager.filter(name=name).exists():  # only a new one has the field
            raise ValidationError(_("There is a route of this name already."))
        return name

    def clean_cluster(self) -> Cluster | None:
        """One that is seen, or all where all are seen."""
        return seen_or_all(self.cleaned_data["cluster"])


@admin.register(NotificationRoute)
class NotificationRouteAdmin(AdminPage):
    """Routes. What they were told stands in *Deliveries*, and on the console's page *Notifications*."""

    form = RouteForm
    actions = ("send_a_test",)
    list_display = ("name", "cluster", "least_level", "kind", "whom", "enabled")
    list_filter = ("cluster", "kind", "least_level", "enabled")
    list_select_related = ("cluster",)
    search_fields = ("name", "recipients", "address")
    fields = (
        *("name", "cluster", "least_level", "topics", "kind", "recipients", "address", "credential"),
        *("title", "text", "timeout_seconds", "enabled"),
    )

    def has_change_permission(self, request: HttpRequest, obj: NotificationRoute | None = None) -> bool:
        """Of what all clusters tell only those who see all of them."""
        allowed = super().has_change_permission(request, obj)
        return allowed and not (obj is not None and obj.cluster_id is None and hidden_now().keys)

    def get_readonly_fields(self, request: HttpRequest, obj: NotificationRoute | None = None) -> tuple[str, ...]:
        """What it is called in the trail."""
        return ("name",) if obj else ()

    def trail_of(self, obj: NotificationRoute) -> dict[str, str]:
        """What was set."""
        return {"cluster": obj.cluster.name if obj.cluster else "(site)", "type": EventType.CONFIGURATION.value}

    def save_model(self, request: HttpRequest, obj: NotificationRoute, form: Form, change: bool) -> None:
        """Store it with one event that says what changed. One that was switched on is told from now on."""
        changed = list(form.changed_data)
        if change and not changed:
            return
        now = timezone.now()
        if not change or ("enabled" in changed and obj.enabled):
            obj.since = now
        person = request.user.get_username()
        what = f"changed {', '.join(changed)} of" if change else "added"  # stays English: stored
        payload: dict[str, Any] = {
            "route": obj.name,
            "before": {name: form.initial.get(name) for name in changed} if change else {},
            "after": {name: getattr(obj, name) for name in self.fields if name != "cluster"},
        }
        place = obj.cluster.name if obj.cluster else ""
        entry = Entry(
            type=EventType.CONFIGURATION,
            subject=Subject(cluster=place),
            actor=Actor(ActorKind.PERSON, person),
            # stays English: stored
            sentence=f"{person} {what} the notification route {obj.name} of {place or 'all clusters'}.",
            level=Level.WARNING,
            payload=payload,
        )
        with transaction.atomic():
            super().save_model(request, obj, form, change)
            record([entry], now)

    @admin.action(description=gettext_lazy("Send a test message"), permissions=["change"])
    def send_a_test(self, request: HttpRequest, queryset: QuerySet[NotificationRoute]) -> None:
        """One to each; a worker sends it."""
        for route in few(self, request, queryset.select_related("cluster")):
            try:
                send_test(route, actor_of(request), timezone.now())
                self.message_user(request, _("A worker sends a test message to %(name)s.") % {"name": route.name})
            except Refusal as refusal:
                self.message_user(request, str(refusal), "ERROR")


@admin.register(Delivery)
class DeliveryAdmin(InsertOnlyAdmin):
    """What routes were told, and what came of it; what was given up can be sent again."""

    actions = ("send_again",)
    list_display = ("made_at", "name", "kind", "topic", "count", "title", "outcome", "tries", "said", "over_at")
    list_filter = ("outcome", "topic", "kind", "route")
    search_fields = ("=key", "title", "name")
    search_help_text = gettext_lazy("A key; words of the title or of the route in the newest 100,000.")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody: messages are made of what they tell."""
        return False

    def trail_of(self, obj: Delivery) -> dict[str, str]:
        """What became of messages about the cluster."""
        return {"cluster": obj.cluster or "(site)", "type": "notification"}

    def console_of(self, obj: Delivery) -> str:
        """The page of the message."""
        return reverse("notification", args=[obj.pk])

    def has_send_permission(self, request: HttpRequest) -> bool:
        """Whoever may change whom they are sent to."""
        return bool(request.user.has_perm("advisor_api.change_notificationroute"))

    @admin.action(description=gettext_lazy("Send again what was given up"), permissions=["send"])
    def send_again(self, request: HttpRequest, queryset: QuerySet[Delivery]) -> None:
        """Send it once more."""
        actor, now = actor_of(request), timezone.now()

        def act(row: Delivery) -> str:
            return _("%(name)s is told again.") % {"name": send_again(row, actor, now).name}

        self.each(request, queryset, act)
