"""What may an administrator see and change of advice, policies, limits and tokens?"""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone

from advisor_api.admin_forms import ExclusionForm, PauseForm, TokenForm
from advisor_api.excluding import exclude, lift
from advisor_api.insert_only import InsertOnlyAdmin, actor_of
from advisor_api.models import (
    Advice,
    ApiToken,
    ControllerLease,
    Exclusion,
    JobReport,
    LeftAlone,
    Milestone,
    Pause,
    Sequence,
)
from advisor_api.notification_admin import DeliveryAdmin, NotificationRouteAdmin
from advisor_api.pausing import end_pause, pause
from advisor_api.policy_admin import PolicyActivationAdmin, PolicyVersionAdmin
from advisor_api.repair_admin import RepairRecordAdmin, RepairSystemAdmin
from advisor_api.silence_admin import SilenceAdmin
from advisor_api.token_role import TokenRole
from advisor_api.tokens import issue, revoke, rotate
from audit.read_only import ReadOnlyAdmin

if TYPE_CHECKING:
    Form = ModelForm[Any]
else:  # takes no type argument when it runs
    Form = ModelForm

__all__ = [
    "DeliveryAdmin",
    "NotificationRouteAdmin",
    "PolicyActivationAdmin",
    "PolicyVersionAdmin",
    "RepairRecordAdmin",
    "RepairSystemAdmin",
    "SilenceAdmin",
]
OVERLAP = timedelta(hours=24)


@admin.register(Advice)
class AdviceAdmin(ReadOnlyAdmin):
    """Advice with its facts and what every rule said."""

    list_display = ("id", "attempt", "generation", "operation", "rule", "state", "state_reason", "created_at")
    list_filter = ("attempt__job__cluster", "operation", "state", "rule")
    search_fields = ("=attempt__job__number", "=attempt__heimdall_id", "rule")
    list_select_related = ("attempt__job",)


@admin.register(LeftAlone)
class LeftAloneAdmin(ReadOnlyAdmin):
    """Decisions that led to no advice, with their facts."""

    list_display = ("decided_at", "attempt", "rule", "operation", "because")
    list_filter = ("attempt__job__cluster", "rule")
    search_fields = ("=attempt__job__number", "=attempt__heimdall_id", "rule")
    list_select_related = ("attempt__job",)


@admin.register(Sequence)
class SequenceAdmin(ReadOnlyAdmin):
    """Recoveries with their moments."""

    list_display = (
        "uuid",
        "advice",
        "happened_at",
        "detected_at",
        "advised_at",
        "commanded_at",
        "restarted_at",
        "resumed_at",
        "completed_at",
        "closed_at",
    )
    list_filter = ("advice__attempt__job__cluster", "closed_at")
    search_fields = ("=advice__attempt__job__number", "=uuid", "=trace_id")
    list_select_related = ("advice",)


@admin.register(Milestone)
class MilestoneAdmin(ReadOnlyAdmin):
    """Completed scheduler actions."""

    list_display = ("action", "sequence", "done_at", "received_at")
    list_filter = ("action",)
    search_fields = ("=sequence__uuid", "=sequence__advice__attempt__job__number")
    list_select_related = ("sequence",)


@admin.register(ControllerLease)
class ControllerLeaseAdmin(ReadOnlyAdmin):
    """Which controller may act."""

    list_display = ("cluster", "holder", "fence", "until")


@admin.register(JobReport)
class JobReportAdmin(ReadOnlyAdmin):
    """What clients reported of attempts."""

    list_display = ("attempt", "gpu_count_per_node", "reported_by", "reported_at")
    list_select_related = ("attempt__job",)


class EndingAdmin(InsertOnlyAdmin):
    """Rows that are added with an end."""

    actions: Any = None

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        """The form, which is told what time it is."""
        form: Any = super().get_form(request, obj, change=change, **options)
        form.now = timezone.now()
        return form


@admin.register(Exclusion)
class ExclusionAdmin(EndingAdmin):
    """Node exclusions: added with an end, lifted by an action, kept as history."""

    form = ExclusionForm
    fields = ("cluster", "node", "reason", "until")
    list_display = (
        *("node", "cluster", "reason", "owner", "user", "by_log_alone", "weight", "since", "until"),
        *("lifted_at", "lifted_by"),
    )
    list_filter = ("cluster", "until")
    search_fields = ("=node", "reason")
    list_select_related = ("cluster",)
    actions = ("lift_now",)

    @admin.display(description="Weight")
    def weight(self, row: Exclusion) -> float:
        """What it weighs now: the weakest gives way first."""
        return row.weight_at(timezone.now())

    def save_model(self, request: HttpRequest, obj: Exclusion, form: Form, change: bool) -> None:
        """Exclude, with the event."""
        actor, now = actor_of(request), timezone.now()
        row = exclude(obj.cluster, obj.node, reason=obj.reason, until=obj.until, actor=actor, now=now)
        obj.pk = row.pk

    @admin.action(description="Lift now", permissions=["add"])
    def lift_now(self, request: HttpRequest, queryset: QuerySet[Exclusion]) -> None:
        """Let the nodes be used again."""
        actor, now = actor_of(request), timezone.now()
        rows = queryset.select_related("cluster")
        self.each(request, rows, lambda row: f"{lift(row, actor, now).node} may be used again.")


@admin.register(Pause)
class PauseAdmin(EndingAdmin):
    """Pauses: added with an end, ended by an action, kept as history."""

    form = PauseForm
    fields = ("cluster", "scope", "value", "reason", "until")
    list_display = ("scope", "value", "cluster", "reason", "owner", "since", "until")
    list_filter = ("cluster", "scope", "until")
    list_select_related = ("cluster",)
    actions = ("end_now",)

    def save_model(self, request: HttpRequest, obj: Pause, form: Form, change: bool) -> None:
        """Pause, with the event."""
        actor, now = actor_of(request), timezone.now()
        row = pause(obj.cluster, obj.scope, obj.value, reason=obj.reason, until=obj.until, actor=actor, now=now)
        obj.pk = row.pk

    @admin.action(description="End now", permissions=["add"])
    def end_now(self, request: HttpRequest, queryset: QuerySet[Pause]) -> None:
        """Let it go on."""
        actor, now = actor_of(request), timezone.now()
        rows = queryset.select_related("cluster")
        self.each(request, rows, lambda row: f"{end_pause(row, actor, now).scope} {row.value}: no longer paused.")


@admin.register(ApiToken)
class ApiTokenAdmin(InsertOnlyAdmin):
    """API tokens: shown once when they are made, replaced and revoked by actions."""

    form = TokenForm
    fields = ("name", "role", "clusters", "days")
    list_display = ("name", "role", "created_by", "created_at", "expires_at", "revoked_at", "last_used_at")
    list_filter = ("role", "clusters")
    search_fields = ("name",)
    actions = ("rotate_now", "revoke_now")

    def save_model(self, request: HttpRequest, obj: ApiToken, form: Form, change: bool) -> None:
        """Make the token and show it once."""
        asked = form.cleaned_data
        role, lifetime = TokenRole(asked["role"]), timedelta(days=asked["days"])
        actor, clusters = actor_of(request), list(asked["clusters"])
        secret = issue(asked["name"], role, clusters, now=timezone.now(), actor=actor, lifetime=lifetime)
        obj.pk = ApiToken.objects.get(name=asked["name"]).pk
        self.message_user(request, _shown_once(asked["name"], secret), messages.WARNING)

    @admin.action(description="Replace (the old one works for 24 more hours)", permissions=["add"])
    def rotate_now(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        """A new token under the same name, shown once."""
        actor, now = actor_of(request), timezone.now()

        def act(row: ApiToken) -> str:
            return _shown_once(row.name, rotate(row, overlap=OVERLAP, now=now, actor=actor))

        self.each(request, queryset, act)

    @admin.action(description="Revoke at once", permissions=["add"])
    def revoke_now(self, request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        """Take the tokens back."""
        actor, now = actor_of(request), timezone.now()

        def act(row: ApiToken) -> str:
            revoke(row, now=now, actor=actor)
            return f"The token {row.name!r} was revoked."

        self.each(request, queryset, act)


def _shown_once(name: str, secret: str) -> str:
    return f"The token {name!r}, shown this once: {secret}"
