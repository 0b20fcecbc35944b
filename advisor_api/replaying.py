"""Which stored decisions would a draft policy have changed? A stream, newest first, in bounded memory.

Decisions with advice are read off the advice, the others off `LeftAlone`. A draft takes the place of the version of
its own level among those that held then; the other levels stay as they were at each decision.
"""

import heapq
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.db.models import Model, QuerySet

from advisor_api.models import Advice, LeftAlone, PolicyVersion
from advisor_api.policies import Place
from advisor_api.policy.level import PolicyLevel
from advisor_api.policy.merging import Layer, merge
from advisor_api.policy.replay import Compared, Outcome, Past, Summary, again, otherwise
from advisor_api.policy.stored import Unreadable
from advisor_api.policy.values import Policy
from advisor_api.refusals import Bad
from workloads.models import Attempt, Cluster

PAGE = 500  # rows in memory at a time, of each of the two sources
OF_ATTEMPT = ("index", "job__number", "job__epoch", "job__user", "job__cluster__name")
READ = (
    *("operation", "rule", "because", "excluded_nodes", "facts", "judged_by"),
    *(f"attempt__{name}" for name in OF_ATTEMPT),
)
TIMES = ("created_at", "not_before", "hold_until", "expires_at")
SPAN = re.compile(r"([0-9]{1,6})([dhms])")
UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
LONGEST = timedelta(days=3660)


@dataclass(frozen=True)
class Draft:
    """A policy that is tried: what it says, and for whom."""

    place: Place
    values: dict[str, Any]


@dataclass(frozen=True)
class Span:
    """Which decisions are made again: after `since`, up to `until`, on one cluster or all."""

    since: datetime
    until: datetime
    cluster: Cluster | None = None


def read_span(text: str) -> timedelta:
    """`7d`, `12h`, `30m` or `90s`; raises `Bad`."""
    found = SPAN.fullmatch(text.strip())
    span = timedelta(**{UNITS[found[2]]: int(found[1])}) if found else timedelta()
    if not timedelta() < span <= LONGEST:
        raise Bad(f"{text[:40]!r} is no span: write 7d, 12h, 30m or 90s, at most {LONGEST.days}d.")
    return span


def replay(span: Span, draft: Draft | None, summary: Summary) -> Iterator[Compared]:
    """Every decision of the span made again, newest first: by the draft, or without one by its own policy.

    Counts into `summary` as it goes; what cannot be read, or what the draft does not speak of, is only counted.
    """
    layers_of = _Layers()
    for past in stored_decisions(span, traced=draft is None):
        summary.seen += 1
        try:
            if not past.judged_by.get("values"):
                raise Unreadable("It was stored without the values of its policy.")
            policy = layers_of.policy_with(draft, past) if draft is not None else None
            if draft is not None and policy is None:
                summary.not_concerned += 1
                continue
            compared = again(past) if policy is None else otherwise(past, policy)
        except (Unreadable, KeyError, TypeError, ValueError, AttributeError) as error:
            summary.unreadable += 1
            summary.first_unreadable = summary.first_unreadable or f"{past.cluster} {past.label}: {error}"[:300]
            continue
        summary.take(compared)
        yield compared


def stored_decisions(span: Span, *, traced: bool) -> Iterator[Past]:
    """The decisions of the span, newest first; both sources are read page by page."""
    advice = Advice.objects.filter(created_at__gt=span.since, created_at__lte=span.until)
    others = LeftAlone.objects.filter(decided_at__gt=span.since, decided_at__lte=span.until)
    advice = advice.only(*READ, *TIMES, *(("trace",) if traced else ()))
    others = others.only(*READ, "decided_at")
    sources = (_paged(advice, span, lambda row: _of_advice(row, traced)), _paged(others, span, _left_alone))
    return heapq.merge(*sources, key=lambda past: past.decided_at, reverse=True)


def _paged(rows: QuerySet[Any], span: Span, read: Callable[[Any], Past]) -> Iterator[Past]:
    """By keys, so that no driver holds all rows and no page is slower than the first."""
    rows = rows.select_related("attempt__job__cluster").order_by("-pk")
    if span.cluster is not None:
        rows = rows.filter(attempt__job__cluster=span.cluster)
    page: list[Model] = list(rows[:PAGE])
    while page:
        yield from (read(row) for row in page)
        page = list(rows.filter(pk__lt=page[-1].pk)[:PAGE])


def _of_advice(row: Advice, traced: bool) -> Past:
    times = (row.not_before, row.hold_until, row.expires_at)
    outcome = Outcome(row.operation, row.rule, row.because, tuple(row.excluded_nodes), times)
    return _past(row.attempt, row.created_at, outcome, row.facts, row.judged_by, row.trace if traced else None)


def _left_alone(row: LeftAlone) -> Past:
    outcome = Outcome(row.operation, row.rule, row.because, tuple(row.excluded_nodes))
    return _past(row.attempt, row.decided_at, outcome, row.facts, row.judged_by)


def _past(  # noqa: PLR0917  # the columns of two tables
    attempt: Attempt, at: datetime, outcome: Outcome, facts: Any, judged_by: Any, trace: Any = None
) -> Past:
    job = attempt.job
    return Past(
        cluster=job.cluster.name,
        label=attempt.label,
        job=(job.number, job.epoch),
        partition=str(facts.get("partition", "")) if isinstance(facts, dict) else "",
        user=job.user,
        decided_at=at,
        outcome=outcome,
        facts=facts,
        judged_by=judged_by if isinstance(judged_by, dict) else {},
        trace=trace,
    )


class _Layers:
    """Versions never change: each is read once, and the newest used ones are kept."""

    def __init__(self) -> None:
        self._version = lru_cache(maxsize=256)(_stored_version)

    def policy_with(self, draft: Draft, past: Past) -> Policy | None:
        """What would have held with the draft at its level; `None` when it does not speak of that job."""
        place, level = draft.place, draft.place.level
        if place.cluster is not None and place.cluster.name != past.cluster:
            return None
        if level is PolicyLevel.USER and place.user != past.user:
            return None
        stored = {PolicyLevel(name): self._version(pk) for name, pk in past.judged_by["versions"]}
        if level is PolicyLevel.PARTITION and not _first_named(place.partition, stored.get(level), past.partition):
            return None
        layers = [Layer(one, version.values, version.pk) for one, version in stored.items() if one is not level]
        return merge([*layers, Layer(level, draft.values)]).policy


def _stored_version(pk: int) -> PolicyVersion:
    found = PolicyVersion.objects.filter(pk=pk).first()
    if found is None:
        raise Unreadable(f"Its policy version {pk} is not stored any more.")
    return found


def _first_named(name: str, other: PolicyVersion | None, partitions: str) -> bool:
    """Whether the job names the partition, and none before it that has a policy of its own."""
    named = partitions.split(",")
    if name not in named:
        return False
    return other is None or other.partition not in named or named.index(name) <= named.index(other.partition)
