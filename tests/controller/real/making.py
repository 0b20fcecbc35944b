"""How is a job brought into each starting state on a real Slurm? Each way gives its number and its bad node."""

import contextlib
import subprocess
import time
from collections.abc import Callable

from lab.slurm.cluster import SlurmCluster
from schedulers.slurm.adapter import Slurm
from schedulers.states import JobState as S
from schedulers.transport import LocalTransport
from tests.controller.real.worlds import until

ONCE = '#!/bin/bash\n[ -z "$SLURM_RESTART_COUNT" ] && exit 1\nsleep 600\n'
LONG = "#!/bin/bash\nsleep 600\n"
STUBBORN = "#!/bin/bash\ntrap '' TERM\necho stubborn\nsleep 600 & wait\nsleep 600\n"
Made = tuple[int, str]


class Making:
    """The cluster on which states are made. `MADE[name](making)` makes one."""

    def __init__(self, lab: SlurmCluster) -> None:
        self.lab = lab
        self.slurm = Slurm(LocalTransport("", str(lab.layout.conf)), 30.0)

    def scontrol(self, *words: str) -> None:
        self.lab.client(["scontrol", *words])

    def submit(self, script: str, *options: str) -> int:
        return self.lab.submit(script, "--requeue", "--nodes=1", "--ntasks=1", *options)

    def reach(self, job: int, *states: S, restarts: int = 0) -> str:
        """Wait for a state; the node of the job."""
        nodes: set[str] = set()

        def there() -> bool:
            row = self.slurm.job(job).row
            nodes.update(row.nodes)
            return row.state in states and row.restarts == restarts

        until(there, lambda: f"job {job} is {self.slurm.job(job)}")
        return min(nodes, default="n01")

    def failed(self, *options: str, script: str = ONCE) -> Made:
        job = self.submit(script, *options)
        return job, self.reach(job, S.FAILED)

    def running(self, *options: str, script: str = LONG) -> Made:
        job = self.submit(script, *options)
        return job, self.reach(job, S.RUNNING)

    def ending(self) -> Made:
        job, bad = self.running(script=STUBBORN)
        out = self.lab.layout.jobs / f"slurm-{job}.out"
        until(lambda: out.exists() and "stubborn" in out.read_text(), lambda: f"job {job} is stubborn")
        self.lab.client(["scancel", str(job)])
        return job, bad

    def requeued(self) -> Made:
        """Requeued, and not by us: `scontrol requeue` shows what Slurm's own does, and disturbs no other job."""
        job, bad = self.running()
        self.scontrol("requeue", str(job))
        return self.waits_again(job), bad

    def running_again(self) -> Made:
        """The same, on the same node again."""
        job, bad = self.running("--nodelist=n07")
        self.scontrol("requeue", str(job))
        self.reach(job, S.PENDING, restarts=1)
        self.scontrol("update", f"JobId={job}", "StartTime=now+2")
        self.reach(job, S.RUNNING, restarts=1)
        return job, bad

    def requeue_hold(self) -> Made:
        job, bad = self.failed()
        self.scontrol("requeuehold", str(job))
        return job, bad

    def special_exit(self) -> Made:
        job, bad = self.failed()
        self.scontrol("requeuehold", "State=SpecialExit", str(job))
        return job, bad

    def held_running(self) -> Made:
        job, bad = self.running()
        self.scontrol("hold", str(job))
        return job, bad

    def held(self, verb: str, *options: str) -> Made:
        job = self.submit(LONG, "--begin=now+600", *options)
        self.scontrol(verb, str(job))
        return job, "n01"

    def array_task(self) -> Made:
        """The first task fails, the second runs on."""
        script = (
            '#!/bin/bash\n[ "$SLURM_ARRAY_TASK_ID" = 0 ] && [ -z "$SLURM_RESTART_COUNT" ] && exit 1\nsleep 600\n'
        )
        array = self.submit(script, "--array=0-1")

        def task() -> int | None:
            rows = [row for row in self.slurm.jobs().jobs if row.array_job == array and row.array_task == 0]
            return rows[0].number if rows and rows[0].state is S.FAILED else None

        until(task, lambda: f"task 0 of array {array} fails")
        job = task()
        assert job is not None
        return job, self.reach(job, S.FAILED)

    def heterogeneous(self) -> Made:
        job = self.lab.submit(LONG, "-N1", ":", "-N1")
        return job, self.reach(job, S.RUNNING)

    def successor(self) -> Made:
        comment = '{"APS": {"auto_resume_mode": "singleton_dependency"}}'
        name = f"--job-name=chain{time.monotonic_ns()}"
        self.running(name)
        return self.held("uhold", name, "--dependency=singleton", f"--comment={comment}")

    def on_lost_node(self, *options: str) -> Made:
        """The slurmd of its node is killed; Slurm sees that after a while. The node is back at the end."""
        job, bad = self.running("--exclusive", *options)
        self.lab.crash(f"slurmd-{bad}")
        try:
            until(lambda: self.slurm.job(job).row.state is not S.RUNNING, lambda: f"{self.slurm.job(job)}", 120.0)
        finally:
            self.lab.up(f"slurmd-{bad}")
        return job, bad

    def node_fail(self) -> Made:
        job, bad = self.on_lost_node("--no-requeue")
        self.reach(job, S.NODE_FAIL)
        return job, bad

    def node_lost(self) -> Made:
        job, bad = self.on_lost_node()
        return self.waits_again(job), bad

    def waits_again(self, job: int) -> int:
        """Slurm has requeued it; its wait is shorter than two minutes, so that its end is seen."""
        self.reach(job, S.PENDING, restarts=1)
        self.scontrol("update", f"JobId={job}", "StartTime=now+20")
        return job

    def out_of_memory(self) -> Made:
        """It takes eight times what it asked for, once."""
        greedy = 'exec python3 -c "bytearray(400 << 20)"'
        script = f'#!/bin/bash\n[ -z "$SLURM_RESTART_COUNT" ] && {greedy}\nsleep 600\n'
        job = self.submit(script, "--mem=50M")
        return job, self.reach(job, S.OUT_OF_MEMORY)

    def preempted(self, *options: str) -> Made:
        """A job of a partition that goes first wants its node."""
        job, bad = self.running("--exclusive", *options)
        self.lab.submit("#!/bin/bash\nsleep 1\n", "--partition=urgent", f"--nodelist={bad}", "--exclusive")
        return job, bad

    def preempted_for_good(self) -> Made:
        job, bad = self.preempted("--partition=cheap")
        self.reach(job, S.PREEMPTED)
        return job, bad

    def preempted_requeued(self) -> Made:
        job, bad = self.preempted()
        return self.waits_again(job), bad

    def ended(self, script: str, state: S, *options: str) -> Made:
        job = self.submit(script, *options)
        with contextlib.suppress(subprocess.CalledProcessError):
            if state is S.CANCELLED:
                self.reach(job, S.RUNNING)
                self.lab.client(["scancel", str(job)])
        until(lambda: self.slurm.job(job).row.state is state, lambda: f"{self.slurm.job(job)}", 150.0)
        return job, self.reach(job, state)


MADE: dict[str, Callable[[Making], Made]] = {
    "failed": lambda here: here.failed(),
    "running": lambda here: here.running(),
    "ending": lambda here: here.ending(),
    "requeued": lambda here: here.requeued(),
    "running_again": lambda here: here.running_again(),
    "requeue_hold": lambda here: here.requeue_hold(),
    "special_exit": lambda here: here.special_exit(),
    "held_running": lambda here: here.held_running(),
    "held_admin": lambda here: here.held("hold"),
    "held_user": lambda here: here.held("uhold"),
    "array_task": lambda here: here.array_task(),
    "heterogeneous": lambda here: here.heterogeneous(),
    "no_requeue": lambda here: here.failed("--no-requeue"),
    "nodelist": lambda here: here.failed("--nodelist=n02"),
    "own_exclusions": lambda here: here.failed("--exclude=n06"),
    "all_nodes": lambda here: here.failed("--nodes=8", "--ntasks=8"),
    "successor": lambda here: here.successor(),
    "completed": lambda here: here.ended("#!/bin/bash\ntrue\n", S.COMPLETED),
    "cancelled": lambda here: here.ended(LONG, S.CANCELLED),
    "node_fail": lambda here: here.node_fail(),
    "node_lost": lambda here: here.node_lost(),
    "out_of_memory": lambda here: here.out_of_memory(),
    "preempted": lambda here: here.preempted_for_good(),
    "preempted_requeued": lambda here: here.preempted_requeued(),
    "timeout": lambda here: here.ended(LONG, S.TIMEOUT, "--time=1"),
}
