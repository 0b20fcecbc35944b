"""What does an event of the trail speak of, said in the trail's words?"""

from audit.trail import Subject
from workloads.models import Attempt, Cluster, Job


def subject_of_cluster(cluster: Cluster) -> Subject:
    """A whole cluster."""
    return Subject(cluster=cluster.name)


def subject_of_job(job: Job) -> Subject:
    """One job; reads `job.cluster`."""
    return Subject(cluster=job.cluster.name, job_number=job.number, job_epoch=job.epoch, user=job.user)


def subject_of(attempt: Attempt, node: str = "") -> Subject:
    """One attempt, and perhaps a node of it; reads `attempt.job.cluster`."""
    return Subject(
        cluster=attempt.job.cluster.name,
        job_number=attempt.job.number,
        job_epoch=attempt.job.epoch,
        attempt_index=attempt.index,
        heimdall_job_id=attempt.heimdall_id,
        node=node,
        user=attempt.job.user,
    )
