"""How are daemons started, and ended again by the process id that was recorded?"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path


class Processes:
    """Daemons of one folder. A signal is sent only when process id *and* start time still match the record."""

    def __init__(self, folder: Path) -> None:
        self._run = folder / "run"
        self._log = folder / "log"
        self._work = folder / "jobs"
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def names(self) -> list[str]:
        """Everything recorded, alive or not."""
        return sorted(path.stem for path in self._run.glob("*.pid") if not path.stem.endswith(".own"))

    def spawn(self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start a daemon in a session of its own, unless it lives already; output goes to `log/NAME.out`."""
        if self.pid(name):
            return
        with (self._log / f"{name}.out").open("ab") as output:
            child = self._children[name] = subprocess.Popen(
                list(command),
                cwd=self._work,
                env={**os.environ, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        (self._run / f"{name}.pid").write_text(f"{child.pid} {start_time(child.pid)}")

    def pid(self, name: str) -> int | None:
        """The process id of a daemon that lives, else `None`."""
        try:
            pid, started = (self._run / f"{name}.pid").read_text().split()
        except (FileNotFoundError, ValueError):
            return None
        return int(pid) if start_time(int(pid)) == started != "" else None

    def send(self, name: str, number: signal.Signals) -> None:
        """Send a signal to a daemon that lives; `ProcessLookupError` otherwise."""
        pid = self.pid(name)
        if pid is None:
            raise ProcessLookupError(f"{name} does not run")
        os.kill(pid, number)

    def halt(self, name: str, number: signal.Signals = signal.SIGTERM, wait_seconds: float = 15.0) -> None:
        """End a daemon: the signal, then KILL after the wait. One that ends by itself meanwhile is as good."""
        pid = self.pid(name)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, number)
                if not self._gone(name, wait_seconds):
                    os.kill(pid, signal.SIGKILL)
                    self._gone(name, wait_seconds)
        if name in self._children:
            self._children.pop(name).wait(wait_seconds)
        (self._run / f"{name}.pid").unlink(missing_ok=True)

    def _gone(self, name: str, wait_seconds: float) -> bool:
        return wait_for(lambda: self.pid(name) is None, wait_seconds)


def start_time(pid: int) -> str:
    """Field 22 of /proc/PID/stat, `""` for a process that is gone or a zombie (which is reaped when ours)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    if fields[0] == "Z":
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        return ""
    return fields[19]


def wait_for(condition: Callable[[], object], seconds: float, pause: float = 0.05) -> bool:
    """Whether the condition came true within the time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(pause)
    return bool(condition())


def processes_with(entry: str) -> list[int]:
    """Processes whose environment holds exactly `NAME=value`, and which belong to a Slurm job."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
            step = (folder / "comm").read_text().startswith("slurmstep")
        except OSError:
            continue
        job = any(line.startswith(b"SLURM_JOB_ID=") for line in environment)
        if entry.encode() in environment and (step or job) and start_time(int(folder.name)):
            found.append(int(folder.name))
    return found
