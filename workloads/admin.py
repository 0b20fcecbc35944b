"""What may an administrator see and change of what runs where? Clusters; all else is to be read."""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.read_only import ReadOnlyAdmin
from audit.trail import Actor, Entry, record
from workloads.models import Attempt, Checkpoint, Cluster, Job, Node, ProgressPoint
from workloads.subjects import subject_of_cluster

if TYPE_CHECKING:
    ClusterBase = admin.ModelAdmin[Cluster]
else:  # takes no type argument when it runs
    ClusterBase = admin.ModelAdmin

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


@admin.register(Cluster)
class ClusterAdmin(ClusterBase):
    """Clusters. The mode is switched in the console, with its reason; the name is part of every attempt's id."""

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
    fieldsets = (
        (None, {"fields": ("name", "environment", "enabled", "poll_seconds")}),
        ("Scheduler", {"fields": SCHEDULER}),
        ("Logs", {"fields": ("log_roots", "log_patterns", "dump_patterns", "detector_limits")}),
        ("Log store, instead of files", {"fields": STORE}),
        ("Metrics of GPUs, adapters and hosts", {"fields": METRICS}),
        ("What may be done", {"fields": ("mode", "opt_out", "acknowledge_scheduler_actions")}),
        ("What is seen", {"fields": SEEN}),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: Cluster | None = None) -> tuple[str, ...]:
        """The mode and what is seen; the name once it is given."""
        return ("mode", *SEEN, *(("name",) if obj else ()))

    def has_delete_permission(self, request: HttpRequest, obj: Cluster | None = None) -> bool:
        """Nobody: a cluster takes its whole history with it. It is unticked instead."""
        return False

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


def _only(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in names}


def _configured(request: HttpRequest, cluster: Cluster, payload: dict[str, Any], change: bool) -> Entry:
    person = request.user.get_username()
    what = f"changed {', '.join(payload['after'])} of" if change else "added"
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
    list_select_related = ("cluster",)


@admin.register(Job)
class JobAdmin(ReadOnlyAdmin):
    """Jobs, newest first."""

    list_display = ("number", "epoch", "cluster", "name", "user", "partition", "live", "opt_in_error", "created_at")
    list_filter = ("cluster", "live", "partition")
    search_fields = ("=number", "=workflow_id", "name", "user")
    list_select_related = ("cluster",)


@admin.register(Attempt)
class AttemptAdmin(ReadOnlyAdmin):
    """Attempts, newest first."""

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
    search_fields = ("=job__number", "=heimdall_id", "job__name", "job__user")
    list_select_related = ("job__cluster",)
    ordering = ("-id",)

    @admin.display(ordering="job__cluster")
    def cluster(self, attempt: Attempt) -> str:
        """Where it ran."""
        return attempt.job.cluster.name


@admin.register(ProgressPoint)
class ProgressPointAdmin(ReadOnlyAdmin):
    """Reported steps, newest first."""

    list_display = ("at", "attempt", "step", "step_seconds", "loss", "tokens_per_second", "tflop_per_second")
    list_filter = ("attempt__job__cluster",)
    search_fields = ("=attempt__job__number",)
    list_select_related = ("attempt__job",)
    ordering = ("-id",)


@admin.register(Checkpoint)
class CheckpointAdmin(ReadOnlyAdmin):
    """Checkpoints that attempts say they saved or loaded, newest first."""

    list_display = ("at", "attempt", "step", "deed", "place")
    list_filter = ("attempt__job__cluster", "deed")
    search_fields = ("=attempt__job__number",)
    list_select_related = ("attempt__job",)
    ordering = ("-id",)
