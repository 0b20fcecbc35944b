"""Is a job held by us for longer than was promised [8]? Looked at again and again while a run goes on."""

from dataclasses import dataclass, field

from advisor_api.models import Advice
from advisor_api.policy.operation import Operation
from lab.storms.checking import Checker

LATE_SECONDS = 60.0  # in which somebody could have let it go: the watchdog has looked more than twice
Held = tuple[int, int]  # job, restart count


@dataclass
class Holds:
    """Our holds on one cluster. A hold ends at the time in its advice, by the scheduler's own clock.

    That clock may be wrong: the end is where it was expected when the hold began, or when a watchdog began to look,
    whichever is later. Seconds count as late only while a watchdog runs and the scheduler answers truly.
    """

    checker: Checker
    _begun: dict[Held, list[float]] = field(default_factory=dict)  # by which true seconds its end is due
    _late: dict[Held, float] = field(default_factory=dict)
    _known: int = 0
    _looked_at: float = 0.0

    def look(self, *, watched: bool) -> None:
        """Now; `watched`: whether a watchdog ran since the last look."""
        now, cluster = self.checker.clock.seconds, self.checker.cluster
        passed, self._looked_at = now - self._looked_at, now
        for one in self.checker.requeues[self._known :]:
            self._begun[one.job, one.restarts + 1] = self._due(one.job, one.restarts)
        self._known = len(self.checker.requeues)
        able = watched and cluster.controller_up and cluster.lie is None
        for held in list(self._begun):
            job = cluster.jobs.get(held[0])
            if job is None or not job.held or job.restarts != held[1]:
                self._end(held)
            elif now > max(self._begun[held]) and able:
                self._late[held] = self._late.get(held, 0.0) + passed
                if self._late[held] > LATE_SECONDS:
                    self.checker.violations.append(f"[8] job {held[0]} is still held by us, at {now:.0f}")
                    self._end(held)

    def start_again(self) -> None:
        """Another watchdog begins, which knows nothing but what stands there; or a clock was set."""
        for (number, restarts), ends in self._begun.items():
            ends.extend(self._due(number, restarts - 1))

    def forget(self, job: int) -> None:
        """It is held no more, or by somebody else now."""
        for held in [held for held in self._begun if held[0] == job]:
            self._end(held)

    def _end(self, held: Held) -> None:
        del self._begun[held]
        self._late.pop(held, None)

    def _due(self, number: int, attempt: int) -> list[float]:
        checker = self.checker
        given = Advice.objects.filter(
            attempt__job__cluster__name=checker.plan.name,
            attempt__job__number=number,
            attempt__index=attempt,
            operation=Operation.RESTART.value,
        )
        ends = [advice.hold_until.timestamp() for advice in given]
        return [max(ends, default=checker.clock.seconds) - checker.cluster.ahead]
