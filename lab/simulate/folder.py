"""What stands in the folder of a served cluster? Commands, logs, a socket, and the next job number."""

import json
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from lab.simulate.client import ask
from lab.simulate.commands import COMMANDS

CLIENT = Path(__file__).with_name("client.py")
COMMANDS_LIMIT = 4 << 20  # bytes of noted commands; then the file is put aside and begun anew


class Occupied(Exception):
    """The folder cannot be served; one sentence says why."""


class Folder:
    """DIR with `bin/`, `logs/`, `socket`, `ready`, `next_job` and `commands.jsonl`."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.logs = self.path / "logs"
        self.socket = self.path / "socket"
        self.ready = self.path / "ready"
        self._numbers = self.path / "next_job"
        self._commands = self.path / "commands.jsonl"

    def prepare(self) -> None:
        """Make what is missing; raises `Occupied`."""
        try:
            for folder in (self.path, self.path / "bin", self.logs):
                folder.mkdir(parents=True, exist_ok=True)
            self._refuse_a_second_server()
            self._forget_earlier_run()
            self.ready.unlink(missing_ok=True)
            self.socket.unlink(missing_ok=True)
            for name in COMMANDS:
                self._write_command(name)
        except OSError as error:
            raise Occupied(f"{self.path} cannot be used: {error.strerror}.") from None

    def _refuse_a_second_server(self) -> None:
        if not self.socket.exists():
            return
        try:
            ask(str(self.path), ["scontrol", "ping"], seconds=2.0)
        except TimeoutError:
            pass
        except OSError:
            return
        raise Occupied(f"{self.path} is already served by another process.")

    def _forget_earlier_run(self) -> None:
        """The new controller knows no job of the old one; their logs would only pile up."""
        if self._numbers.is_file():
            for file in self.logs.iterdir():
                if file.is_file() and not file.is_symlink():
                    file.unlink()

    def _write_command(self, name: str) -> None:
        # Through sh, because a #! line takes neither blanks nor long paths. -I -S: nothing but the interpreter.
        words = [sys.executable, "-I", "-S", str(CLIENT), str(self.path), name]
        script = self.path / "bin" / name
        fresh = script.with_name(f".{name}.{os.getpid()}")
        fresh.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        fresh.chmod(0o755)
        fresh.replace(script)

    def first_job(self) -> int:
        """The number that the first job gets: none of an earlier run comes again."""
        try:
            return max(int(self._numbers.read_text()), 1)
        except (OSError, ValueError):
            return 1

    def note_next_job(self, number: int) -> None:
        """Keep the next number for the next run."""
        try:
            self._numbers.write_text(f"{number}\n")
        except OSError:
            return

    def note_command(self, argv: Sequence[str]) -> None:
        """Keep what was asked, one JSON list a line: it shows that a watched cluster got listings only."""
        line = json.dumps(list(argv))
        try:
            if self._commands.exists() and self._commands.stat().st_size > COMMANDS_LIMIT:
                self._commands.replace(self._commands.with_name("commands.old.jsonl"))
            with self._commands.open("a") as file:
                file.write(f"{line}\n")
        except OSError:
            return

    def clear(self) -> None:
        """The server goes: neither socket nor sign stays behind."""
        self.ready.unlink(missing_ok=True)
        self.socket.unlink(missing_ok=True)
