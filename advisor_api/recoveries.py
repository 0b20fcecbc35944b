"""Which recovery is meant?"""

from uuid import UUID

from advisor_api.authentication import Caller
from advisor_api.finding import clusters_of
from advisor_api.models import Sequence
from advisor_api.policy.operation import Operation
from advisor_api.refusals import NotFound
from workloads.models import Cluster, Job


def find_sequence(
    cluster: Cluster, scheduler: tuple[str, str], attempt: tuple[int, int], operation: Operation
) -> Sequence:
    """The newest recovery by scheduler (kind, scope), attempt (job number, index) and operation; `NotFound`.

    The job number means its newest submission.
    """
    rows = Sequence.objects.filter(
        advice__attempt__job=Job.objects.filter(cluster=cluster, number=attempt[0]).order_by("-epoch").first(),
        advice__attempt__index=attempt[1],
        advice__operation=operation.value,
    )
    found = rows.order_by("-advice__generation").first()
    if found is None or scheduler != (cluster.scheduler_kind, cluster.name):
        raise NotFound(f"There is no recovery of {attempt[0]}-{attempt[1]} with this operation.")
    return found


def sequence_by_uuid(caller: Caller, uuid: UUID, cluster: str = "") -> Sequence:
    """The recovery with this id on one of the caller's clusters; `NotFound`."""
    rows = Sequence.objects.select_related("advice__attempt__job__cluster")
    found = rows.filter(uuid=uuid, advice__attempt__job__cluster__in=clusters_of(caller, cluster)).first()
    if found is None:
        raise NotFound(f"There is no recovery {uuid}.")
    return found
