"""How is a part of the product started as a process of its own, and how is something waited for?"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[2]
PYTHON = sys.executable
Found = TypeVar("Found")


class NotSo(AssertionError):
    """What was waited for or needed is not so; the text says what it was."""


def expect(condition: object, what: object) -> None:
    """Raise `NotSo` with `what` unless the condition is true."""
    if not condition:
        raise NotSo(str(what))


def until(
    question: Callable[[], Found | None], seconds: float, what: str | Callable[[], str], pause: float = 0.3
) -> Found:
    """The first answer that is true, asked again and again; `NotSo` with `what` was waited for."""
    deadline = time.monotonic() + seconds
    while True:
        answer = question()
        if answer:
            return answer
        if time.monotonic() > deadline:
            raise NotSo(f"not within {seconds:.0f} s: {what if isinstance(what, str) else what()}")
        time.sleep(pause)


def end_process(process: "subprocess.Popen[Any]", seconds: float = 60.0) -> int:
    """Ask a child to end, kill it when it does not in time; its status, so that nothing is left to be asked for."""
    process.terminate()
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait(seconds)


def clean_environment() -> dict[str, str]:
    """The caller's environment without any setting of ours."""
    return {
        name: value for name, value in os.environ.items() if not name.startswith(("REKINDLE_", "DJANGO_", "SLURM"))
    }


class Running:
    """A process whose output is kept, line by line."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            list(command),
            cwd=ROOT,
            env=clean_environment() | dict(environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.append(line.rstrip("\n"))

    def said(self, pattern: str, seconds: float) -> str:
        """The first group of the first line that matches."""

        def search() -> re.Match[str] | None:
            expect(self.process.poll() is None or self._reader.is_alive() or self._any(pattern), self.text())
            return self._any(pattern)

        return until(search, seconds, f"{pattern} in the output:\n{self.text()}").group(1)

    def _any(self, pattern: str) -> re.Match[str] | None:
        return next((match for line in list(self.lines) if (match := re.search(pattern, line))), None)

    def text(self) -> str:
        """Everything it printed so far."""
        return "\n".join(self.lines)

    def ask_to_end(self, number: signal.Signals, seconds: float) -> None:
        """Send the signal and wait for a while; whether it has ended is for `end` to see."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def end(self, number: signal.Signals = signal.SIGINT, seconds: float = 90) -> int:
        """Send the signal and wait; the exit status."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):  # it ended just now
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(90)
            raise
        finally:
            self._reader.join(5)
            if self.process.stdout:
                self.process.stdout.close()
