"""How were the recorded answers made, and how are those of another version made?

`python -m tests.schedulers.recording` starts a private Slurm, brings jobs and nodes into every state that it can,
and writes each answer with its exact command into `recorded/VERSION/NAME.json`. Host names and folders of the
machine are replaced. It takes three minutes, most of them waiting for a time limit and for a hung controller.
"""

import json
import re
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from lab.slurm.cluster import SlurmCluster
from lab.slurm.layout import Layout
from schedulers.slurm import accounting, commands
from schedulers.slurm.listing import Borders
from schedulers.transport import Answer, LocalTransport, Transport

RECORDED = Path(__file__).parent / "recorded"
BORDERS = Borders("\x1fRecord", "\x1eRecord")  # fixed, so that the recordings can be told again with any others
LAYOUT = BORDERS.layout()
HOSTILE = 'a|b\nJobId=1 UserId=root(0) ExcNodeList=n09 \x1f\x1e\n7\x1f é "q" \''
SLEEP = "#!/bin/bash\nsleep 600\n"
STUBBORN = "#!/bin/bash\ntrap '' TERM\nsleep 600\n"
NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
HOSTNAMES = (
    "gpu[01-03,07]-ib[0-1]",
    "n[9-11]",
    "n[09-11]",
    "n[098-101]",
    "n[1,1]",
    "a,b",
    "n[01-2]",
    "n[1-2][0-1]",
    "n[8-10],n[011-012]",
    "[1-2]",
    "n-1",
)


def recorded(version: str, name: str) -> tuple[tuple[str, ...], Answer]:
    """A recorded command and its answer."""
    kept = json.loads((RECORDED / version / f"{name}.json").read_text())
    return tuple(kept["command"]), Answer(kept["returncode"], kept["stdout"], kept["stderr"])


class Recorder:
    """Runs commands and keeps their answers below one folder."""

    def __init__(self, transport: Transport, folder: Path, scrubs: Sequence[tuple[str, str]]) -> None:
        self._transport = transport
        self._folder = folder
        self._scrubs = scrubs
        folder.mkdir(parents=True, exist_ok=True)

    def keep(self, name: str, argv: tuple[str, ...]) -> None:
        """Run `argv` and write what it answered."""
        answer = asdict(self._transport.run(argv, 60))
        for pattern, instead in self._scrubs:
            for output in ("stdout", "stderr"):
                answer[output] = re.sub(pattern, instead, answer[output])
        text = json.dumps({"command": argv, **answer}, indent=1, ensure_ascii=False)
        (self._folder / f"{name}.json").write_text(f"{text}\n")


class Scenes:
    """The cluster in the states that are recorded. Numbers of jobs are kept by the name of what they show."""

    def __init__(self, cluster: SlurmCluster, recorder: Recorder) -> None:
        self.cluster = cluster
        self.keep = recorder.keep
        self.jobs: dict[str, int] = {}

    def submit(self, name: str, script: str, *options: str) -> int:
        if not any(option.startswith("--job-name") for option in options):
            options = (f"--job-name={name}", *options)
        self.jobs[name] = self.cluster.submit(script, *options)
        return self.jobs[name]

    def wait(self, name: str, state: str) -> None:
        ends = time.monotonic() + 120
        number = str(self.jobs[name])
        while (
            state not in self.cluster.client(["squeue", "-h", "-a", "-t", "all", "-j", number, "-o", "%T"]).split()
        ):
            if time.monotonic() > ends:
                raise TimeoutError(f"{name} never was {state}")
            time.sleep(0.05)

    def admin(self, *argv: str) -> None:
        self.cluster.client(argv)

    def build(self) -> None:
        """A job for every state, the quick ones last so that none is purged."""
        self.submit("limited", "#!/bin/bash\nsleep 600\n", "--time=1")
        self.submit("nodefail", SLEEP, "--no-requeue", "--nodelist=n05", "--exclusive")
        self.submit("excluded", SLEEP, "--nodes=2", "--exclude=n04,n05")
        self.submit("running", SLEEP, "--nodes=2", '--comment={"APS":{"auto_resume_mode":"requeue"}}')
        self.submit("array", SLEEP, "--array=0-3%2")
        self.submit("het", SLEEP, "--nodes=1", ":", "--nodes=1")
        self.submit("hostile", SLEEP, f"--job-name={HOSTILE}", f"--comment={HOSTILE}")
        self.submit("suspended", SLEEP)
        self.submit("ours", SLEEP, "--nodes=2")
        self.submit("special", SLEEP)
        self.submit("norequeue", SLEEP, "--no-requeue")
        self.submit("userhold", SLEEP, "--hold")
        self.submit("adminhold", SLEEP, "--begin=now+3600")
        self.submit("toolarge", SLEEP, "--nodes=5", "--exclusive")
        self.submit("parent", "#!/bin/bash\nexit 1\n")
        self.submit("never", SLEEP, f"--dependency=afterok:{self.jobs['parent']}")
        self.submit("paths", SLEEP, "--output=%x_%j_%t.log", "--error=%N.err", "--requeue")
        for name in ("nodefail", "suspended", "ours", "special", "het", "array", "norequeue", "hostile", "running"):
            self.wait(name, "RUNNING")
        self.admin("scontrol", "update", "NodeName=n05", "State=DOWN", "Reason=not\nfit: Xid 79")
        self.admin("scontrol", "suspend", str(self.jobs["suspended"]))
        self.admin("scontrol", "update", f"JobId={self.jobs['ours']}", "AdminComment=rekindle/1 g=1 r=0 until=9")
        self.admin("scontrol", "requeuehold", "Incomplete", str(self.jobs["ours"]))
        self.admin("scontrol", "requeuehold", "State=SpecialExit", str(self.jobs["special"]))
        self.admin("scontrol", "hold", str(self.jobs["adminhold"]))
        self.wait("limited", "TIMEOUT")

    def build_quick(self) -> None:
        """What ends by itself, and what is caught in passing."""
        self.submit("fails", "#!/bin/bash\nexit 3\n")
        self.submit("killed", "#!/bin/bash\nkill -9 $$\n")
        self.submit("segfault", "#!/bin/bash\nbash -c 'kill -SEGV $$'\n")
        self.submit("nowhere", SLEEP, "--output=/proc/none/x")
        self.submit("succeeds", "#!/bin/bash\ntrue\n")
        self.submit("cancelled", SLEEP)
        self.submit("requeued", SLEEP)
        self.submit("stubborn", STUBBORN, "--nodes=2")
        for name in ("cancelled", "requeued", "stubborn"):
            self.wait(name, "RUNNING")
        for name in ("fails", "killed", "segfault", "nowhere", "parent"):
            self.wait(name, "FAILED")
        self.admin("scancel", str(self.jobs["cancelled"]))
        self.wait("cancelled", "CANCELLED")
        self.admin("scontrol", "requeue", str(self.jobs["requeued"]))
        self.wait("requeued", "PENDING")
        time.sleep(1)
        self.admin("scontrol", "requeuehold", "Incomplete", str(self.jobs["stubborn"]))

    def record_reading(self) -> None:
        number = self.jobs
        self.keep("jobs", commands.list_jobs(LAYOUT))
        for name in ("excluded", "hostile", "array", "het"):
            self.keep(f"job_{name}", commands.list_job(number[name], LAYOUT))
            self.keep(f"show_{name}", commands.show_job(str(number[name])))
        self.keep("job_unknown", commands.list_job(60_000_000, LAYOUT))
        self.keep("job_beyond", commands.list_job(4_000_000_000, LAYOUT))
        self.admin(
            "scontrol", "update", "NodeName=n04", "State=DRAIN", "Reason=bad [x@5] State=IDLE", "Comment=c Reason=1"
        )
        self.cluster.crash("slurmd-n03")
        self.keep("config", commands.show_config())
        self.keep("statistics", commands.statistics())
        self.keep("ping", commands.ping())
        self.keep("unknown_column", ("squeue", "-h", "-O", "NoSuchColumn:x"))
        for place, text in enumerate(HOSTNAMES):
            self.keep(f"hostnames_{place:02d}", ("scontrol", "show", "hostnames", text))

    def record_refusals(self) -> None:
        number = {name: str(one) for name, one in self.jobs.items()}
        hold = commands.requeue_hold
        self.keep("refused_waiting", hold(number["ours"], running=False))
        self.keep("refused_norequeue", hold(number["norequeue"], running=True))
        self.keep("refused_follower", hold(str(self.jobs["het"] + 1), running=True))
        self.keep("refused_unknown", hold("60000000", running=True))
        self.keep("refused_stranger", (*NOBODY, *hold(number["running"], running=True)))
        self.keep("refused_exclusions_running", commands.set_exclusions(number["running"], ["n01"]))
        self.keep("refused_exclusions_node", commands.set_exclusions(number["ours"], ["n01", "nowhere"]))
        self.keep("refused_mark_finished", commands.set_mark(number["fails"], "rekindle/1"))
        self.keep("refused_mark_stranger", (*NOBODY, *commands.set_mark(number["running"], "rekindle/1")))
        self.keep("refused_mark_unknown", commands.set_mark("60000000", "rekindle/1"))
        self.keep("refused_release_unknown", commands.release("60000000"))
        self.keep("refused_release_stranger", (*NOBODY, *commands.release(number["ours"])))
        self.keep("refused_cancel_stranger", (*NOBODY, *commands.cancel(number["running"])))
        self.keep("refused_long", ("scontrol", "update", f"JobId={number['ours']}", f"Comment={'x' * 1100}"))
        self.keep("silent_cancel_finished", commands.cancel(number["fails"]))
        self.keep("silent_hold_finished", hold(number["fails"], running=True))
        self.keep("silent_mark", commands.set_mark(number["ours"], "rekindle/1 g=2 r=1 until=9"))

    def record_accounting(self) -> None:
        time.sleep(10)  # the accounting lags
        for name in ("stubborn", "cancelled", "nodefail", "fails", "killed", "hostile", "array", "limited", "ours"):
            self.keep(f"ended_{name}", commands.accounting(self.jobs[name], accounting.COLUMNS, BORDERS.field))
        self.keep("ended_unknown", commands.accounting(60_000_000, accounting.COLUMNS, BORDERS.field))

    def record_silence(self) -> None:
        number = str(self.jobs["running"])
        self.keep("nodes", commands.show_nodes())  # the crashed one is down by now
        asked = {
            "jobs": commands.list_jobs(LAYOUT),
            "nodes": commands.show_nodes(),
            "config": commands.show_config(),
            "statistics": commands.statistics(),
            "ping": commands.ping(),
            "requeuehold": commands.requeue_hold(number, running=True),
            "mark": commands.set_mark(number, "rekindle/1"),
            "release": commands.release(number),
            "cancel": commands.cancel(number),
        }
        self.cluster.hang("slurmctld")
        for name in ("jobs", "ping", "requeuehold"):
            self.keep(f"hung_{name}", asked[name])
        self.cluster.resume("slurmctld")
        self.cluster.down("slurmctld")
        for name, argv in asked.items():
            self.keep(f"down_{name}", argv)
        self.cluster.up("slurmctld")
        self.cluster.down("slurmdbd")
        self.keep("down_accounting", commands.accounting(self.jobs["fails"], accounting.COLUMNS, BORDERS.field))


def record(cluster: SlurmCluster, transport: Transport, folder: Path, scrubs: Sequence[tuple[str, str]]) -> None:
    """Every scene on one cluster that keeps accounting and purges no job within five minutes."""
    recorder = Recorder(transport, folder, scrubs)
    recorder.keep("jobs_none", commands.list_jobs(LAYOUT))
    scenes = Scenes(cluster, recorder)
    scenes.build()
    scenes.build_quick()
    scenes.record_reading()
    scenes.record_refusals()
    scenes.record_accounting()
    time.sleep(30)  # until the node that does not answer is called down
    scenes.record_silence()


def scrubbing(folder: Path) -> list[tuple[str, str]]:
    """What must not stay of this machine: patterns and what stands instead."""
    return [
        (re.escape(str(folder)), "/lab"),
        (rf"\b{re.escape(socket.gethostname())}\b", "head"),
        (r"OS=Linux [^=]*? (?=\w+=)", "OS=Linux 6.1.0 #1 SMP PREEMPT_DYNAMIC "),
    ]


def main() -> None:
    """Record the installed version."""
    version = subprocess.run(["slurmctld", "-V"], capture_output=True, text=True, check=True, timeout=10).stdout
    series = ".".join(version.split()[1].split(".")[:2])
    for accounts in (False, True):
        folder = Path(tempfile.mkdtemp(prefix="schedlab-")) / "c"
        folder.parent.chmod(0o755)
        layout = Layout(folder, nodes=5, base_port=23500, min_job_age=300, accounting=accounts)
        with SlurmCluster(layout) as cluster:
            transport = LocalTransport("", str(layout.conf))
            if accounts:
                record(cluster, transport, RECORDED / series, scrubbing(folder))
            else:
                asked = commands.accounting(1, accounting.COLUMNS, BORDERS.field)
                Recorder(transport, RECORDED / series, scrubbing(folder)).keep("ended_no_accounting", asked)
        folder.parent.rmdir()


if __name__ == "__main__":
    main()
