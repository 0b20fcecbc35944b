"""What is stored that answers the five questions about a job? Nine queries, whatever the job did."""

from collections.abc import Sequence
from datetime import datetime
from statistics import median

from django.utils.translation import gettext as _

from console.evidence import Judgement, judgement_of
from console.five_questions import (
    AFTER,
    BEFORE,
    Answer,
    NodeNow,
    Pace,
    Proof,
    Saved,
    checkpoint_ready,
    has_witness,
    lost_steps,
    message_matches,
    node_or_job,
    slowness,
)
from console.job_rows import anomalies_of, attempts_of, excerpts_of, state_of, verdicts_of
from detectors.attribution.told import EVENTS, STREAM
from detectors.catalogue.kind import AnomalyKind
from detectors.models import Anomaly, Excerpt, HealthEvent
from schedulers.states import FINAL, JobState
from workloads.limits import effective_limits
from workloads.models import Attempt, Cluster, Job, Node
from workloads.progress_models import Checkpoint, ProgressPoint

COPIES_READ = 4  # each up to 256 KiB
TOLD_READ = 50
NODES_READ = 64
PACE_POINTS = 20


def answers_on(job: Job, cluster: Cluster) -> tuple[Attempt | None, list[Answer]]:
    """The attempt that they speak of (the newest that was judged, else the newest), and the answers."""
    attempts = attempts_of(job)
    if not attempts:
        return None, []
    verdicts = verdicts_of(attempts)
    judged = [one for one in attempts if one.pk in verdicts]
    attempt = judged[-1] if judged else attempts[-1]
    anomalies = anomalies_of([attempt]).get(attempt.pk, [])
    verdict = verdicts.get(attempt.pk)
    copies = excerpts_of([attempt]).get(attempt.pk, []) if verdict else []
    judgement = judgement_of(verdict, anomalies, copies) if verdict else None
    failed_at = verdict.happened_at if verdict else attempt.ended_at
    culprits = list(judgement.culprits) if judgement else []
    nodes = _nodes(cluster, culprits or [str(node) for node in attempt.nodes])
    return attempt, [
        message_matches(_proofs(judgement)),
        has_witness(culprits, _told(cluster, culprits, judgement, failed_at)),
        node_or_job(
            nodes,
            failed_at,
            seen=cluster.cannot_see_since is None,
            node_failed=state_of(attempt) is JobState.NODE_FAIL,
            ended=state_of(attempt) in FINAL,
        ),
        checkpoint_ready(_saved(attempts, attempt), failed_at, blind=attempt.blind_since is not None),
        _slowness(attempts[-1], anomalies if attempts[-1] is attempt else [], culprits, cluster),
    ]


def _proofs(judgement: Judgement | None) -> list[Proof]:
    if judgement is None:
        return []
    quotes = [quote for quote in judgement.quotes if quote.offset is not None]
    wanted = list(dict.fromkeys(quote.excerpt for quote in quotes if quote.excerpt is not None))[:COPIES_READ]
    copies = {copy.pk: copy for copy in Excerpt.objects.filter(pk__in=wanted)} if wanted else {}
    proofs = []
    for quote in quotes:
        copy = copies.get(quote.excerpt or 0)
        if copy is None or quote.offset is None:
            proofs.append(Proof(kept=False, stands=False))
            continue
        content, line = copy.text.encode("utf-8", "surrogatepass"), quote.line.encode("utf-8", "surrogatepass")
        place = quote.offset - copy.offset
        exact = content.startswith(line, place)
        # Bytes that are no text, and colours that were taken off, move what follows: the line itself tells.
        proofs.append(Proof(kept=place < len(content), stands=exact or line in content))
    return proofs


def _told(
    cluster: Cluster, hosts: Sequence[str], judgement: Judgement | None, failed_at: datetime | None
) -> list[tuple[str, str]]:
    if not hosts or failed_at is None:
        return []
    rows = HealthEvent.objects.filter(
        cluster=cluster, node__in=hosts, healthy=False, happened_at__range=(failed_at - BEFORE, failed_at + AFTER)
    )
    told = [(row.node, _health(row)) for row in rows.order_by("-fatal", "happened_at")[:TOLD_READ]]
    for quote in judgement.quotes if judgement else ():
        if quote.stream.startswith((EVENTS, STREAM)) and quote.host in hosts:
            told.append((quote.host, quote.line))
    return list(dict.fromkeys(told))


def _health(row: HealthEvent) -> str:
    names = {"check": row.check_name, "time": f"{row.happened_at:%H:%M:%S} UTC", "agent": row.agent or row.source}
    return _("%(check)s at %(time)s, told by %(agent)s") % names


def _nodes(cluster: Cluster, names: Sequence[str]) -> list[NodeNow]:
    rows = Node.objects.filter(cluster=cluster, name__in=list(names)[:NODES_READ]).order_by("name")
    return [NodeNow(row.name, row.state, row.reason, row.booted_at) for row in rows]


def _saved(attempts: Sequence[Attempt], attempt: Attempt) -> Saved | None:
    """The newest checkpoint of this attempt and those before it."""
    so_far = [one for one in attempts if one.index <= attempt.index]
    steps = [one.last_checkpoint_step for one in so_far if one.last_checkpoint_step is not None]
    if not steps:
        return None
    step = max(steps)
    rows = Checkpoint.objects.filter(attempt__in=so_far, deed="saved", step=step).order_by("-pk")
    return Saved(step, rows.values_list("at", flat=True).first(), lost_steps(attempt.last_step, step))


def _slowness(newest: Attempt, anomalies: Sequence[Anomaly], culprits: Sequence[str], cluster: Cluster) -> Answer:
    """Of the newest attempt: what is over does not hold anybody up."""
    standing = [one for one in anomalies if one.refuted_at is None]
    said = {kind: next((a.sentence for a in standing[::-1] if a.kind == kind), "") for kind in AnomalyKind}
    points = ProgressPoint.objects.filter(attempt=newest, step_seconds__isnull=False).order_by("-at", "-id")
    seconds = [float(value) for value in points.values_list("step_seconds", flat=True)[:PACE_POINTS] if value]
    factor = effective_limits(cluster.detector_limits)["straggler_factor"]
    pace = Pace(median(seconds) if seconds else None, newest.baseline_step_seconds, factor)
    return slowness(said[AnomalyKind.STRAGGLER], said[AnomalyKind.HANG], culprits, pace)
