"""What do a fault's effects look like to Slurm? Each was read off a real 22.05.8."""

from collections.abc import Callable
from typing import Any

from lab.simulate.effects import (
    CancelledByUser,
    Effect,
    Ended,
    Hung,
    NodeLost,
    OutOfTime,
    Preempted,
    PrologFailed,
    Requeued,
)
from lab.simulate.jobs import Job
from lab.simulate.life import EPILOG_SECONDS, Life

PROLOG_ERROR = "Prolog error"
LAUNCH_HELD = "launch failed requeued held"


def happen(cluster: Life, job: Job, effect: Effect) -> None:
    """Do to the running job what the effect says."""
    EFFECTS[type(effect)](cluster, job, effect)


def _ended(cluster: Life, job: Job, effect: Ended) -> None:
    cluster.finish(job, effect)


def _hung(cluster: Life, job: Job, effect: Hung) -> None:
    job.stubborn = True  # a process that hangs in the driver does not act on TERM


def _node_lost(cluster: Life, job: Job, effect: NodeLost) -> None:
    cluster.lose_node(effect.name)


def _cancelled(cluster: Life, job: Job, effect: CancelledByUser) -> None:
    cluster.cancel(job, cluster.settings.user_id)


def _out_of_time(cluster: Life, job: Job, effect: OutOfTime) -> None:
    cluster.time_out(job)


def _preempted(cluster: Life, job: Job, effect: Preempted) -> None:
    """PreemptMode=REQUEUE: back to the queue; a job that may not be requeued ends as PREEMPTED with signal 15."""
    cluster.say_cancelled(job, " DUE TO PREEMPTION")
    seconds = cluster.ending_seconds(job)
    if job.requeue_allowed:
        _again(cluster, job, "PREEMPTED", seconds)
        return
    cluster.finish(job, Ended("PREEMPTED", 0, 15), seconds)
    job.row.exit_signal = 0


def _requeued(cluster: Life, job: Job, effect: Requeued) -> None:
    if job.requeue_allowed:
        cluster.requeue(job, hold=False)


def _prolog_failed(cluster: Life, job: Job, effect: PrologFailed) -> None:
    """The node is drained, the job waits held, and only an administrator may let it go on."""
    node = cluster.nodes[effect.name]
    node.drained, node.reason, node.reason_at = True, PROLOG_ERROR, int(cluster.now)
    if effect.name == job.batch_host:
        cluster.say(job, ("Error running slurm prolog: 1",))
    else:
        cluster.say_cancelled(job, " DUE TO JOB REQUEUE")
        failure, step = "Job prolog failed", f"StepId={job.number}.0"
        cluster.say(
            job,
            (
                f"srun: error: Task launch for {step} failed on node {effect.name}: {failure}",
                f"srun: error: Application launch failed: {failure}",
                "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
            ),
        )
    job.priority, job.reason = 0, LAUNCH_HELD
    _again(cluster, job, "REQUEUED", EPILOG_SECONDS)


def _again(cluster: Life, job: Job, state: str, seconds: float) -> None:
    """The attempt ends as `state` for the accounting, and the job waits as the next one."""
    cluster.close_row(job, state)
    job.restarts += 1
    cluster.back(job, seconds)


EFFECTS: dict[type, Callable[[Life, Job, Any], None]] = {
    Ended: _ended,
    Hung: _hung,
    NodeLost: _node_lost,
    CancelledByUser: _cancelled,
    OutOfTime: _out_of_time,
    Preempted: _preempted,
    Requeued: _requeued,
    PrologFailed: _prolog_failed,
}
