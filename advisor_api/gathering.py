"""Which facts does the database hold for a decision? A fixed number of queries, whatever the size of the job."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Max, QuerySet

from advisor_api.array_facts import array_facts
from advisor_api.models import Exclusion, Milestone
from advisor_api.policy.facts import Excluded, Facts, NamedNode
from advisor_api.policy.history import Counts, Past, count
from advisor_api.policy.values import Policy
from advisor_api.recent_restarts import recent_restarts
from advisor_api.repeating import repeats_of
from advisor_api.told_outside import told_outside
from audit.event_type import EventType
from audit.models import AuditEvent
from detectors.attribution.action import VerdictAction
from detectors.attribution.evidence_status import EvidenceStatus
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.incidents import jobs_struck
from detectors.models import Verdict
from schedulers.states import JobState
from workloads.mode import Mode
from workloads.models import Attempt, Cluster, Job, Node
from workloads.opt_in import read_stored
from workloads.progress_models import Checkpoint

HISTORY_LIMIT = 20  # attempts looked back: twice the default cap on requeues
JITTER = 0.2
HARDWARE = frozenset({"hardware", "network"})
NODE_COLUMNS = ("name", "state", "available", "partitions", "reason", "reason_at")
OWN = "rekindle"  # with which the name of a job of ours begins: a controller or watchdog that runs as one
KILL_FAILED = "Kill task failed"  # the scheduler's own reason when it drains a node whose processes stay


@dataclass(frozen=True)
class Partition:
    """The nodes of one partition at the moment: how many, how many usable, which excluded."""

    size: int
    available: int
    excluded: tuple[Excluded, ...]
    nodes: dict[str, Node]

    def word(self, name: str) -> str:
        """The scheduler's words for the state of one node, in lower case; empty for an unknown one."""
        return self.nodes[name].state.lower() if name in self.nodes else ""


def gather(verdict: Verdict, policy: Policy, now: datetime) -> Facts:
    """The facts about `verdict.attempt`. Reads `verdict.attempt.job.cluster`; about twenty queries."""
    attempt, job = verdict.attempt, verdict.attempt.job
    own = Verdict.objects.filter(attempt=attempt)
    others = active_exclusions(job.cluster, now).exclude(verdict_id__in=own.values("uuid"))
    partition = look_at_partition(job, others, now)
    attempts = _attempts(attempt)
    counts = _counts(attempts)
    return Facts(
        **_of_attempt(attempt, partition),
        **_of_verdict(verdict, policy, partition, now),
        **_of_cluster(job, policy, partition, now),
        **asdict(counts),
        **asdict(array_facts(verdict, policy, now)),
        requeues=attempt.index,
        earlier_checkpoint=_saved_before(attempts, counts.checkpoint),
        attempts_in_window=_begun_since(attempts, now - timedelta(seconds=policy.attempts_window_seconds)),
        kill_failed=_kill_failed(attempts, partition),
    )


def _of_attempt(attempt: Attempt, partition: Partition) -> dict[str, Any]:
    """The attempt and its job, as the scheduler and the job's owner describe them."""
    job = attempt.job
    repeats = repeats_of(job, attempt.ended_at)
    return {
        "label": attempt.label,
        "state": JobState(attempt.state),
        "word": attempt.scheduler_word or attempt.state,
        "partition": job.partition,
        "node_count": max(job.node_count, len(attempt.nodes), 1),
        "ended_at": attempt.ended_at,
        "listed": job.live,
        "newer_attempt": Attempt.objects.filter(job=job, index__gt=attempt.index).exists(),
        "command_given": command_given(attempt),
        "own": job.name.lower().startswith(OWN),
        "maintained": tuple(name for name in attempt.nodes if "maint" in partition.word(name)),
        "outer_retries": repeats.before,
        "resubmitted": repeats.after,
        "requeue_allowed": job.requeue_allowed,
        "max_requeue_times": read_stored(job.opt_in).max_requeue_times,
        "blind": attempt.blind_since is not None,
        "jitter": _jitter(attempt),
    }


def _of_verdict(verdict: Verdict, policy: Policy, partition: Partition, now: datetime) -> dict[str, Any]:
    """What was concluded, and what has been seen since."""
    attempt = verdict.attempt
    return {
        "kind": AnomalyKind(verdict.kind),
        "layer": Layer(verdict.layer),
        "signature": verdict.signature,
        "action": VerdictAction(verdict.action),
        "evidence_status": EvidenceStatus(verdict.evidence_status),
        "confidence": verdict.confidence,
        "named": _named(verdict, partition),
        "newer_verdict": Verdict.objects.filter(attempt=attempt, pk__gt=verdict.pk).exists(),
        "judged_seconds": round(max(0.0, (now - verdict.judged_at).total_seconds()), 1),
        "jobs_struck": jobs_struck(verdict, timedelta(seconds=policy.storm_window_seconds)),
        "progressed_since": attempt.last_step_at is not None and attempt.last_step_at > verdict.judged_at,
    }


def _of_cluster(job: Job, policy: Policy, partition: Partition, now: datetime) -> dict[str, Any]:
    """The cluster, the job's partition, and what else was restarted there."""
    cluster, restarted = job.cluster, recent_restarts(job, policy, now)
    return {
        "mode": Mode(cluster.mode),
        "cannot_see": cluster.cannot_see_since is not None,
        "min_job_age_seconds": cluster.min_job_age_seconds,
        "partition_size": partition.size,
        "partition_available": partition.available,
        "partition_restarts": restarted.in_partition,
        "user_restarts": restarted.of_user,
        "excluded": partition.excluded,
    }


def look_at_partition(job: Job, exclusions: QuerySet[Exclusion], now: datetime) -> Partition:
    """The nodes of the job's partition (of the cluster when the job names none), and which are excluded.

    A node that several verdicts exclude weighs as much as the weightiest. What an earlier verdict on the same
    attempt has excluded is left out of `exclusions`: the newer one replaces it.
    """
    wanted = set(filter(None, job.partition.split(",")))
    nodes = {
        node.name: node
        for node in Node.objects.filter(cluster=job.cluster).only(*NODE_COLUMNS)
        if not wanted or wanted & set(node.partitions)
    }
    excluded: dict[str, Excluded] = {}
    for row in exclusions.order_by("-since", "-id"):
        if row.node in nodes:
            own, known = row.by_log_alone and row.user == job.user, excluded.get(row.node)
            weight = max(row.weight_at(now), known.weight if known else 0.0)
            own = own and (known is None or known.by_own_log)
            excluded[row.node] = Excluded(row.node, nodes[row.node].available, weight, own)
    return Partition(
        size=len(nodes),
        available=sum(node.available for node in nodes.values()),
        excluded=tuple(excluded.values()),
        nodes=nodes,
    )


def active_exclusions(cluster: Cluster, now: datetime) -> QuerySet[Exclusion]:
    """Exclusions that hold at `now`. Each begins when it is made, whatever the clock of whoever finds it."""
    return Exclusion.objects.filter(cluster=cluster, until__gt=now, lifted_at=None)


def command_given(attempt: Attempt) -> bool:
    """Whether a controller announced or did anything for an advice on this attempt."""
    if Milestone.objects.filter(sequence__advice__attempt=attempt).exists():
        return True
    announced = AuditEvent.objects.filter(heimdall_job_id=attempt.heimdall_id, type=EventType.INTENT.value)
    return announced.filter(advice_generation__isnull=False).exists()


def _named(verdict: Verdict, partition: Partition) -> tuple[NamedNode, ...]:
    """The culprits that are nodes of the attempt and known to the scheduler: a log may name anything."""
    own = set(verdict.attempt.nodes)
    surest: dict[str, float] = {}
    for row in _rows(verdict.implicated):
        host, confidence = row.get("host"), row.get("confidence")
        culprit = row.get("role") == "culprit" and row.get("excludable") is True
        if not culprit or not isinstance(host, str) or not isinstance(confidence, int | float):
            continue
        if host in own and host in partition.nodes:
            surest[host] = max(surest.get(host, 0.0), float(confidence))
    outside = told_outside(verdict, surest) if surest else frozenset()
    named = [
        NamedNode(
            host,
            confidence,
            available=partition.nodes[host].available,
            drained="drain" in partition.word(host),
            witnessed=host in outside,
        )
        for host, confidence in surest.items()
    ]
    return tuple(sorted(named, key=lambda node: (-node.confidence, node.host)))


def _attempts(attempt: Attempt) -> list[Attempt]:
    """This one and those before it, oldest first."""
    earlier = Attempt.objects.filter(job=attempt.job, index__lte=attempt.index)
    return list(earlier.order_by("-index")[:HISTORY_LIMIT])[::-1]


def _saved_before(attempts: Sequence[Attempt], checkpoint: int | None) -> int | None:
    """The step of the newest checkpoint that these attempts saved before the one of step `checkpoint`."""
    if checkpoint is None or len(attempts) < 2:
        return None
    saved = Checkpoint.objects.filter(attempt__in=attempts, deed="saved", step__lt=checkpoint)
    step: int | None = saved.aggregate(newest=Max("step"))["newest"]
    return step


def _begun_since(attempts: Sequence[Attempt], since: datetime) -> int:
    return sum(1 for each in attempts if each.started_at is not None and each.started_at > since)


def _kill_failed(attempts: Sequence[Attempt], partition: Partition) -> tuple[str, ...]:
    """The nodes of these attempts that the scheduler has drained since the first began, as a kill failed there."""
    begun_at = min((each.started_at for each in attempts if each.started_at is not None), default=None)
    found = []
    for name in sorted({name for each in attempts for name in each.nodes}):
        node = partition.nodes.get(name)
        if node is None or not node.reason.startswith(KILL_FAILED) or "drain" not in partition.word(name):
            continue
        if node.reason_at is None or begun_at is None or node.reason_at >= begun_at:
            found.append(name)
    return tuple(found)


def _counts(attempts: Sequence[Attempt]) -> Counts:
    verdicts: dict[int, Verdict] = {}
    for verdict in Verdict.objects.filter(attempt__in=attempts).defer("body").order_by("id"):
        verdicts[verdict.attempt_id] = verdict  # the newest one stands
    return count(_history(attempts, verdicts))


def _history(attempts: Sequence[Attempt], verdicts: dict[int, Verdict]) -> list[Past]:
    blamed: set[str] = set()
    history = []
    for attempt in attempts:
        verdict = verdicts.get(attempt.pk)
        hosts = _blamed(verdict)
        history.append(
            Past(
                index=attempt.index,
                fingerprint=verdict.fingerprint if verdict else "",
                first_step=attempt.first_step,
                last_step=attempt.last_step,
                last_checkpoint_step=attempt.last_checkpoint_step,
                loaded_checkpoint_step=attempt.loaded_checkpoint_step,
                readable=attempt.blind_since is None,
                names_new_host=bool(hosts - blamed),
            )
        )
        blamed |= hosts
    return history


def _blamed(verdict: Verdict | None) -> set[str]:
    if verdict is None or Layer(verdict.layer).domain not in HARDWARE:
        return set()
    return {str(row.get("host")) for row in _rows(verdict.implicated) if row.get("role") == "culprit"}


def _rows(stored: Any) -> list[dict[str, Any]]:
    return [row for row in stored if isinstance(row, dict)] if isinstance(stored, list) else []


def _jitter(attempt: Attempt) -> float:
    """-0.2 to 0.2, always the same for one attempt: a decision can be computed again."""
    return round((attempt.heimdall_id.int % 1001) / 1000 * 2 * JITTER - JITTER, 4)
