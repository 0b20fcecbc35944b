"""Which jobs are listed, in which order, and what stands in each row?

A page of jobs is two or three queries. There is no COUNT(*): a page asks for one row more than it shows, and the
next one starts below the last id (ids rise with the time a job was first seen).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from urllib.parse import urlencode

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Lower

from console.recovery import open_recoveries
from schedulers.states import FAILURES, FINAL, LIVE, WAITING, JobState
from schedulers.words import Word
from workloads.models import Attempt, Job

PAGE = 50
SEARCH_LIMIT = 64
_NUMBER = re.compile(r"(\d{1,18})(?:-\d{1,9})?")


class Shown(Word):
    """Which jobs the list shows."""

    LIVE = "live", "In the scheduler's list", "primary"
    RUNNING = "running", "Running", "success"
    WAITING = "waiting", "Waiting", "secondary"
    RECOVERY = "recovery", "In recovery", "info"
    BLIND = "blind", "Blind", "warning"
    FAILED = "failed", "Failed", "danger"
    ENDED = "ended", "Ended", "secondary"
    EVERY = "every", "All that were seen", "secondary"


@dataclass(frozen=True)
class Wanted:
    """What the address asks for. Whatever is not understood is left out, and `mistake` says so."""

    cluster: str = ""
    state: str = Shown.LIVE.value
    q: str = ""
    before: int | None = None
    mistake: str = ""

    def address(self, **changes: object) -> str:
        """The query part of an address that asks for this with `changes`; other pages start at their top."""
        changed = replace(self, mistake="", **{"before": None, **changes})  # type: ignore[arg-type]
        pairs = {f.name: getattr(changed, f.name) for f in fields(changed) if f.name != "mistake"}
        kept = {name: value for name, value in pairs.items() if value not in ("", None)}
        if kept.get("state") == Shown.LIVE.value:
            del kept["state"]
        return "?" + urlencode(kept) if kept else "?"


@dataclass(frozen=True)
class JobRow:
    """One job with its newest attempt."""

    job: Job
    attempt: Attempt | None
    state: JobState | None
    in_recovery: bool


@dataclass(frozen=True)
class JobPage:
    """One page of the list; `next_before` is where the next one starts, none at the end."""

    rows: tuple[JobRow, ...]
    next_before: int | None


def read_wanted(query: Mapping[str, str]) -> Wanted:
    """What a query string asks for, bounded."""
    state, before = query.get("state", ""), query.get("before", "")
    known = {word.value for word in Shown}
    mistakes = []
    if state and state not in known:
        mistakes.append(f"There is no state of that name; known are {', '.join(word.value for word in Shown)}.")
    whole = before.isascii() and before.isdigit() and len(before) <= 18
    if before and not whole:
        mistakes.append("The place to go on from is not a number; this is the first page.")
    return Wanted(
        query.get("cluster", "")[:SEARCH_LIMIT].replace("\0", ""),
        state if state in known else Shown.LIVE.value,
        query.get("q", "")[:SEARCH_LIMIT].strip().replace("\0", ""),
        int(before) if whole else None,
        " ".join(mistakes),
    )


def job_page(wanted: Wanted) -> JobPage:
    """The jobs that are asked for, the newest first."""
    rows = _shown(Job.objects.select_related("cluster"), Shown(wanted.state))
    if wanted.cluster:
        rows = rows.filter(cluster__name=wanted.cluster)
    if wanted.q:
        rows = rows.alias(name_in_lower_case=Lower("name")).filter(_search(wanted.q))
    if wanted.before is not None:
        rows = rows.filter(id__lt=wanted.before)
    found = list(rows.defer("comment", "stdout", "stderr", "work_dir").order_by("-id")[: PAGE + 1])
    jobs = found[:PAGE]
    newest = {a.job_id: a for a in Attempt.objects.filter(job__in=jobs).order_by("index")}
    recovering = set(
        open_recoveries().filter(advice__attempt__job__in=jobs).values_list("advice__attempt__job", flat=True)
    )
    listed = tuple(_row(job, newest.get(job.pk), job.pk in recovering) for job in jobs)
    return JobPage(listed, jobs[-1].pk if len(found) > PAGE else None)


def _row(job: Job, attempt: Attempt | None, in_recovery: bool) -> JobRow:
    return JobRow(job, attempt, JobState(attempt.state) if attempt else None, in_recovery)


def _search(text: str) -> Q:
    # A database with a binary collation compares letters exactly, whatever `icontains` asks for.
    asked = Q(name_in_lower_case__contains=text.lower()) | Q(user=text)
    number = _NUMBER.fullmatch(text)
    return asked | Q(number=int(number[1])) if number else asked


def _shown(jobs: QuerySet[Job], shown: Shown) -> QuerySet[Job]:
    if shown is Shown.EVERY:
        return jobs
    if shown is Shown.LIVE:
        return jobs.filter(live=True)
    if shown is Shown.RECOVERY:
        open_ones = open_recoveries().filter(advice__attempt__job=OuterRef("pk"))
        return jobs.filter(Exists(open_ones))
    if shown is Shown.BLIND:
        blind = Attempt.objects.filter(job=OuterRef("pk"), blind_since__isnull=False, state__in=_values(LIVE))
        return jobs.filter(Exists(blind), live=True)
    newest = Attempt.objects.filter(job=OuterRef("pk")).order_by("-index").values("state")[:1]
    states = {
        Shown.RUNNING: LIVE,
        Shown.WAITING: WAITING,
        Shown.FAILED: FAILURES,
        Shown.ENDED: FINAL,
    }[shown]
    rows = jobs.alias(newest_state=Subquery(newest)).filter(newest_state__in=_values(states))
    return rows.filter(live=True) if shown in (Shown.RUNNING, Shown.WAITING) else rows


def _values(states: frozenset[JobState]) -> list[str]:
    return sorted(state.value for state in states)
