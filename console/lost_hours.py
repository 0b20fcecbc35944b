"""How many GPU-hours did failures cost today? Measured, nothing is estimated (decisions 33).

Of each attempt that crashed or hung since midnight UTC: from its last saved checkpoint (or its start) to the
failure, because that work is done again; and from the failure to the next start of the job, or to the end of the
allocation when it is not started again. What still waits counts until now. Times the GPUs of the attempt, as its
client or its metrics told them; where nobody did, its nodes are counted instead.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Max

from advisor_api.models import JobReport
from detectors.catalogue.gpu_use import TOPIC
from detectors.catalogue.kind import AnomalyKind
from detectors.models import Observation, Verdict
from workloads.models import Attempt
from workloads.progress_models import Checkpoint

FAILURES_READ = 2000  # of one day, the newest ones
USERS_NAMED = 5
HOUR = timedelta(hours=1)


@dataclass(frozen=True)
class Failure:
    """One attempt that failed. `gpus` 0: nobody told. `again_at`: the next start of its job."""

    happened_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    saved_at: datetime | None
    again_at: datetime | None
    job_waits: bool
    nodes: int
    gpus: int


@dataclass(frozen=True)
class Lost:
    """Hours lost by `failures` attempts: of GPUs, and of nodes where the GPUs are not known (`unknown` attempts).

    The two are never added: how many GPUs stand behind a node-hour is what nobody has told. `users`: whose attempts
    failed most often, with how many.
    """

    failures: int = 0
    again_gpu_hours: float = 0.0
    waited_gpu_hours: float = 0.0
    unknown: int = 0
    again_node_hours: float = 0.0
    waited_node_hours: float = 0.0
    more: bool = False
    users: tuple[tuple[str, int], ...] = ()

    @property
    def gpu_hours(self) -> float:
        """Both parts together."""
        return self.again_gpu_hours + self.waited_gpu_hours

    @property
    def node_hours(self) -> float:
        """Both parts together."""
        return self.again_node_hours + self.waited_node_hours

    @property
    def known(self) -> int:
        """Attempts of which somebody has told how many GPUs they have."""
        return self.failures - self.unknown


def lost_of(failure: Failure, now: datetime) -> tuple[timedelta, timedelta]:
    """What is done again, and what was waited for."""
    kept_at = failure.saved_at or failure.started_at or failure.happened_at
    again = max(failure.happened_at - kept_at, timedelta())
    until = failure.again_at or (now if failure.job_waits else failure.ended_at) or now
    return again, max(min(until, now) - failure.happened_at, timedelta())


def add_up(failures: Iterable[Failure], now: datetime) -> Lost:
    """All of them together."""
    count = unknown = 0
    again_hours = waited_hours = again_node_hours = waited_node_hours = 0.0
    for failure in failures:
        again, waited = lost_of(failure, now)
        count += 1
        if failure.gpus:
            again_hours += failure.gpus * (again / HOUR)
            waited_hours += failure.gpus * (waited / HOUR)
        else:
            unknown += 1
            again_node_hours += failure.nodes * (again / HOUR)
            waited_node_hours += failure.nodes * (waited / HOUR)
    return Lost(count, again_hours, waited_hours, unknown, again_node_hours, waited_node_hours)


def lost_today(now: datetime) -> Lost:
    """Since midnight UTC. At most five queries."""
    since = now.replace(hour=0, minute=0, second=0, microsecond=0)
    kinds = [AnomalyKind.CRASH.value, AnomalyKind.HANG.value]
    failed = Verdict.objects.filter(happened_at__gte=since, happened_at__lte=now, newer=None, kind__in=kinds)
    columns = ("happened_at", "attempt_id", "attempt__index", "attempt__job_id", "attempt__job__node_count")
    times = (
        "attempt__started_at",
        "attempt__ended_at",
        "attempt__job__newest_index",
        "attempt__job__live",
        "attempt__job__user",
    )
    rows = list(failed.order_by("-happened_at").values(*columns, *times)[: FAILURES_READ + 1])
    if not rows:
        return Lost()
    read = rows[:FAILURES_READ]
    by_user = Counter(row["attempt__job__user"] for row in read if row["attempt__job__user"])
    most = sorted(by_user.items(), key=lambda one: (-one[1], one[0]))[:USERS_NAMED]
    return replace(add_up(_failures(read), now), more=len(rows) > FAILURES_READ, users=tuple(most))


def _failures(rows: list[Mapping[str, Any]]) -> Iterable[Failure]:
    attempts = [row["attempt_id"] for row in rows]
    jobs = {row["attempt__job_id"] for row in rows if row["attempt__job__newest_index"] > row["attempt__index"]}
    starts = Attempt.objects.filter(job__in=jobs).values_list("job", "index", "started_at") if jobs else ()
    again = {(job, index): started_at for job, index, started_at in starts}
    saved = Checkpoint.objects.filter(attempt__in=attempts, deed="saved").order_by().values_list("attempt")
    saved_at = dict(saved.annotate(last=Max("at")))
    gpus = _gpus(attempts)
    for row in rows:
        following = (row["attempt__job_id"], row["attempt__index"] + 1)
        kept_at = saved_at.get(row["attempt_id"])
        nodes = row["attempt__job__node_count"]
        told, is_whole = gpus.get(row["attempt_id"], (0, True))
        yield Failure(
            happened_at=row["happened_at"],
            started_at=row["attempt__started_at"],
            ended_at=row["attempt__ended_at"],
            saved_at=min(kept_at, row["happened_at"]) if kept_at else None,
            again_at=again.get(following),
            job_waits=following in again and row["attempt__job__live"],
            nodes=nodes,
            gpus=told if is_whole else told * nodes,
        )


def _gpus(attempts: list[int]) -> dict[int, tuple[int, bool]]:
    """By attempt: a number of GPUs, and whether it is of all nodes (else of one)."""
    seen = Observation.objects.filter(attempt__in=attempts, topic=TOPIC).values_list("attempt", "value")
    found = {attempt: (int(value.get("gpus") or 0), True) for attempt, value in seen}
    told = JobReport.objects.filter(attempt__in=attempts, gpu_count_per_node__gt=0)
    return found | {attempt: (gpus, False) for attempt, gpus in told.values_list("attempt", "gpu_count_per_node")}
