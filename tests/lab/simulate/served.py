"""How does a test get a simulated cluster that other processes can ask?"""

import json
import os
import subprocess
import sys
from pathlib import Path

from lab.parts.running import end_process, until
from lab.simulate.client import ask

ROOT = Path(__file__).resolve().parents[3]


class ServedCluster:
    """`tests.schedulers.contract.ClusterUnderTest`: five simulated nodes in a process of their own."""

    kind = "slurm"
    config = ""
    user = "trainer"
    patience = 120.0
    node_names = ("n01", "n02", "n03", "n04", "n05")

    def __init__(self, folder: Path, scenario: str = "", **settings: float) -> None:
        self.folder = folder
        self.path = str(folder / "bin")
        if not scenario:
            file = folder.with_name(f"{folder.name}.json")
            usual = {"nodes": 5, "jobs_per_node": 8, "requeue_wait_seconds": 2, "node_timeout_seconds": 1}
            file.write_text(json.dumps({"settings": {**usual, **settings}}))
            scenario = str(file)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lab.simulate", "serve", str(folder), "--scenario", scenario], cwd=ROOT
        )
        try:
            until(self._is_up, 120, "the server begins", pause=0.02)
        except BaseException:
            end_process(self.process)
            raise

    def _is_up(self) -> bool:
        assert self.process.poll() is None, "the server ended"
        return (self.folder / "ready").exists()

    def submit(
        self,
        *,
        nodes: int = 1,
        seconds: float = 600,
        exit_code: int = 0,
        comment: str = "",
        name: str = "train",
        requeue: bool = True,
        ignore_term: bool = False,
    ) -> int:
        """A job that only waits and exits: all its time is start-up."""
        return self.play(
            {
                "name": name,
                "nodes": nodes,
                "comment": comment,
                "requeue": requeue,
                "ignores_term": ignore_term,
                "steps": 0,
                "startup_seconds": seconds,
                "faults": [{"kind": "silent_exit", "exit_code": exit_code}] if exit_code else [],
            }
        )

    def play(self, told: dict[str, object]) -> int:
        """Submit a play; the job's number."""
        return int(self.lab("submit", json.dumps(told)))

    def lab(self, *words: str) -> str:
        """Do what no Slurm command does."""
        code, out, err = ask(str(self.folder), ["lab", *words])
        assert code == 0, err.decode()
        return out.decode()

    def run(
        self, name: str, *words: str, check: bool = True, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of the folder as the product does."""
        return subprocess.run(
            [self.folder / "bin" / name, *words],
            env={"PATH": os.defpath, "SLURM_TIME_FORMAT": "%s", **environment},
            capture_output=True,
            text=True,
            timeout=120,
            check=check,
        )

    def lose_node(self, name: str) -> None:
        self.lab("node", name, "down")

    def return_node(self, name: str) -> None:
        self.lab("node", name, "resume")

    def drain_node(self, name: str, reason: str) -> None:
        self.run("scontrol", "update", f"NodeName={name}", "State=DRAIN", f"Reason={reason}")

    def resume_node(self, name: str) -> None:
        self.run("scontrol", "update", f"NodeName={name}", "State=RESUME")

    def stop_scheduler(self) -> None:
        self.lab("stop-controller")

    def start_scheduler(self) -> None:
        self.lab("start-controller")

    def stop(self) -> int:
        """SIGTERM; the server's return code."""
        return end_process(self.process)
