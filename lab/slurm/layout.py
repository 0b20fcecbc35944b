"""Where do the files and ports of a private Slurm lie?"""

import json
import random
import socket
from dataclasses import asdict, dataclass
from pathlib import Path

from lab.parts.ports import claim, claimed

PORTS_EACH = 400  # two clusters coexist when their base ports differ by this much


CGROUPS = Path("/sys/fs/cgroup/memory")  # of cgroup v1, where the machine has it

MOST_NODES = 190  # the ports of more would reach into srun's


@dataclass(frozen=True)
class Partition:
    """A partition beside `main`, which holds every node. `words`: further ones of its line in slurm.conf."""

    name: str
    nodes: tuple[str, ...]
    words: str = ""


@dataclass(frozen=True)
class Layout:
    """One private cluster. Everything lives below `folder`; every port is on 127.0.0.1.

    Ports: base slurmctld, +1 slurmdbd, +2 slurmrestd, +3 sshd, +4 MariaDB, +10… slurmd, +200…399 srun. Keep
    `folder` short: unix socket paths hold 107 bytes. `cred_expire` + 1 s is what a requeued job waits (Slurm's own
    is 120).
    With `preemption` there is a partition `urgent` of all nodes, whose jobs push those of others aside (requeue).
    With `rest` there are two slurmrestd: one on a socket for root, and one on its port that wants tokens.
    With `memory_limits` a job that takes more memory than it asked for is ended (cgroup v1, whose folder
    `memory/slurm_NODE` is there as long as the cluster).
    With `prolog` a prolog runs before each job, and fails once on the nodes that `SlurmCluster.fail_prolog` names.
    """

    folder: Path
    nodes: int = 5
    base_port: int = 26000
    name: str = "lab"
    accounting: bool = True
    ssh: bool = False
    cpus: int = 8
    memory: int = 4000
    slurmd_timeout: int = 10
    min_job_age: int = 300
    kill_wait: int = 2
    cred_expire: int = 5
    partitions: tuple[Partition, ...] = ()
    preemption: bool = False
    prolog: bool = False
    rest: bool = False
    memory_limits: bool = False

    @property
    def node_names(self) -> tuple[str, ...]:
        """`n01`, `n02`, …"""
        return tuple(f"n{number:02d}" for number in range(1, self.nodes + 1))

    @property
    def partition_names(self) -> tuple[str, ...]:
        """All partitions, `main` first."""
        urgent = ("urgent",) if self.preemption else ()
        return ("main", *(partition.name for partition in self.partitions), *urgent)

    @property
    def conf(self) -> Path:
        """slurm.conf."""
        return self.folder / "etc" / "slurm.conf"

    @property
    def jobs(self) -> Path:
        """The folder that jobs are submitted from and write to."""
        return self.folder / "jobs"

    @property
    def socket(self) -> Path:
        """munged's socket."""
        return self.folder / "run" / "munge.socket"

    @property
    def database_socket(self) -> Path:
        """MariaDB's socket."""
        return self.folder / "run" / "mysql.sock"

    @property
    def rest_socket(self) -> Path:
        """The socket of the slurmrestd that answers root."""
        return self.folder / "run" / "rest.socket"

    def port(self, offset: int) -> int:
        """The port at an offset from the base."""
        return self.base_port + offset

    def taken_ports(self) -> list[int]:
        """Ports of ours on which somebody listens already."""
        wanted = [
            self.base_port,
            *(self.port(n) for n in (1, 2, 3, 4)),
            *(self.port(10 + n) for n in range(self.nodes)),
        ]
        return [port for port in wanted if answers(port)]

    def save(self) -> None:
        """Keep it in `folder`, so that later commands find it."""
        (self.folder / "layout.json").write_text(json.dumps(asdict(self), default=str))

    @classmethod
    def load(cls, folder: Path) -> "Layout":
        """The layout kept in a folder; `FileNotFoundError` when it holds no cluster."""
        kept = json.loads((folder / "layout.json").read_text())
        partitions = tuple(Partition(**{**one, "nodes": tuple(one["nodes"])}) for one in kept["partitions"])
        return cls(**{**kept, "folder": folder, "partitions": partitions})


def answers(port: int) -> bool:
    """Whether somebody listens on a port of the loopback."""
    with socket.socket() as probe:
        probe.settimeout(0.2)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_base_port(nodes: int = 8) -> int:
    """A base, below the ephemeral ports, of a block in which nobody listens, claimed until this process ends."""
    bases = random.sample(range(10000, 32000, PORTS_EACH), k=55)
    for base in sorted(bases, key=claimed().__contains__, reverse=True):  # first what an ended cluster of ours had
        if claim(base) and not Layout(folder=Path("/"), base_port=base, nodes=nodes).taken_ports():
            return base
    raise RuntimeError("no block of ports is free")
