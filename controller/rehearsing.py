"""`python -m controller run --dry-run`: which commands would be sent now? Nothing is sent, written or reported.

It takes no lease and no journal, so it may run beside the controller itself. It shows the next command of each
advice; the one after that depends on what a look then shows.
"""

import shlex
from argparse import Namespace
from dataclasses import dataclass

from controller.acting import send
from controller.advice import Advice, ClusterGates
from controller.client import Advisor, AdvisorError
from controller.clock import Clock, SystemClock
from controller.cluster import transport_of
from controller.config import Settings
from controller.entries import Entry
from controller.gates import carry_gate, start_gate
from controller.journal import BadJournal, read_entries
from controller.measuring import Tally
from controller.plain import Voice, log_to
from controller.reading import reader_of
from controller.starting import BadStart, check_clock
from controller.steps import next_step
from controller.token_check import check_token
from controller.view import View, look_once
from schedulers.port import Scheduler, SchedulerError
from schedulers.slurm.commands import only_reads
from schedulers.transport import Answer, Transport

BAD_START = 2


class Withheld(Exception):
    """A command that would have been sent."""

    def __init__(self, argv: tuple[str, ...]) -> None:
        super().__init__(shlex.join(argv))


@dataclass(frozen=True)
class Withholding:
    """A transport that carries questions and nothing else."""

    inner: Transport

    def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
        """Run a question; raise `Withheld` for everything else."""
        if not only_reads(argv):
            raise Withheld(argv)
        return self.inner.run(argv, seconds)


class Rehearsal:
    """One cluster's controller, of whose commands none is sent. `scheduler` is behind a `Withholding`."""

    def __init__(
        self, settings: Settings, scheduler: Scheduler, advisor: Advisor, clock: Clock, voice: Voice
    ) -> None:
        self._settings = settings
        self._scheduler = scheduler
        self._advisor = advisor
        self._clock = clock
        self._voice = voice

    def run(self) -> None:
        """Pass after pass until asked to stop; each sentence once while it stays the same."""
        while not self._clock.stopping:
            self.run_pass()
            self._clock.sleep(self._settings.controller.poll_seconds)

    def run_pass(self) -> None:
        """Say for each advice what would be sent now, or why nothing would."""
        try:
            cluster, advice = self._advisor.cluster(), self._advisor.advice().advice
            entries = {entry.advice.key: entry for entry in read_entries(self._settings.controller.journal)}
        except (AdvisorError, BadJournal) as error:
            self._voice.once("away", f"{error}")
            return
        self._voice.once("away", "" if advice else "there is no open advice")
        for item in advice:
            self._voice.once(item.key, f"{item}: {self._said(item, cluster, entries.get(item.key))}")

    def _said(self, advice: Advice, cluster: ClusterGates, entry: Entry | None) -> str:
        view = View(advice, look_once(self._scheduler, advice.job), entry, self._clock.now())
        step = next_step(view)
        if step.action is None:
            return f"would {'report' if step.disposition else 'wait'}: {step.sentence}"
        decide = start_gate if step.begins else carry_gate
        gate = decide(self._settings, cluster, advice, self._clock.now())
        try:
            send(self._scheduler, view, step.action, step)
        except Withheld as command:
            closed = "" if gate.open else f"; not sent in any case: {gate.sentence}"
            return f"would send: {command}{closed}"
        except SchedulerError as error:
            return f"would {step.sentence}, but the scheduler does not take part: {error.reason}"
        raise AssertionError("a command was sent")


def main(settings: Settings, options: Namespace) -> int:
    """Rehearse until a signal comes, or once with `--once`. Returns the exit status."""
    clock = SystemClock()
    voice = Voice(log_to("dry-run", settings.cluster, clock.now, as_json=settings.json_log))
    scheduler = reader_of(settings, Withholding(transport_of(settings)), Tally(), clock.monotonic)
    try:
        check_clock(scheduler, clock, voice, wait=not options.once)
        rehearsal = Rehearsal(settings, scheduler, check_token(settings, Advisor), clock, voice)
    except BadStart as error:
        voice.say(f"does not start: {error}.")
        return BAD_START
    if options.once:
        rehearsal.run_pass()
    else:
        rehearsal.run()
    return 0
