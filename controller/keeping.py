"""`python -m controller keep JOB`: how does an operator keep a job held that we hold?

Our mark is replaced by the wish to keep it, which stands in the job itself: controllers and watchdogs on every host
see it, and none of them releases that attempt. `scontrol release JOB` lets it go.
"""

from argparse import Namespace
from collections.abc import Callable

from controller.clock import Clock, SystemClock
from controller.cluster import scheduler_of
from controller.config import Settings
from controller.mark import read_comment, with_wish_to_keep
from schedulers.port import JobDetail, Scheduler, SchedulerError
from schedulers.states import JobState

READ_BACK_SECONDS = 1.5  # longer than the time between a controller's last look and its command


def keep(job: int, scheduler: Scheduler, clock: Clock, say: Callable[[str], None]) -> bool:
    """Keep `job` held; returns whether it is. Only a held job can be kept."""
    try:
        row = scheduler.job(job).row
        if row.state is JobState.COMPLETING:
            say(f"Job {job} is still ending; if it is held afterwards, it can be kept then.")
            return False
        if not row.held:
            say(f"Job {job} is {row.word} and not held, so there is nothing to keep.")
            return False
        comment = read_comment(row.admin_comment)
        scheduler.mark(job, with_wish_to_keep(row.restarts, comment.foreign))
        clock.sleep(READ_BACK_SECONDS)
        after = scheduler.job(job)
    except SchedulerError as error:
        say(f"Job {job} could not be kept: {error.reason}.")
        return False
    if not _stays(after, row.restarts):
        say(f"Job {job} was acted on in the same moment and is {after.row.word} now; look at it and try again.")
        return False
    say(f"Job {job} stays held, and nothing of ours will release it; `scontrol release {job}` lets it go.")
    return True


def _stays(after: JobDetail, restarts: int) -> bool:
    return after.row.held and read_comment(after.row.admin_comment).kept == restarts


def main(settings: Settings, options: Namespace) -> int:
    """Keep the job that the command line names. Returns the exit status."""
    return 0 if keep(options.job, scheduler_of(settings), SystemClock(), print) else 1
