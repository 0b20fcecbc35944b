"""What does the demo consist of, and how is it put together?

Two simulated clusters (one in action mode, one in monitor mode) in one process, a controller for each, a
watchdog for the first, and the site itself in the process that runs the command.
"""

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.db import transaction

from advisor_api.activating import establish
from advisor_api.models import ApiToken
from advisor_api.policies import Place
from advisor_api.token_role import TokenRole
from advisor_api.tokens import issue
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.trail import Actor, Entry, Subject, record
from recovery_site.environment import BASE_DIR
from workloads.mode import Mode
from workloads.models import Cluster

log = logging.getLogger("rekindle.demo")

CLUSTERS = {"demo": Mode.ACTION, "demo-monitor": Mode.MONITOR}
PERSON = "operator"
LIMITS = {
    "hang_floor_seconds": 6.0,
    "hang_cold_seconds": 20.0,
    "startup_seconds": 30.0,
    "phase_floor_seconds": 20.0,
    "blind_seconds": 15.0,
    "settle_seconds": 1.0,
}
"""A simulated step takes half a second; a real one a hundred times longer."""

POLICY = {
    "storm_restarts": 50,  # the demo breaks its jobs all day long
    "unknown_backoff_seconds": 3,
    "exclusion_seconds": 300,
    "hold_seconds": 60,
}


@dataclass
class Children:
    """The processes beside the site. One that dies is started again, as an init system would."""

    folder: Path
    commands: dict[str, list[str]] = field(default_factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    stopping: threading.Event = field(default_factory=threading.Event)

    def start(self, name: str, arguments: Sequence[str]) -> None:
        """Start `python -m …` with its output in `<folder>/<name>.log`, its process id in `<folder>/<name>.pid`."""
        self.commands[name] = list(arguments)
        with (self.folder / f"{name}.log").open("ab") as output:
            child = subprocess.Popen(
                [sys.executable, "-m", *arguments],
                cwd=BASE_DIR,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C reaches the site alone, which then stops them in order
            )
        (self.folder / f"{name}.pid").write_text(f"{child.pid}\n")
        self.running[name] = child

    def keep_running(self) -> None:
        """Look after the children until `stop`; meant for a thread of its own."""
        while not self.stopping.wait(0.5):
            for name, child in list(self.running.items()):
                if child.poll() is not None and not self.stopping.is_set():
                    log.warning("%s ended with %s; starting it again", name, child.returncode)
                    self.start(name, self.commands[name])

    def stop(self) -> None:
        """End all of them: TERM, then KILL after 5 s."""
        self.stopping.set()
        for child in self.running.values():
            child.terminate()
        deadline = time.monotonic() + 5
        for child in self.running.values():
            try:
                child.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait(5)
        for name in self.running:  # `./run` ends what is still named here
            (self.folder / f"{name}.pid").unlink(missing_ok=True)


@transaction.atomic
def furnish(folder: Path, now: datetime) -> User:
    """Create the demo's clusters, policy and person; a second call finds them and changes nothing."""
    for name, mode in CLUSTERS.items():
        cluster, made = Cluster.objects.get_or_create(
            name=name,
            defaults={
                "environment": name,
                "scheduler_path": str(folder / name / "bin"),
                "log_roots": [str(folder / name / "logs")],
                "detector_limits": LIMITS,
                "poll_seconds": 1.0,
                "mode": mode,
                "acknowledge_scheduler_actions": mode is Mode.ACTION,
            },
        )
        if made:
            demo = Actor(ActorKind.PERSON, "demo")
            added = f"demo added cluster {name}, in mode {cluster.mode}."
            record([Entry(EventType.CONFIGURATION, Subject(cluster=name), demo, added, Level.WARNING)], now)
            establish(Place(cluster), POLICY, "Shorter waits for the demo", actor=demo, now=now)
    person, made = get_user_model().objects.get_or_create(
        username=PERSON, defaults={"is_staff": True, "is_superuser": True}
    )
    if made:
        person.set_unusable_password()
        person.save(update_fields=["password"])
        demo = Actor(ActorKind.PERSON, "demo")
        record([Entry(EventType.CONFIGURATION, Subject(cluster=""), demo, f"demo added the person {PERSON}.")], now)
    return person


def controller_config(folder: Path, name: str, address: str, now: datetime) -> Path:
    """Write the controller's configuration and a fresh token, both readable by their owner only."""
    cluster = Cluster.objects.get(name=name)
    token = issue(
        _token_name(f"{name}-controller", now),
        TokenRole.CONTROLLER,
        [cluster],
        now=now,
        actor=Actor(ActorKind.PERSON, "demo"),
    )
    secret = folder / f"{name}.token"
    _write_private(secret, token)
    acts = cluster.mode == Mode.ACTION
    text = f"""cluster = {json.dumps(name)}
environment = {json.dumps(cluster.environment)}

[advisor]
url = {json.dumps(address)}
token_file = {json.dumps(str(secret))}

[scheduler]
kind = "slurm"
path = {json.dumps(cluster.scheduler_path)}
command_seconds = 10

[controller]
mode = {json.dumps("action" if acts else "monitor")}
acknowledgeSchedulerActions = {json.dumps(acts)}
environmentPattern = {json.dumps(cluster.environment)}
poll_seconds = 1.0
journal = {json.dumps(str(folder / f"{name}.journal.jsonl"))}
holder = {json.dumps(f"{name}-controller")}

[watchdog]
mode = {json.dumps("action" if acts else "monitor")}
acknowledgeSchedulerActions = {json.dumps(acts)}
environmentPattern = {json.dumps(cluster.environment)}
poll_seconds = 5.0
"""
    path = folder / f"{name}.toml"
    _write_private(path, text)
    return path


def _token_name(wanted: str, now: datetime) -> str:
    """Names of tokens are unique; a second demo on the same database takes one with the time in it."""
    return f"{wanted}-{int(now.timestamp())}" if ApiToken.objects.filter(name=wanted).exists() else wanted


def start_simulator(children: Children, wait_seconds: float = 20.0) -> None:
    """Start both simulated clusters and wait until they answer. Raises `TimeoutError` with the log's place."""
    folders = [children.folder / name for name in CLUSTERS]
    children.start("simulator", ["lab.simulate", "serve", *map(str, folders), "--scenario", "demo"])
    deadline = time.monotonic() + wait_seconds
    while not all((folder / "ready").exists() for folder in folders):
        if time.monotonic() > deadline or children.running["simulator"].poll() is not None:
            raise TimeoutError(f"the simulator did not start; see {children.folder / 'simulator.log'}")
        time.sleep(0.05)


def start_controllers(children: Children, address: str, now: datetime) -> None:
    """Start a controller for each cluster and the watchdog of the one that is acted on."""
    for name, mode in CLUSTERS.items():
        config = controller_config(children.folder, name, address, now)
        children.start(f"{name}-controller", ["controller", "run", "--config", str(config)])
        if mode is Mode.ACTION:
            children.start(f"{name}-watchdog", ["controller", "watchdog", "--config", str(config)])


def _write_private(path: Path, text: str) -> None:
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
