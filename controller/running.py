"""`python -m controller run`: how does the controller start and stop?"""

import os
from argparse import Namespace

from controller.client import Advisor
from controller.clock import SystemClock
from controller.cluster import transport_of
from controller.config import Settings
from controller.exposing import exposed
from controller.journal import BadJournal, Journal
from controller.listing import Source
from controller.loop import Controller
from controller.measuring import Counting, Tally
from controller.plain import Voice, log_to
from controller.pushing import pusher_of
from controller.reading import reader_of
from controller.starting import BadStart, check_clock
from controller.token_check import check_token
from controller.waiting import LIMIT_SECONDS, Waiting

BAD_START = 2
PATIENCE = 90.0  # seconds without a pass, beyond three polls, until /healthz says so


class Counted(Controller):
    """The controller, with its numbers kept up to date after each pass."""

    tally: Tally

    def run_pass(self) -> bool:
        """One pass, counted."""
        acted = super().run_pass()
        self.tally.passed(self._clock.monotonic())
        self.tally.set("rekindle_advice_open", len(self.standing.advice))
        self.tally.set("rekindle_advice_begun", len(self._journal.entries))
        self.tally.set("rekindle_lease_held", self.standing.gate().open)
        self.tally.set("rekindle_advisor_away", self.standing.gone)
        return acted


def main(settings: Settings, options: Namespace) -> int:
    """Run until a signal comes, or for one pass with `--once`. Returns the exit status."""
    clock = SystemClock()
    voice = Voice(log_to("controller", settings.cluster, clock.now, as_json=settings.json_log))
    tally = Tally()
    own = settings.controller
    transport = Counting(transport_of(settings), tally, clock.monotonic)
    scheduler = reader_of(settings, transport, tally, clock.monotonic)
    try:
        check_clock(scheduler, clock, voice, wait=not options.once)
        advisor = check_token(settings, Advisor)
        with (
            Journal(own.journal, clock.now()) as journal,
            exposed(own.metrics_address, own.metrics_port, tally, clock.monotonic, 3 * own.poll_seconds + PATIENCE),
        ):
            source = Source(scheduler, clock)
            controller = Counted(settings, scheduler, advisor, journal, clock=clock, voice=voice, source=source)
            controller.tally = tally
            voice.say(f"started as {own.holder} (process {os.getpid()})")
            pusher = pusher_of(settings, scheduler, source, clock, voice) if settings.push.enabled else None
            if options.once:
                if pusher:
                    pusher.turn()
                controller.run_pass()
            else:
                if pusher:
                    pusher.start()
                _wait_for_advice(settings, clock, controller)
                controller.run()
    except BadStart as error:
        voice.say(f"does not start: {error}.")
        return BAD_START
    except BadJournal as error:
        voice.say(f"{error}.")
        return BAD_START
    return 0


def _wait_for_advice(settings: Settings, clock: SystemClock, controller: Controller) -> None:
    told = settings.advisor
    advisor = Advisor(told.url, settings.cluster, told.token_file, LIMIT_SECONDS)

    def woken(by_changes: bool) -> None:
        controller.woken = by_changes

    Waiting(advisor, clock, wake=clock.wake, woken=woken).start()
