"""What does the whole product, unchanged, make of one text that a job writes?

A live attempt, on the nodes that the text itself speaks of (two plain ones when it speaks of none), writes the
text. The product reads it. When it finds the cause of a crash itself, or the words of a process that others took
down and no hang, the attempt is then shown as failed; as cancelled when that alone is told; when it finds a hang,
slow steps or a loss that is no number, or nothing, the attempt runs on. Then the product judges and decides by its
default policy, in action mode, on a cluster of its own with spare nodes.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from advisor_api.deciding import decide
from detectors.attribution.symptoms import is_cause, is_victims
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from detectors.diagnosing.judging import CANCELLED
from detectors.diagnosing.speakers import hosts_of
from detectors.judging import judge
from detectors.models import Anomaly, Verdict
from detectors.reading import read_attempt
from lab.score.said import Said
from lab.virtual.said import said_of
from schedulers.states import JobState
from workloads.identity import heimdall_id
from workloads.models import Attempt, Cluster, Job, Node

BEGIN = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)  # a fixed moment: the same file gives the same card
WRITTEN = timedelta(seconds=60)  # after the start
LOOKS = (1, 2, 6, 10, 20, 40)  # seconds after the text was written, and after the end, at which the product looks
SPARES = 40  # nodes beside the attempt's: 5 % of them may be left out
PLAIN = ("plain01", "plain02")
WANTS_ACTION = {"environment": "corpus", "mode": "action", "wants_action": True}
_ORDER = {Role.ROOT: 0, Role.CANDIDATE: 1, Role.CONFIRM: 2, Role.SECONDARY: 3}


@dataclass(frozen=True, slots=True)
class Heard:
    """What became of one text: what was said, the lines quoted, and how far the attempt was seen to come.

    `causes`: how many symptoms may be the cause of an end. `strongest_layer`: that of the symptom which a reader
    would name first, by role and then by place; empty without any.
    """

    said: Said
    causes: int = 0
    first_line: str = ""
    lines: tuple[str, ...] = ()
    strongest_layer: str = ""
    stepped: bool = False
    saved: bool = False


def hear(text: str, folder: Path) -> Heard:
    """Put one text through the product, on a cluster of its own. Raises `RuntimeError` when it is not read."""
    lines = text.split("\n")
    attempt = _attempt(hosts_of(lines, BEGIN) or PLAIN, folder)
    path = Path(attempt.job.stdout)
    path.write_bytes(("\n".join(lines).rstrip("\n") + "\n").encode("utf-8", "replace"))
    written_at = BEGIN + WRITTEN
    os.utime(path, (written_at.timestamp(), written_at.timestamp()))
    _look(attempt, written_at)
    state = _end(attempt)
    if state is not None:
        _ended(attempt, state, written_at + timedelta(seconds=LOOKS[-1] + 1))
    path.unlink()
    return _heard(attempt)


def _attempt(nodes: Sequence[str], folder: Path) -> Attempt:
    """A running attempt in action mode, as an observation would have stored it."""
    number = Cluster.objects.count() + 1
    cluster = Cluster.objects.create(
        name=f"corpus-{number}",
        environment="corpus",
        log_roots=[str(folder)],
        mode="action",
        acknowledge_scheduler_actions=True,
        min_job_age_seconds=300,
        seen_at=BEGIN,
    )
    _nodes(cluster, nodes)
    job = Job.objects.create(
        cluster=cluster,
        number=number,
        name="train",
        user="trainer",
        user_id=os.getuid(),
        partition="main",
        node_count=len(nodes),
        work_dir=str(folder),
        stdout=str(folder / f"slurm-{number}.out"),
        opt_in=WANTS_ACTION,
        created_at=BEGIN,
        seen_at=BEGIN,
    )
    attempt = Attempt.objects.create(
        job=job,
        index=0,
        heimdall_id=heimdall_id(cluster.name, number, 0, 0),
        state=JobState.RUNNING.value,
        scheduler_word="RUNNING",
        nodes=list(nodes),
        submitted_at=BEGIN,
        started_at=BEGIN,
        first_seen_at=BEGIN,
        read_due_at=BEGIN,
        changed_at=BEGIN,
    )
    return _again(attempt)


def _nodes(cluster: Cluster, nodes: Sequence[str]) -> None:
    """The attempt's nodes and the spare ones, all well, in one partition."""
    everywhere = dict.fromkeys((*nodes, *(f"spare{place:02}" for place in range(1, SPARES + 1))))
    Node.objects.bulk_create(
        Node(cluster=cluster, name=name, state="idle", partitions=["main"], seen_at=BEGIN) for name in everywhere
    )


def _look(attempt: Attempt, since: datetime) -> None:
    """What the beat would do about this attempt: read, judge, decide, each when it is due."""
    for seconds in LOOKS:
        now = since + timedelta(seconds=seconds)
        while (seen := _again(attempt)).read_due_at is not None and seen.read_due_at <= now:
            if not read_attempt(seen, now):
                raise RuntimeError(f"the product did not read the text of job {attempt.job.number}")
        _judge(seen, now)


def _judge(seen: Attempt, now: datetime) -> None:
    if seen.judge_due_at is not None and seen.judge_due_at <= now:
        judge(seen, now)
    for verdict in Verdict.objects.filter(attempt=seen, decide_due_at__lte=now):
        decide(verdict, now)


def _end(attempt: Attempt) -> JobState | None:
    """How the scheduler would show the end that the text tells of; `None` where the attempt runs on.

    Other ranks than those that waited in vain get their time to speak first.
    """
    if any(cause.kind == AnomalyKind.CRASH for cause in _causes(attempt)):
        return JobState.FAILED
    due = _again(attempt).judge_due_at
    if due is not None:
        _judge(_again(attempt), due)
    found = list(Anomaly.objects.filter(attempt=attempt, refuted_at=None))
    if Verdict.objects.filter(attempt=attempt).exists() or _again(attempt).phase == "ended":
        return None
    if any(is_victims(AnomalyKind(one.kind), Role(one.role), Layer(one.layer)) for one in found):
        return JobState.FAILED
    return JobState.CANCELLED if any(one.signature == CANCELLED for one in found) else None


def _ended(attempt: Attempt, state: JobState, at: datetime) -> None:
    """The scheduler shows its end, and the product looks on."""
    Attempt.objects.filter(pk=attempt.pk).update(
        state=state.value,
        scheduler_word=state.name,
        exit_code=0 if state is JobState.CANCELLED else 1,
        exit_signal=0,
        ended_at=at,
        read_due_at=at,
    )
    _look(attempt, at)


def _again(attempt: Attempt) -> Attempt:
    return Attempt.objects.select_related("job__cluster").get(pk=attempt.pk)


def _causes(attempt: Attempt) -> list[Anomaly]:
    return [
        one
        for one in Anomaly.objects.filter(attempt=attempt, refuted_at=None)
        if is_cause(AnomalyKind(one.kind), Role(one.role), one.basis)
    ]


def _heard(attempt: Attempt) -> Heard:
    attempt = _again(attempt)
    found = [
        one
        for one in Anomaly.objects.filter(attempt=attempt, refuted_at=None)
        if one.basis != "state" and one.kind != AnomalyKind.BLIND
    ]
    found.sort(key=lambda one: (_ORDER.get(Role(one.role), 4), one.evidence[0]["offset"] if one.evidence else 0))
    verdict = Verdict.objects.filter(attempt=attempt).order_by("-pk").first()
    judged = [str(one["quote"]) for one in verdict.body["evidence"]] if verdict else []
    lines = [str(line["line"]) for one in found for line in one.evidence]
    return Heard(
        said=said_of([attempt.job.cluster.name])[attempt.job.cluster.name],
        causes=len(_causes(attempt)),
        first_line=next(iter(judged or lines), ""),
        lines=tuple(dict.fromkeys((*judged, *lines))),
        strongest_layer=found[0].layer if found else "",
        stepped=attempt.last_step is not None,
        saved=attempt.last_checkpoint_step is not None or attempt.phase == "saving",
    )
