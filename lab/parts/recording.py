"""Which commands did the product send to a scheduler? Noted by commands that stand before the real ones."""

import shutil
from pathlib import Path

from lab.parts.running import expect

COMMANDS = ("squeue", "scontrol", "sacct", "scancel", "sinfo", "sdiag")
READS = ("squeue ", "sacct ", "sinfo ", "sdiag", "scontrol -o show ", "scontrol show ", "scontrol ping")


def recording_commands(folder: Path, log: Path, path: str | None = None) -> Path:
    """A new folder of commands that note in `log` how they were called, then are the real ones (of `path`).

    A call is one write, as several are made at once.
    """
    folder.mkdir()
    for name in COMMANDS:
        real = shutil.which(name, path=path)
        if not real:
            raise FileNotFoundError(f"The command {name} is not on the PATH.")
        script = folder / name
        note = f"said=$(printf ' %s' \"$@\" | tr '\\n' ' '); printf '%s\\n' \"{name}$said\" >> '{log}'"
        script.write_text(f'#!/bin/sh\n{note}\nexec {real} "$@"\n')
        script.chmod(0o755)
    return folder


def changes(log: Path) -> list[str]:
    """Every noted command that is no listing; `NotSo` when hardly anything was noted: nobody looked at all."""
    lines = log.read_text().strip("\n").split("\n")  # arguments hold control characters
    expect(len(lines) > 5, f"more than {len(lines)} commands in {log}")
    return [line for line in lines if not line.startswith(READS)]
