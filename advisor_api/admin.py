"""What may an administrator see and change of advice, policies, limits and tokens?"""

from collections.abc import Callable
from datetime import timedelta
from json import JSONEncoder
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminTextareaWidget
from django.db import transaction
from django.db.models import JSONField, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone

from advisor_api.admin_forms import ExclusionForm, PauseForm, TokenForm
from advisor_api.excluding import exclude, lift
from advisor_api.models import (
    Advice,
    ApiToken,
    ControllerLease,
    Exclusion,
    JobReport,
    Milestone,
    Pause,
    PolicyVersion,
    Sequence,
)
from advisor_api.pausing import end_pause, pause
from advisor_api.policy.values import defaults
from advisor_api.refusals import Refusal
from advisor_api.token_role import TokenRole
from advisor_api.tokens import issue, revoke, rotate
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.read_only import ReadOnlyAdmin
from audit.trail import Actor, Entry, Subject, record

if TYPE_CHECKING:
    Form = ModelForm[Any]
else:  # takes no type argument when it runs
    Form = ModelForm

OVERLAP = timedelta(hours=24)


class InsertOnlyAdmin(ReadOnlyAdmin):
    """Rows may be added, never changed or deleted."""

    actions: Any = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whoever has the model's permission to add."""
        return bool(request.user.has_perm(f"{self.opts.app_label}.add_{self.opts.model_name}"))

    def each(self, request: HttpRequest, rows: QuerySet[Any], act: Callable[[Any], str]) -> None:
        """Do `act` on every row and show what it says; what is refused is shown as well and stops nothing."""
        for row in rows:
            try:
                self.message_user(request, act(row), messages.WARNING)
            except Refusal as refusal:
                self.message_user(request, str(refusal), messages.ERROR)


def actor_of(request: HttpRequest) -> Actor:
    """The person at the admin."""
    return Actor(ActorKind.PERSON, request.user.get_username())


class OneLineEach(JSONEncoder):
    """JSON that a person can edit: one value on each line."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{**options, "indent": 2})


@admin.register(PolicyVersion)
class PolicyVersionAdmin(InsertOnlyAdmin):
    """Policies: the newest version is the active one. To change a policy, add a version."""

    list_display = ("id", "cluster", "note", "created_at", "created_by")
    list_filter = ("cluster",)
    fields = ("cluster", "values", "note")
    list_select_related = ("cluster",)
    formfield_overrides = {  # as Django declares it
        JSONField: {
            "encoder": OneLineEach,
            "widget": AdminTextareaWidget(attrs={"rows": 24}),
            "help_text": "What each limit means: docs/policy.md. What is left out has its default.",
        }
    }

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A new version begins with the values of the newest one."""
        newest = PolicyVersion.objects.first()
        return {"values": {**defaults(), **newest.values} if newest else defaults()}

    def save_model(self, request: HttpRequest, obj: PolicyVersion, form: Form, change: bool) -> None:
        """Store it with its event."""
        obj.created_at, obj.created_by = timezone.now(), request.user.get_username()
        with transaction.atomic():
            super().save_model(request, obj, form, change)
            record([_configured(obj, actor_of(request))], obj.created_at)


def _configured(version: PolicyVersion, actor: Actor) -> Entry:
    of = version.cluster.name if version.cluster else "all clusters"
    return Entry(
        type=EventType.CONFIGURATION,
        subject=Subject(cluster=version.cluster.name if version.cluster else ""),
        actor=actor,
        sentence=f"{actor.name} made policy {version.pk} of {of} the active one. {version.note}".strip(),
        level=Level.WARNING,
        payload={"policy": version.pk, "values": version.values},
    )


@admin.register(Advice)
class AdviceAdmin(ReadOnlyAdmin):
    """Advice with its facts and what every rule said."""

    list_display = ("id", "attempt", "generation", "operation", "rule", "state", "state_reason", "created_at")
    list_filter = ("attempt__job__cluster", "operation", "state", "rule")
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
    list_display = ("node", "cluster", "reason", "owner", "since", "until", "lifted_at", "lifted_by")
    list_filter = ("cluster", "until")
    search_fields = ("=node", "reason")
    list_select_related = ("cluster",)
    actions = ("lift_now",)

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
