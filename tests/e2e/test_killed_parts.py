"""Is there one anomaly, one advice and one restart when a part of the product is killed at the worst moment?"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.parts.controller import Controller
from lab.parts.running import until
from lab.parts.simulator import Simulator
from lab.parts.site import Site
from tests.e2e.recovered import assert_recovered_once, killing

pytestmark = pytest.mark.e2e

ECC = {
    "name": "gpt",
    "nodes": 3,
    "steps": 60,
    "step_seconds": 0.3,
    "checkpoint_every": 5,
    "startup_seconds": 1,
    "faults": [{"attempt": 0, "step": 22, "kind": "ecc", "node": 1}],
}


@pytest.fixture
def simulator(short_folder: Path) -> Iterator[Simulator]:
    simulator = Simulator(short_folder / "sim")
    yield simulator
    simulator.stop()


@pytest.fixture
def site(short_folder: Path, simulator: Simulator) -> Iterator[Site]:
    site = Site(short_folder)
    site.add_cluster("sim", "action", simulator.options)
    yield site
    site.stop()


@pytest.fixture
def controller(site: Site, simulator: Simulator) -> Iterator[Controller]:
    controller = Controller(site, "sim", simulator.path, "")
    yield controller
    controller.stop()


def anomalies(trail: list[dict]) -> list[tuple[str, str]]:
    """What was found, one entry for each event: the pattern, and the key that makes it the same again."""
    return [(event["pattern"], event["payload"]["key"]) for event in trail if event["eventType"] == "anomaly"]


def test_a_worker_killed_between_reading_and_committing(
    site: Site, simulator: Simulator, controller: Controller, tmp_path: Path
) -> None:
    mark = tmp_path / "killed"
    site.start(killing(mark))
    controller.start()
    number = simulator.submit(ECC)
    until(mark.exists, 180, "the site killed itself")
    until(lambda: site.processes["site"].process.poll() is not None, 180, "the site is dead")
    site.restart()
    trail = assert_recovered_once(site.person(), "sim", number)
    assert len(anomalies(trail)) == len(set(anomalies(trail)))
    assert any(pattern == "xid.48" for pattern, _ in anomalies(trail))


def test_a_controller_killed_between_hold_and_release(
    site: Site, simulator: Simulator, controller: Controller, tmp_path: Path
) -> None:
    mark = tmp_path / "killed"
    site.start()
    controller.start(killing(mark))
    number = simulator.submit(ECC)
    until(mark.exists, 180, "the controller killed itself")
    until(controller.died, 180, "the controller is dead")
    controller.start()
    assert_recovered_once(site.person(), "sim", number)
