"""What do hundreds of ranks say when one of them no longer takes part in a collective?

The clocks of the hosts are wrong by up to five seconds, so the stamps of the lines do not stand in the order of the
lines. Wordings are those of PyTorch 2.1 (no stamp, no counters), 2.4 and 2.6.
"""

import time
from collections.abc import Collection, Iterable

from lab.dialects.dialect import steady
from lab.texts import gpu, programs
from lab.texts.ends import torn_down
from lab.texts.struck import Spoken, Struck, Text, say

LIMIT_SECONDS = 120  # of a collective, as these jobs set it: before silence alone proves a hang
MANY_RANKS = 256  # of more, not every rank's every line reaches the log: a cascade stays below 1,000 lines
SEQUENCE = 61_440  # collectives of the job until now


def stamp(struck: Struck, rank: int, after: float, source: str, severity: str = "E") -> str:
    """The prefix of a rank's line: its rank and its own, wrong, clock in local time."""
    at = struck.at + after + struck.skew(struck.host_of(rank))
    local = time.localtime(at)
    nanoseconds = int(at % 1 * 1e9)
    day = f"{local.tm_mon}{local.tm_mday:02d} {local.tm_hour:02d}:{local.tm_min:02d}:{local.tm_sec:02d}"
    return f"[rank{rank}]:[{severity}{day}.{nanoseconds:09d} {source}]"


def noticed(struck: Struck, rank: int) -> float:
    """When the watchdog of a rank looks: seconds after the first line, truly."""
    return round(LIMIT_SECONDS + 2.5 * steady(struck.job, rank, "noticed"), 3)


def work(sequence: int, operation: str, ran: float, elements: int = 268_435_456) -> str:
    """The collective that a watchdog speaks of."""
    return (
        f"Watchdog caught collective operation timeout: WorkNCCL(SeqNum={sequence}, OpType={operation}, "
        f"NumelIn={elements}, NumelOut={elements}, Timeout(ms)={LIMIT_SECONDS * 1000}) ran for "
        f"{int(ran * 1000)} milliseconds before timing out."
    )


def told(struck: Struck, spoken: Iterable[Spoken], who_waits: Collection[int]) -> tuple[Spoken, ...]:
    """By the true time; in the end the ranks that waited abort, and srun kills whoever is left."""
    lines = sorted(spoken, key=lambda one: one.after_seconds)
    return (*lines, *torn_down(struck, who_waits, "Aborted (core dumped)", lines[-1].after_seconds + 2.0, "Killed"))


def in_26(struck: Struck, ranks: Iterable[int], operation: str = "_REDUCE_SCATTER_BASE") -> list[Spoken]:
    """Ranks that waited, as PyTorch 2.6 tells it. In a large job every second rank's first line is lost."""
    lines: list[Spoken] = []
    several = struck.ranks > MANY_RANKS
    for rank in ranks:
        after = noticed(struck, rank)
        if not several or rank % 2 == 0:
            head = stamp(struck, rank, after, "ProcessGroupNCCL.cpp:629")
            lines += say(after, f"{head} [Rank {rank}] {work(SEQUENCE, operation, after)}")
        head = stamp(struck, rank, after + 0.04, "ProcessGroupNCCL.cpp:2234")
        group = f"[PG ID 0 PG GUID 0(default_pg) Rank {rank}]"
        ahead = SEQUENCE + 3 + int(steady(rank, "ahead") * 4)
        lines += say(
            after + 0.04,
            f"{head} {group}  failure detected by watchdog at work sequence id: {SEQUENCE} PG status: "
            f"last enqueued work: {ahead}, last completed work: {SEQUENCE - 1}",
        )
    return lines


def in_24(struck: Struck, ranks: Iterable[int]) -> list[Spoken]:
    """Ranks that waited, as PyTorch 2.4 tells it."""
    lines: list[Spoken] = []
    several = struck.ranks > MANY_RANKS
    for rank in ranks:
        after = noticed(struck, rank)
        if not several or rank % 2 == 0:
            head = stamp(struck, rank, after, "ProcessGroupNCCL.cpp:607")
            lines += say(after, f"{head} [Rank {rank}] {work(SEQUENCE, 'ALLREDUCE', after)}")
        head = stamp(struck, rank, after + 0.06, "ProcessGroupNCCL.cpp:1664")
        ahead = SEQUENCE + 2 + int(steady(rank, "ahead") * 9)
        lines += say(
            after + 0.06,
            f"{head} [PG 0 (default_pg) Rank {rank}] Exception (either an error or timeout) detected by watchdog "
            f"at work: {SEQUENCE}, last enqueued NCCL work: {ahead}, last completed NCCL work: {SEQUENCE - 1}.",
        )
    return lines


def in_21(struck: Struck, ranks: Iterable[int]) -> list[Spoken]:
    """Ranks that waited, as PyTorch 2.1 tells it."""
    lines: list[Spoken] = []
    for rank in ranks:
        after = noticed(struck, rank)
        source = "[E ProcessGroupNCCL.cpp"
        lines += say(after, f"{source}:475] [Rank {rank}] {work(SEQUENCE, 'ALLREDUCE', after)}")
        if struck.ranks <= MANY_RANKS:
            lines += say(
                after,
                f"{source}:489] Some NCCL operations have failed or timed out. Due to the asynchronous nature of "
                "CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.",
                f"{source}:495] To avoid data inconsistency, we are taking the entire process down.",
            )
    return lines


def after_exception(struck: Struck) -> tuple[Spoken, ...]:
    """The program of one rank fails; that rank hangs while it ends, and all others run into their limit."""
    return told(struck, [*programs.exception(struck), *in_21(struck, struck.others())], struck.others())


def after_bus(struck: Struck) -> tuple[Spoken, ...]:
    """One GPU falls off the bus; hundreds of ranks run into their limit."""
    return told(struck, [*gpu.off_the_bus(struck), *in_26(struck, struck.others())], struck.others())


def silent_rank(struck: Struck) -> tuple[Spoken, ...]:
    """Everybody waits and says so, but one rank says nothing at all (case B of attribution.md 6.3)."""
    return told(struck, in_26(struck, struck.others(), "ALLREDUCE"), struck.others())


def _behind(struck: Struck) -> list[Spoken]:
    others = struck.others()
    first = min(others, key=lambda rank: noticed(struck, rank))
    after = LIMIT_SECONDS + 3.2
    head = stamp(struck, struck.rank, after, "ProcessGroupNCCL.cpp:1445")
    notified = (
        f"{head} [PG 0 (default_pg) Rank {struck.rank}] Received a dump signal due to a collective timeout from  "
        f"rank {first} and we will try our best to dump the debug info. Last enqueued NCCL work: {SEQUENCE - 1}, "
        f"last completed NCCL work: {SEQUENCE - 1}.This is most likely caused by incorrect usages of collectives, "
        "e.g., wrong sizes used across ranks, the order of collectives is not same for all ranks or the scheduled "
        "collective, for some reason, didn't run."
    )
    return [*in_24(struck, others), *say(after, notified)]


def rank_behind(struck: Struck) -> tuple[Spoken, ...]:
    """Everybody waits; one rank has enqueued no more than it completed: it never joined (case A)."""
    return told(struck, _behind(struck), struck.others())


def interpreter_held(struck: Struck) -> tuple[Spoken, ...]:
    """As `rank_behind`, and the rank that never joined says that its interpreter does not answer."""
    after = LIMIT_SECONDS + 5.0
    head = stamp(struck, struck.rank, after, "ProcessGroupNCCL.cpp:1528")
    held = f"{head} [PG 0 (default_pg) Rank {struck.rank}] Could not acquire GIL within 500 ms on exit, "
    return told(struck, [*_behind(struck), *say(after, f"{held}possible GIL induced hang")], struck.others())


def nobody(struck: Struck) -> tuple[Spoken, ...]:
    """Every rank waits in the same collective: the counters name nobody (case C)."""
    return told(struck, in_26(struck, range(struck.ranks), "ALLREDUCE"), range(struck.ranks))


def not_begun(struck: Struck) -> tuple[Spoken, ...]:
    """As `nobody`; then the job's script has the dumps analysed: one rank's GPU has not begun (case J)."""
    after = LIMIT_SECONDS + 9.0
    found = (
        f"Collective sequence number: {SEQUENCE} has errors",
        "group info: default_pg",
        "collective: nccl:all_reduce",
        f"expected ranks: {{{', '.join(map(str, range(struck.ranks)))}}}",
        "collective state: started",
        f"error msg: Culprit rank {struck.rank}; Error type: COLLECTIVE_STATE_MISMATCH, Expected state: 'started' "
        "does not match found state: 'scheduled'",
    )
    spoken = [*in_26(struck, range(struck.ranks), "ALLREDUCE"), *say(after, *found)]
    return told(struck, spoken, range(struck.ranks))


def other_collective(struck: Struck) -> tuple[Spoken, ...]:
    """One rank waits in another collective than all others at the same place (case D): the program's mistake."""
    spoken = [*in_26(struck, struck.others(), "ALLREDUCE"), *in_26(struck, [struck.rank], "BROADCAST")]
    return told(struck, spoken, range(struck.ranks))


def watchdog_stuck(struck: Struck) -> tuple[Spoken, ...]:
    """One rank's own watchdog is blocked in a call of the driver (case G); the others wait for it."""
    after = LIMIT_SECONDS - 20.0
    head = stamp(struck, struck.rank, after, "ProcessGroupNCCL.cpp:1484")
    stuck = (
        f"{head} [PG ID 0 PG GUID 0(default_pg) Rank {struck.rank}] ProcessGroupNCCL's watchdog got stuck for 100 "
        "seconds without making progress in monitoring enqueued collectives. This typically indicates a NCCL/CUDA "
        "API (e.g., CudaEventDestroy) hang blocking the watchdog, and could be triggered by another thread holding "
        "the GIL inside a CUDA api (for example, CudaEventQuery)"
    )
    return told(struck, [*say(after, stuck), *in_26(struck, struck.others(), "ALLREDUCE")], struck.others())


TEXTS: dict[str, Text] = {
    "cascade_exception": after_exception,
    "cascade_bus": after_bus,
    "cascade_silent_rank": silent_rank,
    "cascade_rank_behind": rank_behind,
    "cascade_interpreter_held": interpreter_held,
    "cascade_nobody": nobody,
    "cascade_not_begun": not_begun,
    "cascade_other_collective": other_collective,
    "cascade_watchdog_stuck": watchdog_stuck,
}
