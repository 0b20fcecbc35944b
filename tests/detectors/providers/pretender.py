"""A provider in a process of its own: how it behaves is the first part of the path. Prints its port.

`PUT /reply` says what a right answer holds; `GET /seen` gives the bodies that came. Standard library only.
"""

import json
import socket
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

DEEP = b'{"a":' * 100_000
GARBAGE = {
    "text": b"Internal server error, sorry",
    "binary": bytes(range(256)),
    "list": b"[1, 2, 3]",
    "deep": DEEP,
    "nan": b'{"confidence": NaN}',
    "number": b'{"question": 1e999, "workload_id": 1e999}',
    "half": b'{"layer": "hardw',
    "empty": b"{}",
}


class Door(BaseHTTPRequestHandler):
    """One request."""

    reply: ClassVar[dict[str, Any]] = {}
    seen: ClassVar[list[dict[str, Any]]] = []
    tries: ClassVar[int] = 0

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Door.seen.append({"path": self.path, "body": body, "authorization": self.headers.get("Authorization")})
        mode = self.path.split("/")[1]
        getattr(self, f"as_{mode}", self.as_garbage)(body)

    def do_PUT(self) -> None:
        Door.reply = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Door.seen.clear()
        Door.tries = 0
        self.send(b"{}")

    def do_GET(self) -> None:
        self.send(json.dumps(Door.seen).encode())

    def as_right(self, body: dict[str, Any]) -> None:
        ids = {name: body[name] for name in ("question", "workload_id") if name in body}
        self.send(json.dumps({**ids, **Door.reply}).encode())

    def as_thoughtful(self, body: dict[str, Any]) -> None:
        time.sleep(1.5)
        self.as_right(body)

    def as_other(self, _body: dict[str, Any]) -> None:
        self.send(json.dumps({"question": "another", "workload_id": "another", **Door.reply}).encode())

    def as_silent(self, _body: dict[str, Any]) -> None:
        time.sleep(20)

    def as_dripping(self, _body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        for _ in range(1000):
            self.wfile.write(b" ")
            time.sleep(0.1)

    def as_dripping_headers(self, _body: dict[str, Any]) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(1000):
            self.wfile.write(f"X-{number}: y\r\n".encode())
            time.sleep(0.1)

    def as_endless(self, _body: dict[str, Any]) -> None:
        self.send_response(200)
        self.end_headers()
        for _ in range(100):
            self.wfile.write(b" " * (1 << 20))

    def as_huge(self, _body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(100 << 20))
        self.end_headers()
        for _ in range(100):
            self.wfile.write(b" " * (1 << 20))

    def as_redirect(self, _body: dict[str, Any]) -> None:
        self.send_response(307)
        self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/right")  # type: ignore[attr-defined]
        self.send_header("Content-Length", "0")
        self.end_headers()

    def as_broken(self, _body: dict[str, Any]) -> None:
        self.send(b"it is broken", 500)

    def as_refusing(self, _body: dict[str, Any]) -> None:
        self.send(b"who are you?", 401)

    def as_nothing(self, _body: dict[str, Any]) -> None:
        self.send_response(204)
        self.end_headers()

    def as_second(self, body: dict[str, Any]) -> None:
        Door.tries += 1
        self.as_right(body) if Door.tries > 1 else self.as_broken(body)

    def as_gone(self, _body: dict[str, Any]) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)

    def as_garbage(self, _body: dict[str, Any]) -> None:
        self.send(GARBAGE[self.path.split("/")[1]])

    def send(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Nothing."""


class Server(ThreadingHTTPServer):
    """Quiet about clients that went away."""

    daemon_threads = True

    def handle_error(self, *_args: object) -> None:
        """Nothing."""


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Door)
    print(server.server_port, flush=True)
    server.serve_forever(0.05)
