"""`manage.py cluster`: add, look at, switch, pause and remove clusters without a browser."""

import time
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, transaction
from django.utils import timezone

from advisor_api.pausing import active_pauses, end_pause, pause
from advisor_api.refusals import Refusal
from advisor_api.switching import switch_mode
from audit.command_line import shell_actor
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Entry, record
from detectors.signal_looking import look_at_source
from detectors.signals.grade import Grade
from recovery_site.forgetting import forget
from schedulers.port import SchedulerError
from workloads.log_stores import MAPPED, STORE_KINDS
from workloads.metric_sources import DEFAULT_LABELS
from workloads.mode import Mode
from workloads.models import Cluster
from workloads.pushes import PUSH
from workloads.scheduler_ways import scheduler_of
from workloads.subjects import subject_of_cluster

LONGEST_PAUSE = 30 * 24 * 60  # minutes


class Command(BaseCommand):
    """Each subcommand is a method of the same name."""

    help = "Add, list, look at, switch, pause and remove clusters."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Subcommands and their options."""
        commands = parser.add_subparsers(dest="command", required=True)
        add = commands.add_parser("add", help="watch a cluster, in monitor mode")
        add.add_argument("name")
        add.add_argument("--environment", default="default", help="matched by the controller's environmentPattern")
        _add_scheduler_arguments(add)
        add.add_argument("--partition", action="append", default=[], help="watch only this one; may be repeated")
        _add_file_arguments(add)
        _add_store_arguments(add)
        _add_metrics_arguments(add)
        add.add_argument("--limit", action="append", default=[], metavar="NAME=SECONDS", help="a detector limit")
        add.add_argument("--poll-seconds", type=float, default=15.0)
        commands.add_parser("list", help="names, modes and when each was last seen")
        look = commands.add_parser("look", help="ask the scheduler now and say what it shows; stores nothing")
        labels = commands.add_parser("labels", help="say which label of its log store holds what")
        labels.add_argument("--label", action="append", required=True, metavar="NAME=LABEL")
        labels.add_argument("--job-lines", metavar="SELECTOR", help="and the lines of all jobs in the store")
        mode = commands.add_parser("mode", help="switch the mode")
        remove = commands.add_parser("remove", help="forget a cluster and everything but its trail")
        pause = commands.add_parser(
            "pause", help="let nothing be done on the cluster for a while; it stays watched"
        )
        pause.add_argument("--minutes", type=int, required=True, help="how long")
        pause.add_argument("--reason", required=True)
        resume = commands.add_parser("resume", help="end the pauses of the whole cluster")
        for command in (look, labels, mode, pause, resume, remove):
            command.add_argument("name")
        mode.add_argument("mode", choices=["monitor", "observe", "approve", "action"])
        mode.add_argument("--reason", required=True)
        mode.add_argument(
            "--acknowledge-scheduler-actions",
            action="store_true",
            help="Rekindle may change jobs of this scheduler",
        )
        remove.add_argument("--yes", action="store_true", help="really do it")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Do what the command line says; a mistake is one sentence."""
        try:
            getattr(self, f"_{options['command']}")(options)
        except Cluster.DoesNotExist:
            raise CommandError(f"There is no cluster {options['name']!r}; see `cluster list`.") from None
        except ValidationError as error:
            raise CommandError("; ".join(_sentences(error))) from None
        except DatabaseError as error:
            raise CommandError(f"The database cannot be used ({error}); has `migrate` been run?") from None
        except (Refusal, SchedulerError, ValueError) as error:
            raise CommandError(str(error)) from None

    def _add(self, options: dict[str, Any]) -> None:
        cluster = Cluster(
            name=options["name"],
            environment=options["environment"],
            scheduler_transport=_transport(options),
            ssh_address=options["ssh"],
            ssh_credential=options["ssh_credential"],
            scheduler_path=options["scheduler_path"],
            scheduler_config=options["scheduler_config"],
            partitions=options["partition"],
            log_roots=options["log_root"],
            log_patterns=options["log_pattern"],
            dump_patterns=options["dumps"],
            log_store=options["log_store"],
            log_store_address=options["log_store_address"],
            log_store_job_lines=options["job_lines"],
            log_store_node_lines=options["node_lines"],
            log_store_labels=dict(map(_label, options["label"])),
            log_store_tenant=options["tenant"],
            log_store_credential=options["credential"],
            metrics_address=options["metrics_address"],
            metrics_selector=options["metrics_selector"],
            metrics_labels=dict(map(_label, options["metrics_label"])),
            metrics_credential=options["metrics_credential"],
            detector_limits=dict(map(_limit, options["limit"])),
            poll_seconds=options["poll_seconds"],
        )
        cluster.full_clean()
        with transaction.atomic():
            cluster.save()
            _tell(cluster, "added the cluster, in monitor mode")
        self.stdout.write(f"{cluster.name} is watched in monitor mode: nothing on it will be changed.")
        if not cluster.log_roots and not cluster.log_store:
            self.stdout.write(
                "Without --log-root or --log-store no log may be read: every job will be shown as blind."
            )

    def _list(self, _options: dict[str, Any]) -> None:
        for cluster in Cluster.objects.all():
            seen = f"seen {cluster.seen_at:%Y-%m-%d %H:%M:%S} UTC" if cluster.seen_at else "never seen"
            blind = f"; cannot see: {cluster.cannot_see_reason}" if cluster.cannot_see_since else ""
            if cluster.log_store and cluster.log_store_unseen_since:
                blind += f"; cannot see the log store: {cluster.log_store_unseen_reason}"
            if cluster.metrics_address and cluster.metrics_unseen_since:
                blind += f"; cannot see the metrics: {cluster.metrics_unseen_reason}"
            self.stdout.write(f"{cluster.name:<24} {cluster.mode:<8} {seen}{blind}")

    def _look(self, options: dict[str, Any]) -> None:
        cluster = Cluster.objects.get(name=options["name"])
        scheduler = scheduler_of(cluster, settings.REKINDLE["REKINDLE_COMMAND_SECONDS"])
        limits, jobs, nodes = scheduler.limits(), scheduler.jobs().jobs, scheduler.nodes()
        tested = "" if limits.tested else " (outputs of this version are untested)"
        self.stdout.write(f"Slurm {limits.version}{tested}, cluster {limits.cluster_name}")
        self.stdout.write(f"{len(nodes)} nodes, {sum(node.available for node in nodes)} of them usable")
        states = sorted({row.state.label for row in jobs})
        counts = ", ".join(f"{sum(row.state.label == state for row in jobs)} {state.lower()}" for state in states)
        self.stdout.write(f"{len(jobs)} {'job' if len(jobs) == 1 else 'jobs'}{': ' + counts if counts else ''}")
        for remark in look_at_source(cluster, timezone.now(), time.monotonic):
            if remark.grade is not Grade.FINE or cluster.log_store:
                self.stdout.write(remark.sentence)
        if limits.min_job_age < 120:
            self.stdout.write(f"MinJobAge is {limits.min_job_age} s: below 120 s a failed job may vanish too soon.")
        self.stdout.write(
            f"What its logs give the detectors, job by job: ./run manage check_signals {cluster.name}"
        )

    def _labels(self, options: dict[str, Any]) -> None:
        cluster = Cluster.objects.get(name=options["name"])
        if not cluster.log_store:
            raise CommandError(f"{cluster.name} reads files: it has no log store with labels.")
        cluster.log_store_labels = dict(map(_label, options["label"]))
        cluster.log_store_job_lines = options["job_lines"] or cluster.log_store_job_lines
        cluster.changed_at = timezone.now()
        cluster.full_clean()
        with transaction.atomic():
            cluster.save(update_fields=["log_store_labels", "log_store_job_lines", "changed_at"])
            _tell(cluster, "changed the labels of the log store of")
        told = ", ".join(f"{name}={label}" for name, label in cluster.log_store_labels.items())
        self.stdout.write(f"{cluster.name} reads {told} in {cluster.log_store_job_lines}.")

    def _mode(self, options: dict[str, Any]) -> None:
        cluster, mode = Cluster.objects.get(name=options["name"]), Mode.read(options["mode"])
        news = options["acknowledge_scheduler_actions"] and not cluster.acknowledge_scheduler_actions
        with transaction.atomic():
            if news:
                Cluster.objects.filter(pk=cluster.pk).update(acknowledge_scheduler_actions=True)
                _tell(cluster, "acknowledged that Rekindle may change jobs of this scheduler")
            if not (news and mode == cluster.mode):  # else only the acknowledgement was missing
                switch_mode(cluster, mode, cluster.mode_version, options["reason"], shell_actor(), timezone.now())
        self.stdout.write(f"{cluster.name} is in mode {cluster.mode}.")
        if mode is not Mode.MONITOR and not (news or cluster.acknowledge_scheduler_actions):
            self.stdout.write(
                "Nothing is carried out yet: repeat it with --acknowledge-scheduler-actions, "
                "which says that Rekindle may change jobs of this scheduler."
            )

    def _pause(self, options: dict[str, Any]) -> None:
        cluster, now = Cluster.objects.get(name=options["name"]), timezone.now()
        if not 1 <= options["minutes"] <= LONGEST_PAUSE:
            raise CommandError(f"--minutes must be from 1 to {LONGEST_PAUSE}.")
        if not 1 <= len(options["reason"].strip()) <= 1000:
            raise CommandError("Say in 1 to 1000 characters why: the reason stands in the trail.")
        until = now + timedelta(minutes=options["minutes"])
        pause(cluster, "cluster", "", reason=options["reason"], until=until, actor=shell_actor(), now=now)
        self.stdout.write(f"Nothing is done on {cluster.name} until {until:%Y-%m-%d %H:%M} UTC.")

    def _resume(self, options: dict[str, Any]) -> None:
        cluster, now = Cluster.objects.get(name=options["name"]), timezone.now()
        rows = active_pauses(cluster, now).filter(scope="cluster")
        ended = [end_pause(row, shell_actor(), now) for row in rows]
        self.stdout.write(f"{cluster.name} {'is no longer paused' if ended else 'was not paused'}.")

    def _remove(self, options: dict[str, Any]) -> None:
        cluster = Cluster.objects.get(name=options["name"])
        if not options["yes"]:
            raise CommandError(
                f"This forgets all jobs, verdicts and advice of {cluster.name}; repeat it with --yes."
            )
        with transaction.atomic():
            _tell(cluster, "removed the cluster")
            forget(cluster)
        named = ", ".join(cluster.seen_by)
        whose = f" for members of {named} alone (`seen_by {cluster.name}`)" if named else ""
        self.stdout.write(f"{options['name']} is forgotten; its trail is kept{whose}.")


def _transport(options: dict[str, Any]) -> str:
    """How the scheduler is to be seen; raises `CommandError` for two ways at once."""
    if options["push"] and (options["ssh"] or options["scheduler_path"] or options["scheduler_config"]):
        raise CommandError("With --push no command is run from here: leave out --ssh and --scheduler-….")
    if options["push"]:
        return PUSH
    return "ssh" if options["ssh"] else "local"


def _tell(cluster: Cluster, what: str) -> None:
    actor = shell_actor()
    entry = Entry(
        type=EventType.CONFIGURATION,
        subject=subject_of_cluster(cluster),
        actor=actor,
        sentence=f"{actor.name} {what}: {cluster.name}.",
        level=Level.WARNING,
    )
    record([entry], timezone.now())


def _limit(text: str) -> tuple[str, float]:
    name, _, seconds = text.partition("=")
    try:
        return name, float(seconds)
    except ValueError:
        raise ValueError(f"--limit {text!r}: write NAME=SECONDS.") from None


def _add_scheduler_arguments(add: ArgumentParser) -> None:
    add.add_argument("--scheduler-path", default="", help="folder of the scheduler's commands; default: the PATH")
    add.add_argument("--scheduler-config", default="", help="SLURM_CONF; default: the site's own")
    add.add_argument("--ssh", default="", metavar="USER@HOST", help="run the scheduler's commands there")
    add.add_argument("--push", action="store_true", help="run none: its controller pushes what it lists")
    add.add_argument("--ssh-credential", default="", metavar="NAME", help="files in the credentials folder")


def _add_file_arguments(add: ArgumentParser) -> None:
    add.add_argument("--log-root", action="append", default=[], help="folder below which logs may be read")
    add.add_argument("--log-pattern", action="append", default=[], help="e.g. /logs/%%u/%%x_%%j_%%t.log")
    add.add_argument(
        "--dumps", action="append", default=[], metavar="PATTERN", help="e.g. /dumps/%%j/nccl_trace_rank_%%t"
    )


def _add_store_arguments(add: ArgumentParser) -> None:
    add.add_argument(
        "--log-store", default="", choices=["", *dict(STORE_KINDS)], help="read the lines of all jobs there"
    )
    add.add_argument("--log-store-address", default="", metavar="URL", help="e.g. https://loki:3100")
    add.add_argument("--job-lines", default="", metavar="SELECTOR", help="the lines of all jobs in the store")
    add.add_argument("--node-lines", default="", metavar="SELECTOR", help="the kernel lines of all nodes there")
    add.add_argument("--label", action="append", default=[], metavar="NAME=LABEL", help=f"of {', '.join(MAPPED)}")
    add.add_argument("--tenant", default="", help="X-Scope-OrgID of Loki, ACCOUNT:PROJECT of VictoriaLogs")
    add.add_argument("--credential", default="", metavar="NAME", help="a file in the credentials folder")


def _add_metrics_arguments(add: ArgumentParser) -> None:
    add.add_argument(
        "--metrics-address", default="", metavar="URL", help="Prometheus, e.g. https://prometheus:9090"
    )
    add.add_argument("--metrics-selector", default="", metavar="MATCHERS", help='this cluster\'s, e.g. cluster="a"')
    add.add_argument(
        "--metrics-label", action="append", default=[], metavar="NAME=LABEL", help=f"of {', '.join(DEFAULT_LABELS)}"
    )
    add.add_argument("--metrics-credential", default="", metavar="NAME", help="a file in the credentials folder")


def _label(text: str) -> tuple[str, str]:
    name, _, label = text.partition("=")
    return name, label


def _sentences(error: ValidationError) -> list[str]:
    return [f"{name}: {' '.join(messages)}" for name, messages in error.message_dict.items()]
