"""Which rank is this process, of which job and attempt, and where?"""

import socket
from collections.abc import Mapping
from dataclasses import dataclass

from schedulers.hostlist import expand


@dataclass(frozen=True, slots=True)
class Place:
    """One rank. `job` is 0 outside of Slurm; `hosts` are those of all ranks, in the order of the ranks."""

    rank: int
    world: int
    host: str
    hosts: tuple[str, ...]
    job: int
    name: str
    attempt: int

    @property
    def per_host(self) -> int:
        """Ranks on each host but the last, which may have fewer (Slurm's block distribution)."""
        return -(-self.world // len(self.hosts))


def place_of(environment: Mapping[str, str]) -> Place:
    """From the variables of torchrun or of our own launcher (RANK, …), else from srun's (SLURM_PROCID, …)."""
    rank = int(environment.get("RANK") or environment.get("SLURM_PROCID", "0"))
    world = int(environment.get("WORLD_SIZE") or environment.get("SLURM_NTASKS", "1"))
    host = environment.get("SLURMD_NODENAME") or socket.gethostname()
    listed = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_JOB_NODELIST", "")
    hosts = (expand(listed) if listed else ()) or (host,)
    if "LAB_HOSTS" in environment:  # of our own launcher: one machine that plays several
        hosts = tuple(environment["LAB_HOSTS"].split(","))
        host = hosts[rank * len(hosts) // world]
    restarts = environment.get("SLURM_RESTART_COUNT") or environment.get("TORCHELASTIC_RESTART_COUNT", "0")
    return Place(
        rank=rank,
        world=world,
        host=host,
        hosts=hosts,
        job=int(environment.get("SLURM_JOB_ID", "0")),
        name=environment.get("SLURM_JOB_NAME", "train"),
        attempt=int(restarts),
    )
