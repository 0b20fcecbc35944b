"""How is something only said: the text of broken hardware, a pause with its lines, lines that mean nothing?"""

import subprocess
import sys
import time

from lab.dialects.dialect import PHASES
from lab.texts.texts import TEXTS, Struck
from lab.trainer.deeds.signals import DAY_SECONDS
from lab.trainer.here import Here, say
from lab.trainer.orders import Order

REQUEUE_SECONDS = 20


def replay(order: Order, here: Here) -> None:
    """Print a text of `lab.texts` at its own pace (`pace`: times as slow), then fail, hang or go on.

    One rank speaks for all that the order concerns; the others share only in the end of it.
    """
    if here.speaks_for(order):
        begun = time.monotonic()
        for spoken in TEXTS[order.words["text"]](_struck(here)):
            due = begun + spoken.after_seconds * order.words.get("pace", 1.0)
            time.sleep(max(0.0, due - time.monotonic()))
            say([spoken.line])
    ends = order.words.get("ends", "failed")
    if ends == "failed":
        sys.exit(order.words.get("code", 1))
    if ends == "hang":
        time.sleep(DAY_SECONDS)


def pause(order: Order, here: Here) -> None:
    """A phase without steps: its lines before and after, as the dialect has them."""
    phase, seconds = order.words.get("phase", PHASES[0]), float(order.words.get("seconds", 5.0))
    before, after = here.dialect.phase(here.stage, phase, max(0, here.step - 1), seconds, time.time())
    speaks = here.speaks_for(order)
    say(before if speaks else [])
    time.sleep(seconds)
    say(after if speaks else [])


def mention(order: Order, here: Here) -> None:
    """Print lines and go on."""
    if here.speaks_for(order):
        say(order.words["lines"])


def requeue(order: Order, here: Here) -> None:
    """The job requeues itself, as a framework does that was told of a preemption; then it waits for its end."""
    say([f"Requeued SLURM job: {here.place.job}"])
    command = ["scontrol", "requeue", str(here.place.job)]
    subprocess.run(command, stdin=subprocess.DEVNULL, timeout=REQUEUE_SECONDS, check=True)
    time.sleep(DAY_SECONDS)


def _struck(here: Here) -> Struck:
    place = here.place
    return Struck(
        nodes=place.hosts,
        gpus=place.per_host,
        host=place.host,
        rank=place.rank,
        gpu=place.rank % place.per_host,
        process=here.stage.process(place.rank),
        job=place.job,
        at=time.time(),
    )
