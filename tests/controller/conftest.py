"""What every test of the controller stands on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from controller.config import Settings, read_config
from tests.controller.advisor import TOKEN, Server, SmallAdvisor
from tests.controller.bench import Bench
from tests.controller.scripted import ScriptedClock, ScriptedScheduler


@pytest.fixture
def clock() -> ScriptedClock:
    return ScriptedClock()


@pytest.fixture
def scheduler(clock: ScriptedClock) -> ScriptedScheduler:
    return ScriptedScheduler(clock)


@pytest.fixture
def advisor(clock: ScriptedClock) -> SmallAdvisor:
    return SmallAdvisor(clock.now)


@pytest.fixture
def server(advisor: SmallAdvisor) -> Iterator[Server]:
    with Server(advisor) as running:
        yield running


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.touch(mode=0o600)
    path.write_text(TOKEN + "\n")
    return path


def write_config(folder: Path, url: str, token_file: Path, **changes: str) -> Path:
    """A complete configuration; `changes` replaces right-hand sides by `table_key`."""
    values = {
        "controller_mode": '"action"',
        "controller_acknowledgeSchedulerActions": "true",
        "controller_environmentPattern": '"demo*"',
        "controller_partitions": "[]",
        "controller_enabled": "true",
        "watchdog_mode": '"action"',
        "watchdog_acknowledgeSchedulerActions": "true",
        "watchdog_enabled": "true",
        "scheduler_path": '""',
        "environment": '"demo"',
        "holder": '"host-1"',
        "journal": f'"{folder}/journal.jsonl"',
    } | changes
    path = folder / "controller.toml"
    path.write_text(
        f"""cluster = "demo"
environment = {values["environment"]}

[advisor]
url = "{url}"
token_file = "{token_file}"

[scheduler]
kind = "slurm"
path = {values["scheduler_path"]}

[controller]
enabled = {values["controller_enabled"]}
mode = {values["controller_mode"]}
acknowledgeSchedulerActions = {values["controller_acknowledgeSchedulerActions"]}
environmentPattern = {values["controller_environmentPattern"]}
partitions = {values["controller_partitions"]}
journal = {values["journal"]}
holder = {values["holder"]}

[watchdog]
enabled = {values["watchdog_enabled"]}
mode = {values["watchdog_mode"]}
acknowledgeSchedulerActions = {values["watchdog_acknowledgeSchedulerActions"]}
environmentPattern = "demo*"
"""
    )
    return path


@pytest.fixture
def settings(tmp_path: Path, server: Server, token_file: Path) -> Settings:
    return read_config(write_config(tmp_path, server.url, token_file))


@pytest.fixture
def bench(
    settings: Settings, scheduler: ScriptedScheduler, clock: ScriptedClock, advisor: SmallAdvisor
) -> Iterator[Bench]:
    made = Bench(settings, scheduler, clock, advisor)
    yield made
    made.stop()
