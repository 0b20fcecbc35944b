"""How does a simulated cluster answer commands of other processes? One loop over Unix sockets, one per cluster.

This is the door: it reads the clock and hands the time to the model.
"""

import os
import selectors
import signal
import socket
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from lab.simulate.client import LONGEST_REQUEST
from lab.simulate.commands import answer
from lab.simulate.folder import Folder
from lab.simulate.logs import FileLogs
from lab.simulate.model import Cluster
from lab.simulate.scenario import Scenario
from lab.simulate.settings import Settings
from lab.simulate.verbs import VERB, lab_verb

TICK_SECONDS = 0.1
PATIENCE_SECONDS = 5.0  # a client that neither asks nor reads for so long is hung up on
MOST_CLIENTS = 128
CHUNK = 1 << 16


@dataclass(slots=True)
class Served:
    """One cluster and its folder."""

    folder: Folder
    cluster: Cluster
    scenario: Scenario
    noted: int = 0  # the next job number that the folder knows

    def tick(self, now: float) -> None:
        """Bring the cluster to `now` (epoch seconds)."""
        self.cluster.advance(now)
        self.scenario.tick(self.cluster)
        if self.cluster.next_number != self.noted:
            self.noted = self.cluster.next_number
            self.folder.note_next_job(self.noted)


@dataclass(slots=True)
class Client:
    """One connection: what came in, what goes out, and when it is given up (monotonic seconds)."""

    line: socket.socket
    served: Served
    gives_up_at: float
    asked: bytearray = field(default_factory=bytearray)
    unsaid: bytes = b""


def open_cluster(folder: Folder, scenario: Scenario, now: float) -> Served:
    """The cluster that lives in `folder`. Its jobs belong to whoever runs this process, as the log files do."""
    usual = Settings(cluster_name=folder.path.name, first_job=folder.first_job(), user_id=os.getuid())
    return Served(folder, Cluster(now, scenario.settings(usual), FileLogs(folder.logs)), scenario)


class Server:
    """Serves clusters until `stop`. Use as a context: the sockets are removed at the end, whatever happens."""

    def __init__(self, served: list[Served]) -> None:
        self._served = served
        self._stopping = False
        self._clients: dict[int, Client] = {}
        self._selector = selectors.DefaultSelector()

    def __enter__(self) -> "Server":
        signal.signal(signal.SIGTERM, self.stop)  # before `ready` tells anybody that it may be sent
        signal.signal(signal.SIGINT, self.stop)
        for one in self._served:
            self._selector.register(_listen(one.folder), selectors.EVENT_READ, one)
            one.tick(time.time())
            one.folder.ready.write_text(f"{os.getpid()}\n")
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._served:
            one.folder.clear()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
        self._selector.close()

    def stop(self, number: int = 0, frame: FrameType | None = None) -> None:
        """End after the current turn; also a signal handler."""
        self._stopping = True

    def run(self) -> None:
        """Turn until stopped."""
        due = time.monotonic()
        while not self._stopping:
            for key, events in self._selector.select(max(0.0, due - time.monotonic())):
                if isinstance(key.data, Served):
                    self._accept(key.fileobj, key.data)  # type: ignore[arg-type]
                elif key.data.line.fileno() >= 0:
                    self._serve(key.data, events)
            if time.monotonic() >= due:
                due = time.monotonic() + TICK_SECONDS
                self._tick()

    def _tick(self) -> None:
        for one in self._served:
            one.tick(time.time())
        for client in [one for one in self._clients.values() if one.gives_up_at < time.monotonic()]:
            self._hang_up(client)

    def _accept(self, listener: socket.socket, served: Served) -> None:
        try:
            line, _ = listener.accept()
        except OSError:
            return
        if len(self._clients) >= MOST_CLIENTS:
            line.close()
            return
        line.setblocking(False)
        client = Client(line, served, time.monotonic() + PATIENCE_SECONDS)
        self._clients[line.fileno()] = client
        self._selector.register(line, selectors.EVENT_READ, client)

    def _serve(self, client: Client, events: int) -> None:
        try:
            if events & selectors.EVENT_READ:
                self._listen_to(client)
            else:
                client.unsaid = client.unsaid[client.line.send(client.unsaid) :]
                client.gives_up_at = time.monotonic() + PATIENCE_SECONDS
                if not client.unsaid:
                    self._hang_up(client)
        except BlockingIOError:
            return
        except OSError:
            self._hang_up(client)

    def _listen_to(self, client: Client) -> None:
        chunk = client.line.recv(CHUNK)
        client.asked += chunk
        head, found, body = bytes(client.asked).partition(b"\n")
        promised = int(head) if head.isdigit() and len(head) < 8 else -1
        if not chunk or len(head) >= 8 or (found and not 0 < promised <= LONGEST_REQUEST):
            self._hang_up(client)  # gone, or garbage
        elif found and len(body) >= promised:
            client.unsaid = _reply(client.served, body[:promised])
            self._selector.modify(client.line, selectors.EVENT_WRITE, client)

    def _hang_up(self, client: Client) -> None:
        if self._clients.pop(client.line.fileno(), None):
            self._selector.unregister(client.line)
            client.line.close()


def _reply(served: Served, request: bytes) -> bytes:
    time_format, *argv = request.decode("utf-8", "surrogateescape").split("\0")
    served.tick(time.time())  # the answer is of this moment
    if not argv:
        code, out, err = 1, "", "no command\n"
    elif argv[0] == VERB:
        code, out, err = lab_verb(served.cluster, argv[1:])
    else:
        served.folder.note_command(argv)
        code, out, err = answer(served.cluster, argv, time_format)
    stdout, stderr = _bytes(out), _bytes(err)
    return b"%d %d %d\n%s%s" % (code, len(stdout), len(stderr), stdout, stderr)


def _bytes(text: str) -> bytes:
    """Bytes that a client sent come back as they were; what can be no bytes becomes a question mark."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _listen(folder: Folder) -> socket.socket:
    """Bound by its short name: a path of a Unix socket holds 107 bytes. For the owner alone."""
    line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before, mask = Path.cwd(), os.umask(0o177)
    try:
        os.chdir(folder.path)
        line.bind("socket")
    finally:
        os.umask(mask)
        os.chdir(before)
    line.listen(MOST_CLIENTS)
    line.setblocking(False)
    return line
