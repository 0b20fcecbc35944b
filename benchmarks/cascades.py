"""What do 512 ranks write when one breaks, a node is lost, a disk is full, an adapter dies, or a rank is late?

One log as `srun` puts it together: lines stand in the order of their true times, but each host stamps them with its
own clock, wrong by up to five seconds. The clock of the host that is to blame is five seconds ahead, and those of
most others are behind: by their stamps the victims spoke first. The same seed and moment give the same bytes.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

HOSTS, GPUS = 64, 8
RANKS = HOSTS * GPUS
SKEW_SECONDS = 5.0
LASTS_SECONDS = 60.0  # from the first word of a victim to the last
STEPS = 60
BEFORE_SECONDS = 3.0  # from the cause to the first victim
SEQUENCE = 78
LIMIT_SECONDS = 600


@dataclass(frozen=True)
class Right:
    """What the verdict has to say. `host`: the culprit, empty where no host is to be named."""

    kind: str
    layers: tuple[str, ...]
    host: str
    actions: tuple[str, ...]


@dataclass
class Cluster:
    """Hosts with their clocks. `struck`: the rank to blame. `at`: when it strikes, truly."""

    seed: int
    at: datetime
    struck: int = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.struck = self.chance.randrange(GPUS, RANKS)  # not on the first host, which writes the steps
        early = [-SKEW_SECONDS if self.chance.random() < 0.7 else SKEW_SECONDS for _ in range(HOSTS)]
        self.skews = [self.chance.uniform(0.6, 1.0) * worst for worst in early]
        self.skews[self.struck // GPUS] = SKEW_SECONDS

    @property
    def hosts(self) -> tuple[str, ...]:
        """All hosts."""
        return tuple(f"gpu-{number:03d}" for number in range(1, HOSTS + 1))

    @property
    def host(self) -> str:
        """The one to blame."""
        return self.host_of(self.struck)

    def host_of(self, rank: int) -> str:
        """Where a rank runs."""
        return f"gpu-{rank // GPUS + 1:03d}"

    def address_of(self, rank: int) -> str:
        """The address of its host."""
        return f"10.40.0.{rank // GPUS + 11}"

    def stamped(self, rank: int, seconds: float) -> datetime:
        """What the clock of the rank's host shows, so many seconds after the cause."""
        return self.at + timedelta(seconds=seconds + self.skews[rank // GPUS])

    def torch(self, rank: int, seconds: float, source: str = "ProcessGroupNCCL.cpp:2234") -> str:
        """The beginning of a line of PyTorch."""
        at = self.stamped(rank, seconds)
        return f"{rank}: [rank{rank}]:[E{at:%m%d %H:%M:%S.%f}000 {source}] "

    def nccl(self, rank: int, says: str) -> str:
        """A line of NCCL."""
        process = 20_000 + rank
        return f"{rank}: {self.host_of(rank)}:{process}:{process + 91} [{rank % GPUS}] {says}"


def start(cluster: Cluster) -> Iterator[str]:
    """Who runs where, and sixty steps."""
    for rank in range(RANKS):
        if rank % GPUS == 0:
            yield cluster.nccl(rank, f"NCCL INFO Bootstrap: Using ib0:{cluster.address_of(rank)}<0>")
        where = f"cudaDev {rank % GPUS} nvmlDev {rank % GPUS} busId {rank % GPUS:x}b000"
        yield cluster.nccl(
            rank, f"NCCL INFO ncclCommInitRank comm 0x55d0 rank {rank} nranks {RANKS} {where} - Init COMPLETE"
        )
    for number in range(STEPS):
        at = cluster.stamped(0, 10.0 * (number - STEPS) - LIMIT_SECONDS)
        yield (
            f"0:  [{at:%Y-%m-%d %H:%M:%S.%f}] iteration {number + 1:8d}/  500000 | consumed samples: "
            f"{number * 256:12d} | elapsed time per iteration (ms): 10000.0 | learning rate: 1.500000E-04 |"
            " global batch size:   256 | lm loss: 2.104561E+00 | grad norm: 0.412 |"
        )


def traceback(rank: int, error: str) -> list[str]:
    """Of a rank's program."""
    head = f"{rank}: [rank{rank}]:"
    return [
        f"{head} Traceback (most recent call last):",
        f'{head}   File "/opt/train/loop.py", line 141, in step',
        f"{head}     batch = collate(next(samples))",
        f"{head} {error}",
    ]


def aborts(cluster: Cluster, rank: int, seconds: float, turn: int) -> str:
    """One of the things that a rank says whose peer is gone."""
    says: tuple[Callable[[], str], ...] = (
        lambda: f"{rank}: [rank{rank}]: torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/"
        "distributed/c10d/ProcessGroupNCCL.cpp:3384, remote process exited or there was a network error, NCCL "
        "version 2.26.2",
        lambda: cluster.nccl(
            rank, f"misc/socket.cc:58 NCCL WARN socketProgress: Connection closed by remote peer "
            f"{cluster.address_of((rank + GPUS) % RANKS)}<{40_000 + turn % 20_000}>",
        ),
        lambda: f"{cluster.torch(rank, seconds)}[PG ID 0 PG GUID 0(default_pg) Rank {rank}] To avoid data "
        "inconsistency, we are taking the entire process down.",
        lambda: f"{cluster.torch(rank, seconds)}[PG ID 0 PG GUID 0(default_pg) Rank {rank}] Process group watchdog "
        f"thread terminated with exception: NCCL error: remote process exited or there was a network error",
    )  # fmt: skip
    return says[turn % len(says)]()


def timed_out(cluster: Cluster, rank: int, seconds: float, turn: int) -> str:
    """One of the things that a rank says whose collective does not end."""
    group = f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}]"
    if rank == cluster.struck:
        done = f"Last enqueued NCCL work: {SEQUENCE - 1}, last completed NCCL work: {SEQUENCE - 1}."
        return (
            f"{cluster.torch(rank, seconds)}{group} Received a dump signal due to a collective timeout from  rank "
            f"{(rank + 1) % RANKS} and we will try our best to dump the debug info. {done}"
        )
    if turn % 2:
        counts = f"last enqueued work: {SEQUENCE + 1}, last completed work: {SEQUENCE - 1}"
        return (
            f"{cluster.torch(rank, seconds)}{group}  failure detected by watchdog at work sequence id: {SEQUENCE} "
            f"PG status: {counts}"
        )
    limit = LIMIT_SECONDS * 1000
    return (
        f"{cluster.torch(rank, seconds, 'ProcessGroupNCCL.cpp:629')}[Rank {rank}] Watchdog caught collective "
        f"operation timeout: WorkNCCL(SeqNum={SEQUENCE}, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, "
        f"Timeout(ms)={limit}) ran for {limit + turn % 900} milliseconds before timing out."
    )


def _python(cluster: Cluster) -> list[str]:
    return traceback(cluster.struck, "KeyError: 'attention_mask'")


def _quota(cluster: Cluster) -> list[str]:
    return traceback(
        cluster.struck, "OSError: [Errno 122] Disk quota exceeded: '/scratch/train/ckpt/step_00000240/shard.pt'"
    )


def _node(cluster: Cluster) -> list[str]:
    at = cluster.stamped(cluster.struck, 0)
    return [
        f"slurmstepd: error: *** STEP 7001.0 ON {cluster.hosts[0]} CANCELLED AT {at:%Y-%m-%dT%H:%M:%S} DUE TO NODE "
        "FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***",
        f"srun: error: Node failure on {cluster.host}",
    ]


def _edges(cluster: Cluster) -> list[str]:
    lines = []
    for rank in range(cluster.struck % GPUS, RANKS, GPUS):
        if cluster.host_of(rank) != cluster.host:
            says = (
                f"Got completion from peer {cluster.address_of(cluster.struck)}<{41_000 + rank}> with "
                "status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_RDMA_WRITE(1) vendor_err=129 localGid fe80::1 "
                f"remoteGids fe80::2 hca mlx5_{rank % GPUS}"
            )
            lines.append(cluster.nccl(rank, f"transport/net_ib.cc:2061 NCCL WARN NET/IB: {says}"))
    return lines


@dataclass(frozen=True)
class Kind:
    """One kind of cascade. `state`: what the scheduler says of its end; `down`: whether the struck host is."""

    name: str
    root: Callable[[Cluster], list[str]]
    says: Callable[[Cluster, int, float, int], str]
    right: Callable[[Cluster], Right]
    state: str = "FAILED"
    down: bool = False


RESTARTS = ("restart", "restart_exclude")
KINDS: tuple[Kind, ...] = (
    Kind(
        "python error of one rank", _python, aborts,
        lambda cluster: Right("crash", ("application", "user", "data"), cluster.host, ("restart",)),
    ),
    Kind(
        "a node is lost", _node, aborts,
        lambda cluster: Right("crash", ("hardware.host",), cluster.host, ("restart_exclude",)), "NODE_FAIL", True,
    ),
    Kind(
        "quota of one rank", _quota, aborts,
        lambda cluster: Right("crash", ("system.filesystem", "user"), "", ("stop",)),
    ),
    Kind(
        "network adapter of one host", _edges, aborts,
        lambda cluster: Right("crash", ("hardware.network",), cluster.host, ("restart_exclude",)),
    ),
    Kind(
        "a hang with one late rank", lambda _cluster: [], timed_out,
        lambda cluster: Right("hang", ("application",), cluster.host, ("restart",)),
    ),
)  # fmt: skip


def write(kind: Kind, cluster: Cluster, lines: int, path: Path) -> int:
    """Write a log of so many lines; how many of them come before the first victim's."""
    chance = random.Random(cluster.seed + 1)
    with path.open("w") as log:
        head = [*start(cluster), *kind.root(cluster)]
        log.writelines(f"{line}\n" for line in head)
        rest = max(lines - len(head), 0)
        order: list[int] = []
        for turn in range(rest):
            if not order:
                order = chance.sample(range(RANKS), RANKS)
            rank = order.pop()
            if rank == cluster.struck and kind.says is aborts:
                rank = (rank + 1) % RANKS
            seconds = BEFORE_SECONDS + LASTS_SECONDS * turn / rest
            log.write(f"{kind.says(cluster, rank, seconds, turn // RANKS)}\n")
    return len(head)


def now_at() -> datetime:
    """A moment that a log of today ends shortly after."""
    return datetime.now(UTC).replace(microsecond=0) - timedelta(seconds=120)
