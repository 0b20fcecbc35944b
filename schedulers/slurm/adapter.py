"""How does Slurm answer and obey the scheduler port?"""

import time
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import TypeVar

from schedulers.holds import persons_hold, schedulers_hold
from schedulers.port import (
    AccountedAttempt,
    Garbled,
    JobDetail,
    JobRow,
    Limits,
    Listing,
    NodeRow,
    NoSuchJob,
    Refused,
    Unclear,
    Unreachable,
    WaitingTasks,
)
from schedulers.slurm import accounting, commands, listing, refusals, showing
from schedulers.states import FAILURES, NOT_A_FAILURE, WAITING, JobState
from schedulers.transport import Answer, Lost, TimedOut, TooLong, Transport

Read = TypeVar("Read")
STOPPED_SECONDS = 5.0  # beyond the limit of a question; ssh has some seconds of its own


def _nothing(row: JobRow) -> str:
    """Nothing is said against a command."""
    return ""


def _rewritten(before: str | None) -> Callable[[JobRow], str]:
    """What is said against writing over an AdminComment that is not what it was."""

    def objection(row: JobRow) -> str:
        changed = before is not None and row.admin_comment != before
        return f"Somebody changed the AdminComment of job {row.number}" if changed else ""

    return objection


def _anothers(row: JobRow) -> str:
    """What is said against the release of a hold of ours: that it is somebody else's by now."""
    anothers = persons_hold(row) or schedulers_hold(row)
    return f"Somebody else holds job {row.number} by now ({row.reason})" if anothers else ""


class Slurm:
    """`schedulers.port.Scheduler` by the commands of Slurm, each given `seconds`.

    A hung controller makes squeue wait 20 s and scontrol 10 s before they say so themselves.
    """

    def __init__(self, transport: Transport, seconds: float) -> None:
        self._transport = transport
        self._seconds = seconds

    def jobs(self) -> Listing:
        """All jobs in one squeue call."""
        borders = listing.Borders.fresh()
        text = self._ask(commands.list_jobs(borders.layout()))
        return Listing(_read(text, lambda: listing.rows(text, borders)), len(text.encode()))

    def job(self, number: int) -> JobDetail:
        """The row by squeue, the exclusions by scontrol: 22.05's squeue cannot show them."""
        row = self._row(number)
        whole_array = row.array_job is not None and row.array_task is None
        text = self._ask(commands.show_job(str(number) if whole_array else listing.address(row)))
        return JobDetail(row, _read(text, lambda: showing.excluded_nodes(text, row)))

    def waiting_tasks(self, array_job: int) -> tuple[WaitingTasks, ...]:
        """The tasks by squeue, their exclusions record by record by scontrol; those with equal ones together."""
        borders = listing.Borders.fresh()
        try:
            argv = commands.list_job(array_job, borders.layout())
        except ValueError as error:
            raise NoSuchJob(str(error)) from error
        told = self._ask(argv)
        found = [row for row in _read(told, lambda: listing.tasks(told, borders)) if row.array_job == array_job]
        if not found:
            raise NoSuchJob(f"Slurm does not know array {array_job}.", told)
        waiting = [row for row in found if listing.never_begun(row)]
        text = self._ask(commands.show_job(str(array_job))) if waiting else ""
        return _read(text, lambda: showing.by_exclusions(text, waiting))

    def ended(self, number: int) -> tuple[AccountedAttempt, ...]:
        """The ended attempts in the accounting."""
        border = listing.Borders.fresh().field
        text = self._ask(commands.accounting(number, accounting.COLUMNS, border))
        return _read(text, lambda: accounting.ended(text, number, border))

    def nodes(self) -> tuple[NodeRow, ...]:
        """All nodes in one call."""
        text = self._ask(commands.show_nodes())
        return _read(text, lambda: showing.nodes(text))

    def limits(self) -> Limits:
        """Version and limits of the installation."""
        text = self._ask(commands.show_config())
        return _read(text, lambda: showing.limits(text))

    def now(self) -> datetime:
        """The controller's clock, in whole seconds."""
        text = self._ask(commands.statistics())
        return _read(text, lambda: showing.clock(text))

    def ping(self) -> None:
        """Returns when a controller, the primary or a backup, answers."""
        answer = self._transport.run(commands.ping(), self._seconds)
        if " is UP" not in answer.stdout:
            raise Unreachable("No controller of this Slurm answers.", f"{answer.stderr}{answer.stdout}")

    def mark(self, number: int, text: str, *, instead_of: str | None = None) -> None:
        """Write our mark into AdminComment. Slurm refuses it on finished jobs."""
        self._act(number, lambda address: commands.set_mark(address, text), _rewritten(instead_of))

    def requeue_hold(self, number: int, *, running: bool) -> None:
        """Requeue in held state. With `running` a finished job is left alone, without a word.

        Nothing is sent when the job is another one than was meant by now: suspended or held by a person, begun
        again, or finished by a cancel or in order.
        """
        self._act(number, lambda address: commands.requeue_hold(address, running=running), _not_meant(running))

    def update_exclusions(
        self, number: int, nodes: Sequence[str], *, instead_of: Collection[str] | None = None
    ) -> None:
        """Replace the excluded nodes of a waiting job. One unknown name refuses all."""
        if instead_of is not None and {*self.job(number).excluded_nodes} != {*instead_of}:
            raise Unreachable(f"Somebody changed the excluded nodes of job {number}, so the command was not sent.")
        self._act(number, lambda address: commands.set_exclusions(address, nodes))

    def exclude_for_tasks(self, array_job: int, tasks: Sequence[int], nodes: Sequence[str]) -> None:
        """Replace the excluded nodes of waiting tasks. Slurm answers with rc 1 when some of them have begun."""
        try:
            argv = commands.set_exclusions_of_tasks(array_job, tasks, nodes)
        except ValueError as error:
            raise Refused(str(error)) from error
        answer = self._command(argv)
        if answer.returncode and not refusals.is_done_in_part(answer):
            raise refusals.of_action(argv, answer)

    def release(self, number: int, *, ours: bool = False) -> None:
        """Let a held job go; without effect on any other."""
        self._act(number, commands.release, _anothers if ours else _nothing)

    def start_after(self, number: int, seconds: int) -> None:
        """Give a waiting job another time to begin. Refused on a job that does not wait."""
        at = int(self.now().timestamp()) + seconds
        self._act(number, lambda address: commands.start_at(address, at))

    def cancel(self, number: int) -> None:
        """Cancel a job; without effect on a finished one."""
        self._act(number, commands.cancel)

    def _row(self, number: int) -> JobRow:
        borders = listing.Borders.fresh()
        try:
            argv = commands.list_job(number, borders.layout())
        except ValueError as error:
            raise NoSuchJob(str(error)) from error
        text = self._ask(argv)
        for row in _read(text, lambda: listing.rows(text, borders)):
            if row.number == number:
                return row
        raise NoSuchJob(f"Slurm does not know job {number}.", text)

    def _ask(self, argv: tuple[str, ...]) -> str:
        """The answer to a question. Nothing beside an error text is not an empty listing."""
        answer = self._transport.run(argv, self._seconds)
        if refusals.is_no_answer(answer):
            raise refusals.of_reading(argv, answer)
        return answer.stdout

    def _act(
        self,
        number: int,
        command: Callable[[str], tuple[str, ...]],
        objection: Callable[[JobRow], str] = _nothing,
    ) -> None:
        """Look how this job is spoken of, then run one command on it and on nothing else, unless something is said
        against it as it is now.

        The look takes at most our limit. When more time went by, this process was stopped, and whoever asked for
        the command may ask for another one now: nothing is sent.
        """
        began = time.clock_gettime(time.CLOCK_BOOTTIME)
        row = self._row(number)
        try:
            argv = command(listing.address(row))
        except ValueError as error:
            raise Refused(str(error)) from error
        if time.clock_gettime(time.CLOCK_BOOTTIME) - began > self._seconds + STOPPED_SECONDS:
            raise Unreachable("This process was stopped in the middle, so the command was not sent.")
        if said := objection(row):
            raise Unreachable(f"{said}, so the command was not sent.")
        answer = self._command(argv)
        if answer.returncode:
            raise refusals.of_action(argv, answer)

    def _command(self, argv: tuple[str, ...]) -> Answer:
        try:
            return self._transport.run(argv, self._seconds)
        except (Lost, TimedOut, TooLong) as error:
            raise Unclear(error.reason, error.raw) from error


def _read(text: str, reading: Callable[[], Read]) -> Read:
    try:
        return reading()
    except ValueError as error:
        raise Garbled(str(error), text) from error


def _not_meant(running: bool) -> Callable[[JobRow], str]:
    """What a last look says against a requeue in held state.

    With `Incomplete`, Slurm says nothing at all of a job that somebody has requeued meanwhile, so that his hold
    would look like ours.
    """

    def objection(row: JobRow) -> str:
        if row.state is JobState.SUSPENDED:
            return f"Job {row.number} is suspended by now"
        if row.priority == 0 and row.state in {JobState.RUNNING, *FAILURES}:
            return f"Somebody holds job {row.number} by now"
        if row.state in (WAITING if running else {JobState.CONFIGURING, JobState.RUNNING, *NOT_A_FAILURE}):
            return f"Job {row.number} is {row.word} by now"
        return ""

    return objection
