"""How is a cluster forgotten? Children first, so that no database meets a row whose parent is gone."""

from advisor_api.models import Advice, Sequence
from detectors.models import Verdict
from workloads.models import Cluster, Job
from workloads.removed_models import RemovedCluster


def forget(cluster: Cluster) -> None:
    """Delete a cluster and everything that is stored of it but its trail, inside the caller's transaction.

    What a cluster was that not everybody saw, its trail stays.

    Django cannot order a deletion by itself once verdicts refer to verdicts, and InnoDB checks every statement.
    """
    Sequence.objects.filter(advice__attempt__job__cluster=cluster).delete()
    Advice.objects.filter(attempt__job__cluster=cluster).delete()
    verdicts = Verdict.objects.filter(attempt__job__cluster=cluster)
    verdicts.update(supersedes=None)
    verdicts.delete()
    Job.objects.filter(cluster=cluster).delete()
    if cluster.seen_by:
        RemovedCluster.objects.update_or_create(name=cluster.name, defaults={"seen_by": cluster.seen_by})
    cluster.delete()
