"""How does a process without the product start one with it? A child with a site of its own."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
READ_SECONDS = "LAB_READ_SECONDS"


def start(
    folder: Path, module: str, arguments: Sequence[str], log: IO[bytes], read_seconds: float | None = None
) -> "subprocess.Popen[str]":
    """Start `module.main(arguments)` with an empty site in `folder`; its stdout is a pipe of lines.

    `log` takes what the child says on stderr. `read_seconds`: how often the site reads logs, if not as usual.
    """
    environment = os.environ | ({READ_SECONDS: f"{read_seconds:g}"} if read_seconds else {})
    return subprocess.Popen(
        [sys.executable, "-m", "lab.virtual", str(folder), module, *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
