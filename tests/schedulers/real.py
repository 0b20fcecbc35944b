"""How is the private real Slurm of the lab put under the contract?"""

import contextlib
import subprocess
import time

from lab.parts.running import until
from lab.slurm.cluster import SlurmCluster


class RealCluster:
    """`tests.schedulers.contract.ClusterUnderTest` on a real Slurm."""

    kind = "slurm"
    path = ""
    user = "root"
    patience = 180.0

    def __init__(self, lab: SlurmCluster) -> None:
        self.lab = lab
        self.config = str(lab.layout.conf)
        self.node_names = tuple(lab.layout.node_names)

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
        trap = "trap '' TERM\necho stubborn\n" if ignore_term else ""
        number = self.lab.submit(
            f"#!/bin/bash\n{trap}sleep {seconds}\nexit {exit_code}\n",
            f"--nodes={nodes}",
            f"--job-name={name}",
            *([f"--comment={comment}"] if comment else []),
            "--requeue" if requeue else "--no-requeue",
        )
        if ignore_term:
            self.until_said(number, "stubborn")
        return number

    def until_said(self, number: int, words: str) -> None:
        """Wait until a job has printed that."""
        out = self.lab.layout.jobs / f"slurm-{number}.out"
        until(lambda: out.exists() and words in out.read_text(), self.patience, f"{words} in {out}", pause=0.05)

    def lose_node(self, name: str) -> None:
        self.lab.crash(f"slurmd-{name}")

    def return_node(self, name: str) -> None:
        self.lab.up(f"slurmd-{name}")

    def drain_node(self, name: str, reason: str) -> None:
        self.lab.client(["scontrol", "update", f"NodeName={name}", "State=DRAIN", f"Reason={reason}"])

    def resume_node(self, name: str) -> None:
        """Give it back; told again where it was refused and the node is still away."""
        until(lambda: self._given_back(name), self.patience, f"{name} is given back")

    def stop_scheduler(self) -> None:
        self.lab.down("slurmctld")

    def start_scheduler(self) -> None:
        self.lab.up("slurmctld")

    def clear(self) -> None:
        """Cancel what still runs and give every node back, so that tests do not see each other."""
        for number in self._jobs("PD,R,S,CF"):
            try:
                self.lab.client(["scancel", number])
            except subprocess.CalledProcessError:
                continue  # a part of a heterogeneous job ends with its leader
        ends = time.monotonic() + 180
        while (away := self._nodes("drain,drained,down")) or self._jobs("PD,R,S,CF,CG"):
            for name in away:
                self._given_back(name)
            if time.monotonic() > ends:
                raise TimeoutError("jobs or nodes of an earlier test do not come to rest")
            time.sleep(0.1)

    def _given_back(self, name: str) -> bool:
        with contextlib.suppress(subprocess.CalledProcessError):
            self.lab.client(["scontrol", "update", f"NodeName={name}", "State=RESUME"])
        return name not in self._nodes("drain,drained,down")

    def _nodes(self, states: str) -> set[str]:
        return set(self.lab.client(["sinfo", "-h", "-N", "-t", states, "-o", "%N"]).split())

    def _jobs(self, states: str) -> list[str]:
        # Tasks of arrays as 7_2: by its bare number scancel silently spares a task whose array's last task ended.
        return self.lab.client(["squeue", "-h", "-a", "-r", "-t", states, "-o", "%i"]).split()
