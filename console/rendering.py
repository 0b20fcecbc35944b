"""How is a panel rendered once for everybody who may see the same?

A body is kept per (panel, key, version, permission set, hidden clusters, language), in this process, up to
`KEPT_BYTES`. Many who ask at the same moment wait for one rendering. A body holds nothing of one person: no name,
no token, no nonce.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock

KEPT_BYTES = 8 * 1024 * 1024
WAIT_SECONDS = 20.0

Key = tuple[str, str, str, frozenset[str], frozenset[str], str]


@dataclass(frozen=True)
class Body:
    """A rendered panel. `etag` is that of its content: a new version with the same content is still fresh."""

    html: str
    etag: str


class Bodies:
    """The bodies of this process, the least recently used dropped first."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._size = 0
        self._lock = Lock()
        self._bodies: OrderedDict[Key, Body] = OrderedDict()
        self._rendering: dict[Key, Future[Body]] = {}

    def get(self, key: Key, render: Callable[[], str]) -> Body:
        """The body of `key`, rendered by one caller while others wait; its exception is everybody's."""
        with self._lock:
            if key in self._bodies:
                self._bodies.move_to_end(key)
                return self._bodies[key]
            waiting = self._rendering.get(key)
            if waiting is None:
                mine: Future[Body] = Future()
                self._rendering[key] = mine
        if waiting is not None:
            return waiting.result(WAIT_SECONDS)
        return self._render(key, mine, render)

    def forget(self) -> None:
        """Drop everything."""
        with self._lock:
            self._bodies.clear()
            self._size = 0

    def _render(self, key: Key, mine: Future[Body], render: Callable[[], str]) -> Body:
        try:
            html = render()
            body = Body(html, f'"{hashlib.sha256(html.encode()).hexdigest()[:32]}"')
        except BaseException as error:
            with self._lock:
                del self._rendering[key]
            mine.set_exception(error)
            raise
        with self._lock:
            del self._rendering[key]
            self._keep(key, body)
        mine.set_result(body)
        return body

    def _keep(self, key: Key, body: Body) -> None:
        self._bodies[key] = body
        self._size += len(body.html)
        while self._size > self._kept_bytes and len(self._bodies) > 1:
            _, dropped = self._bodies.popitem(last=False)
            self._size -= len(dropped.html)


bodies = Bodies()
