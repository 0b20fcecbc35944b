"""What does the log of a situation hold, what does the scheduler say of it, and what was really done?

The simulated cluster alone, in virtual time: nobody watches and nobody repairs. What is read is the first attempt.
"""

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from detectors.diagnosing.accounting import Told
from lab.calibrating.varying import Copy, Situation
from lab.simulate.jobs import FINAL, AttemptRow
from lab.simulate.logs import MemoryLogs
from lab.simulate.model import Cluster
from lab.simulate.play import Fault
from lab.simulate.settings import Settings
from lab.truth import Injected
from schedulers.slurm.values import state

START = 1_777_622_400.0  # 2026-05-01 08:00:00 UTC
LOOK_SECONDS = 1.0  # between two looks whether it has ended: a requeued attempt begins later than that
_RANK = re.compile(r"^\[rank(\d+)\]")
_OF_A_NODE = re.compile(r"^(?:srun|slurmstepd|[\w.-]+\d): ?")


@dataclass(frozen=True, slots=True)
class Played:
    """Bytes of the log, what the scheduler tells, the deeds in their order, and until when it was watched."""

    log: bytes
    told: Told
    deeds: tuple[Injected, ...]
    until: datetime
    job: int


@dataclass(slots=True)
class _Lines:
    """Lines with the moment at which each was written, and how many there were when the fault struck."""

    written: list[tuple[float, str]] = field(default_factory=list)
    before: int | None = None


class _Kept(MemoryLogs):
    """Logs that know when a line was written. Only the first attempt is kept."""

    def __init__(self, lines: _Lines) -> None:
        super().__init__()
        self._lines, self._began = lines, 0
        self._now: Callable[[], float] = lambda: 0.0

    def read_clock(self, now: Callable[[], float]) -> None:
        """See `Logs.read_clock`."""
        self._now = now

    def start(self, path: str, append: bool) -> None:
        """See `Logs.start`."""
        self._began += 1

    def write(self, path: str, text: str) -> None:
        """See `Logs.write`."""
        if self._began == 1:
            at = self._now()
            self._lines.written += [(at, line) for line in text.removesuffix("\n").split("\n")]


def play(situation: Situation) -> Played:
    """Put it on. Raises what the simulated cluster raises."""
    script = situation.case.simulated
    if script is None:
        raise ValueError(f"{situation.case.name} has no script for the simulated cluster")
    lines = _Lines()
    deeds: list[Injected] = []
    cluster = Cluster(START, Settings(**{**script.settings}), _Kept(lines))

    def strike(  # noqa: PLR0917  # the signature of `lab.simulate.world.Strike`
        job: int,
        attempt: int,
        fault: Fault,
        nodes: tuple[str, ...],
        ranks: tuple[int, ...],
        step: int,
        at: float,
    ) -> None:
        if fault in situation.own and attempt == 0:
            lines.before = len(lines.written) if lines.before is None else lines.before
            deeds.append(Injected(situation.case.name, job, 0, fault.kind, at, nodes, ranks, step))

    cluster.on_strike(strike)
    number = cluster.submit(script.jobs[0][1])
    row = cluster.jobs[number].rows[0]
    while row.ended_at is None and cluster.now < START + script.seconds:
        cluster.advance(cluster.now + LOOK_SECONDS)
    until = datetime.fromtimestamp(cluster.now, UTC)
    log = _copied(lines, situation.copy)
    told = _told(row, until) if situation.copy.scheduler else Told()
    return Played(log, told, tuple(deeds), until, number)


def _told(row: AttemptRow, until: datetime) -> Told:
    started = datetime.fromtimestamp(row.started_at, UTC) if row.started_at is not None else None
    ended = datetime.fromtimestamp(row.ended_at, UTC) if row.ended_at is not None and row.state in FINAL else None
    return Told(
        state=state(row.state),
        word=row.state,
        reason="" if row.reason == "None" else row.reason,
        nodes=row.nodes,
        exit_code=row.exit_code if ended else None,
        exit_signal=row.exit_signal if ended else None,
        submitted_at=datetime.fromtimestamp(row.submitted_at, UTC),
        started_at=started,
        ended_at=ended,
        until=ended or until,
        job=str(row.number),
        user=row.user,
        partition=row.partition,
        cluster="lab",
    )


def _copied(lines: _Lines, copy: Copy) -> bytes:
    """What of the lines came to the reader, in which order, and with what before each."""
    chance = random.Random(copy.seed)
    before = len(lines.written) if lines.before is None else lines.before
    kept = lines.written[int(copy.head * before) :]
    if copy.excerpt:
        kept = lines.written[max(0, before - copy.excerpt[0]) : before + copy.excerpt[1]]
    if copy.tail:
        kept = kept[: max(1, len(kept) - copy.tail)]
    kept = [one for one in kept if chance.random() >= copy.lost]
    if copy.order:
        places = [place + chance.random() * copy.order for place in range(len(kept))]
        kept = [kept[place] for place in sorted(range(len(kept)), key=places.__getitem__)]
    end = "\r\n" if copy.prefix == "colour" else "\n"
    text = "".join(f"{_led(at, line, copy.prefix)}{end}" for at, line in kept)
    return text.encode("utf-8", "replace")


def _led(at: float, line: str, prefix: str) -> str:
    moment = datetime.fromtimestamp(at, UTC)
    if prefix == "time":
        return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03d}Z {line}"
    if prefix == "container":
        return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond:06d}000Z stdout F {line}"
    if prefix == "colour":
        return f"\x1b[36m{line}\x1b[0m"
    if prefix == "label" and not _OF_A_NODE.match(line):
        rank = _RANK.match(line)
        return f"{rank[1] if rank else 0}: {line}"
    return line
