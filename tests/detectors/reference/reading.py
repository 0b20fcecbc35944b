"""How does a test of the reference read text down to a verdict? Lines in, the judgement out, by the whole road."""

import io
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from detectors.attribution.attributing import attribute
from detectors.attribution.facts import EarlierAttempt, Facts
from detectors.attribution.judgement import Judgement
from detectors.diagnosing.accounting import Told
from detectors.diagnosing.blocks import blocks
from detectors.diagnosing.folding import fold
from detectors.diagnosing.judging import Diagnosis, diagnose
from detectors.diagnosing.merging import Merger, Stream
from detectors.diagnosing.sifting import Clock
from schedulers.states import JobState

START = datetime(2026, 5, 1, 10, 0, tzinfo=UTC)
END = START + timedelta(minutes=30)
NOW = END + timedelta(days=1)
EIGHT = tuple(f"gpu-{number:02d}" for number in range(1, 9))
GUID = "[PG ID 0 PG GUID 0(default_pg) Rank {0}]"


def job(nodes: Iterable[str] = EIGHT, **changes: Any) -> Told:
    """What the scheduler tells of a failed job on these nodes."""
    values: dict[str, Any] = {
        "state": JobState.FAILED, "word": "FAILED", "nodes": tuple(nodes), "exit_code": 1, "exit_signal": 0,
        "started_at": START, "ended_at": END, "until": END, "job": "7001",
    }  # fmt: skip
    return Told(**{**values, **changes})


def read(lines: Iterable[str], told: Told | None = None) -> Diagnosis:
    """The whole road, from bytes of one log to the verdict."""
    told = told or job()
    content = ("\n".join(lines) + "\n").encode()
    stream = Stream("job.log", 0, blocks(io.BufferedReader(io.BytesIO(content)), 65_536), Clock(START, 0.0, NOW))
    return diagnose(fold(Merger([stream], None, not told.nodes), told, ()), told)


def judged(lines: Iterable[str], told: Told | None = None) -> Judgement:
    """The judgement of these lines."""
    return read(lines, told).judgement


def again(facts: Facts, first: Judgement) -> Judgement:
    """The judgement of the same facts when an attempt before ended as `first` says."""
    entity = first.body["affected_entity"]["id"] or ""
    before = EarlierAttempt(
        index=0, state=JobState.FAILED, signature=first.signature, fingerprint=first.fingerprint, layer=first.layer,
        culprits=culprits(first), entity=entity,
    )  # fmt: skip
    return attribute(replace(facts, attempt=replace(facts.attempt, index=1), earlier=(before,)), NOW)


def culprits(judgement: Judgement) -> tuple[str, ...]:
    """Hosts that are named as guilty."""
    return tuple(one.host for one in judgement.implicated if one.role == "culprit")


def excluded(judgement: Judgement) -> tuple[str, ...]:
    """Hosts that may be left out."""
    return tuple(one.host for one in judgement.implicated if one.excludable)


def at(seconds_before_end: float) -> datetime:
    """A moment of the job."""
    return END - timedelta(seconds=seconds_before_end)


def step(number: int, before_end: float) -> str:
    """A step line of rank 0."""
    when = f"{at(before_end):%Y-%m-%d %H:%M:%S}"
    return f"[{when}] iteration {number}/ 100000 | consumed samples: {number} | lm loss: 2.1E+00 |"


def init_map(hosts: Iterable[str] = EIGHT, gpus: int = 1) -> list[str]:
    """NCCL's own words on who runs where, and which address a host has."""
    known, lines = tuple(hosts), []
    for rank in range(len(known) * gpus):
        host, gpu = known[rank // gpus], rank % gpus
        head = f"{host}:{900 + rank}:{1900 + rank} [{gpu}] NCCL INFO"
        lines.append(f"{head} Bootstrap : Using ib0:10.4.0.{rank // gpus + 1}<0>")
        where = f"cudaDev {gpu} nvmlDev {gpu} busId {gpu + 1}b000"
        lines.append(
            f"{head} ncclCommInitRank comm 0x55f0aa rank {rank} nranks {len(known) * gpus} {where} - Init COMPLETE"
        )
    return lines


def torch(rank: int, before_end: float, says: str, source: str = "ProcessGroupNCCL.cpp:2234") -> str:
    """A line of PyTorch's C++."""
    when = at(before_end)
    return f"[rank{rank}]:[E{when.month}{when:%d %H:%M:%S.%f}000 {source}] {says}"


def caught(seq: int, op: str, size: int = 8) -> str:
    """What a watchdog says of the collective that it gave up."""
    return (
        f"Watchdog caught collective operation timeout: WorkNCCL(SeqNum={seq}, OpType={op}, NumelIn={size}, "
        f"NumelOut={size}, Timeout(ms)=600000) ran for 600029 milliseconds before timing out."
    )


def own(rank: int, seq: int = 78, enq: int = 79, done: int = 77, op: str = "BROADCAST", size: int = 8) -> list[str]:
    """A rank whose own watchdog has timed out, ten seconds before the end."""
    counts = f"last enqueued work: {enq}, last completed work: {done}"
    failed = f"{GUID.format(rank)}  failure detected by watchdog at work sequence id: {seq} PG status: {counts}"
    first = torch(rank, 10, f"[Rank {rank}] {caught(seq, op, size)}", "ProcessGroupNCCL.cpp:629")
    return [first, torch(rank, 10, failed)]


def told_of(rank: int, by: int = 0, enq: int = 77, done: int = 77, group: str = "") -> str:
    """A rank that was told of another one's time-out."""
    counts = f"Last enqueued NCCL work: {enq}, last completed NCCL work: {done}."
    says = f"Received a dump signal due to a collective timeout from  rank {by} and we will try our best to"
    return torch(
        rank, 9, f"{group or GUID.format(rank)} {says} dump the debug info. {counts}", "ProcessGroupNCCL.cpp:1890"
    )


def completion(reporter: str, peer: int, status: int = 12, before_end: float = 8) -> str:
    """A host that could not reach the host with this number."""
    head = f"{reporter}:990:1990 [0] transport/net_ib.cc:2061 NCCL WARN NET/IB: Got completion from peer"
    says = f"with status=IBV_WC_RETRY_EXC_ERR({status}) opcode=IBV_WC_RDMA_WRITE(1) vendor_err=129 hca mlx5_0"
    return f"{head} 10.4.0.{peer}<41210> {says}"


def traceback(rank: int, error: str) -> list[str]:
    """Of a rank's program."""
    head = f"[rank{rank}]:"
    return [
        f"{head} Traceback (most recent call last):",
        f'{head}   File "/opt/train/loop.py", line 141, in step',
        f"{head}     loss = model(batch)",
        f"{head} {error}",
    ]


def aborts(ranks: Iterable[int], before_end: float = 5) -> list[str]:
    """What everybody says whose peer is gone."""
    return [
        torch(
            rank,
            before_end,
            f"{GUID.format(rank)} To avoid data inconsistency, we are taking the entire process down.",
        )
        for rank in ranks
    ]
