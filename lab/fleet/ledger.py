"""What really happened to every attempt of the fleet? Written down as it happens, and never seen by the product."""

from dataclasses import dataclass, field

from lab.fleet.classes import KINDS, Kind

BY_NAME = {kind.name: kind for kind in KINDS}


@dataclass(slots=True)
class Attempted:
    """One attempt that ran. Times in epoch seconds; steps are those of checkpoints."""

    work: int
    job: int
    index: int
    nodes: tuple[str, ...]
    started_at: float
    from_step: int
    ended_at: float | None = None
    state: str = ""
    to_step: int = 0
    strikes: list[tuple[float, Kind]] = field(default_factory=list)

    @property
    def struck(self) -> tuple[float, Kind] | None:
        """The first thing that broke in it."""
        return next((strike for strike in self.strikes if strike[1].harmful), None)

    @property
    def kind(self) -> str:
        """The name of what broke in it, else of what only looked so, else `fleet.plain`."""
        if self.struck:
            return self.struck[1].name
        return self.strikes[0][1].name if self.strikes else "fleet.plain"

    def seconds(self, end: float) -> float:
        """How long it ran, until `end` when it still runs."""
        return (end if self.ended_at is None else self.ended_at) - self.started_at

    def healthy_seconds(self, end: float) -> float:
        """How long it ran before anything broke in it."""
        struck = self.struck
        return (
            self.seconds(end) if struck is None else max(0.0, min(struck[0] - self.started_at, self.seconds(end)))
        )


@dataclass(slots=True)
class Ledger:
    """All attempts in the order of their starts. `down_since` holds the works that a failure keeps from running."""

    attempts: list[Attempted] = field(default_factory=list)
    open: dict[int, Attempted] = field(default_factory=dict)  # by job number
    work_of: dict[int, int] = field(default_factory=dict)  # job number → work
    job_of: dict[int, int] = field(default_factory=dict)  # work → its last job number
    down_since: dict[int, float] = field(default_factory=dict)  # work → since when
    waited: list[tuple[int, float]] = field(default_factory=list)  # nodes and seconds between failure and restart
    saved: dict[int, int] = field(default_factory=dict)  # work → step of its last checkpoint
    wanted: set[int] = field(default_factory=set)  # jobs that a person ended or limited
    completed: int = 0

    def submitted(self, work: int, job: int) -> None:
        """A work has a job, its first or another one."""
        self.work_of[job], self.job_of[work] = work, job
        self.saved.setdefault(work, 0)

    def started(self, job: int, index: int, nodes: tuple[str, ...], from_step: int, at: float) -> None:
        """An attempt begins to run."""
        work = self.work_of[job]
        attempt = Attempted(work, job, index, nodes, at, from_step, to_step=from_step)
        self.attempts.append(attempt)
        self.open[job] = attempt
        since = self.down_since.pop(work, None)
        if since is not None:
            self.waited.append((len(nodes), at - since))

    def struck(self, job: int, kind: Kind, at: float) -> None:
        """Something happened to the attempt that runs."""
        if job in self.open:
            self.open[job].strikes.append((at, kind))

    def ended(self, job: int, state: str, step: int, at: float) -> Attempted | None:
        """The attempt that ran is over; `None` when none did."""
        attempt = self.open.pop(job, None)
        if attempt is None:
            return None
        attempt.ended_at, attempt.state, attempt.to_step = at, state, step
        self.saved[attempt.work] = step
        self.completed += state == "COMPLETED"
        if failed(attempt) and job not in self.wanted:
            self.down_since[attempt.work] = at
        return attempt


def failed(attempt: Attempted) -> bool:
    """Whether the attempt was lost to a failure, or to somebody who took it for one.

    Not so for the ends that a job or its people want: completion, a cancel by the user, a limit, a preemption.
    """
    if attempt.state in ("COMPLETED", "TIMEOUT", "PREEMPTED"):
        return False
    if attempt.struck is not None:
        return True
    wanted = {"fleet.cancelled", "fleet.preempted", "fleet.time_limit"}
    return not any(kind.name in wanted for _, kind in attempt.strikes)
