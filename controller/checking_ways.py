"""Do the ways by which listings come and go work: from slurmrestd, and to an Advisor that must not ask itself?"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime

from controller.client import AdvisorError, Rejected
from controller.clock import Clock
from controller.config import Settings
from controller.listing import Source
from controller.plain import Voice, one_line
from controller.push_client import PUSH_SECONDS, PushAdvisor, packed
from controller.pushing import Pusher
from schedulers.observation import Unseen, written
from schedulers.port import JobRow, Scheduler, SchedulerError

NOT_FOUND = 404
MOST_NAMED = 5
CHANGES_BY_ITSELF = frozenset({"priority", "node_count", "nodes"})  # from one moment to the next


@dataclass(frozen=True)
class Found:
    """One sentence, and whether it is good."""

    sentence: str
    good: bool = True


def read_alike(settings: Settings, source: Source, by_commands: Scheduler) -> Iterator[Found]:
    """What slurmrestd lists, beside what the commands list."""
    if settings.slurmrestd is None:
        yield Found("Jobs and nodes are read by the scheduler's commands.")
        return
    place = f"slurmrestd at {settings.slurmrestd.url} ({settings.slurmrestd.api})"
    taken = source.newest()
    if taken.error is not None:
        yield Found(f"slurmrestd cannot be read: {one_line(taken.error.reason)}", good=False)
        return
    yield Found(f"Jobs and nodes are read from {place}: {len(taken.jobs)} jobs.")
    yield Found("Limits, accounting and the waiting tasks of arrays are still read by commands.")
    try:
        listed = by_commands.jobs().jobs
    except SchedulerError as error:
        yield Found(f"The commands list no jobs to compare with: {one_line(error.reason)}", good=False)
        return
    yield from _compared({row.number: row for row in taken.jobs}, {row.number: row for row in listed})


def _compared(ours: dict[int, JobRow], theirs: dict[int, JobRow]) -> Iterator[Found]:
    if missing := sorted(theirs.keys() - ours.keys()):
        why = "its user may see less, or they are new; check again"
        yield Found(f"slurmrestd does not list {_some(missing)} that the commands list: {why}.", good=False)
    both = ours.keys() & theirs.keys()
    if other := sorted({name for number in both for name in _unlike(ours[number], theirs[number])}):
        why = "they may have changed between the two; check again"
        yield Found(f"Both list {len(both)} jobs, and these fields differ: {', '.join(other)}; {why}.", good=False)
    else:
        yield Found(f"Both list {len(both)} jobs, and say the same of each.")


def pushes(settings: Settings, scheduler: Scheduler, source: Source, clock: Clock) -> Iterator[Found]:
    """Whether the Advisor waits for listings, and what the next one would be."""
    told = settings.advisor
    try:
        advisor = PushAdvisor(told.url, settings.cluster, told.token_file, PUSH_SECONDS)
        stand = advisor.stand()
    except ValueError:
        return  # the token, which was told of already
    except Rejected as error:
        if error.status == NOT_FOUND and not settings.push.enabled:
            yield Found("The Advisor asks the scheduler itself; nothing is pushed.")
        else:
            yield Found(f"The Advisor takes no listings: {error}.", good=False)
        return
    except AdvisorError as error:
        yield Found(f"Whether the Advisor takes listings is not known: {error}.", good=False)
        return
    yield Found(f"The Advisor takes pushed listings; {_last(stand.sequence, clock.now())}.")
    if not settings.push.enabled:
        yield Found("`run` pushes none (push.enabled is false), so `python -m controller push` must run beside it.")
    yield _next(Pusher(scheduler, source, advisor, clock, Voice(lambda _: None)), clock)


def _next(pusher: Pusher, clock: Clock) -> Found:
    began = clock.monotonic()
    told = pusher.look()
    if isinstance(told, Unseen):
        return Found(
            f"The next one would say that the scheduler cannot be seen: {one_line(told.reason)}", good=False
        )
    size = len(packed(written(told)))
    return Found(f"The next one would have {len(told.jobs)} jobs and {len(told.nodes)} nodes in {size} bytes, "
                 f"ready in {clock.monotonic() - began:.1f} s; it was not sent.")  # fmt: skip


def _last(sequence: int, now: datetime) -> str:
    """A sequence is a time in milliseconds where the pusher is ours."""
    if not sequence:
        return "there was none yet"
    ago = now.timestamp() - sequence / 1000
    return f"the last was made {ago:.0f} s ago" if 0 <= ago < 86400 * 365 else f"the last was number {sequence}"


def _unlike(one: JobRow, other: JobRow) -> Iterator[str]:
    """Fields of the same attempt in the same state that differ."""
    if (one.state, one.restarts, one.submitted_at) != (other.state, other.restarts, other.submitted_at):
        return
    names = (each.name for each in fields(JobRow) if each.name not in CHANGES_BY_ITSELF)
    yield from (name for name in names if getattr(one, name) != getattr(other, name))


def _some(numbers: list[int]) -> str:
    named = ", ".join(str(number) for number in numbers[:MOST_NAMED])
    return f"{len(numbers)} jobs (of them {named})"
