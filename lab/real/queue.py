"""What does the real scheduler list at this moment? Asked by the lab for itself, not through the product."""

from dataclasses import dataclass

from lab.simulate.hostlist import expand
from lab.slurm.cluster import SlurmCluster

FIELD, RECORD = "\x1f", "\x1e"
FIELDS = ("JobID", "State", "RestartCnt", "NodeList", "Reason")
FINAL = frozenset(
    [
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "TIMEOUT",
    ]
)


@dataclass(frozen=True, slots=True)
class Listed:
    """One job as squeue shows it; `attempt` counts from zero."""

    number: int
    state: str
    attempt: int
    nodes: tuple[str, ...]
    reason: str

    @property
    def held(self) -> bool:
        """Whether somebody has to release it before it can run."""
        return self.state == "PENDING" and "held" in self.reason.lower()


def look(slurm: SlurmCluster) -> dict[int, Listed]:
    """Every job by its number; `subprocess.CalledProcessError` when the scheduler does not answer."""
    words = ",".join(f"{field}:{FIELD}" for field in FIELDS[:-1]) + f",{FIELDS[-1]}:{RECORD}"
    answer = slurm.client(["squeue", "-h", "-a", "-r", "-t", "all", "-O", words], seconds=60)
    found = {}
    for record in answer.split(RECORD):
        if fields := record.strip("\n").split(FIELD):
            if len(fields) != len(FIELDS):
                continue
            number, state, attempt, nodes, reason = (field.strip() for field in fields)
            found[int(number)] = Listed(int(number), state, int(attempt), tuple(expand(nodes)), reason)
    return found
