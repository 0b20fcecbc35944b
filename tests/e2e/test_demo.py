"""Does the demo, started as a user starts it, show a job that comes back, and a cluster that is only watched?"""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from lab.parts.person import Person, types
from lab.parts.running import Running, until
from tests.e2e.demo_parts import goes_on, parts_of

pytestmark = pytest.mark.e2e

READS = {"squeue", "sacct", "sinfo", "sdiag"}


class Demo:
    """The running demo: its process, a signed-in person, and its folder."""

    def __init__(self) -> None:
        self.run = Running(["./run", "demo"], {"REKINDLE_LISTEN": "127.0.0.1:0"})
        address, link = self._welcome()
        self.person = Person(address)
        self.person.sign_in_once(link)
        self.folder = Path(self.run.said(r"Logs: (\S+)\.", 90))

    def _welcome(self) -> tuple[str, str]:
        full = self.run.said(r"sign in once with\s+(http\S+)", 180)
        address = self.run.said(r"Recovery Console\s+(http://[^/\s]+)/", 90)
        return address, full.removeprefix(address)

    def parts(self) -> dict[str, psutil.Process]:
        """Its processes by name."""
        return parts_of(self.run.process.pid, self.folder)

    def story(self, cluster: str, ending: str) -> tuple[str, list[dict[str, Any]]]:
        """The first job whose trail holds an excluding restart and then `ending`: its number and trail."""
        for job in self.person.ask("/v1/jobs", cluster=cluster, limit=250)["jobs"]:
            trail = self.person.trail(cluster, job["jobId"])
            advised = [e for e in trail if e["eventType"] == "advice" and e["payload"].get("excluded_nodes")]
            if advised and ending in types(trail):
                return job["jobId"], trail
        return "", []


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    demo = Demo()
    yield demo
    demo.run.end()


@pytest.fixture(scope="module")
def completed(demo: Demo) -> tuple[str, list[dict[str, Any]]]:
    """The recovered job of the cluster in action mode, and its trail."""

    def search() -> tuple[str, list[dict[str, Any]]] | None:
        number, trail = demo.story("demo", "training_completed")
        return (number, trail) if number else None

    return until(search, 600, "a job that lost a node and completed", pause=2)


def test_the_trail_tells_the_recovery_in_order(completed: tuple[str, list[dict[str, Any]]]) -> None:
    _, trail = completed
    order = [
        "anomaly",
        "verdict",
        "advice",
        "action",
        "allocation_restarted",
        "progress_resumed",
        "training_completed",
    ]
    places = [types(trail).index(kind) for kind in order]
    assert places == sorted(places)


def test_each_outcome_has_its_latency(completed: tuple[str, list[dict[str, Any]]]) -> None:
    _, trail = completed
    for kind in ("allocation_restarted", "progress_resumed", "training_completed"):
        payload = next(event["payload"] for event in trail if event["eventType"] == kind)
        waits = [value for name, value in payload.items() if name.startswith("seconds_since")]
        assert waits, payload
        assert all(0 <= wait < 200 for wait in waits), payload


def test_the_second_attempt_runs_without_the_node_and_from_the_checkpoint(
    demo: Demo, completed: tuple[str, list[dict[str, Any]]]
) -> None:
    number, trail = completed
    first, second = demo.person.attempts("demo", number)[:2]
    excluded = next(event["payload"]["excluded_nodes"] for event in trail if event["eventType"] == "advice")
    assert len(excluded) == 1
    assert excluded[0] in first["allocatedNodes"]
    assert excluded[0] not in second["allocatedNodes"]
    loaded = int(second["progress"]["loadedCheckpointStep"])
    assert loaded == int(first["progress"]["lastCheckpointStep"])
    assert second["jmState"] == "COMPLETED"


def test_one_anomaly_of_the_cause_one_advice_one_restart(
    demo: Demo, completed: tuple[str, list[dict[str, Any]]]
) -> None:
    number, trail = completed
    assert types(trail).count("advice") == 1
    assert types(trail).count("allocation_restarted") == 1
    assert len(demo.person.attempts("demo", number)) == 2


def test_the_watched_cluster_gets_the_same_advice_and_no_command(
    demo: Demo, completed: tuple[str, list[dict[str, Any]]]
) -> None:
    def search() -> list[dict[str, Any]] | None:
        return demo.story("demo-monitor", "advice")[1] or None

    trail = until(search, 300, "advice on the cluster in monitor mode", pause=2)
    ours = next(event for event in completed[1] if event["eventType"] == "advice")
    theirs = next(event for event in trail if event["eventType"] == "advice")
    assert theirs["payload"]["rule"] == ours["payload"]["rule"]
    assert len(theirs["payload"]["excluded_nodes"]) == 1
    assert "action" not in types(trail)
    changing = commands_that_change(demo.folder / "demo-monitor")
    assert changing == []
    assert commands_that_change(demo.folder / "demo") != []


def commands_that_change(cluster: Path) -> list[list[str]]:
    """Every command the cluster was given that is no listing."""
    commands = [json.loads(line) for line in (cluster / "commands.jsonl").read_text().splitlines()]
    assert len(commands) > 20
    return [argv for argv in commands if argv[0] not in READS and not reads(argv)]


def reads(argv: list[str]) -> bool:
    """Whether a call of scontrol only looks."""
    words = [word for word in argv[1:] if not word.startswith("-")]
    return argv[0] == "scontrol" and words[0] in {"show", "ping"}


def test_the_demo_is_small(demo: Demo, completed: tuple[str, list[dict[str, Any]]]) -> None:
    sizes = {name: process.memory_info().rss / 1e6 for name, process in demo.parts().items()}
    assert max(sizes.values()) == sizes["site"] < 200, sizes
    assert sum(sizes.values()) < 300, sizes


def test_ctrl_c_stops_everything() -> None:
    demo = Demo()
    parts = demo.parts()
    everything = [*parts.values(), *parts["shell"].children(recursive=True)]
    assert demo.run.end(signal.SIGINT) == 0
    assert "Everything is stopped." in demo.run.text()
    assert [process for process in everything if goes_on(process)] == []
    assert not demo.folder.exists()
