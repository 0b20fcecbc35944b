"""How do web server, worker and beat run in one process? (The embedded mode, and the demo.)"""

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import uvicorn
from celery.beat import Service
from celery.worker import WorkController
from django.conf import settings

from recovery_site.asgi import application
from recovery_site.beating import Beat
from recovery_site.celery import app

log = logging.getLogger("rekindle.embedded")

STOP_WAIT = timedelta(seconds=10)


class EmbeddedSite:
    """Web server in the main thread, worker and beat in threads of their own.

    `run()` returns 0 after SIGINT, SIGTERM or SIGHUP (a closed terminal), 1 when the worker or the beat died:
    a site that looks alive and watches nothing would be the worst of all states.
    """

    def __init__(self, listen: socket.socket, when_up: Callable[[], None] = lambda: None) -> None:
        self._listen = listen
        self._when_up = when_up
        self._died = False
        self._stopping = False
        self._server = uvicorn.Server(
            uvicorn.Config(
                application,
                lifespan="off",
                log_level="warning",
                access_log=False,
                proxy_headers=False,  # else anybody on this machine chooses the address that tries are counted by
                ws="websockets-sansio",
                ws_max_size=1024,  # a page has nothing to say: whoever sends more is cut off before it is all here
                timeout_graceful_shutdown=2,  # measured: open sockets else keep the server alive for minutes
            )
        )
        self._worker = WorkController(
            app=app,
            pool_cls="threads",
            concurrency=settings.REKINDLE["REKINDLE_WORKER_THREADS"],
            without_gossip=True,
            without_mingle=True,
            without_heartbeat=True,
        )
        self._beat = Service(app, scheduler_cls=Beat, max_interval=1)

    def run(self) -> int:
        """Serve until a signal comes or a thread dies; then stop all."""
        threads = [self._thread("worker", self._worker.start), self._thread("beat", self._beat.start)]
        try:
            asyncio.run(self._serve())
        finally:
            self._stopping = True
            self._beat.stop()
            with contextlib.suppress(SystemExit):
                self._worker.stop()
            for thread in threads:
                thread.join(STOP_WAIT.total_seconds())
        return 1 if self._died else 0

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.stop)
        with _signals_left_alone(self._server):
            serving = asyncio.create_task(self._server.serve(sockets=[self._listen]))
            while not self._server.started and not serving.done():  # uvicorn offers no event
                await asyncio.sleep(0.02)
            if self._server.started:
                self._when_up()
            await serving

    def stop(self) -> None:
        """Ask the server to end; `run` then stops the rest."""
        self._server.should_exit = True

    def _thread(self, name: str, start: Callable[[], Any]) -> threading.Thread:
        def body() -> None:
            try:
                start()
            except Exception:
                log.exception("the %s died", name)
            if not self._stopping:
                self._died = True
                log.error("the %s ended; stopping the site", name)
                self.stop()

        thread = threading.Thread(target=body, name=name, daemon=True)
        thread.start()
        return thread


@contextlib.contextmanager
def _signals_left_alone(server: uvicorn.Server) -> Any:
    """Keep uvicorn from taking the signals: it would raise them again after its end and kill the clean stop."""
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    yield


def listening_socket(address: str) -> socket.socket:
    """A bound socket for `HOST:PORT`; port 0 takes a free one. Raises `OSError` when it is taken."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listen = socket.socket(family, socket.SOCK_STREAM)
    listen.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listen.bind((host, int(port)))
    except OSError:
        listen.close()
        raise
    return listen
