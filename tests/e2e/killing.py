"""Runs a part of the product that kills itself once (SIGKILL), at the worst moment.

`python -m tests.e2e.killing MARK site|worker|controller ARGUMENT…`: the file MARK is made just before the kill, and
where it exists already nothing is killed. Between reading and committing: the last statement of the transaction.
Between hold and release: instead of the release.
"""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any


def die_once(mark: Path) -> None:
    """Kill this process, unless it was done before."""
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def between_reading_and_committing(mark: Path) -> None:
    """Replace the storing of audit events of a turn that found a crash."""
    import django

    django.setup()
    from audit.event_type import EventType
    from audit.trail import Entry, record
    from detectors import storing

    def recorded(entries: Sequence[Entry], now: datetime) -> Any:
        if any(entry.type is EventType.ANOMALY for entry in entries):
            die_once(mark)
        return record(entries, now)

    storing.record = recorded  # type: ignore[assignment]


def site(mark: Path, arguments: list[str]) -> None:
    """The embedded site."""
    between_reading_and_committing(mark)
    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", *arguments])


def worker(mark: Path, arguments: list[str]) -> None:
    """A Celery worker."""
    between_reading_and_committing(mark)
    from recovery_site.celery import app

    app.worker_main(arguments)


def controller(mark: Path, arguments: list[str]) -> None:
    """The controller, killed instead of releasing the job it holds."""
    from controller.__main__ import main
    from schedulers.slurm.adapter import Slurm

    release = Slurm.release

    def released(self: Slurm, number: int, **options: bool) -> None:
        die_once(mark)
        release(self, number, **options)

    Slurm.release = released  # type: ignore[method-assign]
    sys.exit(main(arguments))


PARTS: dict[str, Callable[[Path, list[str]], None]] = {"site": site, "worker": worker, "controller": controller}

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "recovery_site.settings")
    PARTS[sys.argv[2]](Path(sys.argv[1]), sys.argv[3:])
