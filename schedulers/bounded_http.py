"""How is an answer kept from taking for ever?"""

import io
import socket
import time
from http import client as http
from typing import Any


class _UntilDeadline(io.RawIOBase):
    """Reads from a socket until a moment: a peer that sends one byte now and then does not keep us."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        super().__init__()
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)  # keeps the socket open when the connection lets go of it
        self._deadline = deadline

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """The next bytes, or `TimeoutError` at the deadline."""
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer took too long")
        self._sock.settimeout(left)
        return self._raw.readinto(buffer) or 0

    def close(self) -> None:
        """Let go of the socket."""
        self._raw.close()
        super().close()


def bounded(deadline: float) -> type[http.HTTPResponse]:
    """The class of answers that are over at `deadline` (`time.monotonic`), headers included, or `TimeoutError`."""

    class Bounded(http.HTTPResponse):
        """One such answer."""

        def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
            super().__init__(sock, *args, **options)
            self.fp.close()
            self.fp = io.BufferedReader(_UntilDeadline(sock, deadline))

    return Bounded
