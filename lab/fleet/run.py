"""How does a fleet fare with the product and without it? `put_on` lives through it twice."""

import json
import math
import pickle
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from lab import truth
from lab.fleet.fleet import Fleet
from lab.fleet.goodput import goodput
from lab.fleet.kept import KEPT, Kept, told_of
from lab.fleet.ledger import Ledger
from lab.fleet.options import Options
from lab.fleet.result import FleetResult
from lab.fleet.results import commands_without_advice, results_of
from lab.virtual.child import run as run_child

DAY_SECONDS = 86_400.0
QUIET_SECONDS = 10.0


def put_on(options: Options, folder: Path, say: Callable[[str], None]) -> FleetResult:
    """The fleet of `options` with the product and, from the same seed, with people alone.

    `folder` (made, and emptied of an earlier run) takes the site and the logs; `say` is told of every virtual day.
    Raises `ChildFailed`. In monitor mode the product changes nothing, so that the fleet without it is the fleet
    watched in monitor mode.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    began = time.monotonic()
    say(f"{options.days:g} days of {options.nodes} nodes, first with people alone")
    by_hand = live_alone(options, say)
    say(f"{options.days:g} days with people alone took {time.monotonic() - began:.0f} s")
    kept = _watched(options, folder, say)
    deeds = truth.read([folder / "truth.jsonl"])
    return FleetResult(
        options=options,
        results=tuple(results_of(kept.ledger, options, kept.said, deeds)),
        with_product=goodput(kept.ledger, options),
        by_hand=goodput(by_hand, options),
        stray_commands=tuple(commands_without_advice(kept.said)),
        seconds=time.monotonic() - began,
        watched_seconds=kept.seconds,
        peak_bytes=kept.peak_bytes,
    )


def live_alone(options: Options, say: Callable[[str], None] = lambda _: None) -> Ledger:
    """What happens to the fleet when only people look after it; `say` is told now and then how far it is."""
    fleet = Fleet(options)
    said_at = time.monotonic()
    for day in range(1, math.ceil(options.days) + 1):
        fleet.cluster.advance(min(options.start + day * DAY_SECONDS, options.end))
        if time.monotonic() - said_at > QUIET_SECONDS:
            said_at = time.monotonic()
            say(f"day {day} with people alone")
    return fleet.closed()


def _watched(options: Options, folder: Path, say: Callable[[str], None]) -> Kept:
    run_child(folder, "lab.fleet.watched", (str(folder), json.dumps(told_of(options))), say, on_disk=True)
    kept: Kept = pickle.loads((folder / KEPT).read_bytes())  # noqa: S301  # written by our own child just now
    return kept
