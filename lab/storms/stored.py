"""Does what is stored at the end hold together, and is it true? Judged by what really happened."""

from collections.abc import Iterator

from advisor_api.gathering import active_exclusions
from advisor_api.models import Advice, Exclusion
from advisor_api.policy.operation import Operation
from audit.event_type import EventType
from audit.models import AuditEvent
from detectors.catalogue.kind import AnomalyKind
from detectors.incident_counts import COUNTED, standing_in
from detectors.models import Anomaly, Incident
from lab.simulate.jobs import AttemptRow
from lab.simulate.model import Cluster
from lab.storms.checking import FAILED, Checker
from lab.storms.drawing import OWN_NAME
from schedulers.states import FAILURES, JobState
from workloads.models import Attempt
from workloads.models import Cluster as Row

CHANGING = (Operation.RESTART.value, Operation.TERMINATE.value)


def check_caps(checker: Checker) -> None:
    """How many nodes are excluded at the moment [6]; to be asked at any time."""
    row = Row.objects.get(name=checker.plan.name)
    active = active_exclusions(row, checker.clock.now()).values("node").distinct().count()
    if active > checker.most_excluded:
        checker.violations.append(f"[6] {active} nodes are excluded, at most {checker.most_excluded} may be")


def check_stored(checker: Checker, touched: set[tuple[int, int]]) -> None:
    """Everything, at the end. `touched`: attempts to which somebody outside did what may look like a failure."""
    rows = {(row.number, place): row for row, place in _rows(checker.cluster)}
    struck = touched | checker.struck | checker.hush.look(checker.clock.seconds)
    checker.violations += _advice(checker, rows, struck)
    checker.violations += _states(checker, rows, touched | checker.struck)
    checker.violations += _silence(checker, struck)
    checker.violations += _exclusions(checker)
    checker.violations += _counts(checker)


def _rows(cluster: Cluster) -> Iterator[tuple[AttemptRow, int]]:
    for rows in (*(job.rows for job in cluster.jobs.values()), *cluster.forgotten.values()):
        yield from ((row, place) for place, row in enumerate(rows))


def _advice(
    checker: Checker, rows: dict[tuple[int, int], AttemptRow], struck: set[tuple[int, int]]
) -> Iterator[str]:
    given = Advice.objects.filter(attempt__job__cluster__name=checker.plan.name).select_related("attempt__job")
    told = set(
        AuditEvent.objects.filter(cluster=checker.plan.name, type=EventType.ADVICE.value).values_list(
            "heimdall_job_id", "advice_generation"
        )
    )
    for advice in given.select_related("verdict"):
        attempt = advice.attempt
        place = (attempt.job.number, attempt.index)
        if (attempt.heimdall_id, advice.generation) not in told:
            yield f"[3] advice {advice.generation} on {attempt.label} has no event"
        if attempt.job.name == OWN_NAME:
            yield f"[9] advice on {attempt.label}, a job of our own"
        if advice.operation not in CHANGING:
            continue
        if advice.verdict is not None and advice.verdict.kind == AnomalyKind.EARLY_WARNING:
            yield f"[6] a {advice.operation} of {attempt.label} for an early warning"
        if place not in struck and (place not in rows or rows[place].state not in FAILED):
            word = rows[place].state if place in rows else "unknown"
            yield f"[1] a {advice.operation} of {attempt.label}, which is {word} and was struck by nothing"


def _states(
    checker: Checker, rows: dict[tuple[int, int], AttemptRow], struck: set[tuple[int, int]]
) -> Iterator[str]:
    """The accounting says REQUEUED of an attempt that failed and was then requeued: it must have been struck."""
    failed = [state.value for state in FAILURES]
    for attempt in Attempt.objects.filter(job__cluster__name=checker.plan.name, state__in=failed).select_related(
        "job"
    ):
        place = (attempt.job.number, attempt.index)
        row = rows.get(place)
        if row is not None and row.state not in FAILED and not (row.state == "REQUEUED" and place in struck):
            yield f"[1] {attempt.label} is stored as {JobState(attempt.state)}, and is {row.state}"


def _silence(checker: Checker, struck: set[tuple[int, int]]) -> Iterator[str]:
    hangs = Anomaly.objects.filter(attempt__job__cluster__name=checker.plan.name, kind=AnomalyKind.HANG.value)
    for anomaly in hangs.filter(refuted_at=None).select_related("attempt__job"):
        if (anomaly.attempt.job.number, anomaly.attempt.index) not in struck:
            yield f"[2] {anomaly.attempt.label} is said to hang, and was struck by nothing: {anomaly.sentence[:99]}"


def _exclusions(checker: Checker) -> Iterator[str]:
    names = set(checker.cluster.nodes)
    for one in Exclusion.objects.filter(cluster__name=checker.plan.name):
        lasts = (one.until - one.since).total_seconds()
        if not 0 < lasts <= checker.policy.exclusion_seconds:
            yield f"[6] the exclusion of {one.node[:80]} lasts {lasts:.0f} s"
        if one.node not in names:
            yield f"[10] a node that does not exist is excluded: {one.node[:80]}"


def _counts(checker: Checker) -> Iterator[str]:
    """What the rows of incidents say of themselves, whatever moved the verdicts that stand in them."""
    for row in Incident.objects.filter(cluster__name=checker.plan.name):
        for column, number in standing_in(row.pk).aggregate(**COUNTED).items():
            if getattr(row, column) != number:
                yield f"[3] {column} of an incident is {getattr(row, column)}, and {number} stand in it: {row}"
