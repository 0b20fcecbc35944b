"""How does a scheduler's command get run, and what came back?"""

import contextlib
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Protocol

from schedulers.port import Garbled, Unreachable

LARGEST_ANSWER = 256 * 1024 * 1024  # bytes; a listing of 10,000 jobs is about 7 MB
CHUNK = 1 << 16


class NoProgram(Unreachable):
    """The command does not exist, so nothing was done."""


class NotConnected(Unreachable):
    """The other machine could not be reached, so nothing was done."""


class Lost(Unreachable):
    """The connection broke while a command was under way. Whether it did anything is unknown."""


class TimedOut(Unreachable):
    """The command was killed at its time limit. Whether it did anything is unknown."""


class TooLong(Garbled):
    """The answer outgrew `LARGEST_ANSWER` and the command was killed. Whether it did anything is unknown."""


@dataclass(frozen=True)
class Answer:
    """What a command left behind. Bytes that are no UTF-8 were replaced."""

    returncode: int
    stdout: str
    stderr: str


class Transport(Protocol):
    """A way to run one command. No shell anywhere: `argv` is a list of arguments."""

    def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
        """Run `argv` for at most `seconds`; raises `NoProgram`, `NotConnected`, `Lost`, `TimedOut` or `TooLong`."""


class LocalTransport:
    """Runs commands on this machine, in a small environment of its own.

    `path` is a folder searched before the PATH, `config` the value of SLURM_CONF; empty: the process's own.
    """

    def __init__(self, path: str, config: str, largest: int = LARGEST_ANSWER) -> None:
        own = own_path()
        self._environment = {
            "PATH": f"{path}{os.pathsep}{own}" if path else own,
            "LC_ALL": "C.UTF-8",
            "SLURM_TIME_FORMAT": "%s",  # local time without its zone repeats at daylight saving (decisions 28)
        }
        if config := config or os.environ.get("SLURM_CONF", ""):
            self._environment["SLURM_CONF"] = config
        self._largest = largest

    def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
        """Run `argv` in a process group of its own, which is killed as a whole at the limit."""
        program = shutil.which(argv[0], path=self._environment["PATH"])
        if program is None:
            raise NoProgram(f"There is no command '{argv[0]}' on this machine.")
        return run_bounded((program, *argv[1:]), argv[0], seconds, self._environment, largest=self._largest)


def own_path() -> str:
    """The process's PATH without its relative folders: what lies in the folder that we run in is no command."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if os.path.isabs(folder))


def run_bounded(
    command: Sequence[str],
    name: str,
    seconds: float,
    environment: Mapping[str, str],
    *,
    given: bytes = b"",
    outputs: IO[bytes] | None = None,
    largest: int = LARGEST_ANSWER,
) -> Answer:
    """Run a program in a process group of its own, which is killed as a whole at the limit.

    `given` is what it reads on its standard input, a file, so that nobody waits for a program that does not read.
    A file `outputs` takes both outputs of one that leaves something behind which keeps them open.
    """
    with contextlib.ExitStack() as open_files:
        stdin: IO[bytes] | int = subprocess.DEVNULL
        if given:
            stdin = open_files.enter_context(tempfile.TemporaryFile())
            stdin.write(given)
            stdin.seek(0)
        try:
            process = subprocess.Popen(
                list(command),
                stdin=stdin,
                stdout=outputs or subprocess.PIPE,
                stderr=outputs or subprocess.PIPE,
                env=dict(environment),
                start_new_session=True,
            )
        except OSError as error:
            raise NoProgram(f"The command '{name}' cannot be started: {error.strerror}.") from error
    with process:
        stays = False
        try:
            stdout, stderr = _read(process, name, seconds, largest)
            stays = outputs is not None
        finally:
            # Until here nobody has waited for the process, so its number cannot belong to another one.
            if not stays:
                _kill_group(process.pid)
        return Answer(process.wait(), _text(stdout), _text(stderr))


@dataclass
class RecordingTransport:
    """Keeps every command that passes through it, so that a test can prove what was never run."""

    inner: Transport
    calls: list[tuple[str, ...]] = field(default_factory=list)

    def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
        """Note `argv`, then run it."""
        self.calls.append(argv)
        return self.inner.run(argv, seconds)


def _read(process: subprocess.Popen[bytes], name: str, seconds: float, largest: int) -> tuple[bytearray, bytearray]:
    """Both outputs to their end, and the process to its own."""
    ends = time.monotonic() + seconds
    outputs = (bytearray(), bytearray())
    with selectors.DefaultSelector() as waiting:
        for pipe, output in zip(_pipes(process), outputs, strict=False):
            os.set_blocking(pipe.fileno(), False)
            waiting.register(pipe, selectors.EVENT_READ, output)
        while waiting.get_map():
            left = ends - time.monotonic()
            if left <= 0:
                raise TimedOut(f"'{name}' did not answer within {seconds:g} s.", _text(outputs[0] + outputs[1]))
            for key, _ in waiting.select(left):
                chunk = os.read(key.fd, CHUNK)
                key.data.extend(chunk)
                if not chunk:
                    waiting.unregister(key.fileobj)
            if len(outputs[0]) + len(outputs[1]) > largest:
                raise TooLong(f"'{name}' answered more than {largest} bytes.", _text(outputs[0][:CHUNK]))
    _wait_unreaped(process.pid, name, ends, seconds)
    return outputs


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], ...]:
    return tuple(pipe for pipe in (process.stdout, process.stderr) if pipe is not None)


def _wait_unreaped(number: int, name: str, ends: float, seconds: float) -> None:
    """Wait for the end without collecting it: a command may close its outputs and run on."""
    while os.waitid(os.P_PID, number, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > ends:
            raise TimedOut(f"'{name}' did not end within {seconds:g} s.")
        time.sleep(0.002)


def _kill_group(number: int) -> None:
    try:
        os.killpg(number, signal.SIGKILL)
    except ProcessLookupError:
        return


def _text(content: bytes | bytearray) -> str:
    return content.decode("utf-8", "replace")
