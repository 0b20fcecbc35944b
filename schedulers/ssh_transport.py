"""How does a command get run on a login host, over one SSH connection, without anything in between reading it?

OpenSSH's own client carries it. The remote side is never given a command line: it is asked for the fixed word
`rekindle/1`, and the arguments follow on its standard input as JSON. A forced command (`deploy/forced_command.py`)
answers to that word and to nothing else; where none is set up the word is no command, and nothing happens.

Connecting and running are two things. When no connection can be made, nothing was done, and that is certain; when
one breaks in the middle, nobody knows.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import random
import re
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from schedulers.transport import (
    LARGEST_ANSWER,
    Answer,
    Lost,
    NoProgram,
    NotConnected,
    TimedOut,
    TooLong,
    own_path,
    run_bounded,
)

WORD = "rekindle/1"  # what the forced command answers to
CONNECT_SECONDS = 8.0  # for a connection; OpenSSH's own limit, too
PERSIST_SECONDS = 300  # an idle connection is given up after this
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 10.0  # seconds between tries to connect; below what the watchdog promises
OF_SSH = 255  # ssh's own failure; the forced command never ends with it
NO_SUCH_WORD = 127  # of a shell that looked for a program of that name
EXTRA_SECONDS = 2.0  # the forced command ends a command first, and its answer has a way to go
SOCKET_ROOM = 104 - 17 - 14  # bytes of a folder's name: unix sockets hold 107, ssh adds 17, our name has 13

_HOST = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9])?\Z|[0-9A-Fa-f:]{2,39}\Z")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9._-]{0,31}\Z")
_ADDRESS = re.compile(
    r"(?P<user>[^@]*)@(?:\[(?P<six>[0-9A-Fa-f:]+:[0-9A-Fa-f:]*)\]|(?P<host>[^:]*))(?::(?P<port>\d{1,5}))?\Z",
    re.ASCII,
)


@dataclass(frozen=True)
class SshPlace:
    """Which account on which host, by which key, and by which host keys it is known.

    `key` empty: the keys of the agent (SSH_AUTH_SOCK). A certificate is used where given. `folder` holds the socket
    of the connection and must be ours alone; empty: one of ours below the temporary folder.
    """

    host: str
    user: str
    port: int
    known_hosts: str
    key: str = ""
    certificate: str = ""
    folder: str = ""

    def __post_init__(self) -> None:
        """Raise `ValueError` for what could be read as an option, or is no name at all."""
        if not _HOST.match(self.host):
            raise ValueError(f"'{self.host[:80]}' is no name of a host.")
        if not _USER.match(self.user):
            raise ValueError(f"'{self.user[:80]}' is no name of an account.")
        if not 0 < self.port < 65536:
            raise ValueError(f"{self.port} is no port.")
        if not self.known_hosts:
            raise ValueError("A file of known host keys is required: a host that nobody knows is never spoken to.")
        for path in filter(None, (self.known_hosts, self.key, self.certificate, self.folder)):
            if not os.path.isabs(path) or not path.isprintable() or set(path) & set("%\"'\\ "):
                raise ValueError(f"'{path[:80]}' is no absolute path without spaces, quotes and per cent signs.")

    def __str__(self) -> str:
        return f"{self.user}@{self.host}" + (f" port {self.port}" if self.port != 22 else "")


def read_address(text: str) -> tuple[str, str, int]:
    """User, host and port of `user@host`, `user@host:port` or `user@[2001:db8::1]:port`; else `ValueError`."""
    found = _ADDRESS.match(text)
    if found is None or not _USER.match(found["user"]) or not _HOST.match(found["six"] or found["host"] or ""):
        raise ValueError(f"'{text[:80]}' is no address like user@host or user@host:port.")
    port = int(found["port"] or 22)
    if not 0 < port < 65536:
        raise ValueError(f"{port} is no port.")
    return found["user"], found["six"] or found["host"], port


class SshTransport:
    """A `Transport` to one place, over one connection that all processes of this user share.

    After a failure to connect, the next tries wait 1 to 10 s, with jitter; what is asked meanwhile is answered with
    the same sentence at once.
    """

    def __init__(self, place: SshPlace, largest: int = LARGEST_ANSWER) -> None:
        self._place = place
        self._largest = largest
        agent = os.environ.get("SSH_AUTH_SOCK", "")
        self._environment = {
            "PATH": own_path(),
            "LC_ALL": "C.UTF-8",
            **({"SSH_AUTH_SOCK": agent} if agent and not place.key else {}),
        }
        self._folder = Path(place.folder) if place.folder else _own_folder()
        token = hashlib.sha256(repr(place).encode()).hexdigest()[:12]
        self._socket = self._folder / token
        self._failures = 0
        self._retry_at = 0.0
        self._sentence = ""

    def run(self, argv: tuple[str, ...], seconds: float) -> Answer:
        """Run `argv` on the other side for at most `seconds`, once there is a connection."""
        program = shutil.which("ssh", path=self._environment["PATH"])
        if program is None:
            raise NoProgram("There is no command 'ssh' on this machine.")
        self._connect(program)
        request = json.dumps({"argv": argv, "seconds": seconds}, ensure_ascii=True).encode()
        command = (program, *self._options(), "-o", "ControlMaster=no", *self._destination(), WORD)
        answer = self._bounded(command, seconds + EXTRA_SECONDS, request)
        if answer.returncode == OF_SSH:
            raise Lost(f"The connection to {self._place} broke: {_said(answer.stderr)}.", answer.stderr)
        if answer.returncode == NO_SUCH_WORD and WORD in answer.stderr:
            self._put_off(f"{self._place} has no forced command for {WORD}")
            raise NotConnected(f"{self._sentence}.", answer.stderr)
        return answer

    def close(self) -> None:
        """End the shared connection, if there is one."""
        program = shutil.which("ssh", path=self._environment["PATH"])
        if program is not None and _alive(self._socket):
            self._bounded((program, *self._options(), "-O", "exit", *self._destination()), CONNECT_SECONDS)

    def _connect(self, program: str) -> None:
        """Return when there is a connection; raises `NotConnected` when none can be made now."""
        if _alive(self._socket):
            return
        if time.monotonic() < self._retry_at:
            raise NotConnected(f"{self._sentence}; the next try comes soon.")
        with self._alone():
            if _alive(self._socket):
                return
            self._socket.unlink(missing_ok=True)  # left behind by a connection that died
            master = ("-M", "-N", "-f", "-o", f"ControlPersist={PERSIST_SECONDS}")
            try:
                answer = self._started((program, *self._options(), *master, *self._destination()))
            except TimedOut as error:
                self._put_off(f"{self._place} does not answer within {CONNECT_SECONDS:g} s")
                raise NotConnected(f"{self._sentence}.", error.raw) from error
            if answer.returncode or not _alive(self._socket):
                self._put_off(f"{self._place} cannot be connected to: {_said(answer.stderr)}")
                raise NotConnected(f"{self._sentence}.", answer.stderr)
        self._failures = 0

    def _started(self, command: tuple[str, ...]) -> Answer:
        """Start a connection that stays in the background. It keeps its outputs, so they go to a file."""
        with tempfile.TemporaryFile() as said:
            quiet = run_bounded(command, "ssh", CONNECT_SECONDS + 1, self._environment, outputs=said)
            said.seek(0)
            return Answer(quiet.returncode, "", said.read(65536).decode("utf-8", "replace"))

    def _bounded(self, command: tuple[str, ...], seconds: float, given: bytes = b"") -> Answer:
        try:
            return run_bounded(command, "ssh", seconds, self._environment, given=given, largest=self._largest)
        except TimedOut as error:
            raise TimedOut(f"{self._place} did not answer within {seconds:g} s.", error.raw) from error
        except TooLong as error:
            raise TooLong(f"{self._place} answered more than {self._largest} bytes.", error.raw) from error

    def _put_off(self, sentence: str) -> None:
        """Remember why, and when to try again: some chance keeps many clients apart (trap 25)."""
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2**self._failures)
        self._failures = min(self._failures + 1, 16)
        self._sentence = sentence
        self._retry_at = time.monotonic() + pause * random.SystemRandom().uniform(0.5, 1.0)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One process connects at a time; the others then find its connection."""
        try:
            _make_private(self._folder)
            with open(self._folder / f"{self._socket.name}.lock", "ab", opener=_open_plainly) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except OSError as error:
            raise NotConnected(f"The folder {self._folder} cannot be used: {error.strerror}.") from error

    def _options(self) -> tuple[str, ...]:
        """Everything that matters is said here: no configuration file is read."""
        place = self._place
        key = ("-i", place.key, "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none") if place.key else ()
        certificate = ("-o", f"CertificateFile={place.certificate}") if place.certificate else ()
        options = (
            f"ControlPath={self._socket}",
            "BatchMode=yes",
            "StrictHostKeyChecking=yes",
            f"UserKnownHostsFile={place.known_hosts}",
            "GlobalKnownHostsFile=/dev/null",
            "UpdateHostKeys=no",
            "PreferredAuthentications=publickey",
            "ClearAllForwardings=yes",
            "ForwardAgent=no",
            "PermitLocalCommand=no",
            "EscapeChar=none",
            "LogLevel=ERROR",
            f"ConnectTimeout={CONNECT_SECONDS:.0f}",
            "ServerAliveInterval=5",
            "ServerAliveCountMax=3",
        )
        return ("-F", "none", "-T", "-x", "-a", *key, *certificate, *(w for o in options for w in ("-o", o)))

    def _destination(self) -> tuple[str, ...]:
        return ("-p", str(self._place.port), "-l", self._place.user, "--", self._place.host)


def _alive(path: Path) -> bool:
    """Whether a connection's process listens there."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(2)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _own_folder() -> Path:
    """The folder that systemd made for us, else one below the temporary folder."""
    given = os.environ.get("RUNTIME_DIRECTORY", "").partition(":")[0]
    return Path(given) / "ssh" if given else Path(tempfile.gettempdir()) / f"rekindle-ssh-{os.geteuid()}"


def _make_private(folder: Path) -> None:
    """Make the folder, or raise `NotConnected` when it is not ours alone: whoever owns it owns our connection."""
    if len(os.fsencode(folder)) > SOCKET_ROOM:
        raise NotConnected(f"The path of the folder {folder} is too long for a socket; name a shorter one.")
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise NotConnected(f"The folder {folder} must be ours alone: our own, with mode 700, and no link.")


def _open_plainly(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _said(text: str) -> str:
    """The last line that ssh wrote: above it stand banners."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "".join(c if c.isprintable() else "\ufffd" for c in lines[-1][:300]).rstrip(".") if lines else "no word"
