"""Who may read what a program of ours counts? `/metrics` for Prometheus and `/healthz`, on a port of its own.

It changes nothing and needs no token, so it listens on loopback unless another address is named. So small a server
is written here, because the library's own brings a network client along, which the watchdog must not carry.
"""

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator

from controller.measuring import Tally
from controller.starting import BadStart

SECONDS = 5.0  # of one request
LARGEST_HEAD = 8192  # bytes
LEFT_READS = 16  # of what a client sends beyond that
MOST_AT_ONCE = 16
PHRASES = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


class Door(socketserver.BaseRequestHandler):
    """One request: a method and a path; everything else that the client says is passed over."""

    request: socket.socket
    server: "Server"

    def handle(self) -> None:
        """Answer, and close. A client that is slow or gone is left alone."""
        with contextlib.suppress(OSError):
            words = self._head().partition(b"\n")[0].split()
            if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
                self._answer(400, "text/plain", "this is no request\n")
            elif words[0] != b"GET":
                self._answer(405, "text/plain", "only GET is answered\n")
            else:
                self._answer(*self.server.page(words[1]))

    def _head(self) -> bytes:
        """The request up to its empty line, all of it within the limit: one byte now and then keeps no place."""
        head, ends = b"", time.monotonic() + SECONDS
        while len(head) < LARGEST_HEAD and b"\n\n" not in head.replace(b"\r", b""):
            if (left := ends - time.monotonic()) <= 0:
                raise TimeoutError
            self.request.settimeout(left)
            more = self.request.recv(LARGEST_HEAD - len(head))
            if not more:
                break
            head += more
        return head

    def finish(self) -> None:
        """Read a little of what a long request has left: closed at once, its answer would be lost."""
        with contextlib.suppress(OSError):
            self.request.shutdown(socket.SHUT_WR)
            self.request.settimeout(0.2)
            for _ in range(LEFT_READS):
                if not self.request.recv(LARGEST_HEAD):
                    return

    def _answer(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        head = f"HTTP/1.1 {status} {PHRASES[status]}\r\nContent-Type: {kind}; charset=utf-8\r\n"
        head += f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        self.request.settimeout(SECONDS)
        self.request.sendall(head.encode() + body)


class Server(socketserver.ThreadingTCPServer):
    """A thread for each request, a bounded number of them, none of which keeps the process."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(
        self, address: str, port: int, tally: Tally, monotonic: Callable[[], float], patience: float
    ) -> None:
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._tally = tally
        self._monotonic = monotonic
        self._patience = patience
        self._room = threading.BoundedSemaphore(MOST_AT_ONCE)
        super().__init__((address, port), Door)

    def page(self, path: bytes) -> tuple[int, str, str]:
        """Status, kind and text of a path."""
        now = self._monotonic()
        if path == b"/metrics":
            return 200, "text/plain; version=0.0.4", self._tally.text(now)
        if path != b"/healthz":
            return 404, "text/plain", "there are /metrics and /healthz\n"
        age = self._tally.age(now)
        well = age is not None and age <= self._patience
        said = "no pass yet" if age is None else f"last pass {age:.0f} s ago"
        return 200 if well else 503, "text/plain", f"{said}\n"

    def verify_request(self, request: object, client_address: object) -> bool:
        """Only so many at once; the others are closed."""
        return self._room.acquire(blocking=False)

    def process_request_thread(self, request: object, client_address: object) -> None:
        """One request; its place is free again afterwards."""
        try:
            super().process_request_thread(request, client_address)  # type: ignore[arg-type]
        finally:
            self._room.release()


@contextlib.contextmanager
def exposed(
    address: str, port: int, tally: Tally, monotonic: Callable[[], float], patience: float
) -> Iterator[None]:
    """Serve the numbers until the end of the block; port 0: not at all. Raises `BadStart` for a port that is taken.

    `/healthz` is 503 when no pass was finished for `patience` seconds.
    """
    if not port:
        yield
        return
    try:
        server = Server(address, port, tally, monotonic, patience)
    except (OSError, OverflowError) as error:
        raise BadStart(f"metrics cannot be served at {address} port {port}: {error}") from error
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
