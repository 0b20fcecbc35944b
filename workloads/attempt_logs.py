"""Where do the logs of a stored attempt stand?"""

from workloads.log_paths import JobNames, LogPattern, log_patterns
from workloads.models import Attempt
from workloads.opt_in import read_stored


def log_patterns_of(attempt: Attempt) -> tuple[LogPattern, ...]:
    """The places to look at for one attempt, in order; reads `attempt.job.cluster`. At most 16."""
    job = attempt.job
    names = JobNames(
        number=job.number,
        name=job.name,
        user=job.user,
        work_dir=job.work_dir,
        array_job=job.array_job,
        array_task=job.array_task,
    )
    return log_patterns(names, read_stored(job.opt_in).logs, job.cluster.log_patterns, job.stdout, job.stderr)
