"""Where do the logs and dumps of a stored attempt stand?"""

from workloads.log_paths import PATTERNS_LIMIT, JobNames, LogPattern, expand, log_patterns
from workloads.models import Attempt, Job
from workloads.opt_in import read_stored


def log_patterns_of(attempt: Attempt) -> tuple[LogPattern, ...]:
    """The places to look at for one attempt, in order; reads `attempt.job.cluster`. At most 16."""
    job = attempt.job
    logs = read_stored(job.opt_in).logs
    return log_patterns(_names(job), logs, job.cluster.log_patterns, job.stdout, job.stderr)


def dump_patterns_of(attempt: Attempt) -> tuple[LogPattern, ...]:
    """Where its Flight Recorders leave their dumps, as the cluster says; at most 16, each once."""
    names = _names(attempt.job)
    found = (expand(text, names, "cluster") for text in attempt.job.cluster.dump_patterns[:PATTERNS_LIMIT])
    return tuple({one.expression: one for one in found if one is not None}.values())


def _names(job: Job) -> JobNames:
    return JobNames(
        number=job.number,
        name=job.name,
        user=job.user,
        work_dir=job.work_dir,
        array_job=job.array_job,
        array_task=job.array_task,
    )
