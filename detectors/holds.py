"""Does the scheduler itself hold a waiting attempt? Nothing runs, and without a person it waits for ever.

What the scheduler says is the symptom; there are no lines. The node that could not start the job is named where the
scheduler's reason for it tells: a node of the attempt before, or the only one that failed just then.
"""

from datetime import datetime, timedelta

from django.db import transaction

from audit.trail import record
from detectors.attribution.facts import NodeFacts
from detectors.attribution.told import STREAM, reason_told
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.records import Evidence, Finding
from detectors.catalogue.role import Role
from detectors.found import store_told, take_back
from detectors.models import Anomaly
from schedulers.holds import OwnHold, own_hold
from schedulers.states import JobState
from workloads.models import Attempt, Node

KEY = "scheduler_hold"
SIGNATURE = "slurm.hold"
FAILED_TO_START = ("Prolog error", "batch job complete failure")
BEFORE, AFTER = timedelta(seconds=120), timedelta(seconds=60)
"""Around the moment of the requeue: a prolog fails a little before it, and clocks differ."""
CONFIDENCE = 0.9  # that the scheduler holds it, by its own words
MOST = 1000  # nodes with such a reason looked through


def note_hold(attempt: Attempt, now: datetime) -> None:
    """Store that the scheduler holds the attempt, with job and cluster; or that it does so no more."""
    hold = own_hold(JobState(attempt.state), attempt.scheduler_word, attempt.reason)
    row = Anomaly.objects.filter(attempt=attempt, key=KEY).first()
    with transaction.atomic():
        if hold is not None:
            entries = store_told(attempt, _finding(attempt, hold, row.happened_at if row else None, now), now)
        elif row is not None and row.refuted_at is None:
            entries = take_back(row, f"The scheduler holds attempt {attempt.label} no more.", now)
        else:
            return
        if entries:
            record(entries, now)


def _finding(attempt: Attempt, hold: OwnHold, since: datetime | None, now: datetime) -> Finding:
    node = _failed_node(attempt, now) if hold.of_launch else None
    at = since or min(attempt.submitted_at or now, now)
    said = f"{attempt.scheduler_word}: {attempt.reason}"[:500]
    evidence = [Evidence("scheduler: job", 0, said, at)]
    if node is not None:
        line = f"{'+'.join(node.states)}: {node.reason}"[:500]
        evidence.append(Evidence(f"{STREAM}{node.name}", 0, line, node.reason_at, node.name))
    because = f"{hold.because}: {node.name} ({node.reason[:100]})" if node else hold.because
    return Finding(
        key=KEY,
        kind=AnomalyKind.CRASH,
        sentence=f"The scheduler holds the job, as {because}",
        happened_at=at,
        basis="state",
        signature=SIGNATURE,
        layer=Layer.SCHEDULER,
        role=Role.ROOT,
        nodes=(node.name,) if node else (),
        evidence=tuple(evidence),
        confidence=CONFIDENCE,
    )


def _failed_node(attempt: Attempt, now: datetime) -> NodeFacts | None:
    """The node whose reason says that it failed to start a job just then; `None` when there are several."""
    before = Attempt.objects.filter(job=attempt.job, index=attempt.index - 1).only("nodes", "started_at").first()
    at = attempt.submitted_at or now
    nodes = Node.objects.filter(
        cluster_id=attempt.job.cluster_id, available=False, reason_at__gte=at - BEFORE, reason_at__lte=at + AFTER
    ).exclude(reason="")
    found = []
    for row in nodes.order_by("-reason_at", "pk")[:MOST]:
        facts = NodeFacts(row.name, tuple(row.state.split("+")), row.reason, row.reason_at, row.reason_by)
        own = before is None or not before.nodes or row.name in before.nodes
        if own and row.reason.startswith(FAILED_TO_START) and reason_told(facts) is not None:
            found.append(facts)
    return found[0] if len(found) == 1 else None
