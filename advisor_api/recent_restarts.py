"""How many restarts were begun in the last minutes, in a partition and of a user?"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, Q

from advisor_api.acting import acting_on
from advisor_api.gates import may_act
from advisor_api.models import Advice
from advisor_api.pausing import active_pauses
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from advisor_api.policy.values import Policy
from audit.event_type import EventType
from audit.models import AuditEvent
from workloads.models import Job

LONGEST_RECOVERY = timedelta(days=1)  # from advice to its last command: far above expiry, back-off and hold


@dataclass(frozen=True)
class Restarted:
    """Restarts within the policy's window."""

    in_partition: int
    of_user: int


def recent_restarts(job: Job, policy: Policy, now: datetime) -> Restarted:
    """How many restarts were acted on within the policy's window, or may be at this very moment.

    In the partition of `job`, and of its user wherever they run. Acted on: a command is done, or its intent was
    accepted and the advice did not come to nothing. What is handed out now counts as well: of jobs that die
    together all are decided on before the first command. Four queries.
    """
    cluster, since = job.cluster, now - timedelta(seconds=policy.storm_window_seconds)
    # A job that waits is listed with all partitions it was submitted to: `main,spare`.
    own = _partitions(job.partition)
    several = Q(attempt__job__partition__contains=",")
    near = Q(attempt__job__partition__in=[job.partition, *own]) | several | Q(attempt__job__user=job.user)
    here = Advice.objects.filter(near, attempt__job__cluster=cluster)
    restarts = here.filter(operation=Operation.RESTART.value, created_at__gt=since - LONGEST_RECOVERY)
    intents = AuditEvent.objects.filter(
        heimdall_job_id=OuterRef("attempt__heimdall_id"),
        type=EventType.INTENT.value,
        advice_generation=OuterRef("generation"),
        at__gt=since,
    )
    intended = Q(Exists(intents)) & ~Q(state=AdviceState.ABANDONED.value)
    done = restarts.filter(Q(sequence__commanded_at__gt=since) | intended)
    places = {
        key: (partition, user)
        for key, partition, user in done.values_list("pk", "attempt__job__partition", "attempt__job__user")
    }
    waiting = restarts.filter(state=AdviceState.PENDING.value, created_at__gt=since, expires_at__gt=now)
    pauses = tuple(active_pauses(cluster, now))
    rows = waiting.exclude(pk__in=list(places)).select_related("attempt__job__cluster", "verdict")
    handed_out = list(rows.defer("trace", "facts", "verdict__body"))
    acting = acting_on([advice.attempt.job for advice in handed_out])
    for advice in handed_out:
        other = advice.attempt.job
        if may_act(advice, cluster, other, pauses, acting, now)[0]:
            places[advice.pk] = other.partition, other.user
    return Restarted(
        sum(1 for partition, _ in places.values() if partition == job.partition or own & _partitions(partition)),
        sum(1 for _, user in places.values() if user == job.user),
    )


def _partitions(names: str) -> frozenset[str]:
    return frozenset(filter(None, names.split(",")))
