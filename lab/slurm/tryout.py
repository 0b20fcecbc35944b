"""`python -m lab.slurm tryout`: how does a person try Rekindle on a real Slurm without having one?

A private Slurm, a site that watches it in monitor mode, and a shell in which both can be used. Whatever ends the
shell ends everything; nothing stays.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import types
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from lab.parts.ports import free_port
from lab.slurm.cluster import LabError, SlurmCluster
from lab.slurm.layout import Layout, answers, free_base_port
from lab.slurm.processes import wait_for

ROOT = Path(__file__).resolve().parents[2]
NODES = 5
NAME = "lab"  # of the cluster and of its environment
PERSON = "operator"
LIMITS = {
    "hang_floor_seconds": 6,
    "hang_cold_seconds": 20,
    "startup_seconds": 30,
    "blind_seconds": 20,
    "settle_seconds": 1,
}
"""A step of the stand-in takes half a second; a real one a hundred times longer."""

WELCOME = """
  A private Slurm with {nodes} nodes and accounting is up; Rekindle watches it in monitor mode and changes nothing.

  Recovery Console   {address}/
  sign in once with  {link}

  Three commands to try, here in {jobs}:

    sbatch train.sh
        a training job on three nodes; at its 20th step a GPU breaks and it dies; the console says what it would do
    manage cluster mode {name} action --acknowledge-scheduler-actions --reason "trying it out"
        from now on advice is for a controller to carry out
    controller run --config {config} &
        the controller; the next job (`sbatch train.sh`) comes back without the broken node

  `manage` and `controller` are the site's and the controller's own commands. Ending this shell ends everything.
"""

TRAIN = """#!/bin/sh
#SBATCH --job-name=train
#SBATCH --nodes=3
#SBATCH --ntasks-per-node=1
#SBATCH --output=%x_%j.log
#SBATCH --comment='{{"nvidia-recovery": {{"environment": "{name}", "mode": "action"}}}}'
# A stand-in: three ranks step together and save checkpoints; in the first attempt rank 1 loses its GPU.
export PYTHONPATH={root}
exec srun --kill-on-bad-exit=1 {python} -m lab.trainer --folder "checkpoints-$SLURM_JOB_ID" \\
    --port $(({port} + SLURM_JOB_ID % 100)) --steps 60 --step-seconds 0.5 --checkpoint-every 5 \\
    --faults '[{{"attempt": 0, "step": 20, "rank": 1, "kind": "ecc"}}]'
"""

CONTROLLER = """cluster = "{name}"
environment = "{name}"

[advisor]
url = "{address}"
token_file = "{folder}/site/controller.token"

[scheduler]
kind = "slurm"
config = "{conf}"

[controller]
mode = "action"
acknowledgeSchedulerActions = true
environmentPattern = "{name}"
journal = "{folder}/site/journal.jsonl"
"""


class Tryout:
    """The private Slurm and the site in one folder. A context manager: up on entry, gone on exit."""

    def __init__(self, layout: Layout) -> None:
        self.folder = layout.folder
        self.cluster = SlurmCluster(layout)
        self.config = self.folder / "controller.toml"
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        self._settings = {
            "REKINDLE_STATE_DIR": str(self.folder / "site"),
            "REKINDLE_LISTEN": f"127.0.0.1:{port}",
            "REKINDLE_BASE_URL": self.address,
        }
        self._port = port

    def __enter__(self) -> "Tryout":
        self.cluster.refuse_early()
        _say("starting a private Slurm and the site, in about twenty seconds …")
        self.cluster.start()
        try:
            self._furnish()
            self.cluster.processes.spawn("site", [sys.executable, str(ROOT / "manage.py"), "serve"], self._settings)
            if not wait_for(lambda: answers(self._port) or not self.cluster.processes.pid("site"), 180, 0.2):
                raise LabError(f"The site does not answer; see {self.folder}/log/site.out.")
            if not self.cluster.processes.pid("site"):
                raise LabError(f"The site did not start; see {self.folder}/log/site.out.")
        except BaseException:
            self._stop(keep=True)
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # a second one must not leave half of it running
        _say("stopping everything …")
        self._stop(keep=False)
        _say("everything is stopped and removed.")

    def welcome(self) -> str:
        """What the person reads first, with a sign-in that works once."""
        link = self.manage("sign_in_link", PERSON, "--address", self.address, "--minutes", "60").strip()
        return WELCOME.format(
            nodes=self.cluster.layout.nodes,
            address=self.address,
            link=link,
            jobs=self.cluster.layout.jobs,
            config=self.config,
            name=NAME,
        )

    def manage(self, *words: str) -> str:
        """Run one of the site's commands; what it printed. `LabError` with its last line when it refuses."""
        run = subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *words],
            cwd=ROOT,
            env={**os.environ, **self._settings},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if run.returncode:
            raise LabError(f"`manage.py {words[0]}` failed: {(run.stderr.strip().splitlines() or ['no word'])[-1]}")
        return run.stdout

    def shell(self) -> int:
        """Run the person's shell until it ends; its exit status."""
        path = f"{self.folder / 'bin'}:{os.environ.get('PATH', '/usr/bin:/bin')}"
        shell = subprocess.Popen(
            [os.environ.get("SHELL") or "/bin/sh"],
            cwd=self.cluster.layout.jobs,
            env={**os.environ, **self.cluster.environment, "PATH": path},
        )
        try:
            return shell.wait()
        finally:
            if shell.poll() is None:
                shell.send_signal(signal.SIGHUP)  # an interactive shell does not end by TERM
                wait_for(lambda: shell.poll() is not None, 3)
                shell.kill()
                shell.wait()

    def _furnish(self) -> None:
        layout = self.cluster.layout
        (self.folder / "site").mkdir(mode=0o700)
        self.manage("migrate", "-v", "0")
        limits = [word for name, seconds in LIMITS.items() for word in ("--limit", f"{name}={seconds}")]
        where = ["--scheduler-config", str(layout.conf), "--log-root", str(layout.jobs)]
        self.manage("cluster", "add", NAME, "--environment", NAME, "--poll-seconds", "1", *where, *limits)
        self.manage("createsuperuser", "--noinput", "--username", PERSON, "--email", "operator@example.org")
        token = self.manage("token", "create", f"controller-of-{NAME}", "--role", "controller", "--cluster", NAME)
        (self.folder / "site" / "controller.token").touch(mode=0o600)
        (self.folder / "site" / "controller.token").write_text(token)
        self.config.write_text(
            CONTROLLER.format(name=NAME, address=self.address, folder=self.folder, conf=layout.conf)
        )
        words = {"root": shlex.quote(str(ROOT)), "python": shlex.quote(sys.executable), "port": layout.port(100)}
        (layout.jobs / "train.sh").write_text(TRAIN.format(name=NAME, **words))
        self._write_commands(self._settings)

    def _write_commands(self, settings: Mapping[str, str]) -> None:
        """`manage`, and `controller`, which records its process id so that it ends with everything else."""
        folder, python = self.folder / "bin", shlex.quote(sys.executable)
        folder.mkdir()
        exports = " ".join(f"{name}={shlex.quote(value)}" for name, value in settings.items())
        record = f"printf '%s %s' $$ \"$(cut -d' ' -f22 /proc/$$/stat)\" > {self.folder}/run/controller-$$.pid"
        there = f"cd {shlex.quote(str(ROOT))}"
        bodies = {
            "manage": f"export {exports}\n{there}\nexec {python} manage.py",
            "controller": f"{record}\n{there}\nexec {python} -m controller",
        }
        for name, body in bodies.items():
            (folder / name).write_text(f'#!/bin/sh\n{body} "$@"\n')
            (folder / name).chmod(0o755)

    def _stop(self, keep: bool) -> None:
        processes = self.cluster.processes
        for name in processes.names():
            if name.startswith("controller-") or name == "site":
                processes.halt(name)
        self.cluster.stop(keep=keep)


def main() -> int:
    """Start everything, say how to use it, run the shell, and take everything away; the shell's exit status."""
    for name in [name for name in os.environ if name.startswith(("REKINDLE_", "SLURM"))]:
        del os.environ[name]  # what the caller watches elsewhere is not ours
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    folder = Path(tempfile.mkdtemp(prefix="rk-slurm-"))
    folder.chmod(0o755)
    try:
        with Tryout(Layout(folder, nodes=NODES, base_port=free_base_port(NODES), name=NAME)) as tryout:
            print(tryout.welcome(), flush=True)
            signal.signal(signal.SIGINT, _let_the_shell_have_it)
            return tryout.shell()
    except BaseException as error:
        if isinstance(error, LabError) and (folder / "log").exists():
            _say(f"what had begun is stopped; its logs are kept in {folder}.")
        else:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _end(number: int, _frame: types.FrameType | None) -> NoReturn:
    sys.exit(128 + number)


def _let_the_shell_have_it(_number: int, _frame: types.FrameType | None) -> None:
    """Ctrl-C is meant for what runs in the shell. A function, since a child would inherit SIG_IGN."""


def _say(line: str) -> None:
    print(f"rekindle: {line}", file=sys.stderr, flush=True)
