"""How does a test let a pretended store answer over the network?"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from detectors.stores.store import Answer, Request

Answering = Callable[[Request], Answer | bytes]
"""Answers a request; bytes are sent as they are, and the connection is closed."""


@contextmanager
def served(answering: Answering) -> Iterator[str]:
    """A server on a free port; its address."""

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            answer = answering(Request(parts.path, dict(parse_qsl(parts.query)), dict(self.headers)))
            if isinstance(answer, bytes):
                self.wfile.write(answer)
                return
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *_args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
