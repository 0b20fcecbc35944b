"""What may an administrator see and change of what runs where? Clusters; all else is to be read."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.forms import CheckboxSelectMultiple, ModelForm, MultipleChoiceField
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.read_only import AdminPage, ReadOnlyAdmin
from audit.trail import Actor, Entry, record
from workloads.attempt_admin import OfAttemptAdmin, attempts_called, job_page, jobs_numbered
from workloads.mode import Mode
from workloads.models import Attempt, Cluster, Job, Node
from workloads.progress_models import Checkpoint, ProgressPoint
from workloads.seen_by import would_see
from workloads.subjects import subject_of_cluster

if TYPE_CHECKING:
    Form = ModelForm[Cluster]
else:  # takes no type argument when it runs
    Form = ModelForm

STORE = (
    "log_store",
    "log_store_address",
    "log_store_job_lines",
    "log_store_node_lines",
    "log_store_labels",
    "log_store_tenant",
    "log_store_credential",
)
METRICS = ("metrics_address", "metrics_selector", "metrics_labels", "metrics_credential")
SEEN = (
    "metrics_read_at",
    "metrics_unseen_since",
    "metrics_unseen_reason",
    "log_store_read_at",
    "log_store_unseen_since",
    "log_store_unseen_reason",
    "seen_at",
    "cannot_see_since",
    "cannot_see_reason",
    "raw_answer",
    "scheduler_version",
    "scheduler_tested",
    "min_job_age_seconds",
)
SCHEDULER = (
    "scheduler_kind",
    "scheduler_transport",
    "ssh_address",
    "ssh_credential",
    "scheduler_path",
    "scheduler_config",
    "partitions",
)


class ClusterForm(Form):
    """A cluster. `asking` is who fills it in."""

    asking: User

    def clean_name(self) -> str:
        """Also one that is out of sight has its name for itself."""
        name: str = self.cleaned_data["name"]
        if Cluster._base_manager.filter(name=name).exists():  # only a new one has the field
            raise ValidationError(_("There is a cluster of this name already."))
        return name

    def clean_seen_by(self) -> list[str]:
        """Nobody hides a cluster from himself: he could not take it back."""
        groups: list[str] = self.cleaned_data["seen_by"]
        if not would_see(self.asking, groups):
            raise ValidationError(_("You are in none of these groups and would not see the cluster any more."))
        return groups


@admin.register(Cluster)
class ClusterAdmin(AdminPage):
    """Clusters. The mode is switched in the console, with its reason; the name is part of every attempt's id."""

    form = ClusterForm
    list_display = (
        "name",
        "environment",
        "scheduler_kind",
        "mode",
        "acknowledge_scheduler_actions",
        "enabled",
        "poll_seconds",
        "seen_at",
        "cannot_see_since",
    )
    list_filter = ("mode", "enabled", "acknowledge_scheduler_actions", "scheduler_kind", "environment")
    search_fields = ("name", "environment")
    search_help_text = gettext_lazy("Words of the name or of the environment.")
    fieldsets = (
        (None, {"fields": ("name", "environment", "enabled", "poll_seconds")}),
        (gettext_lazy("Scheduler"), {"fields": SCHEDULER}),
        (gettext_lazy("Logs"), {"fields": ("log_roots", "log_patterns", "dump_patterns", "detector_limits")}),
        (gettext_lazy("Log store, instead of files"), {"fields": STORE}),
        (gettext_lazy("Metrics of GPUs, adapters and hosts"), {"fields": METRICS}),
        (gettext_lazy("Who sees it"), {"fields": ("seen_by",)}),
        (gettext_lazy("What may be done"), {"fields": ("switched", "opt_out", "acknowledge_scheduler_actions")}),
        (gettext_lazy("What is seen"), {"fields": SEEN}),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Cluster | None = None) -> tuple[str, ...]:
        """The mode and what is seen; the name once it is given."""
        return ("switched", *SEEN, *(("name",) if obj else ()))

    @admin.display(description=gettext_lazy("mode"))
    def switched(self, obj: Cluster) -> SafeString | str:
        """What it is, and where it is switched: not here."""
        if obj.pk is None:
            return _("Monitor: nothing is done. It is switched in the console once the cluster is there.")
        mode, page = _(Mode(obj.mode).label), reverse("cluster-mode", args=[obj.name])
        return format_html(_('{}. <a href="{}">Switched in the console</a>, with a reason.'), mode, page)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:
        """The form, which is told who asks."""
        made: Any = super().get_form(request, obj, change=change, **options)
        made.asking = request.user
        if "seen_by" in made.base_fields:
            made.base_fields["seen_by"] = _groups_field(obj.seen_by if obj else ())
        return made

    def trail_of(self, obj: Cluster) -> dict[str, str]:
        """What was set of it."""
        return {"cluster": obj.name, "type": EventType.CONFIGURATION.value}

    def console_of(self, obj: Cluster) -> str:
        """Its page."""
        return reverse("cluster", args=[obj.name])

    def save_model(self, request: HttpRequest, obj: Cluster, form: "ModelForm[Cluster]", change: bool) -> None:
        """Store only what was changed, observe with it at once, and write one event that names it."""
        before = {name: form.initial.get(name) for name in form.changed_data}
        after = {name: form.cleaned_data[name] for name in form.changed_data}
        changed = {name for name in after if not change or before[name] != after[name]}
        if change and not changed:
            return
        now = timezone.now()
        obj.changed_at = obj.observe_due_at = now
        # An observation may be storing what it sees at this moment: its columns are left alone.
        obj.save(update_fields=[*changed, "changed_at", "observe_due_at"] if change else None)
        payload = {"before": _only(before, changed) if change else {}, "after": _only(after, changed)}
        record([_configured(request, obj, payload, change)], now)


def _groups_field(held: Iterable[str]) -> MultipleChoiceField:
    """The groups that there are, and those that the cluster names though they are gone."""
    there = list(Group.objects.order_by("name").values_list("name", flat=True))
    gone = [(name, _("%(group)s (there is no such group)") % {"group": name}) for name in held if name not in there]
    return MultipleChoiceField(
        choices=[*((name, name) for name in there), *gone],
        required=False,
        widget=CheckboxSelectMultiple,
        label=_("Groups"),
        help_text=_(
            "With none ticked, whoever may sign in sees this cluster and what runs on it. With some, their members "
            "alone, and superusers: to all others it is not there."
        ),
    )


def _only(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}


def _configured(request: HttpRequest, cluster: Cluster, payload: dict[str, Any], change: bool) -> Entry:
    person = request.user.get_username()
    what = f"changed {', '.join(payload['after'])} of" if change else "added"  # stays English: stored
    return Entry(
        type=EventType.CONFIGURATION,
        subject=subject_of_cluster(cluster),
        actor=Actor(ActorKind.PERSON, person),
        sentence=f"{person} {what} cluster {cluster.name}.",
        level=Level.WARNING,
        payload=payload,
    )


@admin.register(Node)
class NodeAdmin(ReadOnlyAdmin):
    """Nodes as the scheduler describes them."""

    list_display = ("name", "cluster", "state", "available", "reason", "reason_by", "reason_at", "seen_at")
    list_filter = ("cluster", "available")
    search_fields = ("name", "reason")
    search_help_text = gettext_lazy("Words of the name or of the reason that somebody gave to the scheduler.")
    list_select_related = ("cluster",)

    def trail_of(self, obj: Node) -> dict[str, str]:
        """What the trail says of the node."""
        return {"cluster": obj.cluster.name, "node": obj.name}

    def console_of(self, obj: Node) -> str:
        """Its page."""
        return reverse("node", args=[obj.cluster.name, obj.name])


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    """Jobs, newest first."""

    list_display = (
        *("number", "epoch", "cluster", "name", "user", "partition", "newest_state", "live", "wish"),
        *("opt_in_error", "created_at"),
    )
    list_filter = ("cluster", "live", "newest_state", "wish")
    search_fields = ("=workflow_id", "=user", "=partition", "name", "user")
    search_help_text = gettext_lazy(
        "A number, a user, a partition or a workflow; words of the name in the newest 100,000 jobs."
    )
    list_select_related = ("cluster",)

    def meanings(self, term: str) -> list[Q]:
        """The jobs with this number."""
        keys = jobs_numbered(int(term)) if term.isascii() and term.isdigit() and len(term) < 19 else []
        return [Q(pk__in=keys)] if keys else []

    def trail_of(self, obj: Job) -> dict[str, str]:
        """What the trail says of the job."""
        return {"cluster": obj.cluster.name, "job": str(obj.number)}

    def console_of(self, obj: Job) -> str:
        """Its page."""
        return job_page(obj)


@admin.register(Attempt)
class AttemptAdmin(OfAttemptAdmin):
    """Attempts, newest first."""

    search_fields = ("=heimdall_id",)
    list_display = (
        "label",
        "cluster",
        "state",
        "reason",
        "phase",
        "last_step",
        "last_checkpoint_step",
        "started_at",
        "ended_at",
    )
    list_filter = ("job__cluster", "state", "phase")
    list_select_related = ("job__cluster",)

    @admin.display(description=gettext_lazy("cluster"))
    def cluster(self, attempt: Attempt) -> str:
        """Where it ran."""
        return attempt.job.cluster.name

    def meanings(self, term: str) -> list[Q]:
        """The attempts that are called so."""
        return [Q(pk__in=attempts_called(term))]

    def attempt_of(self, obj: Attempt) -> Attempt:
        """Itself."""
        return obj


@admin.register(ProgressPoint)
class ProgressPointAdmin(OfAttemptAdmin):
    """Reported steps, newest first."""

    list_display = ("at", "attempt", "step", "step_seconds", "loss", "tokens_per_second", "tflop_per_second")
    list_filter = ("attempt__job__cluster",)
    list_select_related = ("attempt__job",)


@admin.register(Checkpoint)
class CheckpointAdmin(OfAttemptAdmin):
    """Checkpoints that attempts say they saved or loaded, newest first."""

    list_display = ("at", "attempt", "step", "deed", "place")
    list_filter = ("attempt__job__cluster", "deed")
    list_select_related = ("attempt__job",)
