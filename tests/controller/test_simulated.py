"""Do the real programs, by their real command lines, bring a job back on a simulated Slurm?"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from controller.config import read_config
from lab.parts.running import end_process
from schedulers.port import JobDetail
from schedulers.slurm.adapter import Slurm
from schedulers.states import JobState
from schedulers.transport import LocalTransport
from tests.controller.advisor import Server, SmallAdvisor, advice, wire
from tests.controller.conftest import write_config

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 180.0  # seconds


def until(true: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"waited too long until {what}"
        time.sleep(0.1)


class Site:
    """A simulated cluster, a small Advisor in real time, and the controller's processes."""

    def __init__(self, folder: Path, advisor: SmallAdvisor, config: Path) -> None:
        self.folder = folder
        self.advisor = advisor
        self.config = config
        self.slurm = Slurm(LocalTransport(str(folder / "bin"), ""), 10.0)
        self.running: list[subprocess.Popen[bytes]] = []

    def program(self, *words: str) -> subprocess.Popen[bytes]:
        log = (self.config.parent / f"{words[0]}.log").open("ab")
        with log:
            command = [sys.executable, "-m", "controller", *words, "--config", str(self.config)]
            self.running.append(subprocess.Popen(command, cwd=ROOT, stderr=log, stdout=log))
        return self.running[-1]

    def ask(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "controller", *words, "--config", str(self.config)]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)

    def submit(self, **play: Any) -> int:
        path = self.config.parent / "play.json"
        whole = {"name": "train", "user": "trainer", "nodes": 2, "steps": 400, "step_seconds": 0.1, **play}
        path.write_text(json.dumps(whole))
        command = [sys.executable, "-m", "lab.simulate", "submit", str(self.folder), "--play", str(path)]
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=True)
        return int(said.stdout.split()[-1])

    def job(self, number: int) -> JobDetail:
        return self.slurm.job(number)

    def reach(self, number: int, state: JobState, restarts: int) -> JobDetail:
        shown = self.job(number)

        def there() -> bool:
            nonlocal shown
            shown = self.job(number)  # one look for both: between two the job may move on
            return (shown.row.state, shown.row.restarts) == (state, restarts)

        until(there, state.label)
        return shown

    def advise(self, number: int, nodes: tuple[str, ...], hold_seconds: int = 60, **changes: Any) -> None:
        now = datetime.now(UTC)
        row = self.job(number).row
        assert row.submitted_at is not None
        times = {
            "notBefore": wire(now),
            "holdUntil": wire(now + timedelta(seconds=hold_seconds)),
            "expiresAt": wire(now + timedelta(minutes=5)),
            "observedState": {"submittedAt": wire(row.submitted_at)},
        }
        self.advisor.advice = [advice(number, nodeConstraints={"excludedNodes": [*nodes]}, **{**times, **changes})]

    def log(self) -> str:
        return "".join(path.read_text() for path in self.config.parent.glob("*.log"))


@pytest.fixture
def site(tmp_path: Path, token_file: Path) -> Iterator[Site]:
    cluster = tmp_path / "c"
    scenario = tmp_path / "scenario.json"
    scenario.write_text(json.dumps({"settings": {"nodes": 4, "requeue_wait_seconds": 1, "kill_wait_seconds": 1}}))
    advisor = SmallAdvisor(lambda: datetime.now(UTC))
    command = [sys.executable, "-m", "lab.simulate", "serve", str(cluster), "--scenario", str(scenario)]
    with Server(advisor) as server, subprocess.Popen(command, cwd=ROOT) as simulator:
        made = Site(
            cluster, advisor, write_config(tmp_path, server.url, token_file, scheduler_path=f'"{cluster}/bin"')
        )
        try:
            until((cluster / "ready").exists, "the simulator is ready")
            yield made
        finally:
            for process in [*made.running, simulator]:
                process.terminate()
            for process in [*made.running, simulator]:
                end_process(process, PATIENCE)


def failing(node: str) -> dict[str, Any]:
    return {"faults": [{"kind": "exit", "step": 3, "attempt": 0, "node_name": node, "exit_code": 1}]}


def test_a_failed_job_comes_back_without_the_excluded_node(site: Site) -> None:
    controller = site.program("run")
    number = site.submit(**failing("n01"))
    site.reach(number, JobState.FAILED, 0)
    site.advise(number, ("n01",))
    detail = site.reach(number, JobState.RUNNING, 1)
    assert detail.excluded_nodes == ("n01",) and "n01" not in detail.row.nodes
    until(lambda: site.advisor.reports, "the advice is reported")
    assert site.advisor.reports[0][1:] == ("CONVERGED", "DESIRED_STATE_OBSERVED")
    assert [key.split(":")[1] for key in site.advisor.milestones] == [
        "SLURM_REQUEUE_HOLD",
        "SLURM_UPDATE_CONSTRAINTS",
        "SLURM_RELEASE",
    ]
    assert site.job(number).row.admin_comment == ""
    controller.terminate()
    assert controller.wait(PATIENCE) == 0
    assert site.log().splitlines()[-1].endswith("stopped")


def test_a_hung_job_is_held_while_it_runs_and_comes_back(site: Site) -> None:
    site.program("run")
    number = site.submit()
    site.reach(number, JobState.RUNNING, 0)
    site.advise(number, ("n02",))
    detail = site.reach(number, JobState.RUNNING, 1)
    assert "n02" not in detail.row.nodes
    until(lambda: site.advisor.reports, "the advice is reported")


def test_a_controller_killed_between_hold_and_release_is_replaced_by_the_watchdog(site: Site) -> None:
    controller = site.program("run")
    number = site.submit(**failing("n01"))
    site.reach(number, JobState.FAILED, 0)
    later = wire(datetime.now(UTC) + timedelta(minutes=4))
    site.advise(number, ("n01",), hold_seconds=6, notBefore=later)
    until(lambda: site.job(number).excluded_nodes == ("n01",), "it is held and excluded")
    controller.kill()
    assert controller.wait(PATIENCE) == -signal.SIGKILL
    assert site.job(number).row.held
    watchdog = site.program("watchdog")
    detail = site.reach(number, JobState.RUNNING, 1)
    assert "n01" not in detail.row.nodes
    assert "its exclusions stay: n01" in site.log()
    watchdog.terminate()
    assert watchdog.wait(PATIENCE) == 0


def test_check_says_in_sentences_what_would_be_done_and_keep_keeps(site: Site) -> None:
    number = site.submit(**failing("n01"))
    site.reach(number, JobState.FAILED, 0)
    later = wire(datetime.now(UTC) + timedelta(minutes=4))
    site.advise(number, ("n01",), hold_seconds=200, notBefore=later)
    checked = site.ask("check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "The configuration has no mistakes." in checked.stdout
    assert "Rights: Slurm lets its administrators alone write AdminComment" in checked.stdout
    assert "The scheduler answers: 22.05" in checked.stdout
    assert f"job {number}-0 g1: would requeue and hold: the log names n03." in checked.stdout
    assert site.job(number).row.state is JobState.FAILED
    site.program("run")
    until(lambda: site.job(number).excluded_nodes == ("n01",), "it is held and excluded")
    kept = site.ask("keep", str(number))
    assert kept.returncode == 0 and "stays held" in kept.stdout
    until(lambda: site.advisor.reports, "the advice is reported")
    assert site.advisor.reports[0][1:] == ("ABANDONED", "GATE_CLOSED")
    assert site.job(number).row.held


def test_monitor_mode_changes_nothing(site: Site, token_file: Path) -> None:
    number = site.submit(**failing("n01"))
    before = site.reach(number, JobState.FAILED, 0)
    site.advise(number, ("n01",))
    settings = read_config(site.config)
    write_config(
        site.config.parent,
        settings.advisor.url,
        token_file,
        scheduler_path=f'"{site.folder}/bin"',
        controller_mode='"monitor"',
    )
    site.program("run")
    until(lambda: "would requeue and hold" in site.log(), "it says what it would do")
    time.sleep(2.0)
    assert site.job(number) == before
    assert {method for method, _, _ in site.advisor.requests} == {"GET"}


@pytest.mark.parametrize("command", ["run", "watchdog", "check", "keep"])
def test_a_mistake_is_one_sentence_and_status_2(tmp_path: Path, token_file: Path, command: str) -> None:
    config = write_config(tmp_path, "http://127.0.0.1:9", token_file, controller_mode='"all"')
    words = [sys.executable, "-m", "controller", command, *(["12"] if command == "keep" else [])]
    said = subprocess.run(
        [*words, "--config", config], cwd=ROOT, capture_output=True, text=True, timeout=180, check=False
    )
    assert said.returncode == 2
    assert said.stderr == f"{config}:14: controller.mode: must be one of monitor, observe, approve, action.\n"
    assert {path.name for path in tmp_path.iterdir()} == {"controller.toml", "token"}


def test_a_second_controller_and_an_open_token_are_refused_at_the_start(site: Site, token_file: Path) -> None:
    site.program("run")
    until(lambda: "started as host-1" in site.log(), "it has started")
    second = site.ask("run", "--once")
    assert second.returncode == 2 and "another controller (process" in second.stderr
    token_file.chmod(0o644)
    third = site.ask("run", "--once")
    assert third.returncode == 2 and "advisor.token_file" in third.stderr and "open to others" in third.stderr
