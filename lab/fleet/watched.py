"""How does a fleet fare with the product? `python -m lab.virtual FOLDER lab.fleet.watched FOLDER OPTIONS`.

Leaves in its folder what was said and what happened, and prints a line for each virtual day.
"""

import json
import pickle
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from django.conf import settings

from lab.fleet.fleet import Fleet
from lab.fleet.kept import KEPT, Kept, options_of
from lab.fleet.options import Options
from lab.fleet.published import DAY
from lab.simulate.virtual_logs import VirtualLogs
from lab.virtual.beats import Reading
from lab.virtual.site import VirtualSite
from workloads.models import Cluster

NAME = "fleet"
PARTS_OF_A_DAY = 24


def main(arguments: Sequence[str]) -> int:
    """`FOLDER OPTIONS`, the options as JSON; 0."""
    folder, options = Path(arguments[0]), options_of(json.loads(arguments[1]))
    kept = watch(folder, options)
    (folder / KEPT).write_bytes(pickle.dumps(kept))
    return 0


def watch(folder: Path, options: Options) -> Kept:
    """Live through the fleet with a site; Django must be ready and its database empty."""
    logs_folder = folder / "logs"
    logs_folder.mkdir(parents=True)
    logs = VirtualLogs(logs_folder, keeps=False)
    fleet = Fleet(options, logs, folder / "truth.jsonl")
    began = time.monotonic()
    with _pace(options), VirtualSite(folder, options.start, options.seed) as site:
        site.watch(NAME, fleet.cluster, logs_folder, poll_seconds=options.poll_seconds)
        Cluster.objects.filter(name=NAME).update(mode=options.mode)
        parts = max(1, round(options.days * PARTS_OF_A_DAY))
        for part in range(1, parts + 1):
            site.advance(options.start + options.seconds * part / parts)
            if part % PARTS_OF_A_DAY == 0 or part == parts:
                _tell(fleet, options, began)
        said = site.said(NAME)
        log = site.log(NAME)
    return Kept(fleet.closed(), said, log, time.monotonic() - began, _peak_bytes())


@contextmanager
def _pace(options: Options) -> Iterator[None]:
    """Read as often as the options say: `prepare` takes what a site may set, which is too often for a month."""
    setting = {"REKINDLE_READ_SECONDS": options.read_seconds}
    with mock.patch.dict(settings.REKINDLE, setting), mock.patch.object(Reading, "every", options.read_seconds):
        yield


def _tell(fleet: Fleet, options: Options, began: float) -> None:
    days = (fleet.cluster.now - options.start) / DAY
    seconds = time.monotonic() - began
    ledger = fleet.cluster.ledger
    sys.stdout.write(
        f"day {days:.1f} of {options.days:g}: {len(ledger.attempts)} attempts, {ledger.completed} works completed, "
        f"{seconds:.0f} s, {_peak_bytes() >> 20} MB\n"
    )
    sys.stdout.flush()


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
