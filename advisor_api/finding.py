"""Which cluster, which attempt does a request mean, among those that the caller may see?"""

import re
from collections.abc import Sequence
from uuid import UUID

from advisor_api.authentication import Caller
from advisor_api.refusals import Bad, Forbidden, NotFound
from workloads.models import Attempt, Cluster, Job

LABEL = re.compile(r"([0-9]{1,19})-([0-9]{1,9})\Z")
LARGEST = 2**63 - 1


def clusters_of(caller: Caller, name: str = "") -> Sequence[Cluster]:
    """The clusters that the caller may see, or the one of them with this name. Raises `Forbidden`, `NotFound`."""
    clusters = caller.clusters()
    if not clusters:
        raise Forbidden("This token is for no cluster.")
    if not name:
        return clusters
    found = [cluster for cluster in clusters if cluster.name == name]
    if not found and caller.token is not None:
        raise Forbidden(f"This token is not for the cluster {name[:64]!r}.")
    if not found:
        raise NotFound(f"There is no cluster {name[:64]!r}.")
    return found


def one_cluster(caller: Caller, name: str = "") -> Cluster:
    """The one cluster that is meant: that of the token, or the named one. Raises `Bad` when it is not clear."""
    clusters = clusters_of(caller, name)
    if len(clusters) > 1:
        raise Bad(f"Say which cluster: add cluster=NAME, one of {', '.join(each.name for each in clusters)}.")
    return clusters[0]


def attempt_by_uuid(caller: Caller, heimdall_id: UUID, cluster: str = "") -> Attempt:
    """The attempt with this heimdallJobId; `NotFound` when there is none on the caller's clusters."""
    rows = Attempt.objects.select_related("job__cluster")
    attempt = rows.filter(heimdall_id=heimdall_id, job__cluster__in=clusters_of(caller, cluster)).first()
    if attempt is None:
        raise NotFound(f"There is no attempt {heimdall_id}.")
    return attempt


def attempt_by_label(cluster: Cluster, label: str) -> Attempt:
    """`12345-0`, of the newest job with that number. Raises `Bad` or `NotFound`."""
    match = LABEL.match(label)
    if match is None or int(match[1]) > LARGEST:
        raise Bad("Write the id as {job_id}-{attempt_index}, e.g. 12345-0, or pass useHeimdallId=true with a UUID.")
    job = newest_job(cluster, int(match[1]))
    attempt = Attempt.objects.select_related("job__cluster").filter(job=job, index=int(match[2])).first()
    if attempt is None:
        raise NotFound(f"Job {match[1]} has no attempt {match[2]}.")
    return attempt


def newest_job(cluster: Cluster, number: int) -> Job:
    """The newest submission with this number: numbers come round again. Raises `NotFound`."""
    job = Job.objects.filter(cluster=cluster, number=number).order_by("-epoch").first()
    if job is None:
        raise NotFound(f"{cluster.name} has no job {number}.")
    return job
