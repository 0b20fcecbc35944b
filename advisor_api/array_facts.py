"""How did the other tasks of a job array fare, and was its owner asked about them? Three queries, however many."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import QuerySet

from advisor_api.models import Advice
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.arrays import TASKS_LOOKED_AT, Task, score_of
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from advisor_api.policy.values import Policy
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.models import Verdict
from schedulers.states import JobState
from workloads.models import Attempt, Job

SAME_ARRAY = timedelta(days=30)  # between its first and its last task; then the number may be another array's
ASKING_RULE = "array_systemic"
FAILURES_COUNTED = frozenset({AnomalyKind.CRASH, AnomalyKind.HANG, AnomalyKind.NAN})
OF_PROGRAM = frozenset({"application", "data"})
OPEN = frozenset({AdviceState.PENDING.value, AdviceState.AWAITING_APPROVAL.value})


@dataclass(frozen=True)
class ArrayFacts:
    """What the policy knows of the array; the defaults are those of a job that is in none.

    `array_score` is that of `advisor_api.policy.arrays`. `array_asked`: a person is asked about this failure
    already; `array_goes_on`: one was, and said no to holding the array.
    """

    array_job: int | None = None
    array_tasks: int = 0
    array_failed: int = 0
    array_score: float = 0.0
    array_asked: bool = False
    array_goes_on: bool = False


def array_facts(verdict: Verdict, policy: Policy, now: datetime) -> ArrayFacts:
    """The facts about the array of `verdict.attempt`, over its fingerprint. Reads `verdict.attempt.job`."""
    job = verdict.attempt.job
    in_array = job.array_job is not None and job.array_task is not None
    if not in_array or not verdict.fingerprint or verdict.kind not in FAILURES_COUNTED:
        return ArrayFacts()
    own = _attempts(job)
    alike = set(_verdicts(job, verdict.fingerprint).values_list("attempt_id", flat=True)) | {verdict.attempt_id}
    rows = own.filter(started_at__isnull=False).order_by("-started_at", "-pk")
    told = rows.values_list("pk", "job_id", "index", "state", "started_at", "ended_at", "nodes")[:TASKS_LOOKED_AT]
    tasks = _tasks(told, alike, now)
    asked = Advice.objects.filter(rule=ASKING_RULE, verdict__in=_verdicts(job, verdict.fingerprint))
    answers = list(asked.values_list("attempt_id", "state", "state_reason", "expires_at"))
    program = Layer(verdict.layer).domain in OF_PROGRAM
    return ArrayFacts(
        array_job=job.array_job,
        array_tasks=len(tasks),
        array_failed=sum(task.failed_alike for task in tasks),
        array_score=score_of(tasks, policy.array_random_share, of_program=program),
        array_asked=any(
            attempt != verdict.attempt_id and state in OPEN and until > now
            for attempt, state, _reason, until in answers
        ),
        array_goes_on=any(reason == ReconciliationReason.REJECTED.value for _, _, reason, _ in answers),
    )


def _attempts(job: Job) -> QuerySet[Attempt]:
    """Those of all tasks of the array of `job`: its number may have been that of another array before."""
    near = (job.created_at - SAME_ARRAY, job.created_at + SAME_ARRAY)
    return Attempt.objects.filter(
        job__cluster_id=job.cluster_id,
        job__array_job=job.array_job,
        job__user=job.user,
        job__name=job.name,
        job__created_at__range=near,
    )


def _verdicts(job: Job, fingerprint: str) -> QuerySet[Verdict]:
    """The verdicts that stand on attempts of the array, of one fingerprint."""
    return Verdict.objects.filter(attempt__in=_attempts(job), fingerprint=fingerprint, newer=None).order_by()


def _tasks(rows: Iterable[tuple[Any, ...]], alike: set[int], now: datetime) -> list[Task]:
    """Each task once, in the order of its first start: as it failed alike, unless it completed since."""
    by_job: dict[int, list[tuple[Any, ...]]] = {}
    for row in rows:
        by_job.setdefault(row[1], []).append(row)
    tasks = []
    for attempts in by_job.values():
        attempts.sort(key=lambda row: int(row[2]))
        last = attempts[-1]
        failed = [row for row in attempts if row[0] in alike]
        shown = failed[-1] if failed and last[3] != JobState.COMPLETED.value else last
        _pk, _job, _index, state, started_at, ended_at, nodes = shown
        seconds = ((ended_at or now) - started_at).total_seconds()
        hosts = frozenset(str(node) for node in nodes)
        task = Task(hosts, shown[0] in alike, max(0.0, seconds), completed=state == JobState.COMPLETED.value)
        tasks.append((attempts[0][4], last[1], task))
    return [task for _at, _job, task in sorted(tasks, key=lambda row: row[:2])]


def look_again(advice: Advice, now: datetime) -> None:
    """Have every failure alike decided again: a person said that the array goes on. Call it in the transaction."""
    verdict = advice.verdict
    if advice.rule == ASKING_RULE and verdict is not None:
        alike = _verdicts(advice.attempt.job, verdict.fingerprint).filter(decide_due_at=None)
        Verdict.objects.filter(pk__in=list(alike.values_list("pk", flat=True))).update(decide_due_at=now)
