"""How does a job live, from the start of an attempt to the start of the next?

What Slurm does was read off a real one (22.05.8); the comments name what surprised.
"""

from abc import abstractmethod

from lab.dialects.dialect import Stage
from lab.simulate.effects import Effect, Ended
from lab.simulate.faults.known import struck
from lab.simulate.jobs import PENDING, REQUEUED_HELD, RUNNING, SUSPENDED, Job
from lab.simulate.logs import Unwritable
from lab.simulate.run import Run
from lab.simulate.times import stamp
from lab.simulate.world import Strike, World

EPILOG_SECONDS = 0.1  # a job that obeys TERM is COMPLETING this long (observed: 0.13 s)
SHRINK_SECONDS = 0.05  # until only the batch host is left in the node list of a COMPLETING job
KILL_SECONDS = 2.7  # beyond KillWait, until the last process is gone (observed: 4.7 s with KillWait=2)


class Life(World):
    """The lives of jobs. `serial` of a job rises with every change: a timer of an older life does nothing."""

    @abstractmethod
    def lose_node(self, name: str) -> None:
        """A node stops answering."""

    @abstractmethod
    def happen(self, job: Job, effect: Effect) -> None:
        """What a fault does to the running attempt."""

    def on_strike(self, strike: Strike) -> None:
        """Have every fault that strikes told to `strike`, at its moment. No log tells it."""
        self.strikes.append(strike)

    def start(self, job: Job, nodes: tuple[str, ...]) -> None:
        """An attempt begins."""
        second = int(self.now)
        job.serial += 1
        job.state, job.reason, job.nodes = RUNNING, "None", nodes
        job.starts_at, job.ended_at = second, None
        job.exit_code = job.exit_signal = 0
        job.stubborn = job.play.ignores_term
        job.row.state, job.row.started_at, job.row.nodes = RUNNING, second, nodes
        job.row.eligible_at = job.eligible_at
        for name in nodes:
            self.nodes[name].jobs.add(job.number)
        self.counts["started"] += 1
        if job.rushed:
            self.finish(job, Ended("FAILED", 1, 0, "NonZeroExitCode"))
            return
        job.path = job.output_path()
        job.paths.add(job.path)
        try:
            self.logs.start(job.path, job.play.open_mode == "append")
        except Unwritable:
            self.finish(job, Ended("FAILED", 0, 53, "JobLaunchFailure"))
            return
        play = job.play
        stage = Stage(
            job.number, play.name, job.restarts, nodes, self.settings.gpus_per_node, play.steps, play.step_seconds
        )
        job.run = Run(play, stage, job.checkpoint)
        self.agenda.after(0, self._go_on, job, job.serial)
        self.watch_limit(job)

    def _go_on(self, job: Job, serial: int) -> None:
        if job.serial != serial or job.run is None:
            return
        moment = job.run.go_on(self.now)
        for blow in moment.strikes:
            nodes, ranks = struck(blow)
            for told in self.strikes:
                told(job.number, job.restarts, blow.fault, nodes, ranks, blow.step, blow.at)
        self.say(job, moment.lines)
        if moment.saved_step is not None:
            job.checkpoint = moment.saved_step
            self.logs.keep(job.path, job.checkpoint)
        if moment.effect is not None:
            self.happen(job, moment.effect)
        elif moment.wait_seconds is not None:
            self.agenda.after(moment.wait_seconds, self._go_on, job, serial)

    def say(self, job: Job, lines: tuple[str, ...]) -> None:
        """Put lines into the job's output."""
        if lines and job.path:
            self.logs.write(job.path, "".join(f"{line}\n" for line in lines))

    def watch_limit(self, job: Job) -> None:
        """Have a look when the time limit is reached."""
        if job.state == RUNNING and job.time_limit_seconds and job.starts_at is not None:
            left = job.starts_at + job.time_limit_seconds - self.now
            self.agenda.after(left, self._limit, job, job.serial)

    def _limit(self, job: Job, serial: int) -> None:
        due = job.time_limit_seconds and (job.starts_at or 0) + job.time_limit_seconds <= self.now
        if job.serial == serial and due:
            self.time_out(job)

    def time_out(self, job: Job) -> None:
        """The time limit is reached."""
        self.say_cancelled(job, " DUE TO TIME LIMIT")
        self.finish(job, Ended("TIMEOUT", 0, 0, "TimeLimit"), self.ending_seconds(job))

    def say_cancelled(self, job: Job, why: str) -> None:
        """What slurmstepd writes when a job is ended from outside."""
        host = job.batch_host
        at = stamp(self.now)
        self.say(job, (f"slurmstepd-{host}: error: *** JOB {job.number} ON {host} CANCELLED AT {at}{why} ***",))

    def ending_seconds(self, job: Job) -> float:
        """How long the processes take to end; on a node that does not answer, until it is called down."""
        if any(self.nodes[name].lost for name in job.nodes):
            return self.settings.node_timeout_seconds
        return self.settings.kill_wait_seconds + KILL_SECONDS if job.stubborn else EPILOG_SECONDS

    def finish(self, job: Job, end: Ended, ending_seconds: float = EPILOG_SECONDS) -> None:
        """A running job is over; for `ending_seconds` it is COMPLETING."""
        job.state, job.reason = end.state, end.reason
        job.exit_code, job.exit_signal = end.exit_code, end.exit_signal
        job.ended_at = int(self.now)
        self.close_row(job, end.state)
        kind = {"COMPLETED": "completed", "CANCELLED": "canceled"}.get(end.state, "failed")
        self.counts[kind] += 1
        self._complete(job, ending_seconds)

    def close_row(self, job: Job, state: str) -> None:
        """The accounting learns how the attempt ended."""
        row = job.row
        row.state, row.ended_at = state, int(self.now)
        row.exit_code, row.exit_signal = job.exit_code, job.exit_signal
        row.comment = job.comment or ""

    def _complete(self, job: Job, seconds: float) -> None:
        job.serial += 1
        job.run, job.completing, job.shrunk = None, True, False
        for name in job.nodes:
            self.nodes[name].ending.add(job.number)
        if seconds > 0:
            self.agenda.after(SHRINK_SECONDS, self._shrink, job, job.serial)
            self.agenda.after(seconds, self._settle, job, job.serial)
            self.request_cycle()
        else:
            self._settle(job, job.serial)

    def _shrink(self, job: Job, serial: int) -> None:
        if job.serial == serial and job.completing:
            job.shrunk = True
            for name in job.nodes[1:]:
                self._leave(job, name)
            self.request_cycle()

    def _leave(self, job: Job, name: str) -> None:
        node = self.nodes[name]
        node.jobs.discard(job.number)
        node.ending.discard(job.number)
        node.busy_at = int(self.now)

    def _settle(self, job: Job, serial: int) -> None:
        if job.serial != serial:
            return
        job.completing = False
        for name in job.nodes:
            self._leave(job, name)
        if job.state == PENDING:
            self.wait_again(job)
        else:
            self.agenda.after(self.settings.min_job_age_seconds, self._purge, job, job.serial)
        self.request_cycle()

    def _purge(self, job: Job, serial: int) -> None:
        if job.serial != serial:
            return
        del self.jobs[job.number]
        for path in job.paths:
            self.logs.remove(path)
        self.forgotten[job.number] = job.rows
        while len(self.forgotten) > self.settings.remembered_jobs:
            del self.forgotten[next(iter(self.forgotten))]

    # --- from one attempt to the next

    def requeue(self, job: Job, *, hold: bool, special: bool = False) -> None:
        """Back to the queue, held or not. The caller has made sure that it may be requeued."""
        live, ending = job.state in (RUNNING, SUSPENDED), job.completing
        if hold:
            job.priority, job.reason = 0, REQUEUED_HELD
        job.special_exit = special
        job.restarts += 1
        if live:
            self.say_cancelled(job, " DUE TO JOB REQUEUE")
            self.close_row(job, "REQUEUED")
            self.back(job, self.ending_seconds(job))
            return
        job.row.state, job.row.cancelled_by = "REQUEUED", None
        job.row.exit_code, job.row.exit_signal = job.exit_code, job.exit_signal
        job.state = PENDING
        if not ending:  # while COMPLETING, the timer that is running ends in `wait_again`
            job.row.ended_at = int(self.now)
            self.wait_again(job)

    def back(self, job: Job, seconds: float) -> None:
        """PENDING again; for `seconds` the processes of the old attempt are still ending."""
        job.state, job.ended_at = PENDING, None
        self._complete(job, seconds)

    def wait_again(self, job: Job) -> None:
        """PENDING as the next attempt. Slurm never gives two attempts of a job the same SubmitTime."""
        second = max(int(self.now), job.submitted_at + 1)
        begins = second + self.settings.requeue_wait_seconds
        job.serial += 1
        job.submitted_at, job.began_at, job.rushed = second, self.now, False
        job.eligible_at = job.accrued_at = job.starts_at = begins
        job.begin_at, job.ended_at, job.nodes = begins, None, ()
        job.row = self.new_row(job.number, job.play, job.partition, second)
        job.row.eligible_at = begins
        job.row.reason = "JobHeldUser" if job.held else "None"
        job.rows.append(job.row)
        self.request_cycle()

    def cancel(self, job: Job, user_id: int) -> None:
        """As scancel by `user_id`; a finished job stays as it is."""
        if job.finished:
            return
        if job.state in (RUNNING, SUSPENDED):
            self.say_cancelled(job, "")
            seconds = self.ending_seconds(job)
            self.finish(job, Ended("CANCELLED", 0, 9 if job.stubborn else 15, job.reason), seconds)
            job.row.exit_signal = 0
        else:
            job.state, job.ended_at = "CANCELLED", int(self.now)
            self.counts["canceled"] += 1
            if job.completing:
                return  # the attempt that was requeued ends, and none follows
            job.starts_at, job.special_exit = job.ended_at, False
            self.close_row(job, "CANCELLED")
            job.serial += 1
            self.agenda.after(self.settings.min_job_age_seconds, self._purge, job, job.serial)
        job.row.cancelled_by = user_id

    def suspend(self, job: Job) -> None:
        """The processes of a running job are stopped."""
        job.serial += 1
        job.state = job.row.state = SUSPENDED

    def unsuspend(self, job: Job) -> None:
        """They go on; what the job was waiting for is over."""
        job.serial += 1
        job.state = job.row.state = RUNNING
        self.agenda.after(0, self._go_on, job, job.serial)
        self.watch_limit(job)
