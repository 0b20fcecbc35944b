"""Which facts does the database hold for a decision? A fixed number of queries, whatever the size of the job."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet

from advisor_api.gates import may_act
from advisor_api.models import Advice, Exclusion, Milestone
from advisor_api.pausing import active_pauses
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.facts import Excluded, Facts, NamedNode
from advisor_api.policy.history import Counts, Past, count
from advisor_api.policy.operation import Operation
from advisor_api.policy.values import Policy
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

HISTORY_LIMIT = 20  # attempts looked back: twice the default cap on requeues
JITTER = 0.2
LONGEST_RECOVERY = timedelta(days=1)  # from advice to its last command: far above expiry, back-off and hold
HARDWARE = frozenset({"hardware", "network"})


@dataclass(frozen=True)
class Partition:
    """The nodes of one partition at the moment: how many, how many usable, which excluded (newest first)."""

    size: int
    available: int
    excluded: tuple[Excluded, ...]
    nodes: dict[str, Node]


def gather(verdict: Verdict, policy: Policy, now: datetime) -> Facts:
    """The facts about `verdict.attempt`. Reads `verdict.attempt.job.cluster`; about fourteen queries."""
    attempt, job = verdict.attempt, verdict.attempt.job
    cluster = job.cluster
    own = Verdict.objects.filter(attempt=attempt)
    partition = look_at_partition(job, active_exclusions(cluster, now).exclude(verdict_id__in=own.values("uuid")))
    wish = read_stored(job.opt_in)
    struck = jobs_struck(verdict, timedelta(seconds=policy.storm_window_seconds))
    return Facts(
        label=attempt.label,
        state=JobState(attempt.state),
        word=attempt.scheduler_word or attempt.state,
        partition=job.partition,
        node_count=max(job.node_count, len(attempt.nodes), 1),
        ended_at=attempt.ended_at,
        listed=job.live,
        newer_attempt=Attempt.objects.filter(job=job, index__gt=attempt.index).exists(),
        command_given=command_given(attempt),
        kind=AnomalyKind(verdict.kind),
        layer=Layer(verdict.layer),
        signature=verdict.signature,
        action=VerdictAction(verdict.action),
        evidence_status=EvidenceStatus(verdict.evidence_status),
        confidence=verdict.confidence,
        named=_named(verdict, partition),
        newer_verdict=own.filter(pk__gt=verdict.pk).exists(),
        jobs_struck=struck,
        progressed_since=attempt.last_step_at is not None and attempt.last_step_at > verdict.judged_at,
        requeues=attempt.index,
        **asdict(_counts(attempt)),
        requeue_allowed=job.requeue_allowed,
        max_requeue_times=wish.max_requeue_times,
        mode=Mode(cluster.mode),
        cannot_see=cluster.cannot_see_since is not None,
        blind=attempt.blind_since is not None,
        min_job_age_seconds=cluster.min_job_age_seconds,
        partition_size=partition.size,
        partition_available=partition.available,
        partition_restarts=restarts_in(cluster, job.partition, policy, now),
        excluded=partition.excluded,
        jitter=_jitter(attempt),
    )


def look_at_partition(job: Job, exclusions: QuerySet[Exclusion]) -> Partition:
    """The nodes of the job's partition (of the cluster when the job names none), and which are excluded.

    What an earlier verdict on the same attempt has excluded is left out of `exclusions`: the newer one replaces it.
    """
    wanted = set(filter(None, job.partition.split(",")))
    nodes = {
        node.name: node
        for node in Node.objects.filter(cluster=job.cluster).only("name", "state", "available", "partitions")
        if not wanted or wanted & set(node.partitions)
    }
    excluded: dict[str, Excluded] = {}
    for exclusion in exclusions.order_by("-since", "-id"):
        if exclusion.node in nodes:
            excluded[exclusion.node] = Excluded(exclusion.node, nodes[exclusion.node].available)
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


def restarts_in(cluster: Cluster, partition: str, policy: Policy, now: datetime) -> int:
    """How many restarts of a partition were acted on within the policy's window, or may be at this very moment.

    Acted on: a command is done, or its intent was accepted and the advice did not come to nothing. What is handed
    out now counts as well: of jobs that die together all are decided on before the first command. Three queries.
    """
    since = now - timedelta(seconds=policy.storm_window_seconds)
    here = Advice.objects.filter(attempt__job__cluster=cluster, attempt__job__partition=partition)
    restarts = here.filter(operation=Operation.RESTART.value, created_at__gt=since - LONGEST_RECOVERY)
    intents = AuditEvent.objects.filter(
        heimdall_job_id=OuterRef("attempt__heimdall_id"),
        type=EventType.INTENT.value,
        advice_generation=OuterRef("generation"),
        at__gt=since,
    )
    intended = Q(Exists(intents)) & ~Q(state=AdviceState.ABANDONED.value)
    done = restarts.filter(Q(sequence__commanded_at__gt=since) | intended)
    acted_on = set(done.values_list("pk", flat=True))
    waiting = restarts.filter(state=AdviceState.PENDING.value, created_at__gt=since, expires_at__gt=now)
    pauses = tuple(active_pauses(cluster, now))
    for advice in waiting.exclude(pk__in=acted_on).select_related("attempt__job"):
        if may_act(advice, cluster, advice.attempt.job, pauses, now)[0]:
            acted_on.add(advice.pk)
    return len(acted_on)


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
    named = [
        NamedNode(
            host,
            confidence,
            available=partition.nodes[host].available,
            drained="drain" in partition.nodes[host].state.lower(),
        )
        for host, confidence in surest.items()
    ]
    return tuple(sorted(named, key=lambda node: (-node.confidence, node.host)))


def _counts(attempt: Attempt) -> Counts:
    attempts = list(
        Attempt.objects.filter(job=attempt.job, index__lte=attempt.index).order_by("-index")[:HISTORY_LIMIT]
    )[::-1]
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
