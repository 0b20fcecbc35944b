"""Which jobs does a served cluster get by itself? A scenario: built in by name, or a JSON file.

A file holds `{"settings": {"nodes": 5, "jobs_per_node": 8, …}, "jobs": [{"at": 2.5, "play": {…}}]}`; `at` is in
seconds after the start.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from lab.fleet.served import FleetScenario
from lab.simulate.demo import Demo
from lab.simulate.model import Cluster, ControllerDown
from lab.simulate.play import BadPlay, Play, play_of
from lab.simulate.settings import Settings

LONGEST_FILE = 1 << 22  # bytes
SETTINGS = {
    "nodes": (1, 9999),
    "jobs_per_node": (1, 999),
    "gpus_per_node": (1, 64),
    "min_job_age_seconds": (2, 86400),
    "requeue_wait_seconds": (1, 86400),
    "kill_wait_seconds": (0, 3600),
    "node_timeout_seconds": (0, 3600),
}


class BadScenario(ValueError):
    """A scenario that cannot be used; one sentence says what is wrong and where."""


class Scenario(Protocol):
    """What happens on a cluster by itself."""

    def settings(self, settings: Settings) -> Settings:
        """The installation it needs, made from the usual one."""

    def tick(self, cluster: Cluster) -> None:
        """Called often; does what is due at the cluster's time."""


class Quiet:
    """Nothing happens by itself."""

    def settings(self, settings: Settings) -> Settings:
        """See `Scenario.settings`."""
        return settings

    def tick(self, cluster: Cluster) -> None:
        """See `Scenario.tick`."""


class Written:
    """The jobs that a file lists, each at its time."""

    def __init__(self, told: dict[str, Any]) -> None:
        self._settings = _settings_of(told.get("settings", {}))
        self._jobs = _jobs_of(told.get("jobs", []))
        self._done = 0

    def settings(self, settings: Settings) -> Settings:
        """See `Scenario.settings`."""
        return replace(settings, **self._settings)

    def tick(self, cluster: Cluster) -> None:
        """See `Scenario.tick`."""
        while self._done < len(self._jobs) and cluster.now - cluster.booted_at >= self._jobs[self._done][0]:
            try:
                cluster.submit(self._jobs[self._done][1])
            except ControllerDown:
                return
            self._done += 1


BUILT_IN: dict[str, Callable[[], Scenario]] = {"demo": Demo, "fleet": FleetScenario, "quiet": Quiet}


def scenario_of(name: str) -> Scenario:
    """A scenario by its name or the path of its file; raises `BadScenario`."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    try:
        with Path(name).open("rb") as file:
            text = file.read(LONGEST_FILE + 1)
        if len(text) > LONGEST_FILE:
            raise BadScenario(f"{name} is larger than {LONGEST_FILE} bytes.")
        told = json.loads(text)
    except OSError as error:
        known = ", ".join(sorted(BUILT_IN))
        raise BadScenario(f"There is no scenario '{name}' ({known}, or a file: {error.strerror}).") from None
    except (ValueError, RecursionError) as error:
        raise BadScenario(f"{name} is no JSON: {error}.") from None
    try:
        if not isinstance(told, dict) or not set(told) <= {"settings", "jobs"}:
            raise BadScenario("it must be an object with 'settings' and 'jobs' and nothing else")
        return Written(told)
    except (BadScenario, BadPlay) as error:
        raise BadScenario(f"{name}: {error}") from None


def _settings_of(told: Any) -> dict[str, Any]:
    if not isinstance(told, dict):
        raise BadScenario("'settings' must be an object.")
    values: dict[str, Any] = {}
    for name, value in told.items():
        if name not in SETTINGS:
            raise BadScenario(f"'{name}' is no setting; known are {', '.join(SETTINGS)}.")
        least, most = SETTINGS[name]
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            raise BadScenario(f"'{name}' must be a number from {least} to {most}.")
        if name != "node_timeout_seconds" and not isinstance(value, int):
            raise BadScenario(f"'{name}' must be a whole number.")
        values[name] = value
    if "nodes" in values:
        width = max(2, len(str(values["nodes"])))
        values["node_names"] = tuple(f"n{number:0{width}d}" for number in range(1, values.pop("nodes") + 1))
    return values


def _jobs_of(told: Any) -> list[tuple[float, Play]]:
    if not isinstance(told, list) or len(told) > 10_000:
        raise BadScenario("'jobs' must be a list of at most 10000 jobs.")
    jobs = []
    for place, one in enumerate(told):
        at = one.get("at", 0) if isinstance(one, dict) else None
        if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at <= 31_536_000:
            raise BadScenario(f"job {place} needs an 'at' in seconds and a 'play'.")
        try:
            jobs.append((float(at), play_of(one.get("play"))))
        except BadPlay as error:
            raise BadPlay(f"job {place}: {error}") from None
    return sorted(jobs, key=lambda job: job[0])
