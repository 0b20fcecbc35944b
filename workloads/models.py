"""What runs where? Clusters, nodes, jobs, attempts and how far they came."""

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models

import workloads.progress_models  # noqa: F401  # their tables are this room's
from audit.in_sight import InSight
from audit.masked_fields import MaskedCharField, MaskedTextField
from schedulers.states import JobState
from workloads.log_stores import STORE_KINDS, credential_name, one_line, store_address, store_labels, store_mistakes
from workloads.metric_sources import metrics_labels, metrics_mistakes, metrics_selector
from workloads.mode import Mode
from workloads.phase import Phase
from workloads.removed_models import name_mistakes
from workloads.transports import TRANSPORTS
from workloads.validators import (
    absolute_paths,
    detector_limits,
    dump_mistakes,
    group_names,
    log_patterns,
    plain_names,
    ssh_address,
    ssh_mistakes,
)
from workloads.wish import Wish


class Cluster(models.Model):
    """One scheduler installation with its environment, logs, mode and limits."""

    name = models.CharField(
        max_length=64,
        unique=True,
        validators=[RegexValidator(r"^[a-z0-9][a-z0-9_.-]*\Z", "Lower case letters, digits, '.', '_' and '-'.")],
    )
    environment = models.CharField(
        max_length=64, default="default", help_text="Matched by the controller's environmentPattern."
    )
    scheduler_kind = models.CharField(max_length=16, choices=[("slurm", "Slurm")], default="slurm")
    scheduler_transport = models.CharField(
        max_length=8,
        choices=TRANSPORTS,
        default="local",
        help_text="How the scheduler is seen: by commands run from here, or by what its controller pushes.",
    )
    ssh_address = models.CharField(
        max_length=300,
        blank=True,
        default="",
        validators=[ssh_address],
        help_text="e.g. rekindle@login01.example.org, or with :PORT; the account has the forced command.",
    )
    ssh_credential = models.CharField(
        max_length=64,
        blank=True,
        default="",
        validators=[credential_name],
        help_text="NAME of files in the credentials folder: NAME (a key), NAME.known_hosts; NAME-cert.pub if any.",
    )
    scheduler_path = models.CharField(
        max_length=512,
        blank=True,
        default="",
        help_text="Folder of the scheduler's commands; empty: the PATH.",
    )
    scheduler_config = models.CharField(
        max_length=512,
        blank=True,
        default="",
        help_text="SLURM_CONF for the commands; empty: the site's own.",
    )
    partitions = models.JSONField(
        default=list,
        blank=True,
        validators=[plain_names],
        help_text="Partitions to watch; an empty list: all.",
    )
    seen_by = models.JSONField(
        default=list,
        blank=True,
        validators=[group_names],
        help_text="Names of the groups whose members alone see it and what runs on it; an empty list: whoever may "
        "sign in. Superusers see everything.",
    )
    opt_out = models.BooleanField(
        default=False,
        help_text="Act on jobs that did not ask to be left alone, instead of on those that opted in.",
    )
    log_roots = models.JSONField(
        default=list,
        blank=True,
        validators=[absolute_paths],
        help_text="Folders below which job logs may be read.",
    )
    dump_patterns = models.JSONField(
        default=list,
        blank=True,
        validators=[log_patterns],
        help_text="Patterns of Flight Recorder dumps below the log roots, e.g. /dumps/%j/nccl_trace_rank_%t",
    )
    log_patterns = models.JSONField(
        default=list,
        blank=True,
        validators=[log_patterns],
        help_text="Patterns of job logs with the fields of sbatch, e.g. /logs/%u/%x_%j_%t.log",
    )
    detector_limits = models.JSONField(
        default=dict,
        blank=True,
        validators=[detector_limits],
        help_text="Limits that differ from the defaults.",
    )
    log_store = models.CharField(
        max_length=16,
        blank=True,
        default="",
        choices=STORE_KINDS,
        help_text="Where the lines of all jobs are read; empty: from files.",
    )
    log_store_address = models.CharField(
        max_length=512,
        blank=True,
        default="",
        validators=[store_address],
        help_text="e.g. https://loki.example.org:3100; a path in front of the store's own is kept.",
    )
    log_store_job_lines = models.CharField(
        max_length=1024,
        blank=True,
        default="",
        validators=[one_line],
        help_text='Selects the lines of all jobs, e.g. {cluster="a", job_id!=""}',
    )
    log_store_node_lines = models.CharField(
        max_length=1024,
        blank=True,
        default="",
        validators=[one_line],
        help_text='Selects the kernel lines of all nodes, e.g. {cluster="a", unit="kernel"}; may be empty.',
    )
    log_store_labels = models.JSONField(
        default=dict,
        blank=True,
        validators=[store_labels],
        help_text="Which label holds what: job_id is required; node, rank, filename and restart may be left out.",
    )
    log_store_tenant = models.CharField(
        max_length=128,
        blank=True,
        default="",
        validators=[one_line],
        help_text="Loki: X-Scope-OrgID. VictoriaLogs: ACCOUNT:PROJECT.",
    )
    log_store_credential = models.CharField(
        max_length=64,
        blank=True,
        default="",
        validators=[credential_name],
        help_text="Name of a file in the credentials folder, with `basic USER:PASSWORD` or `bearer TOKEN`.",
    )
    metrics_address = models.CharField(
        max_length=512,
        blank=True,
        default="",
        validators=[store_address],
        help_text="Prometheus or what answers its queries, e.g. https://prometheus.example.org:9090; empty: none.",
    )
    metrics_selector = models.CharField(
        max_length=1024,
        blank=True,
        default="",
        validators=[one_line, metrics_selector],
        help_text='Matchers that select this cluster\'s series, e.g. cluster="a"; empty: all.',
    )
    metrics_labels = models.JSONField(
        default=dict,
        blank=True,
        validators=[metrics_labels],
        help_text="Which label holds what, where it differs: gpu_node, gpu, node, device, port.",
    )
    metrics_credential = models.CharField(
        max_length=64,
        blank=True,
        default="",
        validators=[credential_name],
        help_text="As of the log store: a file in the credentials folder.",
    )
    poll_seconds = models.FloatField(default=15.0, validators=[MinValueValidator(0.2)])
    mode = models.CharField(max_length=8, choices=Mode.choices(), default=Mode.MONITOR.value)
    mode_version = models.PositiveIntegerField(default=1, editable=False)
    acknowledge_scheduler_actions = models.BooleanField(
        default=False, help_text="Confirms that Rekindle may change jobs of this scheduler."
    )
    enabled = models.BooleanField(default=True, help_text="Unticked: not watched at all.")
    log_store_due_at = models.DateTimeField(null=True, blank=True, editable=False, db_index=True)
    log_store_retry_at = models.DateTimeField(null=True, blank=True, editable=False)
    log_store_read_at = models.DateTimeField(null=True, blank=True, editable=False)
    log_store_unseen_since = models.DateTimeField(null=True, blank=True, editable=False)
    log_store_unseen_reason = MaskedCharField(max_length=500, blank=True, default="", editable=False)
    metrics_due_at = models.DateTimeField(null=True, blank=True, editable=False, db_index=True)
    metrics_read_at = models.DateTimeField(null=True, blank=True, editable=False)
    metrics_unseen_since = models.DateTimeField(null=True, blank=True, editable=False)
    metrics_unseen_reason = MaskedCharField(max_length=500, blank=True, default="", editable=False)
    observe_due_at = models.DateTimeField(null=True, blank=True, editable=False, db_index=True)
    seen_at = models.DateTimeField(null=True, blank=True, editable=False)
    pushed_sequence = models.BigIntegerField(default=0, editable=False)
    pushed_clock_at = models.DateTimeField(null=True, blank=True, editable=False)  # the scheduler's own
    cannot_see_since = models.DateTimeField(null=True, blank=True, editable=False)
    cannot_see_reason = MaskedCharField(max_length=500, blank=True, default="", editable=False)
    raw_answer = MaskedTextField(blank=True, default="", editable=False)
    limits_asked_at = models.DateTimeField(null=True, blank=True, editable=False)
    scheduler_version = models.CharField(max_length=64, blank=True, default="", editable=False)
    scheduler_tested = models.BooleanField(default=True, editable=False)
    min_job_age_seconds = models.PositiveIntegerField(null=True, blank=True, editable=False)
    changed_at = models.DateTimeField(null=True, blank=True, editable=False, db_index=True)

    cluster_at = "pk"
    objects = InSight()

    class Meta:
        ordering = ("name",)
        permissions = (("switch_mode", "Can switch a cluster's mode"),)

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Refuse what is half described, a log store beside files, and a name that is another one's."""
        if mistakes := {
            **store_mistakes(self),
            **metrics_mistakes(self),
            **ssh_mistakes(self),
            **dump_mistakes(self),
            **name_mistakes(self.name, self._state.adding),
        }:
            raise ValidationError(mistakes)


class Node(models.Model):
    """One node as the scheduler describes it."""

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="nodes")
    name = models.CharField(max_length=255)
    state = models.CharField(max_length=128)
    available = models.BooleanField(default=True)
    reason = models.CharField(max_length=500, blank=True, default="")
    reason_by = models.CharField(max_length=64, blank=True, default="")
    reason_at = models.DateTimeField(null=True, blank=True)
    booted_at = models.DateTimeField(null=True, blank=True)
    partitions = models.JSONField(default=list)
    seen_at = models.DateTimeField()

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        ordering = ("cluster", "name")
        constraints = (models.UniqueConstraint(fields=("cluster", "name"), name="node_once_per_cluster"),)

    def __str__(self) -> str:
        return self.name


LISTED_BY = ("name", "user", "partition", "created_at", "newest_state")  # lists are filtered and sorted by these


class Job(models.Model):
    """One submission: cluster, number and epoch, because numbers come round again (decisions 10).

    `newest_…` repeats the newest attempt, so that a list of a hundred thousand jobs needs no look at theirs.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="jobs")
    number = models.BigIntegerField()
    epoch = models.PositiveIntegerField(default=0)
    array_job = models.BigIntegerField(null=True, blank=True)
    array_task = models.BigIntegerField(null=True, blank=True)
    het_leader = models.BigIntegerField(null=True, blank=True)
    workflow_id = MaskedCharField(max_length=256, blank=True, default="", db_index=True)
    name = models.CharField(max_length=255)
    user = models.CharField(max_length=64)
    user_id = models.BigIntegerField(null=True, blank=True)
    account = models.CharField(max_length=128, blank=True, default="")
    partition = models.CharField(max_length=128, blank=True, default="")
    node_count = models.PositiveIntegerField(default=0)
    requeue_allowed = models.BooleanField(default=True)
    work_dir = models.CharField(max_length=4096, blank=True, default="")
    stdout = models.CharField(max_length=4096, blank=True, default="")
    stderr = models.CharField(max_length=4096, blank=True, default="")
    comment = models.TextField(blank=True, default="")
    opt_in = models.JSONField(default=dict, help_text="The parsed comment.")
    opt_in_error = MaskedCharField(max_length=500, blank=True, default="")
    wish = models.CharField(
        max_length=8,
        choices=Wish.choices(),
        default=Wish.NOTHING.value,
        help_text="What the comment asks for, in one word: lists are filtered by it.",
    )
    newest_index = models.PositiveIntegerField(default=0, help_text="Of its newest attempt.")
    newest_state = models.CharField(
        max_length=16, choices=JobState.choices(), blank=True, default="", help_text="Of its newest attempt."
    )
    created_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    missing_listings = models.PositiveSmallIntegerField(default=0)
    missing_since = models.DateTimeField(null=True, blank=True)
    live = models.BooleanField(default=True, db_index=True, help_text="Whether the scheduler still lists it.")

    cluster_at = "cluster"
    objects = InSight()

    class Meta:
        ordering = ("-created_at", "-id")
        permissions = (("view_job_log", "Can read whole logs of jobs"),)
        constraints = (models.UniqueConstraint(fields=("cluster", "number", "epoch"), name="job_identity"),)
        indexes = (
            models.Index(fields=("cluster", "array_job"), name="job_by_array"),
            models.Index(fields=("live", "cluster", "newest_state"), name="job_by_standing"),
            *(models.Index(fields=(one,), name=f"job_by_{one}") for one in LISTED_BY),
        )

    def __str__(self) -> str:
        return str(self.number)


class Attempt(models.Model):
    """One execution of a job: job and restart count. Appended, never overwritten."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="attempts")
    index = models.PositiveIntegerField()
    heimdall_id = models.UUIDField(unique=True)
    state = models.CharField(max_length=16, choices=JobState.choices())
    scheduler_word = models.CharField(max_length=64, blank=True, default="")
    reason = models.CharField(max_length=255, blank=True, default="")
    nodes = models.JSONField(default=list, help_text="As listed while it ran: the list shrinks while it ends.")
    exit_code = models.IntegerField(null=True, blank=True)
    exit_signal = models.IntegerField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    first_seen_at = models.DateTimeField()
    last_step = models.BigIntegerField(null=True, blank=True)
    last_step_at = models.DateTimeField(null=True, blank=True)
    first_step = models.BigIntegerField(null=True, blank=True)
    last_checkpoint_step = models.BigIntegerField(null=True, blank=True)
    loaded_checkpoint_step = models.BigIntegerField(null=True, blank=True)
    baseline_step_seconds = models.FloatField(null=True, blank=True)
    phase = models.CharField(max_length=16, choices=Phase.choices(), default=Phase.STARTING.value)
    blind_since = models.DateTimeField(null=True, blank=True, db_index=True)
    blind_reason = MaskedCharField(max_length=1000, blank=True, default="")
    read_due_at = models.DateTimeField(null=True, blank=True, db_index=True)
    looked_at = models.DateTimeField(
        null=True, blank=True, help_text="When its log was looked at last, with or without news."
    )
    judge_due_at = models.DateTimeField(null=True, blank=True, db_index=True)
    thin_due_at = models.DateTimeField(null=True, blank=True, db_index=True)
    settled_at = models.DateTimeField(
        null=True,
        blank=True,
        db_index=True,
        help_text="When its log had been read to the end; empty again when the details were deleted.",
    )
    command_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="When a controller announced its first command on it while it ran; the rest is our doing.",
    )
    changed_at = models.DateTimeField(db_index=True)

    cluster_at = "job__cluster"
    objects = InSight()

    class Meta:
        ordering = ("job", "index")
        constraints = (models.UniqueConstraint(fields=("job", "index"), name="attempt_identity"),)

    def __str__(self) -> str:
        return self.label

    @property
    def label(self) -> str:
        """`12345-0`."""
        return f"{self.job.number}-{self.index}"
