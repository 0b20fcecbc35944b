"""Which policies are there, who let which one hold when and why, and what would two of them have decided?"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from advisor_api.models import PolicyActivation, PolicyVersion
from advisor_api.policies import Place, in_force, place_of
from advisor_api.policy.replay import Compared, Outcome, Summary
from advisor_api.replaying import Draft, Span
from console.policy_pages import Tried, tried

PAGE = 50
ACTIVATIONS_SHOWN = 5
DECISIONS_SHOWN = 50


@dataclass(frozen=True)
class VersionLine:
    """One version: for whom, when it was let hold (newest first), whether it holds, and the one before it there."""

    version: PolicyVersion
    place: Place
    activations: Sequence[PolicyActivation]
    holds: bool
    earlier: int | None


@dataclass(frozen=True)
class Versions:
    """A page of versions, newest first. `older`: below which number the next page begins, if there is one."""

    lines: Sequence[VersionLine]
    older: int | None


@dataclass(frozen=True)
class Apart:
    """One past decision about which two versions do not agree."""

    past: Compared
    first: Outcome
    second: Outcome


@dataclass(frozen=True)
class Effect:
    """Two versions tried on the same past decisions. `apart`: where they would not have decided the same."""

    first: Tried
    second: Tried
    apart: Sequence[Apart]
    whole: bool

    @property
    def sides(self) -> tuple[Summary, Summary]:
        """The counts of both."""
        return self.first.summary, self.second.summary


def versions(cluster: str, before: int | None) -> Versions:
    """The versions of a cluster and of all clusters, or of everybody. Four queries."""
    rows = PolicyVersion.objects.select_related("cluster").order_by("-pk")
    if cluster:
        rows = rows.filter(Q(cluster__name=cluster) | Q(cluster=None))
    if before is not None:
        rows = rows.filter(pk__lt=before)
    found = list(rows[: PAGE + 1])
    shown = found[:PAGE]
    activations: dict[int, list[PolicyActivation]] = {}
    for one in PolicyActivation.objects.filter(version__in=shown).order_by("-pk"):
        if one.version_id is not None:
            activations.setdefault(one.version_id, []).append(one)
    holding = set(in_force().filter(version__in=shown).values_list("version", flat=True))
    earlier = _earlier(shown)
    lines = [
        VersionLine(
            row,
            place_of(row),
            activations.get(row.pk, [])[:ACTIVATIONS_SHOWN],
            row.pk in holding,
            earlier.get(row.pk),
        )
        for row in shown
    ]
    return Versions(lines, shown[-1].pk if len(found) > PAGE else None)


def effect(
    first: PolicyVersion,
    second: PolicyVersion,
    span: Callable[[PolicyVersion], Span],
    clock: Callable[[], float],
) -> Effect:
    """Both versions tried on past decisions, each within the bounds of a page."""
    tries = [tried(Draft(place_of(one), one.values), span(one), clock) for one in (first, second)]
    by_decision = [_outcomes(one.rows) for one in tries]
    apart = []
    for key in sorted(by_decision[0].keys() | by_decision[1].keys(), key=lambda key: key[1], reverse=True):
        compared = by_decision[0].get(key) or by_decision[1][key]
        sides = [side[key].would if key in side else compared.past.outcome for side in by_decision]
        if _decided(sides[0]) != _decided(sides[1]):
            apart.append(Apart(compared, sides[0], sides[1]))
    whole = all(one.whole and one.summary.differing == len(one.rows) for one in tries)
    return Effect(tries[0], tries[1], apart, whole)


def _outcomes(rows: Sequence[Compared]) -> Mapping[tuple[str, datetime, str], Compared]:
    return {(row.past.label, row.past.decided_at, row.past.cluster): row for row in rows}


def _decided(outcome: Outcome) -> tuple[Any, ...]:
    return outcome.word, outcome.rule, outcome.nodes, outcome.times


def _earlier(shown: Sequence[PolicyVersion]) -> dict[int, int]:
    """Of each version the newest older one of its place."""
    if not shown:
        return {}
    keys = {(row.cluster_id, row.partition, row.user) for row in shown}
    older = PolicyVersion.objects.filter(
        Q(cluster__in={cluster for cluster, _, _ in keys}) | Q(cluster=None),
        partition__in={partition for _, partition, _ in keys},
        user__in={user for _, _, user in keys},
        pk__lte=shown[0].pk,
    ).order_by("pk")
    last: dict[tuple[int | None, str, str], int] = {}
    found: dict[int, int] = {}
    for pk, cluster, partition, user in older.values_list("pk", "cluster_id", "partition", "user"):
        key = (cluster, partition, user)
        if key in last:
            found[pk] = last[key]
        last[key] = pk
    return found
