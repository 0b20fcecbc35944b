"""`python -m controller check`: is everything as it must be, and what would the controller do now?"""

from argparse import Namespace
from collections.abc import Callable, Iterable

from controller.advice import Advice, ClusterGates
from controller.checking_ways import Found, pushes, read_alike
from controller.client import Advisor, AdvisorError
from controller.clock import Clock, SystemClock
from controller.cluster import scheduler_of, transport_of
from controller.config import Settings
from controller.gates import RIGHTS, carry_gate, own_gate, start_gate
from controller.installation import too_little_time
from controller.journal import BadJournal, read_entries
from controller.listing import Source
from controller.measuring import Tally
from controller.plain import Voice, one_line
from controller.reading import reader_of
from controller.starting import BadStart, check_clock
from controller.steps import next_step
from controller.view import View, look_once
from schedulers.port import Scheduler, SchedulerError

MOST_SHOWN = 20


class Check:
    """Looks at everything, changes nothing, and says what it finds. `good` is false when something is wrong."""

    def __init__(
        self,
        settings: Settings,
        scheduler: Scheduler,
        say: Callable[[str], None],
        clock: Clock,
        by_commands: Scheduler | None = None,
    ) -> None:
        self._settings = settings
        self._scheduler = scheduler
        self._by_commands = by_commands or scheduler
        self._source = Source(scheduler, clock)
        self._say = say
        self._clock = clock
        self._now = clock.now()
        self.good = True

    def run(self) -> bool:
        """Every check in turn."""
        self._gates()
        seen = self._scheduler_answers()
        self._journal()
        answers = self._advisor_answers()
        if seen:
            self._tell(read_alike(self._settings, self._source, self._by_commands))
        if answers and seen:
            self._tell(pushes(self._settings, self._scheduler, self._source, self._clock))
            self._intentions(*answers)
        return self.good

    def _tell(self, findings: Iterable[Found]) -> None:
        for found in findings:
            (self._say if found.good else self._wrong)(found.sentence)

    def _wrong(self, sentence: str) -> None:
        self.good = False
        self._say(sentence)

    def _gates(self) -> None:
        self._say("The configuration has no mistakes.")
        for name, own in (("controller", self._settings.controller), ("watchdog", self._settings.watchdog)):
            gate = own_gate(own, self._settings.environment)
            word = "may act as far as its configuration goes" if gate.open else f"sends no command: {gate.sentence}"
            self._say(f"The {name} {word}.")
        self._say(f"Rights: {RIGHTS} to act. The watchdog only releases, for which Operator is enough.")

    def _scheduler_answers(self) -> bool:
        try:
            self._scheduler.ping()
            limits = self._scheduler.limits()
        except SchedulerError as error:
            self._wrong(f"The scheduler does not answer: {one_line(error.reason)}")
            return False
        tested = "" if limits.tested else ", a version that was never tested"
        self._say(f"The scheduler answers: {limits.version}, cluster {limits.cluster_name}{tested}.")
        if short := too_little_time(limits):
            self._say(f"Warning: {short}.")
        self._clocks()
        return True

    def _clocks(self) -> None:
        """Whether run and watchdog would start at all."""
        try:
            check_clock(self._scheduler, self._clock, Voice(self._say), wait=False)
        except BadStart as error:
            self._wrong(f"Controller and watchdog would not start: {error}.")
        else:
            self._say("The clocks of this machine and of the scheduler agree, as far as it tells its time.")

    def _journal(self) -> None:
        path = self._settings.controller.journal
        try:
            entries = read_entries(path)
        except BadJournal as error:
            self._wrong(f"The journal cannot be used: {error}.")
            return
        begun = ", ".join(str(entry.advice) for entry in entries) or "nothing"
        self._say(f"The journal {path} has begun and not finished: {begun}.")

    def _advisor_answers(self) -> tuple[ClusterGates, tuple[Advice, ...]] | None:
        settings = self._settings.advisor
        try:
            advisor = Advisor(settings.url, self._settings.cluster, settings.token_file)
            cluster, answer = advisor.cluster(), advisor.advice()
        except ValueError as error:
            self._wrong(f"The token cannot be used: {error}.")
            return None
        except AdvisorError as error:
            self._wrong(f"The Advisor cannot be used: {error}.")
            return None
        self._say(
            f"The Advisor answers: cluster {cluster.name}, mode {cluster.mode}, {len(answer.advice)} open advice."
        )
        for sentence in answer.unreadable:
            self._wrong(f"The Advisor says something strange: {sentence}.")
        return cluster, answer.advice

    def _intentions(self, cluster: ClusterGates, advice: tuple[Advice, ...]) -> None:
        entries = {entry.advice.key: entry for entry in read_entries(self._settings.controller.journal)}
        for item in advice[:MOST_SHOWN]:
            view = View(item, look_once(self._scheduler, item.job), entries.get(item.key), self._now)
            step = next_step(view)
            decide = start_gate if step.begins else carry_gate
            gate = decide(self._settings, cluster, item, self._now)
            if step.action is None:
                verb = "report" if step.disposition else "wait"
                self._say(one_line(f"{item}: would {verb}: {step.sentence}."))
            elif gate.open:
                self._say(one_line(f"{item}: would {step.sentence}."))
            else:
                self._say(one_line(f"{item}: would {step.sentence}, but {gate.sentence}."))
        if len(advice) > MOST_SHOWN:
            self._say(f"{len(advice) - MOST_SHOWN} more advice is not shown.")


def main(settings: Settings, options: Namespace) -> int:
    """Check everything. Returns the exit status: 0 when nothing is wrong."""
    clock, transport = SystemClock(), transport_of(settings)
    scheduler = reader_of(settings, transport, Tally(), clock.monotonic)
    return 0 if Check(settings, scheduler, print, clock, scheduler_of(settings, transport)).run() else 1
