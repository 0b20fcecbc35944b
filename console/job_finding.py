"""Which jobs fit what is asked for?

What stands on the job's own row is asked of it. What stands elsewhere (a node, a pattern, a recovery) is looked up
first, as the keys of at most `KEYS` jobs: a list is then one seek by an index, whatever is combined.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast, Lower
from django.utils.translation import gettext as _

from advisor_api.models import Advice
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from console.job_wanted import Shown, Wanted, moment_of
from console.recovery import open_recoveries
from detectors.models import Stay, Verdict
from schedulers.states import FAILURES, FINAL, LIVE, WAITING, JobState
from workloads.mode import Mode
from workloads.models import Attempt, Cluster, Job

KEYS = 5000  # jobs of one node, one pattern, one kind of recovery: the newest ones
STOPPED_FOR = timedelta(days=1)  # how long a job counts as stopped by us
_NUMBER = re.compile(r"(\d{1,18})(?:[-_]\d{1,18})?", re.ASCII)
_PATTERN = re.compile(r"[a-z0-9_-]+\.[a-z0-9_.-]*")  # a word with a dot, as all signatures have one


def fitting(wanted: Wanted, now: datetime) -> QuerySet[Job]:
    """The jobs that fit everything but the free text, in no order. Up to six queries for keys."""
    before = moment_of(wanted.earlier, now)
    rows = _shown(Job.objects.all(), Shown(wanted.state), now, moment_of(wanted.stood, now))
    if wanted.cluster or wanted.kind:
        rows = rows.filter(cluster__in=_clusters(wanted))
    own = {"partition": wanted.partition, "user": wanted.user, "wish": wanted.wish}
    rows = rows.filter(**{name: value for name, value in own.items() if value})
    if wanted.attempts:
        rows = rows.filter(newest_index__gte=int(wanted.attempts))  # counted from 0
    if since := moment_of(wanted.since, now):
        rows = rows.filter(seen_at__gte=since)
    if until := moment_of(wanted.until, now):
        rows = rows.filter(created_at__lte=until)
    if wanted.node:
        rows = rows.filter(pk__in=on_node(wanted.node, before))
    if wanted.pattern:
        rows = rows.filter(pk__in=with_pattern(wanted.pattern, before))
    return rows


def by_text(rows: QuerySet[Job], text: str, before: datetime | None = None) -> Iterator[QuerySet[Job]]:
    """The jobs that the text may mean, a query for each meaning: number, user, node, pattern, part of the name."""
    if number := _NUMBER.fullmatch(text):
        yield rows.filter(number=int(number[1]))
    yield rows.filter(user=text)
    if keys := on_node(text, before):
        yield rows.filter(pk__in=keys)
    if _PATTERN.fullmatch(text) and (keys := with_pattern(text, before)):
        yield rows.filter(pk__in=keys)
    # A database with a binary collation compares letters exactly, whatever `icontains` asks for.
    yield rows.alias(name_in_lower_case=Lower("name")).filter(name_in_lower_case__contains=text.lower())


def on_node(name: str, before: datetime | None = None) -> list[int]:
    """Jobs that are on the node, or were: what is over stands in `Stay`, what runs in the attempt's own list.

    `before`: only those that had left it by then.
    """
    if len(name) > 255:
        return []
    keys = set(_stays(name, before).values_list("attempt__job", flat=True)[:KEYS])
    if before is not None:
        return sorted(keys)
    running = Attempt.objects.filter(job__live=True, job__newest_state__in=values(LIVE))
    listed = running.alias(names=Cast("nodes", TextField())).filter(names__contains=json.dumps(name))
    keys |= {job for job, nodes in listed.values_list("job", "nodes")[:KEYS] if name in nodes}
    return sorted(keys)


def with_pattern(text: str, before: datetime | None = None) -> list[int]:
    """Jobs with an attempt whose newest verdict names a signature that begins so. `before`: judged by then."""
    return _keys(_verdicts(text, before), "attempt__job")


@dataclass(frozen=True)
class Beyond:
    """Where only the newest `KEYS` were looked at. `at`: the first that was not; `part`: what of the address leads
    to it.
    """

    told: str
    at: datetime
    part: str = "earlier"


def beyond(wanted: Wanted, now: datetime) -> list[Beyond]:
    """Which of the filters have more hits than were looked at. One query by an index for each that is set."""
    before = moment_of(wanted.earlier, now)
    found = []
    for name in (wanted.node, wanted.q):
        if 0 < len(name) <= 255:
            at = _stays(name, before).values_list("ended_at", flat=True)[KEYS : KEYS + 1]
            told = _("Only the newest %(count)s attempts that were on node %(name)s were looked at.")
            found += [Beyond(told % {"count": KEYS, "name": name}, one) for one in at]
    for text in (wanted.pattern, wanted.q if _PATTERN.fullmatch(wanted.q) else ""):
        if text:
            judged = _verdicts(text, before).values_list("judged_at", flat=True)[KEYS : KEYS + 1]
            told = _("Only the newest %(count)s verdicts of pattern %(name)s were looked at.")
            found += [Beyond(told % {"count": KEYS, "name": text}, one) for one in judged]
    shown = Shown(wanted.state)
    if shown in _LOOKED_UP:
        times = _standing(shown, now, moment_of(wanted.stood, now)).values_list(_LOOKED_UP[shown].since, flat=True)
        told = _("Only the newest %(count)s jobs of the state “%(name)s” were looked at.")
        said = told % {"count": KEYS, "name": _(shown.label).lower()}
        if len(times[: KEYS + 1]) > KEYS:  # the order costs, and is of use only then
            newest = times.order_by(f"-{_LOOKED_UP[shown].since}")
            found += [Beyond(said, at, "stood") for at in newest[KEYS : KEYS + 1]]
    return found


def keys_of(shown: Shown, now: datetime, before: datetime | None = None) -> list[int]:
    """The jobs of a state that is looked up elsewhere. `before`: only those that stood so by then.

    Without an order where they are all; else a second query for the newest.
    """
    known = _LOOKED_UP[shown]
    rows = _standing(shown, now, before)
    keys = list(rows.values_list(known.job, flat=True)[: KEYS + 1])
    if len(keys) > KEYS:
        keys = list(rows.order_by(f"-{known.since}").values_list(known.job, flat=True)[:KEYS])
    return sorted(set(keys))


def values(states: Iterable[JobState]) -> list[str]:
    """The states as they are stored."""
    return sorted(state.value for state in states)


def _stays(name: str, before: datetime | None) -> QuerySet[Stay]:
    clusters = list(Cluster.objects.values_list("pk", flat=True))
    rows = Stay.objects.filter(cluster__in=clusters, node=name).order_by("-ended_at")
    return rows if before is None else rows.filter(ended_at__lte=before)


def _verdicts(text: str, before: datetime | None) -> QuerySet[Verdict]:
    begins = Q(signature__gte=text) & Q(signature__lt=text + "\uffff")
    rows = Verdict.objects.filter(begins, newer=None).order_by("-judged_at", "-pk")
    return rows if before is None else rows.filter(judged_at__lte=before)


def _keys(rows: QuerySet, job: str) -> list[int]:  # type: ignore[type-arg]  # of several models
    return sorted(set(rows.values_list(job, flat=True)[:KEYS]))


def _clusters(wanted: Wanted) -> list[int]:
    rows = Cluster.objects.all()
    rows = rows.filter(name=wanted.cluster) if wanted.cluster else rows
    rows = rows.filter(scheduler_kind=wanted.kind) if wanted.kind else rows
    return list(rows.values_list("pk", flat=True))


def _shown(jobs: QuerySet[Job], shown: Shown, now: datetime, stood: datetime | None) -> QuerySet[Job]:
    if shown is Shown.EVERY:
        return jobs
    if shown is Shown.LIVE:
        return jobs.filter(live=True)
    if shown in _LOOKED_UP:
        return jobs.filter(pk__in=keys_of(shown, now, stood))
    states = {Shown.RUNNING: LIVE, Shown.WAITING: WAITING, Shown.FAILED: FAILURES, Shown.ENDED: FINAL}[shown]
    rows = jobs.filter(newest_state__in=values(states))
    return rows.filter(live=True) if shown in {Shown.RUNNING, Shown.WAITING} else rows


def _standing(shown: Shown, now: datetime, before: datetime | None) -> QuerySet[Any]:
    known = _LOOKED_UP[shown]
    rows = known.rows(now)
    return rows if before is None else rows.filter(**{f"{known.since}__lte": before})


def _asked(now: datetime) -> QuerySet[Advice]:
    """Open advice that only a person can follow. In monitor mode nobody is asked."""
    asks = Advice.objects.filter(
        state=AdviceState.PENDING.value, operation=Operation.WAIT.value, expires_at__gt=now
    )
    return asks.exclude(mode_at_decision=Mode.MONITOR.value)


def _stopped(now: datetime) -> QuerySet[Advice]:
    since = now - STOPPED_FOR
    done = {"operation": Operation.TERMINATE.value, "state": AdviceState.CONVERGED.value, "state_at__gte": since}
    return Advice.objects.filter(created_at__gte=since - STOPPED_FOR, **done)


def _blind(_now: datetime) -> QuerySet[Attempt]:
    return Attempt.objects.filter(blind_since__isnull=False, state__in=values(LIVE), job__live=True)


@dataclass(frozen=True)
class _LookedUp:
    """The rows that say that a job is in a state, where they name the job, and since when it is so."""

    rows: Callable[[datetime], QuerySet[Any]]
    job: str
    since: str


_LOOKED_UP: Mapping[Shown, _LookedUp] = {
    Shown.RECOVERY: _LookedUp(lambda _now: open_recoveries(), "advice__attempt__job", "happened_at"),
    Shown.APPROVAL: _LookedUp(
        lambda _now: Advice.objects.filter(state=AdviceState.AWAITING_APPROVAL.value), "attempt__job", "created_at"
    ),
    Shown.ASKED: _LookedUp(_asked, "attempt__job", "created_at"),
    Shown.STOPPED: _LookedUp(_stopped, "attempt__job", "state_at"),
    Shown.BLIND: _LookedUp(_blind, "job", "blind_since"),
}
"""States of which the jobs are looked up elsewhere first."""
