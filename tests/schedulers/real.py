"""How does a test get a private real Slurm?

A script that starts one is named by `REKINDLE_SLURM_LAB`; it must understand `start DIR KEY=VALUE…`, `up|down DIR
DAEMON`, `kill9 DIR DAEMON` and `stop DIR`.
"""

import os
import subprocess
import tempfile
import time
from pathlib import Path


class RealCluster:
    """`tests.schedulers.contract.ClusterUnderTest` on a real Slurm of five nodes."""

    kind = "slurm"
    path = ""
    user = "root"
    patience = 60.0
    node_names = ("n01", "n02", "n03", "n04", "n05")

    def __init__(self, script: str) -> None:
        self._script = script
        # Short: the path of a unix socket holds 107 bytes.
        self._dir = Path(tempfile.mkdtemp(prefix="schedlab-", dir="/tmp"))
        port = os.environ.get("REKINDLE_SLURM_PORT", "23000")
        try:
            self._lab("start", "NODES=5", "UTS=1", f"BASE_PORT={port}", "REST=0", "SSH=0", "MIN_JOB_AGE=120")
        except BaseException:
            self._dir.rmdir()
            raise
        self.config = str(self._dir / "etc/slurm.conf")

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
        trap = "trap '' TERM\n" if ignore_term else ""
        script = f"#!/bin/bash\n{trap}sleep {seconds}\nexit {exit_code}\n"
        return self.sbatch(
            f"--nodes={nodes}",
            f"--job-name={name}",
            *([f"--comment={comment}"] if comment else []),
            "--requeue" if requeue else "--no-requeue",
            script=script,
        )

    def sbatch(self, *options: str, script: str = "#!/bin/bash\nsleep 600\n") -> int:
        """Submit with any options; the job's number."""
        return int(self.run("sbatch", "--parsable", *options, text=script).split(";")[0])

    def lose_node(self, name: str) -> None:
        self._lab("kill9", f"slurmd-{name}")

    def return_node(self, name: str) -> None:
        self._lab("up", f"slurmd-{name}")

    def drain_node(self, name: str, reason: str) -> None:
        self.run("scontrol", "update", f"NodeName={name}", "State=DRAIN", f"Reason={reason}")

    def resume_node(self, name: str) -> None:
        self.run("scontrol", "update", f"NodeName={name}", "State=RESUME")

    def stop_scheduler(self) -> None:
        self._lab("down", "slurmctld")

    def start_scheduler(self) -> None:
        self._lab("up", "slurmctld")

    def clear(self) -> None:
        """Cancel what still runs and give every node back, so that tests do not see each other."""
        numbers = self.run("squeue", "-h", "-a", "-t", "PD,R,S,CF", "-o", "%A").split()
        for number in sorted(set(numbers)):
            self.run("scancel", number, check=False)  # a part of a heterogeneous job ends with its leader
        for name in self.run("sinfo", "-h", "-N", "-t", "drain,drained,down", "-o", "%N").split():
            self.resume_node(name)
        ends = time.monotonic() + 30
        while self.run("squeue", "-h", "-a", "-t", "PD,R,S,CF,CG", "-o", "%A").split():
            if time.monotonic() > ends:
                raise TimeoutError("jobs of an earlier test do not end")
            time.sleep(0.1)

    def stop(self) -> None:
        self._lab("stop")

    def run(self, *argv: str, text: str = "", check: bool = True) -> str:
        """Run one of Slurm's commands as an administrator would."""
        environment = {**os.environ, "SLURM_CONF": self.config, "LC_ALL": "C.UTF-8"}
        return subprocess.run(
            argv,
            env=environment,
            cwd=self._dir / "jobs",
            input=text,
            capture_output=True,
            text=True,
            timeout=60,
            check=check,
        ).stdout

    def _lab(self, verb: str, *words: str) -> None:
        subprocess.run([self._script, verb, str(self._dir), *words], check=True, capture_output=True, timeout=120)
