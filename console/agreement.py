"""How did people act where Rekindle only advised? Its advice of the last days beside what then happened.

What happened is read off the scheduler's own account: a newer attempt of the job, the same job submitted again, a
cancellation, a drained node. Who did it is not told there; where nothing of ours acted, it was a person or the
scheduler.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext_lazy as _

from advisor_api.models import Advice, Exclusion, Milestone
from advisor_api.node_facts import OUT
from advisor_api.policy.operation import Operation
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from advisor_api.seeing import newest
from schedulers.states import LIVE, WAITING, JobState
from schedulers.words import Word
from workloads.models import Attempt, Cluster, Job, Node

SPAN = timedelta(days=7)
ANSWERED_WITHIN = timedelta(hours=24)  # what happens later answers something else
READ = 1000  # newest advices that are compared
SHOWN = 12
QUESTIONS = (
    _("Does the message match the log?"),
    _("Has the node a hardware witness?"),
    _("Is the node lost, or only the job?"),
    _("Is a checkpoint ready?"),
    _("Where does the slowness come from?"),
)
"""What the page of a job answers before anyone lets Rekindle act (decisions 33)."""
_ALIVE = LIVE | WAITING


class Happened(Word):
    """What became of a job after an advice on it."""

    AGAIN = "again", "started again", "success"
    SUBMITTED = "submitted", "submitted again", "success"
    CANCELLED = "cancelled", "cancelled", "danger"
    RUNS = "runs", "left running", "secondary"
    NOTHING = "nothing", "left as it ended", "secondary"


class Match(Word):
    """How what happened compares with the advice."""

    SAME = "same", "People did the same", "success"
    OTHERWISE = "otherwise", "People did otherwise", "danger"
    NOTHING = "nothing", "Nobody did anything", "secondary"
    OURS = "ours", "Rekindle did it", "info"
    REJECTED = "rejected", "Rejected by a person", "warning"


_SAME: dict[Operation, frozenset[Happened]] = {
    Operation.RESTART: frozenset({Happened.AGAIN, Happened.SUBMITTED}),
    Operation.RELEASE: frozenset({Happened.AGAIN, Happened.RUNS}),
    Operation.TERMINATE: frozenset({Happened.CANCELLED, Happened.NOTHING}),  # it ended, and nobody started it again
}
_NOTHING: dict[Operation, frozenset[Happened]] = {
    Operation.RESTART: frozenset({Happened.NOTHING, Happened.RUNS}),
    Operation.RELEASE: frozenset({Happened.NOTHING}),
    Operation.TERMINATE: frozenset({Happened.RUNS}),
}


@dataclass(frozen=True)
class Compared:
    """One advice beside what happened. `again_on`: advised-out nodes that the next attempt ran on all the same."""

    advice: Advice
    operation: Operation
    happened: Happened
    match: Match
    again_on: Sequence[str] = ()


@dataclass(frozen=True)
class Row:
    """One operation: how many advices, and how many of each match."""

    operation: Operation
    total: int
    counts: Sequence[tuple[Match, int]]


@dataclass(frozen=True)
class Agreement:
    """The comparison. `nodes`: advised to be left out; `nodes_out`: those that somebody took out within a day."""

    since: datetime
    rows: Sequence[Row]
    newest: Sequence[Compared]
    asked_a_person: int
    nodes: int
    nodes_out: Sequence[str]
    again_on_bad: int
    cut: bool

    @property
    def total(self) -> int:
        """How many advices would have been acted on."""
        return sum(row.total for row in self.rows)


def agreement(cluster: Cluster, now: datetime) -> Agreement:
    """The advice of the last seven days on a cluster. A fixed number of queries."""
    since = now - SPAN
    rows = newest(Advice.objects.filter(attempt__job__cluster=cluster, created_at__gt=since)).order_by("-pk")
    found = list(rows.select_related("attempt__job").defer("trace", "facts")[: READ + 1])
    advices = [one for one in found[:READ] if one.operation != Operation.WAIT]
    later, submitted, ours = _later(advices), _submitted(cluster, advices, since), _ours(advices)
    compared = [_compare(one, later, submitted, ours) for one in advices]
    counts: dict[Operation, Counter[Match]] = defaultdict(Counter)
    for one in compared:
        counts[one.operation][one.match] += 1
    named = _named(advices)
    return Agreement(
        since,
        [
            Row(operation, sum(counts[operation].values()), [(match, counts[operation][match]) for match in Match])
            for operation in Operation
            if operation in counts
        ],
        compared[:SHOWN],
        min(len(found), READ) - len(advices),
        len(named),
        _taken_out(cluster, named),
        sum(bool(one.again_on) for one in compared),
        len(found) > READ,
    )


def what_happened(advice: Advice, later: Sequence[Attempt], submitted: Sequence[datetime]) -> Happened:
    """What became of the job. `later`: its newer attempts; `submitted`: when its like was submitted. Pure."""
    attempt, until = advice.attempt, advice.created_at + ANSWERED_WITHIN
    if any(one.first_seen_at <= until for one in later):
        return Happened.AGAIN
    if any(advice.created_at < at <= until for at in submitted):
        return Happened.SUBMITTED
    if attempt.state == JobState.CANCELLED:
        return Happened.CANCELLED
    return Happened.RUNS if JobState(attempt.state) in _ALIVE else Happened.NOTHING


def match_of(operation: Operation, happened: Happened) -> Match:
    """Whether people did what was advised. Pure; not for `WAIT`."""
    if happened in _SAME[operation]:
        return Match.SAME
    return Match.NOTHING if happened in _NOTHING[operation] else Match.OTHERWISE


def _compare(
    advice: Advice,
    later: Mapping[int, Sequence[Attempt]],
    submitted: Mapping[tuple[str, str], Sequence[datetime]],
    ours: frozenset[int],
) -> Compared:
    operation, job = Operation(advice.operation), advice.attempt.job
    newer = [one for one in later.get(job.pk, ()) if one.index > advice.attempt.index]
    happened = what_happened(advice, newer, submitted.get((job.user, job.name), ()))
    if advice.pk in ours:
        return Compared(advice, operation, happened, Match.OURS)
    if advice.state_reason == ReconciliationReason.REJECTED:
        return Compared(advice, operation, happened, Match.REJECTED)
    out = {str(node) for node in advice.excluded_nodes}
    again_on = sorted(out & {str(node) for node in newer[0].nodes}) if newer else []
    return Compared(advice, operation, happened, match_of(operation, happened), again_on)


def _later(advices: Sequence[Advice]) -> dict[int, list[Attempt]]:
    """The attempts of the advised jobs, in their order."""
    found: dict[int, list[Attempt]] = defaultdict(list)
    for one in Attempt.objects.filter(job__in={advice.attempt.job_id for advice in advices}).order_by("index"):
        found[one.job_id].append(one)
    return found


def _submitted(
    cluster: Cluster, advices: Sequence[Advice], since: datetime
) -> dict[tuple[str, str], list[datetime]]:
    """When jobs of the same user and name were submitted."""
    jobs = [advice.attempt.job for advice in advices]
    rows = Job.objects.filter(
        cluster=cluster,
        created_at__gt=since,
        user__in={job.user for job in jobs},
        name__in={job.name for job in jobs},
    ).order_by("created_at")
    found: dict[tuple[str, str], list[datetime]] = defaultdict(list)
    for user, name, at in rows.values_list("user", "name", "created_at"):
        found[user, name].append(at)
    return found


def _ours(advices: Sequence[Advice]) -> frozenset[int]:
    """Keys of those on which a controller of ours has done something."""
    keys = [advice.pk for advice in advices]
    done = Milestone.objects.filter(sequence__advice__in=keys).order_by()
    return frozenset(done.values_list("sequence__advice", flat=True))


def _named(advices: Sequence[Advice]) -> dict[str, datetime]:
    """Each node that was advised to be left out, with when that was first."""
    found: dict[str, datetime] = {}
    for advice in advices:
        for node in advice.excluded_nodes:
            found[str(node)] = min(found.get(str(node), advice.created_at), advice.created_at)
    return found


def _taken_out(cluster: Cluster, named: Mapping[str, datetime]) -> list[str]:
    """Those of the nodes that somebody drained, or left out by hand, within a day."""
    nodes = Node.objects.filter(cluster=cluster, name__in=list(named), reason_at__isnull=False)
    drained = {
        node.name: node.reason_at for node in nodes if OUT & set(node.state.lower().replace("*", "").split("+"))
    }
    by_hand = Exclusion.objects.filter(cluster=cluster, node__in=list(named), verdict_id=None)
    times: list[tuple[str, datetime | None]] = [*drained.items(), *by_hand.values_list("node", "since")]
    return sorted(
        {node for node, at in times if at is not None and named[node] <= at <= named[node] + ANSWERED_WITHIN}
    )
