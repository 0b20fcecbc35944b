"""What is stored about one job? Bounded reads; each function is one or two queries, whatever the job did."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from advisor_api.models import Advice
from audit.event_type import EventType
from audit.models import AuditEvent
from console.job_window import WHOLE, Window
from console.mark_kind import MARKED
from console.timeline import Saved
from console.topics import QUIET
from detectors.models import Anomaly, Excerpt, Feed, Verdict
from detectors.provider_models import ProviderQuestion
from schedulers.states import FINAL, JobState
from workloads.models import Attempt, Cluster, Job
from workloads.opt_in import read_stored
from workloads.progress_models import Checkpoint, ProgressPoint

ATTEMPTS_SHOWN = 30
ATTEMPTS_TOLD = 12  # with all that is known of each
LANES_SHOWN = 300
EVENTS_SHOWN = 150
MARKS_READ = 5000
CHECKPOINTS_SHOWN = 300
ANOMALIES_SHOWN = 60
SYMPTOMS_TOLD = 3000
POINTS_SHOWN = 240
DRAWN = (
    "index", "state", "submitted_at", "started_at", "ended_at", "changed_at", "first_step", "last_step",
    "last_checkpoint_step", "baseline_step_seconds",
)  # fmt: skip

Row = TypeVar("Row", Anomaly, Excerpt, ProviderQuestion)


class ToldEvent(NamedTuple):
    """What a mark needs of an event."""

    pk: int
    at: datetime
    type: str
    sentence: str
    attempt_index: int | None


def attempts_of(job: Job, most: int = ATTEMPTS_SHOWN, window: Window = WHOLE) -> list[Attempt]:
    """The newest attempts in their order, of a window those that ran in it; each knows `job` without a query."""
    return _knowing(job, _in_window(job, window).order_by("-index")[:most])


def attempts_drawn(job: Job, window: Window = WHOLE) -> list[Attempt]:
    """What pictures need of the newest attempts, in their order: hundreds of them."""
    return _knowing(job, _in_window(job, window).only(*DRAWN).order_by("-index")[:LANES_SHOWN])


def _in_window(job: Job, window: Window) -> QuerySet[Attempt]:
    rows = Attempt.objects.filter(job=job)
    if window.end is not None:
        rows = rows.filter(Q(started_at=None) | Q(started_at__lte=window.end))
    if window.start is not None:
        rows = rows.filter(Q(ended_at=None) | Q(ended_at__gte=window.start))
    return rows


def _knowing(job: Job, newest: QuerySet[Attempt]) -> list[Attempt]:
    found = list(newest)
    for attempt in found:
        attempt.job = job
    return found[::-1]


def events_of(job: Job, cluster: Cluster, window: Window = WHOLE) -> list[AuditEvent]:
    """The events noted last of the job, or of a window, in the order of their times, without checkpoints.

    Several processes write at once: an event with an earlier time may be stored after one with a later time.
    """
    rows = _within(_events(job, cluster), window).exclude(type__in=QUIET).defer("payload")
    return sorted(rows.order_by("-id")[:EVENTS_SHOWN], key=lambda event: (event.at, event.pk))


def marked_of(job: Job, cluster: Cluster, window: Window = WHOLE) -> list[ToldEvent]:
    """The newest events that become marks, in their order; enough for a job of hundreds of attempts."""
    rows = _within(_events(job, cluster), window).filter(type__in=[kind.value for kind in MARKED])
    newest = rows.order_by("-id").values_list("pk", "at", "type", "sentence", "attempt_index")[:MARKS_READ]
    return [ToldEvent(*row) for row in newest][::-1]


def first_listed(job: Job, cluster: Cluster, window: Window = WHOLE) -> int:
    """The id of the oldest event that `events_of` gives; 0 when it gives all."""
    rows = _within(_events(job, cluster), window).exclude(type__in=QUIET).order_by("-id")
    found = rows.values_list("id", flat=True)[EVENTS_SHOWN - 1 : EVENTS_SHOWN].first()
    return found or 0


def left_alone(job: Job, cluster: Cluster) -> dict[int, AuditEvent]:
    """By attempt index: the newest event that says why no advice was given."""
    rows = _events(job, cluster).filter(type=EventType.NO_ADVICE.value, attempt_index__isnull=False)
    newest = list(rows.order_by("-id")[:ATTEMPTS_SHOWN])
    return {row.attempt_index or 0: row for row in newest[::-1]}


def corrections_of(job: Job, cluster: Cluster) -> dict[int, list[AuditEvent]]:
    """By attempt index: how later verdicts differ from the one that was acted on, in their order."""
    rows = _events(job, cluster).filter(type=EventType.CORRECTION.value, attempt_index__isnull=False)
    found: dict[int, list[AuditEvent]] = {}
    for row in list(rows.order_by("-id")[:ATTEMPTS_SHOWN])[::-1]:
        found.setdefault(row.attempt_index or 0, []).append(row)
    return found


def questions_on(attempts: Iterable[Attempt]) -> dict[int, list[ProviderQuestion]]:
    """By attempt: what providers outside were asked, and what came, in their order."""
    rows = ProviderQuestion.objects.filter(attempt__in=list(attempts)).order_by("-id")[:ANOMALIES_SHOWN]
    return _by_attempt(sorted(rows, key=lambda row: row.pk))


def checkpoints_saved(job: Job, cluster: Cluster, window: Window = WHOLE) -> dict[int, tuple[Saved, ...]]:
    """The newest checkpoints that were saved, by attempt index."""
    rows = _within(_events(job, cluster), window).filter(
        type=EventType.CHECKPOINT_SAVED.value, attempt_index__isnull=False
    )
    found: dict[int, list[Saved]] = {}
    newest = rows.order_by("-id").values_list("attempt_index", "at", "sentence")[:CHECKPOINTS_SHOWN]
    for index, at, sentence in newest:
        found.setdefault(index or 0, []).append(Saved(at, sentence))
    return {index: tuple(sorted(some, key=lambda one: one.at)) for index, some in found.items()}


def advised_in(attempts: Iterable[Attempt]) -> set[int]:
    """Attempts on which advice was given."""
    return set(Advice.objects.filter(attempt__in=list(attempts)).order_by().values_list("attempt", flat=True))


def symptoms_told(attempts: Iterable[Attempt]) -> dict[int, str]:
    """The newest symptom of each attempt, in its sentence."""
    rows = Anomaly.objects.filter(attempt__in=list(attempts)).order_by("id")
    return dict(rows.values_list("attempt", "sentence")[:SYMPTOMS_TOLD])


def anomalies_of(attempts: Iterable[Attempt]) -> dict[int, list[Anomaly]]:
    """Anomalies by attempt, as they happened."""
    rows = Anomaly.objects.filter(attempt__in=list(attempts)).order_by("-id")[:ANOMALIES_SHOWN]
    return _by_attempt(sorted(rows, key=lambda row: (row.happened_at, row.pk)))


def verdicts_of(attempts: Iterable[Attempt], *, whole: bool = True) -> dict[int, Verdict]:
    """The newest verdict of each attempt; not `whole`: without its long JSON."""
    rows = Verdict.objects.filter(attempt__in=list(attempts)).order_by("id")
    rows = rows if whole else rows.defer("body", "implicated")
    return {row.attempt_id: row for row in rows}


def excerpts_of(attempts: Iterable[Attempt]) -> dict[int, list[Excerpt]]:
    """Where stored copies of log text begin, by attempt; their text is not read."""
    rows = Excerpt.objects.filter(attempt__in=list(attempts)).defer("text").order_by("stream", "offset")
    return _by_attempt(rows)


def logs_told(attempts: Iterable[Attempt]) -> dict[int, int]:
    """By attempt: of how many logs it is known where they were read. One query, whatever their number."""
    rows = Feed.objects.filter(attempt__in=list(attempts)).order_by().values_list("attempt_id")
    return {attempt: number for attempt, number in rows.annotate(number=Count("pk")) if attempt is not None}


def points_of(attempt: Attempt) -> list[ProgressPoint]:
    """The newest progress points of an attempt in their order."""
    return list(ProgressPoint.objects.filter(attempt=attempt).order_by("-at", "-id")[:POINTS_SHOWN])[::-1]


def throughput_of(points: Iterable[ProgressPoint]) -> str:
    """The newest work a second that the points tell, as the job's own line counts it; empty when none does."""
    newest = next((one for one in reversed(list(points)) if one.tokens_per_second or one.tflop_per_second), None)
    if newest is None:
        return ""
    said = ((newest.tokens_per_second, "tokens/s"), (newest.tflop_per_second, "TFLOP/s"))
    return ", ".join(
        f"{value:,.4g} {unit}" if value < 10_000 else f"{value:,.0f} {unit}" for value, unit in said if value
    )


def place_of(attempt: Attempt) -> str:
    """Where its newest saved checkpoint is, in its own words; hostile text, empty when its lines do not tell."""
    saved = Checkpoint.objects.filter(attempt=attempt, deed="saved").order_by("-pk")
    return saved.values_list("place", flat=True).first() or ""


def state_of(attempt: Attempt) -> JobState:
    """The attempt's state as a word of ours."""
    return JobState(attempt.state)


def end_of(attempt: Attempt) -> datetime | None:
    """When it ended; when that is not known but it is over, when it last changed."""
    if attempt.ended_at is None and state_of(attempt) in FINAL:
        return attempt.changed_at
    return attempt.ended_at


def run_time(attempt: Attempt, now: datetime) -> timedelta | None:
    """How long it has run, or ran; none when it never started."""
    if attempt.started_at is None:
        return None
    return max(timedelta(), (end_of(attempt) or now) - attempt.started_at)


def wishes_of(job: Job) -> list[str]:
    """What the job's comment asks for, a phrase for each."""
    wish = read_stored(job.opt_in)
    said = (
        (_("mode %(value)s"), wish.mode.value if wish.mode else ""),
        (_("resume by %(value)s"), wish.auto_resume_mode),
        (_("requeues at most %(value)s"), "" if wish.max_requeue_times is None else wish.max_requeue_times),
        (_("environment %(value)s"), wish.environment),
        (_("workflow %(value)s"), wish.workflow_id),
        (_("logs %(value)s"), ", ".join(wish.logs)),
    )
    return [phrase % {"value": value} for phrase, value in said if value != ""]


def _within(rows: QuerySet[AuditEvent], window: Window) -> QuerySet[AuditEvent]:
    if window.start is not None:
        rows = rows.filter(at__gte=window.start)
    return rows if window.end is None else rows.filter(at__lte=window.end)


def _events(job: Job, cluster: Cluster) -> QuerySet[AuditEvent]:
    return AuditEvent.objects.filter(cluster=cluster.name, job_number=job.number, job_epoch=job.epoch)


def _by_attempt(rows: Iterable[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for row in rows:
        found.setdefault(row.attempt_id, []).append(row)
    return found
