"""How do the jobs and nodes of a cluster live? A deterministic model of Slurm 22.05 in virtual time.

Everything follows from the plays submitted, the commands given and the times passed to `advance`: no threads, no
clock, no chance.
"""

from lab.simulate import ends
from lab.simulate.effects import Effect, Ended
from lab.simulate.jobs import Job
from lab.simulate.life import Life
from lab.simulate.nodes import Node
from lab.simulate.play import KINDS, BadPlay, Fault, Play
from lab.texts.texts import TEXTS

NOT_RESPONDING = "Not responding"
REBOOTED = "Node unexpectedly rebooted"


class ControllerDown(Exception):
    """The controller does not answer."""


class Cluster(Life):
    """A simulated cluster: `Cluster(now)`, then `submit`, `advance(to)` and `lab.simulate.commands.answer`."""

    def submit(self, play: Play) -> int:
        """Take a job; its number. Raises `BadPlay` for a partition or node that does not exist."""
        if not self.controller_up:
            raise ControllerDown
        partition = play.partition or next(iter(self.partitions))
        if partition not in self.partitions:
            raise BadPlay(f"There is no partition '{partition}'.")
        for fault in play.faults:
            self._check(play, fault)
        number, second = self.next_number, int(self.now)
        self.next_number += 1
        job = Job(
            number=number,
            play=play,
            user_id=self.settings.user_id,
            partition=partition,
            name=play.name,
            submitted_at=second,
            priority=self.next_priority(),
            row=self.new_row(number, play, partition, second),
            comment=play.comment or None,
            requeue_allowed=play.requeue,
            time_limit_seconds=play.time_limit_seconds,
            eligible_at=second,
            accrued_at=second,
            begin_at=self.now,
        )
        job.rows.append(job.row)
        self.jobs[number] = job
        self.counts["submitted"] += 1
        self.request_cycle()
        return number

    def _check(self, play: Play, fault: Fault) -> None:
        """Plays that are built by hand have passed no table of keys."""
        if fault.kind not in KINDS:
            raise BadPlay(f"There is no fault '{fault.kind}'.")
        if fault.kind == "text" and fault.text not in TEXTS:
            raise BadPlay(f"There is no text '{fault.text}'.")
        if fault.kind == "requeue" and not play.requeue:
            raise BadPlay("A job that may not be requeued cannot be struck by 'requeue'.")
        for name in (fault.node_name, fault.node if isinstance(fault.node, str) else ""):
            if name and name not in self.nodes:
                raise BadPlay(f"There is no node '{name}'.")

    def happen(self, job: Job, effect: Effect) -> None:
        """See `Life.happen`."""
        ends.happen(self, job, effect)

    def lose_node(self, name: str) -> None:
        """The node stops answering: its jobs fall silent, and the controller notices later."""
        node = self.nodes[name]
        if node.lost:
            return
        node.lost = True
        for number in node.jobs:
            self.jobs[number].run = None
        half = self.settings.node_timeout_seconds / 2
        self.agenda.after(half, self._doubt, node)
        self.agenda.after(2 * half, self._give_up, node)

    def _doubt(self, node: Node) -> None:
        if node.lost:
            node.responding = False

    def _give_up(self, node: Node) -> None:
        if node.lost and not node.down:
            node.down, node.responding = True, False
            node.reason, node.reason_at = NOT_RESPONDING, int(self.now)
            self.fail_jobs(node, self.settings.node_timeout_seconds)

    def return_node(self, name: str) -> None:
        """A lost node answers again; what the controller called down for that is idle at once."""
        node = self.nodes[name]
        if not node.lost:
            return
        if not node.down:
            self.fail_jobs(node, 0)
        node.lost, node.responding = False, True
        if node.reason == NOT_RESPONDING:
            node.down, node.reason = False, ""
        self.request_cycle()

    def reboot_node(self, name: str, seconds: float) -> None:
        """The node is lost, and `seconds` later back with a new boot time: DOWN until an administrator resumes it.

        Modelled after Slurm's source (`ReturnToService` below 2); not observed.
        """
        self.lose_node(name)
        self.agenda.after(seconds, self._booted, self.nodes[name])

    def _booted(self, node: Node) -> None:
        if not node.lost:
            return
        self.return_node(node.name)
        node.booted_at, node.down = int(self.now), True
        if not node.reason:
            node.reason, node.reason_at = REBOOTED, int(self.now)

    def fail_jobs(self, node: Node, ending_seconds: float) -> None:
        """The node is down: its jobs go back to the queue, or end as NODE_FAIL when they may not."""
        for number in sorted(node.jobs - node.ending):
            job = self.jobs[number]
            self.say_cancelled(job, " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS")
            if not job.requeue_allowed:
                self.finish(job, Ended("NODE_FAIL", 0, 0, "NodeDown"), ending_seconds)
                continue
            self.close_row(job, "NODE_FAIL")
            job.restarts += 1
            self.back(job, ending_seconds)

    def stop_controller(self) -> None:
        """No command is answered and no job started; jobs run on."""
        self.controller_up = False

    def lose_state(self) -> None:
        """The controller begins anew, without jobs (all have ended), and with the first number."""
        for job in self.jobs.values():
            job.serial += 1
            self.forgotten[job.number] = job.rows
        self.jobs.clear()
        self.next_number = self.settings.first_job

    def start_controller(self) -> None:
        """The controller is back, with its jobs."""
        self.controller_up = True
        self.request_cycle()
