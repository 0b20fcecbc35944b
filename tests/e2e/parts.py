"""How does a test put the product together from its parts, and take one of them away?"""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.parse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from lab.slurm.cluster import SlurmCluster
from lab.stores.stores import Stores, free_port
from tests.e2e.rig import ROOT, Person, Running, clean_environment, told, types, until

PYTHON = sys.executable
OPT_IN = {"nvidia-recovery": {"environment": "test", "mode": "action"}, "APS": {"auto_resume_mode": "requeue"}}
LIMITS = {
    "hang_floor_seconds": 5,
    "hang_cold_seconds": 15,
    "startup_seconds": 30,
    "blind_seconds": 20,
    "settle_seconds": 1,
}


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
            timeout=60,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    def add_cluster(self, name: str, mode: str, options: Sequence[str]) -> None:
        """Watch a cluster, quickly enough for a test, and let it be acted on when `mode` says so."""
        limits = [word for limit, value in LIMITS.items() for word in ("--limit", f"{limit}={value}")]
        self.manage("cluster", "add", name, "--environment", "test", "--poll-seconds", "1", *limits, *options)
        if mode != "monitor":
            self.manage("cluster", "mode", name, mode, "--reason", "a test", "--acknowledge-scheduler-actions")

    def start(self, mark: Path | None = None) -> None:
        """Start all processes; with `mark`, the reading one kills itself once (see `killing`)."""
        killing = [PYTHON, "-m", "tests.e2e.killing", str(mark)]
        if not self.production:
            self._run("site", [*killing, "site", "serve"] if mark else [PYTHON, "manage.py", "serve"])
        else:
            celery = ["worker", "--pool", "prefork", "--concurrency", "2", "--loglevel", "warning"]
            plain = [PYTHON, "-m", "celery", "-A", "recovery_site.celery"]
            self._run("worker", [*killing, "worker", *celery] if mark else [*plain, *celery])
            schedule = ["--scheduler", "celery.beat:Scheduler", "--loglevel", "warning"]
            self._run("beat", [*plain, "beat", *schedule])
            bind = ["--bind", f"127.0.0.1:{self.port}", "--workers", "1", "--threads", "4"]
            self._run("pages", [PYTHON, "-m", "gunicorn", "recovery_site.wsgi", *bind])
            asgi = ["--lifespan", "off", "--ws", "websockets-sansio", "--timeout-graceful-shutdown", "2"]
            asgi += ["--port", str(self.sockets_port), "--log-level", "warning"]
            self._run("sockets", [PYTHON, "-m", "uvicorn", "recovery_site.asgi:application", *asgi])
        until(self.answers, 30, "the site answers")

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
        assert link
        person = Person(self.address)
        person.sign_in_once(link.group(1))
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
        until(self.answers, 30, "the site answers again")

    def stop(self) -> None:
        """End all processes."""
        for running in self.processes.values():
            running.end(signal.SIGTERM)

    def _run(self, name: str, command: list[str]) -> None:
        self.processes[name] = Running(command, self.environment)


MAKE_PERSON = """
from django.contrib.auth.models import User
User.objects.get_or_create(username='operator', defaults={'is_staff': True, 'is_superuser': True})
"""


class Controller:
    """The controller of one cluster, as its own process."""

    def __init__(self, site: Site, cluster: str, path: str, config: str, mode: str = "action") -> None:
        self.site = site
        token = site.manage(
            "token", "create", f"controller-{cluster}", "--role", "controller", "--cluster", cluster
        )
        secret = re.search(r"rekindle_\S+", token)
        assert secret
        self.file = site.folder / f"{cluster}.toml"
        (site.folder / f"{cluster}.token").touch(mode=0o600)
        (site.folder / f"{cluster}.token").write_text(secret.group(0))
        acts = json.dumps(mode == "action")
        self.file.write_text(f"""cluster = "{cluster}"
environment = "test"
[advisor]
url = "{site.address}"
token_file = "{site.folder / cluster}.token"
[scheduler]
kind = "slurm"
path = "{path}"
config = "{config}"
command_seconds = 15
[controller]
mode = "{mode}"
acknowledgeSchedulerActions = {acts}
environmentPattern = "test"
poll_seconds = 0.5
journal = "{site.folder / cluster}.journal.jsonl"
holder = "controller-{cluster}"
""")
        self.running: Running | None = None

    def start(self, mark: Path | None = None) -> None:
        """Start it; with `mark` it kills itself once, between hold and release."""
        self.stop()
        part = ["tests.e2e.killing", str(mark), "controller"] if mark else ["controller"]
        self.running = Running([PYTHON, "-m", *part, "run", "--config", str(self.file)], {})

    def died(self) -> bool:
        """Whether it was killed."""
        return self.running is not None and self.running.process.poll() == -signal.SIGKILL

    def stop(self) -> None:
        """End it."""
        if self.running:
            self.running.end(signal.SIGTERM)


class Simulator:
    """A simulated cluster without jobs of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running = Running([PYTHON, "-m", "lab.simulate", "serve", str(folder)], {})
        until((folder / "ready").exists, 20, "the simulator")
        self.path = str(folder / "bin")
        self.options = ["--scheduler-path", self.path, "--log-root", str(folder / "logs")]

    def submit(self, play: Mapping[str, Any]) -> int:
        """Submit a play with the opt-in of the tests; the job's number."""
        file = self.folder / "play.json"
        file.write_text(json.dumps({"comment": json.dumps(OPT_IN), "output": "%x_%j.log", **play}))
        words = [PYTHON, "-m", "lab.simulate", "submit", str(self.folder), "--play", str(file)]
        run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=20, check=True)
        return int(run.stdout)

    def stop(self) -> None:
        """End it."""
        self.running.end(signal.SIGTERM)


def submit_training(slurm: SlurmCluster, faults: Sequence[Mapping[str, Any]], **options: Any) -> int:
    """Submit the stand-in for a training job to a real Slurm, on three nodes; the job's number."""
    name = options.get("name", "train")
    folder = slurm.layout.jobs / f"checkpoints-{os.urandom(4).hex()}"
    command = [PYTHON, "-m", "lab.trainer", "--folder", str(folder), "--port", str(free_port())]
    command += ["--steps", str(options.get("steps", 40)), "--step-seconds", str(options.get("step_seconds", 0.3))]
    command += ["--checkpoint-every", "5", "--faults", f"'{json.dumps(list(faults))}'"]
    script = f"#!/bin/sh\nexport PYTHONPATH={ROOT}\nexec srun --kill-on-bad-exit=1 {' '.join(command)}\n"
    words = ["-N3", "--ntasks-per-node=1", f"-J{name}", f"--comment={json.dumps(options.get('opt_in', OPT_IN))}"]
    return slurm.submit(script, *words, "-o%x_%j.log", *options.get("sbatch", ()))


def advice_of(trail: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The advice events of a trail."""
    return [event for event in trail if event["eventType"] == "advice"]


def assert_recovered_once(person: Person, cluster: str, number: int, seconds: float = 90) -> list[dict[str, Any]]:
    """Wait until the job has completed; one advice, one restart, the named node left out. Returns the trail."""

    def completed() -> list[dict[str, Any]] | None:
        trail = person.trail(cluster, number)
        return trail if "training_completed" in types(trail) else None

    def story() -> str:
        return f"job {number} recovered and completed:\n{told(person.trail(cluster, number))}"

    trail = until(completed, seconds, story, pause=1)
    first, second = person.attempts(cluster, number)
    excluded = [event["payload"]["excluded_nodes"] for event in advice_of(trail)]
    assert len(excluded) == 1 and len(excluded[0]) == 1, excluded
    assert excluded[0][0] in first["allocatedNodes"]
    assert excluded[0][0] not in second["allocatedNodes"]
    assert second["progress"]["loadedCheckpointStep"] == first["progress"]["lastCheckpointStep"]
    keys = [event["pattern"] for event in trail if event["eventType"] == "anomaly"]
    assert types(trail).count("allocation_restarted") == types(trail).count("progress_resumed") == 1
    assert keys
    return trail
