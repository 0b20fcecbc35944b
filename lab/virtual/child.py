"""How does a process without the product start one with it? A child with a site of its own."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
ON_DISK = "LAB_ON_DISK"
LAST_WORDS = 500  # characters of what a child said before it failed


class ChildFailed(RuntimeError):
    """The child ended with another status than 0; the sentence quotes its last words."""


class Children:
    """Processes that run side by side and are ended together."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[str]] = []
        self._lock = threading.Lock()
        self.ended = False

    def add(self, child: "subprocess.Popen[str]") -> None:
        """One more; it is ended at once when the others were."""
        with self._lock:
            self._running.append(child)
            if self.ended:
                child.kill()

    def end(self) -> None:
        """End all of them, and whoever is added later."""
        with self._lock:
            self.ended = True
            for child in self._running:
                child.kill()


def start(
    folder: Path,
    module: str,
    arguments: Sequence[str],
    log: IO[bytes],
    *,
    on_disk: bool = False,
) -> "subprocess.Popen[str]":
    """Start `module.main(arguments)` with an empty site in `folder`; its stdout is a pipe of lines.

    `log` takes what the child says on stderr. `on_disk`: its database is a file in `folder` and not in memory,
    which a month would fill.
    """
    environment = os.environ | ({ON_DISK: "1"} if on_disk else {})
    return subprocess.Popen(
        [sys.executable, "-m", "lab.virtual", str(folder), module, *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        start_new_session=True,  # Ctrl-C is for us, who end it
    )


def run(
    folder: Path,
    module: str,
    arguments: Sequence[str],
    each: Callable[[str], None],
    *,
    on_disk: bool = False,
    beside: Children | None = None,
) -> None:
    """Run it to its end; `each` gets every line that it prints. Raises `ChildFailed`. It never outlives the caller.

    What it says on stderr is kept in `folder/stderr`. `beside`: who is ended with it, for a caller in a thread.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "stderr"
    with path.open("wb") as log, start(folder, module, arguments, log) as child:
        try:
            if beside:
                beside.add(child)
            for line in child.stdout or ():
                each(line.rstrip("\n"))
            status = child.wait()
        finally:
            if child.poll() is None:
                child.kill()
    if status:
        words = path.read_text(errors="replace").strip().splitlines()
        last = words[-1][:LAST_WORDS] if words else "without a word"
        raise ChildFailed(f"the process of {module} ended with status {status}: {last}")
