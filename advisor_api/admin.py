"""What may an administrator see and change of advice, policies, limits and tokens?"""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models import QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from advisor_api.admin_forms import ExclusionForm, PauseForm
from advisor_api.excluding import exclude, lift
from advisor_api.insert_only import InsertOnlyAdmin, Question, actor_of
from advisor_api.models import (
    Advice,
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
from advisor_api.token_admin import ApiTokenAdmin
from audit.read_only import ReadOnlyAdmin
from workloads.attempt_admin import OfAttemptAdmin

if TYPE_CHECKING:
    Form = ModelForm[Any]
else:  # takes no type argument when it runs
    Form = ModelForm

__all__ = [
    "ApiTokenAdmin",
    "DeliveryAdmin",
    "NotificationRouteAdmin",
    "PolicyActivationAdmin",
    "PolicyVersionAdmin",
    "RepairRecordAdmin",
    "RepairSystemAdmin",
    "SilenceAdmin",
]
LIFT = Question(
    gettext_lazy("Lift exclusions"),
    gettext_lazy(
        "New attempts may use these nodes again from now on: whatever else keeps one of them out ends as well."
    ),
    gettext_lazy("Lift"),
)
END = Question(
    gettext_lazy("End pauses"),
    gettext_lazy("From now on Rekindle acts on them again, as the mode of the cluster and the policy say."),
    gettext_lazy("End"),
)


@admin.register(Advice)
class AdviceAdmin(OfAttemptAdmin):
    """Advice with its facts and what every rule said."""

    list_display = ("id", "attempt", "generation", "operation", "rule", "state", "state_reason", "created_at")
    list_filter = ("attempt__job__cluster", "operation", "state")
    search_fields = ("rule",)
    search_help_text = gettext_lazy(
        "The number of a job, an attempt as 4711-0, or its UUID; the name of a rule in the newest 100,000."
    )
    list_select_related = ("attempt__job",)


@admin.register(LeftAlone)
class LeftAloneAdmin(OfAttemptAdmin):
    """Decisions that led to no advice, with their facts."""

    list_display = ("decided_at", "attempt", "rule", "operation", "because")
    list_filter = ("attempt__job__cluster", "operation")
    search_fields = ("rule",)
    search_help_text = gettext_lazy(
        "The number of a job, an attempt as 4711-0, or its UUID; the name of a rule in the newest 100,000."
    )
    list_select_related = ("attempt__job",)


@admin.register(Sequence)
class SequenceAdmin(OfAttemptAdmin):
    """Recoveries with their moments."""

    attempt_path = "advice__attempt"
    list_display = (
        "uuid",
        "of_attempt",
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
    search_fields = ("=uuid", "trace_id")
    search_help_text = gettext_lazy(
        "The number of a job, an attempt as 4711-0, or its UUID, "
        "the recovery's own UUID; a trace in the newest 100,000."
    )
    list_select_related = ("advice__attempt__job",)

    @admin.display(description=gettext_lazy("attempt"))
    def of_attempt(self, row: Sequence) -> str:
        """Which attempt it recovers."""
        return row.advice.attempt.label


@admin.register(Milestone)
class MilestoneAdmin(OfAttemptAdmin):
    """Completed scheduler actions."""

    attempt_path = "sequence__advice__attempt"
    list_display = ("action", "of_attempt", "sequence", "done_at", "received_at")
    list_filter = ("action",)
    search_fields = ("=sequence__uuid",)
    search_help_text = gettext_lazy(
        "The number of a job, an attempt as 4711-0, or its UUID, or the UUID of its recovery."
    )
    list_select_related = ("sequence__advice__attempt__job",)

    @admin.display(description=gettext_lazy("attempt"))
    def of_attempt(self, row: Milestone) -> str:
        """Which attempt it was done to."""
        return row.sequence.advice.attempt.label


@admin.register(ControllerLease)
class ControllerLeaseAdmin(ReadOnlyAdmin):
    """Which controller may act."""

    is_long = False
    list_display = ("cluster", "holder", "fence", "until")
    list_select_related = ("cluster",)

    def trail_of(self, obj: ControllerLease) -> dict[str, str]:
        """Who held it when."""
        return {"cluster": obj.cluster.name, "type": "lease"}

    def console_of(self, obj: ControllerLease) -> str:
        """The page of the cluster."""
        return reverse("cluster", args=[obj.cluster.name])


@admin.register(JobReport)
class JobReportAdmin(OfAttemptAdmin):
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
    list_display = (*("node", "cluster", "reason", "owner", "weight", "since", "until", "lifted_at", "lifted_by"),)
    list_filter = ("cluster", "until")
    search_fields = ("node", "reason", "owner", "user")
    search_help_text = gettext_lazy("Words of node, reason, owner or user in the newest 100,000.")
    ordering = ("-id",)
    list_select_related = ("cluster",)
    actions = ("lift_now",)
    row_acts = ("lift_now",)

    @admin.display(description=gettext_lazy("Weight"))
    def weight(self, row: Exclusion) -> float:
        """What it weighs now: the weakest gives way first."""
        return row.weight_at(timezone.now())

    def save_model(self, request: HttpRequest, obj: Exclusion, form: Form, change: bool) -> None:
        """Exclude, with the event."""
        actor, now = actor_of(request), timezone.now()
        row = exclude(obj.cluster, obj.node, reason=obj.reason, until=obj.until, actor=actor, now=now)
        obj.pk = row.pk

    def trail_of(self, obj: Exclusion) -> dict[str, str]:
        """What the trail says of the node."""
        return {"cluster": obj.cluster.name, "node": obj.node}

    def console_of(self, obj: Exclusion) -> str:
        """The page of the node."""
        return reverse("node", args=[obj.cluster.name, obj.node])

    def still_allows(self, row: Exclusion, act: str) -> bool:
        """Whether it still keeps the node out."""
        return row.lifted_at is None and row.until > timezone.now()

    def called(self, row: Exclusion) -> str:
        """With its cluster and reason."""
        return _("%(node)s of %(cluster)s, out until %(until)s UTC: %(reason)s") % {
            "node": row.node,
            "cluster": row.cluster.name,
            "until": f"{row.until:%Y-%m-%d %H:%M}",
            "reason": row.reason,
        }

    @admin.action(description=gettext_lazy("Lift…"), permissions=["add"])
    def lift_now(self, request: HttpRequest, queryset: QuerySet[Exclusion]) -> HttpResponse | None:
        """Let the nodes be used again."""
        actor, now = actor_of(request), timezone.now()

        def act(row: Exclusion, reason: str) -> str:
            return _("%(node)s may be used again.") % {"node": lift(row, actor, now, reason=reason).node}

        return self.confirmed(request, queryset.select_related("cluster"), LIFT, act)


@admin.register(Pause)
class PauseAdmin(EndingAdmin):
    """Pauses: added with an end, ended by an action, kept as history."""

    form = PauseForm
    fields = ("cluster", "scope", "value", "reason", "until")
    list_display = ("scope", "value", "cluster", "reason", "owner", "since", "until")
    list_filter = ("cluster", "scope", "until")
    search_fields = ("value", "reason", "owner")
    search_help_text = gettext_lazy(
        "Words of what is paused, of the reason or of who paused it, in the newest 100,000."
    )
    ordering = ("-id",)
    list_select_related = ("cluster",)
    actions = ("end_now",)
    row_acts = ("end_now",)

    def save_model(self, request: HttpRequest, obj: Pause, form: Form, change: bool) -> None:
        """Pause, with the event."""
        actor, now = actor_of(request), timezone.now()
        row = pause(obj.cluster, obj.scope, obj.value, reason=obj.reason, until=obj.until, actor=actor, now=now)
        obj.pk = row.pk

    def trail_of(self, obj: Pause) -> dict[str, str]:
        """The pauses of the cluster."""
        return {"cluster": obj.cluster.name, "type": "pause"}

    def console_of(self, obj: Pause) -> str:
        """The page of the cluster."""
        return reverse("cluster", args=[obj.cluster.name])

    def still_allows(self, row: Pause, act: str) -> bool:
        """Whether it still holds."""
        return row.until > timezone.now()

    def called(self, row: Pause) -> str:
        """With its cluster and reason."""
        return _("%(what)s on %(cluster)s, until %(until)s UTC: %(reason)s") % {
            "what": f"{row.scope} {row.value}".strip(),
            "cluster": row.cluster.name,
            "until": f"{row.until:%Y-%m-%d %H:%M}",
            "reason": row.reason,
        }

    @admin.action(description=gettext_lazy("End…"), permissions=["add"])
    def end_now(self, request: HttpRequest, queryset: QuerySet[Pause]) -> HttpResponse | None:
        """Let it go on."""
        actor, now = actor_of(request), timezone.now()

        def act(row: Pause, reason: str) -> str:
            what = f"{end_pause(row, actor, now, reason).scope} {row.value}"
            return _("%(what)s: no longer paused.") % {"what": what}

        return self.confirmed(request, queryset.select_related("cluster"), END, act)
