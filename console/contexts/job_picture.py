"""What stands in the pictures of a job: its timeline, and the curves of its steps?"""

from console.asking import Asked
from console.contexts import Context
from console.job_rows import LANES_SHOWN, attempts_of, checkpoints_saved, first_listed, marked_of
from console.job_timeline import choices, job_timeline
from console.mark_kind import MarkKind
from console.recovery import newest_recovery, sequences_of


def job_lanes(asked: Asked) -> Context:
    """The picture of a job: attempts as lanes on one time axis, all of it or a window."""
    job, cluster, window = asked.the_job, asked.the_cluster, asked.window
    attempts = attempts_of(job, LANES_SHOWN, window)
    events, saved = marked_of(job, cluster, window), checkpoints_saved(job, cluster, window)
    return {
        "timeline": job_timeline(attempts, events, saved, asked.now, window),
        "choices": choices(attempts, newest_recovery(sequences_of(job)), window),
        "kinds": [kind for kind in MarkKind if kind is not MarkKind.STATE],
        "listed_from": first_listed(job, cluster, window),
        "first_attempt": attempts[0].index if attempts else 0,
        "window": window,
        "address": asked.page,
    }
