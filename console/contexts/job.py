"""What stands on the page of one job?"""

from advisor_api.pausing import covers
from console.advice_lines import advice_on, excluded_on
from console.asking import Asked
from console.cluster_rows import pauses_of
from console.contexts import Context
from console.event_times import happened_at
from console.excluded_nodes import exclusions_of
from console.in_short import in_short
from console.job_rows import (
    ATTEMPTS_TOLD,
    EVENTS_SHOWN,
    attempts_of,
    end_of,
    events_of,
    excerpts_of,
    left_alone,
    logs_told,
    place_of,
    points_of,
    run_time,
    state_of,
    throughput_of,
    verdicts_of,
    wishes_of,
)
from console.job_stories import stories_of
from console.job_timeline import anchor_of, window_before
from console.mark_kind import MARKED, MarkKind
from console.recovery import failure_before, sequences_of
from console.sparkline import sparkline
from workloads.phase import Phase

_MARKS = {event_type.value: kind for event_type, kind in MARKED.items() if kind is not MarkKind.STATE}


def job_summary(asked: Asked) -> Context:
    """State, progress and owner of a job at a glance."""
    attempts = attempts_of(asked.the_job)
    newest = attempts[-1] if attempts else None
    points = points_of(newest) if newest else []
    seconds = [point.step_seconds for point in points if point.step_seconds is not None]
    return {
        "job": asked.the_job,
        "cluster": asked.the_cluster,
        "attempts": attempts,
        "newest": newest,
        "state": state_of(newest) if newest else None,
        "phase": Phase(newest.phase) if newest else None,
        "ended_at": end_of(newest) if newest else None,
        "run_time": run_time(newest, asked.now) if newest else None,
        "best_checkpoint": max((a.last_checkpoint_step or 0 for a in attempts), default=0),
        "throughput": throughput_of(points),
        "pauses": [
            pause
            for pause in pauses_of([asked.the_cluster], asked.now).get(asked.the_cluster.pk, ())
            if covers(pause, asked.the_job)
        ],
        "place": place_of(newest) if newest else "",
        "sparkline": sparkline(seconds, newest.baseline_step_seconds if newest else None),
        "wishes": [] if asked.the_job.opt_in_error else wishes_of(asked.the_job),
        "short": in_short(
            attempts,
            advice_on(asked.the_job, asked.now),
            verdicts_of(attempts, whole=False),
            left_alone(asked.the_job, asked.the_cluster),
        ),
    }


def job_recovery(asked: Asked) -> Context:
    """What was found, concluded, advised and reached, attempt by attempt, the newest first."""
    return {
        "told": stories_of(asked.the_job, asked.the_cluster, asked.window, asked.now),
        "job": asked.the_job,
        "cluster": asked.the_cluster,
        "window": asked.window,
        "address": asked.page,
    }


def job_attempts(asked: Asked) -> Context:
    """Nodes, times and ends of each attempt; what was excluded and why; where its log can be read."""
    job, cluster, window = asked.the_job, asked.the_cluster, asked.window
    attempts = attempts_of(job, ATTEMPTS_TOLD, window)
    excluded = excluded_on(job)
    copies, logs = excerpts_of(attempts), logs_told(attempts)
    rows = [
        {
            "attempt": attempt,
            "state": state_of(attempt),
            "ended_at": end_of(attempt),
            "run_time": run_time(attempt, asked.now),
            "excluded": excluded.get(attempt.pk, []),
            "copies": copies.get(attempt.pk, []),
            "logs": logs.get(attempt.pk, 0),
        }
        for attempt in reversed(attempts)
    ]
    nodes = {node for names in excluded.values() for node in names}
    return {
        "rows": rows,
        "exclusions": exclusions_of(cluster, nodes, asked.now),
        "cut": len(attempts) == ATTEMPTS_TOLD and attempts[0].index > 0,
        "before": window_before(attempts[0]) if attempts else window,
        "window": window,
        "address": asked.page,
        "job": job,
        "cluster": cluster,
    }


def job_events(asked: Asked) -> Context:
    """Everything that happened to a job, in order, with who did it and how long after the failure."""
    job, cluster = asked.the_job, asked.the_cluster
    sequences, events = sequences_of(job), events_of(job, cluster, asked.window)
    happened = happened_at(events)
    rows = [
        {
            "event": event,
            "anchor": anchor_of(event.pk),
            "failed_at": failure_before(event.at, sequences),
            "mark": _MARKS.get(event.type),
            "happened_at": happened.get(event.pk),
        }
        for event in events
    ]
    return {"rows": rows, "window": asked.window, "cut": len(rows) == EVENTS_SHOWN, "address": asked.page}
