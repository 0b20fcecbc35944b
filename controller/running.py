"""`python -m controller run`: how does the controller start and stop?"""

import os
from argparse import Namespace

from controller.client import Advisor
from controller.clock import SystemClock
from controller.cluster import scheduler_of
from controller.config import Settings, read_token
from controller.journal import BadJournal, Journal
from controller.loop import Controller
from controller.plain import Voice, write_line

BAD_START = 2


def main(settings: Settings, options: Namespace) -> int:
    """Run until a signal comes, or for one pass with `--once`. Returns the exit status."""
    clock = SystemClock()
    voice = Voice(
        lambda line: write_line(f"{clock.now():%Y-%m-%dT%H:%M:%SZ} controller {settings.cluster}: {line}")
    )
    try:
        read_token(settings.advisor.token_file)
        journal = Journal(settings.controller.journal, clock.now())
    except ValueError as error:
        voice.say(f"advisor.token_file: {error}.")
        return BAD_START
    except BadJournal as error:
        voice.say(f"{error}.")
        return BAD_START
    with journal:
        advisor = Advisor(settings.advisor.url, settings.cluster, settings.advisor.token_file)
        scheduler = scheduler_of(settings.scheduler)
        controller = Controller(settings, scheduler, advisor, journal, clock=clock, voice=voice)
        voice.say(f"started as {settings.controller.holder} (process {os.getpid()})")
        if options.once:
            controller.run_pass()
        else:
            controller.run()
    return 0
