"""What stands in the pictures of a job: its timeline, and the curves of its steps?"""

from console.asking import Asked
from console.contexts import Context
from console.curve_picture import axis_for, drawn
from console.job_rows import (
    ATTEMPTS_TOLD,
    attempts_drawn,
    checkpoints_saved,
    first_listed,
    marked_of,
)
from console.job_series import Curves, Measure, curves_of
from console.job_timeline import choices, job_timeline
from console.mark_kind import MarkKind
from console.recovery import newest_recovery, sequences_of
from workloads.limits import effective_limits
from workloads.models import Attempt


def job_lanes(asked: Asked) -> Context:
    """The picture of a job: attempts as lanes on one time axis, all of it or a window."""
    job, cluster, window = asked.the_job, asked.the_cluster, asked.window
    attempts = attempts_drawn(job, window)
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


def job_curves(asked: Asked) -> Context:
    """Step times and throughput: a picture that needs no script, the same in numbers, and where the points are."""
    attempts, curves, factor = curves_in(asked)
    axis = axis_for(attempts, asked.now, asked.window)
    rows = [
        {"attempt": attempt, "curve": known[Measure.SECONDS].told, "work": known[curves.work].told}
        for attempt, known in reversed(curves.of)
        if known[Measure.SECONDS].told or known[curves.work].told
    ]
    return {
        "drawn": drawn(curves, axis, factor) if axis else None,
        "rows": rows[:ATTEMPTS_TOLD],
        "rows_left_out": max(0, len(rows) - ATTEMPTS_TOLD),
        "work": curves.work,
        "cut": curves.cut,
        "factor": factor,
        "window": asked.window,
        "address": asked.page,
        "data_address": f"{asked.page}/curves.json",
    }


def curves_in(asked: Asked) -> tuple[list[Attempt], Curves, float]:
    """The attempts in the window with what their steps told, and by which factor a step counts as slow."""
    attempts = attempts_drawn(asked.the_job, asked.window)
    limits = effective_limits(asked.the_cluster.detector_limits)
    return attempts, curves_of(attempts, asked.window), limits["straggler_factor"]
