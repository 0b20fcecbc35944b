"""What does the simulated controller remember of a job, and what does the accounting remember of its attempts?"""

from dataclasses import dataclass, field

from lab.simulate.logs import expand_output
from lab.simulate.play import Play
from lab.simulate.run import Run

PENDING, RUNNING, SUSPENDED = "PENDING", "RUNNING", "SUSPENDED"
FINAL = frozenset({"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"})
REQUEUED_HELD = "job requeued in held state"


@dataclass(slots=True)
class AttemptRow:
    """One attempt as `sacct -D` shows it. Times in whole epoch seconds, `None` where there is none."""

    number: int
    name: str
    user: str
    account: str
    partition: str
    index: int  # DBIndex: counts every attempt of the cluster
    submitted_at: int
    eligible_at: int | None = None
    started_at: int | None = None
    ended_at: int | None = None
    state: str = PENDING
    cancelled_by: int | None = None
    exit_code: int = 0
    exit_signal: int = 0
    nodes: tuple[str, ...] = ()
    node_count: int = 1
    reason: str = "None"
    comment: str = ""  # filled at the end of the attempt only, as observed

    @property
    def word(self) -> str:
        """The state with the number of the user who cancelled it."""
        return self.state if self.cancelled_by is None else f"{self.state} by {self.cancelled_by}"


@dataclass(slots=True)
class Job:
    """One job as the controller knows it. Times in epoch seconds, the ones that Slurm shows in whole ones.

    A job that was requeued and whose processes still end is `PENDING` and `completing` at once: then `restarts`
    counts the next attempt already, while `submitted_at` is still that of the old one (observed).
    """

    number: int
    play: Play
    user_id: int
    partition: str
    name: str
    submitted_at: int
    priority: int
    row: AttemptRow
    comment: str | None
    requeue_allowed: bool
    time_limit_seconds: int
    state: str = PENDING
    completing: bool = False
    shrunk: bool = False  # of a COMPLETING job: only its batch host is left
    special_exit: bool = False
    restarts: int = 0
    reason: str = "None"
    eligible_at: int | None = None
    accrued_at: int | None = None
    begin_at: float = 0.0  # may not start before
    began_at: float = 0.0  # end of the last change to PENDING
    rushed: bool = False  # its begin time was set so early that its credential is revoked (slurm.md 0.2)
    starts_at: int | None = None  # start, or the planned start
    ended_at: int | None = None
    exit_code: int = 0
    exit_signal: int = 0
    nodes: tuple[str, ...] = ()
    required: str = ""
    excluded: str = ""
    admin_comment: str | None = None
    kept_priority: int = 0  # what BadConstraints took away
    checkpoint: int = 0
    run: Run | None = None
    serial: int = 0  # rises with every change of life: a timer of an older life does nothing
    stubborn: bool = False  # its processes wait for the KILL
    path: str = ""  # of the current attempt's output
    paths: set[str] = field(default_factory=set)
    rows: list[AttemptRow] = field(default_factory=list)

    @property
    def word(self) -> str:
        """The state as squeue and scontrol show it."""
        if self.completing:
            return "COMPLETING"
        return "SPECIAL_EXIT" if self.special_exit else self.state

    @property
    def finished(self) -> bool:
        """Whether it is over; its processes may still be ending."""
        return self.state in FINAL

    @property
    def held(self) -> bool:
        """Whether it waits with priority 0, whoever holds it."""
        return self.state == PENDING and self.priority == 0

    @property
    def batch_host(self) -> str:
        """The node of the batch script."""
        return self.nodes[0] if self.nodes else ""

    @property
    def shown_nodes(self) -> tuple[str, ...]:
        """While it is COMPLETING only the batch host is left (observed: `n[01-02]` becomes `n01`)."""
        return self.nodes[:1] if self.completing and self.shrunk else self.nodes

    @property
    def shown_node_count(self) -> int:
        """Number of nodes, which shrinks with the list."""
        return len(self.shown_nodes) if self.completing else self.play.nodes

    @property
    def array_job(self) -> int:
        """The number of its array; its own when it is in none."""
        return self.play.array_job or self.number

    @property
    def array_task(self) -> str:
        """Its place in the array, or `N/A`."""
        return str(self.play.array_task) if self.play.array_job else "N/A"

    @property
    def shown_number(self) -> str:
        """`900_3` of a task, else its number."""
        return f"{self.array_job}_{self.array_task}" if self.play.array_job else str(self.number)

    def output_facts(self) -> dict[str, str]:
        """What `scontrol show job` puts in for the `%` fields of the output path."""
        number, place = str(self.number), self.array_task if self.play.array_job else "4294967294"
        return {
            "x": self.name,
            "j": number,
            "A": str(self.array_job),
            "J": number,
            "u": self.play.user,
            "a": place,
        }

    def output_path(self) -> str:
        """Where the batch script writes, below the folder of logs."""
        here = {"N": self.batch_host, "n": "0", "t": "0", "s": "batch"}
        return expand_output(self.play.output, {**self.output_facts(), **here})
