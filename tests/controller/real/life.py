"""One life of a controller on a real Slurm, which may end, or pause, at any point.

`python -m tests.controller.real.life CONFIG FOLDER [--die-at N | --pause-at NAME]` runs the loop of the controller
with its own transport, clock, journal and HTTP client. FOLDER/commands gets a line for each command that changes
something, before it is run. `--die-at`: SIGKILL at the Nth point (`tests.controller.bench`: before and after each
effect), whose name is then in FOLDER/died. `--pause-at`: at the first point of this name FOLDER/paused appears, and
the life goes on once FOLDER/go is there.
"""

import argparse
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from controller.client import Advisor
from controller.clock import SystemClock
from controller.config import read_config
from controller.journal import Journal
from controller.loop import Controller
from controller.plain import Voice
from schedulers.slurm.adapter import Slurm
from schedulers.slurm.commands import only_reads
from schedulers.transport import Answer, LocalTransport
from tests.controller.bench import ACTIONS, LINES, WRITES, fused


class Written:
    """A transport that writes down every command, also one that its process does not live to see answered."""

    def __init__(self, inner: LocalTransport, folder: Path) -> None:
        self._inner = inner
        self._folder = folder

    def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
        name = "questions" if only_reads(argv) else "commands"
        with (self._folder / name).open("a") as file:
            file.write(json.dumps([time.time(), *argv]) + "\n")
        return self._inner.run(argv, seconds)


class Points:
    """Counts the points; ends or pauses this life at one of them."""

    def __init__(self, folder: Path, die_at: int, pause_at: str) -> None:
        self._folder = folder
        self._die_at = die_at
        self._pause_at = pause_at
        self._count = 0

    def tick(self, name: str) -> None:
        self._count += 1
        if self._count == self._die_at:
            (self._folder / "died").write_text(name)
            os.kill(os.getpid(), signal.SIGKILL)
        if name == self._pause_at:
            self._pause_at = ""
            (self._folder / "paused").touch()
            while not (self._folder / "go").exists():
                time.sleep(0.02)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("config", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--die-at", type=int, default=0)
    parser.add_argument("--pause-at", default="")
    options = parser.parse_args()
    settings = read_config(options.config)
    clock = SystemClock()
    points: Any = Points(options.folder, options.die_at, options.pause_at)
    transport = Written(LocalTransport(settings.scheduler.path, settings.scheduler.config), options.folder)
    scheduler: Any = fused(Slurm(transport, settings.scheduler.command_seconds), points, ACTIONS)
    advisor = fused(Advisor(settings.advisor.url, settings.cluster, settings.advisor.token_file), points, WRITES)
    with Journal(settings.controller.journal, clock.now()) as journal:
        fused(journal, points, LINES)
        voice = Voice(lambda line: print(f"{clock.now():%H:%M:%S} {line}", flush=True))
        Controller(settings, scheduler, advisor, journal, clock=clock, voice=voice).run()


if __name__ == "__main__":
    main()
