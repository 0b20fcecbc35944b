"""Which advice is handed to a controller, and may it be carried out at this moment?"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from advisor_api.acting import acting_on
from advisor_api.gates import may_act
from advisor_api.gathering import active_exclusions, command_given
from advisor_api.models import Advice, Exclusion
from advisor_api.models import Sequence as Recovery
from advisor_api.pausing import active_pauses
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from advisor_api.seeing import jm_state_of, newest, status_of
from detectors.models import Anomaly
from workloads.models import Attempt, Cluster, Job

ISSUES_LIMIT = 20  # symptoms shown with one advice
OPEN = (AdviceState.PENDING.value, AdviceState.AWAITING_APPROVAL.value)


@dataclass(frozen=True)
class Handed:
    """An advice as it is handed out: with its symptoms, and whether it may be carried out now."""

    advice: Advice
    issues: tuple[Anomaly, ...]
    may_be_acted_on: bool
    why_not: str
    given_back: frozenset[str] = frozenset()

    @property
    def attempt(self) -> Attempt:
        """The attempt that it is on."""
        return self.advice.attempt

    @property
    def excluded_nodes(self) -> list[str]:
        """Nodes to leave out: those of the advice, without those that were given back before anything was begun."""
        return [str(node) for node in self.advice.excluded_nodes if node not in self.given_back]

    @property
    def status(self) -> str:
        """JOB_STATUS_…"""
        return status_of(self.attempt)

    @property
    def jm_state(self) -> str:
        """The scheduler's own word."""
        return jm_state_of(self.attempt)

    @property
    def recovery(self) -> Recovery | None:
        """The sequence that it opened; WAIT opens none."""
        return getattr(self.advice, "sequence", None)

    @property
    def waiting_tasks_of(self) -> int | None:
        """The array whose waiting tasks should leave out the same nodes: they have not run, and would get there."""
        job: Job = self.attempt.job
        restarts = self.advice.operation == Operation.RESTART and bool(self.excluded_nodes)
        return job.array_job if restarts and job.array_task is not None else None

    @property
    def traceparent(self) -> str:
        """W3C trace context of the recovery, or `""`."""
        return traceparent(self.recovery) if self.recovery else ""


def traceparent(recovery: Recovery) -> str:
    """`00-<32 hex>-<16 hex>-01`: the recovery is the trace, its first span is named by its UUID."""
    return f"00-{recovery.trace_id}-{recovery.uuid.hex[:16]}-01"


def advice_of(cluster: Cluster, *, only_active: bool) -> QuerySet[Advice]:
    """The newest advice of each attempt, without what only asks a person (decisions 17).

    `only_active`: what can still need reconciliation, approved or not.
    """
    rows = newest(Advice.objects.filter(attempt__job__cluster=cluster)).exclude(operation=Operation.WAIT.value)
    rows = rows.select_related("attempt__job__cluster", "verdict", "sequence")
    rows = rows.defer("trace", "facts", "verdict__body")
    return rows.filter(state__in=OPEN) if only_active else rows


def handed(advice: Sequence[Advice], cluster: Cluster, now: datetime) -> list[Handed]:
    """The advice of one cluster with symptoms and gates. Four queries, however many there are; a few more for those
    of which a node was given back.
    """
    pauses = list(active_pauses(cluster, now))
    issues: defaultdict[int, list[Anomaly]] = defaultdict(list)
    for anomaly in Anomaly.objects.filter(attempt__in={each.attempt_id for each in advice}).defer("evidence"):
        if len(issues[anomaly.attempt_id]) < ISSUES_LIMIT:
            issues[anomaly.attempt_id].append(anomaly)
    acting = acting_on([each.attempt.job for each in advice])
    given_back = _given_back(advice, cluster, now)
    found = []
    for each in advice:
        may, why_not = may_act(each, cluster, each.attempt.job, pauses, acting, now)
        back = given_back.get(each.pk, frozenset())
        found.append(Handed(each, tuple(issues[each.attempt_id]), may, why_not, back))
    return found


def _given_back(advice: Sequence[Advice], cluster: Cluster, now: datetime) -> dict[int, frozenset[str]]:
    """Nodes of each advice whose exclusions were all lifted after it was given: by a person, or as their faults are
    cleared. What a controller has begun it carries through as it was handed out.
    """
    nodes = {str(node) for each in advice for node in each.excluded_nodes}
    if not nodes:
        return {}
    since = min(each.created_at for each in advice)
    rows = Exclusion.objects.filter(cluster=cluster, lifted_at__gt=since).values_list("node", "lifted_at")
    lifted = [(node, at) for node, at in rows if node in nodes and at is not None]
    if not lifted:
        return {}
    out = set(active_exclusions(cluster, now).values_list("node", flat=True))
    found = {}
    for each in advice:
        back = {
            node for node, at in lifted if node in each.excluded_nodes and at > each.created_at and node not in out
        }
        if back and not command_given(each.attempt):
            found[each.pk] = frozenset(back)
    return found
