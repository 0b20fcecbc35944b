"""How is the site started on a database of its own, as a user does it?"""

import re
import signal
import subprocess
import urllib.parse
from collections.abc import Sequence
from pathlib import Path

from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from lab.parts.person import Person
from lab.parts.ports import free_port
from lab.parts.running import PYTHON, ROOT, Running, clean_environment, expect, until
from lab.stores.stores import Stores

LIMITS = {
    "hang_floor_seconds": 5,
    "hang_cold_seconds": 15,
    "startup_seconds": 30,
    "blind_seconds": 20,
    "settle_seconds": 1,
}
"""A step of the stand-in takes a third of a second; a real one a hundred times longer."""


class Site:
    """The site on a database of its own: embedded, or as production runs it when `stores` are given."""

    def __init__(self, folder: Path, stores: Stores | None = None) -> None:
        self.folder = folder
        self.production = stores is not None
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.sockets_port = free_port() if stores else self.port
        self.environment = {
            "REKINDLE_STATE_DIR": str(folder),
            "REKINDLE_LISTEN": f"127.0.0.1:{self.port}",
            **(stores.environment if stores else {}),
        }
        self.processes: dict[str, Running] = {}
        self.manage("migrate", "-v", "0")

    def manage(self, *words: str) -> str:
        """Run one of the site's commands; what it printed."""
        run = subprocess.run(
            [PYTHON, "manage.py", *words],
            cwd=ROOT,
            env=clean_environment() | self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        expect(run.returncode == 0, run.stderr)
        return run.stdout

    def add_cluster(self, name: str, mode: str, options: Sequence[str]) -> None:
        """Watch a cluster, quickly enough for a test, and let it be acted on when `mode` says so."""
        limits = [word for limit, value in LIMITS.items() for word in ("--limit", f"{limit}={value}")]
        self.manage("cluster", "add", name, "--environment", "test", "--poll-seconds", "1", *limits, *options)
        if mode != "monitor":
            self.manage("cluster", "mode", name, mode, "--reason", "a test", "--acknowledge-scheduler-actions")

    def start(self, through: Sequence[str] = ()) -> None:
        """Start all processes. `through`: a command that runs the reading one instead, told which and how."""
        if not self.production:
            self._run("site", [*through, "site", "serve"] if through else [PYTHON, "manage.py", "serve"])
        else:
            celery = ["worker", "--pool", "prefork", "--concurrency", "2", "--loglevel", "warning"]
            plain = [PYTHON, "-m", "celery", "-A", "recovery_site.celery"]
            self._run("worker", [*through, "worker", *celery] if through else [*plain, *celery])
            schedule = ["--scheduler", "recovery_site.beating:Beat", "--loglevel", "warning"]
            self._run("beat", [*plain, "beat", *schedule])
            bind = ["--bind", f"127.0.0.1:{self.port}", "--workers", "1", "--threads", "4"]
            self._run("pages", [PYTHON, "-m", "gunicorn", "recovery_site.wsgi", *bind])
            asgi = ["--lifespan", "off", "--ws", "websockets-sansio", "--timeout-graceful-shutdown", "2"]
            asgi += ["--port", str(self.sockets_port), "--log-level", "warning"]
            self._run("sockets", [PYTHON, "-m", "uvicorn", "recovery_site.asgi:application", *asgi])
        until(self.answers, 120, "the site answers")

    def answers(self) -> bool:
        """Whether the site is ready; fails at once when one of its processes has died."""
        try:
            return "ready" in Person(self.address).get("/readyz")
        except OSError:
            return False

    def person(self) -> Person:
        """Somebody who may see everything, signed in."""
        self.manage("shell", "-v", "0", "-c", MAKE_PERSON)
        link = re.search(r"http\S+(/sign-in/once/\S+)", self.manage("sign_in_link", "operator"))
        person = Person(self.address)
        person.sign_in_once(link.group(1) if link else "no link")
        return person

    def listen(self, person: Person, topic: str) -> ClientConnection:
        """A socket of the console, as an open page of that person has one."""
        cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in person.cookies)
        address = f"ws://127.0.0.1:{self.sockets_port}/ws/live?topic={urllib.parse.quote(topic)}"
        return connect(address, origin=Origin(self.address), additional_headers={"Cookie": cookies}, proxy=None)

    def restart(self) -> None:
        """Start the embedded site again after it has died, without a kill."""
        self.processes.pop("site").end(signal.SIGKILL)
        self._run("site", [PYTHON, "manage.py", "serve"])
        until(self.answers, 120, "the site answers again")

    def stop(self) -> None:
        """End all processes."""
        for name, running in self.processes.items():
            if name == "beat":
                running.ask_to_end(signal.SIGTERM, 10)  # Celery's beat may lose a signal while it publishes
            running.end(signal.SIGTERM)

    def _run(self, name: str, command: list[str]) -> None:
        self.processes[name] = Running(command, self.environment)


MAKE_PERSON = """
from django.contrib.auth.models import User
User.objects.get_or_create(username='operator', defaults={'is_staff': True, 'is_superuser': True})
"""
