"""Does one failed job on a real Slurm come back by itself, and is everything else left alone?"""

import json
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.parts.controller import Controller
from lab.parts.person import Person, types
from lab.parts.recording import changes, recording_commands
from lab.parts.running import until
from lab.parts.site import Site
from lab.parts.training import OPT_IN, submit_training
from lab.slurm.cluster import SlurmCluster
from lab.stores.stores import Stores
from tests.e2e.recovered import advice_of, assert_recovered_once, killing

pytestmark = [pytest.mark.e2e, pytest.mark.slurm]

ECC = {"attempt": 0, "step": 12, "rank": 1, "kind": "ecc"}
STOPPED = {"attempt": 0, "step": 26, "rank": 2, "kind": "stop"}


class Watched:
    """A site that watches the real Slurm, with its controller; every command they send is recorded."""

    def __init__(self, folder: Path, slurm: SlurmCluster, mode: str, stores: Stores | None = None) -> None:
        self.slurm = slurm
        self.log = folder / "commands.log"
        self.bin = recording_commands(folder / "bin", self.log)
        self.site = Site(folder, stores)
        config = str(slurm.layout.conf)
        options = ["--scheduler-path", str(self.bin), "--scheduler-config", config]
        self.site.add_cluster("real", mode, [*options, "--log-root", str(slurm.layout.jobs)])
        self.controller = Controller(self.site, "real", str(self.bin), config, mode)
        self._person: Person | None = None

    @property
    def person(self) -> Person:
        """Somebody signed in; only once the site runs."""
        self._person = self._person or self.site.person()
        return self._person

    def trail_with(self, number: int, kind: str, seconds: float) -> list[dict[str, Any]]:
        """The trail of a job once it holds an event of this type."""

        def search() -> list[dict[str, Any]] | None:
            trail = self.person.trail("real", number)
            return trail if kind in types(trail) else None

        return until(search, seconds, f"{kind} of job {number}", pause=1)

    def changes(self) -> list[str]:
        """Every recorded command that is no listing."""
        return changes(self.log)

    def stop(self) -> None:
        """End controller and site."""
        self.controller.stop()
        self.site.stop()


@pytest.fixture
def watched(short_folder: Path, real_slurm: SlurmCluster) -> Iterator[Callable[..., Watched]]:
    made: list[Watched] = []
    real_slurm.forget_jobs()  # an earlier test's failures would be repaired here

    def make(mode: str, stores: Stores | None = None) -> Watched:
        made.append(Watched(short_folder, real_slurm, mode, stores))
        return made[-1]

    yield make
    for one in made:
        one.stop()


@pytest.fixture
def stores() -> Iterator[Stores]:
    with Stores(Path(subprocess.check_output(["mktemp", "-d"], text=True, timeout=5).strip())) as stores:
        yield stores


def test_action_mode(watched: Callable[..., Watched], real_slurm: SlurmCluster) -> None:
    """A crash and a hang are repaired; a cancelled job and one at its time limit are left alone."""
    here = watched("action")
    here.site.start()
    here.controller.start()
    limited = submit_training(real_slurm, [], name="limited", steps=9999, sbatch=["-t1"])
    cancelled = submit_training(real_slurm, [], name="cancelled", steps=9999)
    broken = submit_training(real_slurm, [ECC], name="broken")
    hung = submit_training(real_slurm, [STOPPED], name="hung", steps=45)

    trail = assert_recovered_once(here.person, "real", broken, 150)
    for kind in ("allocation_restarted", "progress_resumed", "training_completed"):
        payload = next(event["payload"] for event in trail if event["eventType"] == kind)
        assert payload["seconds_since_failure"] > 0

    real_slurm.client(["scancel", str(cancelled)])
    trail = here.trail_with(hung, "training_completed", 120)
    (advice,) = advice_of(trail)
    silent = here.person.attempts("real", hung)[0]["allocatedNodes"][2]
    assert silent not in advice["payload"]["excluded_nodes"]  # silence alone names nobody
    assert any(event["payload"].get("kind") == "hang" for event in trail if event["eventType"] == "anomaly")

    for number, word in ((cancelled, "cancel"), (limited, "time limit")):
        left_alone = here.trail_with(number, "no_advice", 120)
        assert any(word in event["sentence"].lower() for event in left_alone if event["eventType"] == "no_advice")
        assert len(here.person.attempts("real", number)) == 1
        assert not [line for line in here.changes() if re.search(rf"(?:JobId=| ){number}(?: |$)", line)]


def test_monitor_mode_sends_listings_only(watched: Callable[..., Watched], real_slurm: SlurmCluster) -> None:
    here = watched("monitor")
    here.site.start()
    here.controller.start()
    number = submit_training(real_slurm, [ECC])
    advice = advice_of(here.trail_with(number, "advice", 60))
    assert [len(event["payload"]["excluded_nodes"]) for event in advice] == [1]
    until(
        lambda: "would requeue" in (here.controller.running.text() if here.controller.running else ""), 180, "a say"
    )
    assert here.changes() == []
    assert len(here.person.attempts("real", number)) == 1


def test_a_number_used_again_is_another_job(watched: Callable[..., Watched], real_slurm: SlurmCluster) -> None:
    here = watched("monitor")
    here.site.start()
    first = submit_training(real_slurm, [ECC], name="same")
    here.trail_with(first, "advice", 60)
    real_slurm.forget_jobs(next_number=first)
    second = submit_training(real_slurm, [], name="same", steps=20)
    assert second == first

    def told_apart() -> set[str]:
        jobs = here.person.ask(f"/v1/jobs/by-scheduler-id/{first}", cluster="real")["jobs"]
        ids = {job["heimdallJobId"] for job in jobs}
        return ids if len(ids) == 2 else set()

    until(told_apart, 180, "two jobs with one number", pause=1)
    newest = here.person.ask(f"/v1/jobs/{second}-0", cluster="real")["job"]
    assert newest["progress"]["loadedCheckpointStep"] is None
    events = here.person.ask("/v1/audit/events", cluster="real", heimdallJobId=newest["heimdallJobId"])["items"]
    assert "anomaly" not in types(events)


def test_production_set_with_a_worker_killed(
    watched: Callable[..., Watched], real_slurm: SlurmCluster, stores: Stores, tmp_path: Path
) -> None:
    here = watched("action", stores)
    mark = tmp_path / "killed"
    here.site.start(killing(mark))
    here.controller.start()
    with here.site.listen(here.person, "overview") as page:
        page.recv(timeout=180)  # the greeting
        number = submit_training(real_slurm, [ECC])
        assert "overview" in json.loads(page.recv(timeout=180))["topics"]
    until(mark.exists, 180, "the worker killed itself")
    trail = assert_recovered_once(here.person, "real", number, 150)
    found = [(event["pattern"], event["payload"]["key"]) for event in trail if event["eventType"] == "anomaly"]
    assert len(found) == len(set(found))


def test_controller_and_slurmctld_killed_between_hold_and_release(
    watched: Callable[..., Watched], real_slurm: SlurmCluster, stores: Stores, tmp_path: Path
) -> None:
    here = watched("action", stores)
    mark = tmp_path / "killed"
    here.site.start()
    here.controller.start(killing(mark))
    number = submit_training(real_slurm, [ECC])
    until(mark.exists, 180, "the controller killed itself")
    until(here.controller.died, 180, "the controller is dead")
    saved = real_slurm.layout.folder / "state" / "job_state"
    held_at = time.time()
    real_slurm.client(["scontrol", "update", f"JobId={number}", "MailUser=x"])  # nothing is saved twice
    until(lambda: saved.stat().st_mtime > held_at, 180, "slurmctld saved its state")
    real_slurm.crash("slurmctld")
    real_slurm.up("slurmctld")
    here.controller.start()
    assert_recovered_once(here.person, "real", number, 150)
    assert len([line for line in here.changes() if "requeuehold" in line]) == 1


def test_without_opt_in_nothing_is_done(watched: Callable[..., Watched], real_slurm: SlurmCluster) -> None:
    here = watched("action")
    here.site.start()
    here.controller.start()
    quiet = {"nvidia-recovery": {**OPT_IN["nvidia-recovery"], "mode": "monitor"}}
    number = submit_training(real_slurm, [ECC], opt_in=quiet)
    here.trail_with(number, "advice", 60)
    until(lambda: "would" in (here.controller.running.text() if here.controller.running else ""), 180, "a say")
    assert here.changes() == []
