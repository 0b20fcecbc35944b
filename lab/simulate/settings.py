"""Which installation is simulated? The nodes, partitions and time limits of one cluster."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Settings:
    """What `slurm.conf` would say. Durations in seconds; the defaults are those of the demonstration.

    Slurm's own values: `requeue_wait_seconds` 121 (`cred_expire` + 1), `kill_wait_seconds` 30, and about 28 s
    until a lost node is called down with `SlurmdTimeout=10` (observed on 22.05.8).
    """

    cluster_name: str = "demo"
    node_names: tuple[str, ...] = tuple(f"n{number:02d}" for number in range(1, 9))
    partitions: dict[str, tuple[str, ...]] = field(default_factory=dict)  # empty: "main" with every node
    jobs_per_node: int = 1  # 1: a job has its nodes for itself
    gpus_per_node: int = 8
    min_job_age_seconds: int = 300
    requeue_wait_seconds: int = 3
    kill_wait_seconds: int = 2
    node_timeout_seconds: float = 5.0  # a node that does not answer is called down after this
    cycle_seconds: float = 0.5  # between two looks of the scheduler
    first_job: int = 1
    user_id: int = 0  # of every user: who owns the log files is who the jobs belong to
    remembered_jobs: int = 200  # purged jobs whose attempts the accounting still tells

    def node_lists(self) -> dict[str, tuple[str, ...]]:
        """Node names of each partition; the first partition is the default one."""
        return self.partitions or {"main": self.node_names}
