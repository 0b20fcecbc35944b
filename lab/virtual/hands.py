"""Who acts on a cluster in virtual time? The product's own controller and watchdog, one pass at a time."""

import os
from collections.abc import Hashable
from datetime import datetime
from pathlib import Path
from typing import Any

from controller.advice import Mode
from controller.config import (
    AdvisorSettings,
    ControllerSettings,
    SchedulerSettings,
    Settings,
    WatchdogSettings,
)
from controller.journal import Journal, _bytes
from controller.keys import KEYS
from controller.loop import Controller
from controller.plain import Voice
from controller.watchdog import Watchdog
from lab.virtual.advisor import URL, InProcessAdvisor
from lab.virtual.clock import VirtualClock
from lab.virtual.fate import Fate
from schedulers.opening import open_scheduler
from schedulers.slurm.commands import only_reads
from schedulers.transport import Answer, RecordingTransport, Transport
from workloads.models import Cluster

MOST_PASSES = 50  # at one moment: each of them did something
COMMAND_SECONDS = 10.0


class Changing(RecordingTransport):
    """Keeps of all commands those that change something: a month has millions that only look."""

    def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
        """Note `argv` if it changes something, then run it."""
        return self.inner.run(argv, seconds) if only_reads(argv) else super().run(argv, seconds)


class MortalJournal(Journal):
    """The product's own, each line of which is a step that may be the last, or stay half."""

    def __init__(self, path: Path, now: datetime, fate: Fate) -> None:
        self._fate = fate
        super().__init__(path, now)

    def _append(self, line: dict[str, Any]) -> None:
        half = _bytes(line)[: len(_bytes(line)) // 2]
        with self._fate.step("line", lambda: _torn(self._file, half, self._size)):
            super()._append(line)


class Hands:
    """Controller and watchdog of one cluster, in action mode, with a journal in `folder`. `clock` is that of their
    machine.
    """

    def __init__(
        self, cluster: Cluster, folder: Path, token: str, transport: Transport, *, clock: VirtualClock, fate: Fate
    ) -> None:
        self._fate = fate
        self.clock = clock
        self._settings = _settings(cluster, folder)
        _write_private(self._settings.advisor.token_file, token)
        self.transport = Changing(transport)
        self.said: list[str] = []
        self._name = cluster.name
        self._voice = Voice(lambda line: self.said.append(f"{clock.now():%H:%M:%S} {line}"))
        self._scheduler = open_scheduler("slurm", "", "", COMMAND_SECONDS, self.transport)
        self._start()
        self.restart_watchdog()

    def _start(self) -> None:
        settings, clock = self._settings, self.clock
        self._idle: Hashable = None
        self.journal = MortalJournal(settings.controller.journal, clock.now(), self._fate)
        self.controller = Controller(
            settings,
            self._scheduler,
            InProcessAdvisor(self._name, settings.advisor.token_file, self._fate),
            self.journal,
            clock=clock,
            voice=self._voice,
        )

    @property
    def busy(self) -> bool:
        """Whether something was begun that is not over."""
        return bool(self.journal.entries)

    def run_passes(self, shown: Hashable) -> None:
        """What `Controller.run` does between two sleeps: pass after pass while each does something.

        `shown` is what there is to see: the same again gives nothing new until the controller's own rest is over.
        """
        for turn in range(MOST_PASSES):
            if not self.controller.run_pass():
                self._idle = shown if turn == 0 else None
                return

    def rests(self, shown: Hashable, advised: int) -> bool:
        """Whether the controller looks again later at everything it sees, unless something changes.

        `advised`: how many advice it is given.
        """
        rests = self.controller._resting
        if shown != self._idle or len(rests) < max(advised, 1) or not self.journal.entries.keys() <= rests.keys():
            return False
        return self.clock.monotonic() < min(until for _, until in rests.values())

    def restart(self) -> None:
        """The controller was killed and is started again, with what the journal holds."""
        self.journal.close()
        self._start()

    def restart_watchdog(self) -> None:
        """The watchdog begins, or begins anew: it knows nothing."""
        self.watchdog = Watchdog(self._settings, self._scheduler, self.clock, self._voice)

    def close(self) -> None:
        """Let go of the journal."""
        self.journal.close()


def _settings(cluster: Cluster, folder: Path) -> Settings:
    """The product's defaults, in action mode."""
    poll, watch = (default_seconds(table, "poll_seconds") for table in ("controller", "watchdog"))
    own = cluster.environment
    return Settings(
        cluster=cluster.name,
        environment=cluster.environment,
        advisor=AdvisorSettings(URL, folder / "token", False),
        scheduler=SchedulerSettings("slurm", "", "", COMMAND_SECONDS),
        controller=ControllerSettings(
            True, Mode.ACTION, True, own, (), poll_seconds=poll, journal=folder / "journal", holder="lab"
        ),
        watchdog=WatchdogSettings(True, Mode.ACTION, True, own, watch),
    )


def default_seconds(table: str, name: str) -> float:
    """The default of a key of the controller's configuration."""
    return float(next(key.default for key in KEYS[table] if key.name == name))


def _torn(file: int, half: bytes, at: int) -> None:
    os.pwrite(file, half, at)


def _write_private(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
