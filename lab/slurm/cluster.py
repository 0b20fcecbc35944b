"""How does a private Slurm start, stop, and take jobs?"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from lab.slurm import config
from lab.slurm.layout import CGROUPS, MOST_NODES, Layout, answers
from lab.slurm.processes import Processes, processes_with, wait_for

COMMANDS = ("munged", "slurmctld", "slurmd", "scontrol", "squeue", "sbatch", "scancel")
_NEXT_NUMBER = re.compile(r"^NEXT_JOB_ID\s*=\s*(\d+)", re.MULTILINE)
UP_SECONDS = 120.0  # until a part answers: one or two on a quiet machine


class LabError(RuntimeError):
    """The cluster cannot start; the sentence says what is missing and where to look."""


class SlurmCluster:
    """One private cluster. Usable as a context manager: started on entry, stopped and removed on exit."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.processes = Processes(layout.folder)
        self._unused = 1  # the number that no job ever had

    def __enter__(self) -> "SlurmCluster":
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    @property
    def environment(self) -> dict[str, str]:
        """What clients need."""
        return {"SLURM_CONF": str(self.layout.conf)}

    @property
    def extras(self) -> tuple[str, ...]:
        """The daemons beside those that every cluster has."""
        rest = ("slurmrestd", "slurmrestd-jwt") if self.layout.rest else ()
        return (*(("sshd",) if self.layout.ssh else ()), *rest)

    def start(self) -> float:
        """Build the cluster from nothing; returns the seconds it took. What had begun is stopped on an error."""
        started = time.monotonic()
        self.refuse_early()
        config.write(self.layout)
        self.layout.save()
        try:
            self.up("munged")
            if self.layout.accounting:
                self.up("mariadbd")
                self.up("slurmdbd")
            self.up("slurmctld")
            for name in self.layout.node_names:
                self.up(f"slurmd-{name}")
            self._expect(self._all_idle, UP_SECONDS, "the nodes")
            for name in self.extras:
                self.up(name)
        except BaseException:
            self.stop(keep=True)
            raise
        return time.monotonic() - started

    def refuse_early(self) -> None:
        """Raise `LabError` with one sentence when the cluster could not start here; nothing was done."""
        if os.geteuid() != 0:
            raise LabError("A private Slurm needs root: its nodes have host names of their own.")
        wanted = [*COMMANDS, *(("mariadbd", "slurmdbd") if self.layout.accounting else ())]
        wanted += ["slurmrestd"] if self.layout.rest else []
        missing = [name for name in wanted if not shutil.which(name, path=_path())]
        if missing:
            raise LabError(f"Missing commands: {', '.join(missing)}. `./run slurm` installs the packages.")
        if self.layout.nodes > MOST_NODES:
            raise LabError(f"A private Slurm has at most {MOST_NODES} nodes.")
        if (self.layout.folder / "layout.json").exists():
            raise LabError(f"{self.layout.folder} already holds a cluster.")
        if self.layout.memory_limits and not CGROUPS.is_dir():
            raise LabError(f"Memory limits need cgroup v1, and there is no {CGROUPS}.")
        if len(str(self.layout.socket)) > 100:
            raise LabError(f"{self.layout.folder} is too long a path for unix sockets.")
        taken = self.layout.taken_ports()
        if taken:
            raise LabError(f"Ports already in use: {', '.join(map(str, taken))}.")

    def up(self, name: str) -> None:
        """Start one daemon and wait until it answers."""
        kind, _, node = name.partition("-")
        getattr(self, f"_up_{kind}")(*([node] if node else []))

    def down(self, name: str) -> None:
        """Stop one daemon cleanly."""
        self.processes.halt(name)

    def crash(self, name: str) -> None:
        """Kill one daemon (SIGKILL)."""
        self.processes.halt(name, signal.SIGKILL)

    def hang(self, name: str) -> None:
        """Stop one daemon from running without ending it (SIGSTOP)."""
        self.processes.send(name, signal.SIGSTOP)

    def resume(self, name: str) -> None:
        """Let a hung daemon run again (SIGCONT)."""
        self.processes.send(name, signal.SIGCONT)

    def fail_prolog(self, node: str) -> None:
        """Let the next prolog on a node fail, once; needs a layout with `prolog`."""
        (self.layout.folder / "prolog" / f"{node}.fails").touch()

    def prolog_failed_at(self, node: str) -> float | None:
        """When the prolog failed on a node as ordered, epoch seconds; `None`: not yet."""
        try:
            return float((self.layout.folder / "prolog" / f"{node}.failed").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def spoil_spool(self, node: str) -> None:
        """Put a file where a node's spool folder was: its daemon lives, and can launch no task any more."""
        spool = self.layout.folder / "spool" / node
        spool.rename(spool.with_name(f"{node}.away"))
        spool.touch()

    def forget_jobs(self, next_number: int | None = None) -> None:
        """Lose all jobs, as a controller with an empty state folder does; the accounting still knows them.

        Numbers go on behind all that were ever given, or begin again at `next_number`.
        """
        self._cancel_jobs()
        [given] = _NEXT_NUMBER.findall(self.client(["scontrol", "show", "config"]))
        self._unused = max(self._unused, int(given))
        next_number = next_number or self._unused
        self.down("slurmctld")
        shutil.rmtree(self.layout.folder / "state")
        (self.layout.folder / "state").mkdir(mode=0o755)
        kept = [line for line in self.layout.conf.read_text().splitlines() if not line.startswith("FirstJobId=")]
        self.layout.conf.write_text("\n".join([*kept, f"FirstJobId={next_number}", ""]))
        self.up("slurmctld")
        for name in self.layout.partition_names:
            self.client(["scontrol", "update", f"PartitionName={name}", "State=UP"])
        self._expect(self._all_idle, UP_SECONDS, "the nodes")

    def submit(self, script: str, *options: str) -> int:
        """Submit a batch script with sbatch's options; returns the job's number."""
        answer = self.client(["sbatch", "--parsable", *options], text=script, seconds=90)
        return int(answer.strip().partition(";")[0])

    def client(self, command: Sequence[str], text: str = "", seconds: float = 90.0) -> str:
        """Run a Slurm client; its output, or `subprocess.CalledProcessError` with what it said."""
        run = subprocess.run(
            list(command),
            input=text,
            cwd=self.layout.jobs,
            env={**os.environ, "PATH": _path(), **self.environment},
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        if run.returncode:
            refused = subprocess.CalledProcessError(run.returncode, command, run.stdout, run.stderr)
            refused.add_note(run.stderr.strip())
            raise refused
        return run.stdout

    def stop(self, keep: bool = False) -> None:
        """End jobs and daemons by recorded process id; remove the folder unless it is kept."""
        if self.processes.pid("slurmctld") and self.processes.pid("munged"):
            self._cancel_jobs()
        daemons = [f"slurmd-{node}" for node in self.layout.node_names]
        for name in daemons:  # all at once: each takes a tenth of a second
            with contextlib.suppress(ProcessLookupError):
                self.processes.send(name, signal.SIGTERM)
        for name in (*self.extras, *daemons, "slurmctld", "slurmdbd"):
            self.processes.halt(name)
        self._end_leftovers()
        for name in ("mariadbd", "munged"):
            self.processes.halt(name)
        if self.layout.memory_limits:
            self._drop_limits()
        if not keep:
            shutil.rmtree(self.layout.folder, ignore_errors=True)

    def status(self) -> list[tuple[str, int | None]]:
        """Every recorded daemon with its process id, `None` for a dead one."""
        return [(name, self.processes.pid(name)) for name in self.processes.names()]

    def _drop_limits(self) -> None:
        """Remove the folders that slurmd made for the memory of its jobs; one with a process in it stays."""
        for node in self.layout.node_names:
            top = CGROUPS / f"slurm_{node}"
            for folder in (*sorted(top.rglob("*/"), reverse=True), top):
                with contextlib.suppress(OSError):
                    folder.rmdir()

    def _cancel_jobs(self) -> None:
        """slurmd leaves its jobs running when it stops: cancel them first, and let none start."""
        try:
            for name in self.layout.partition_names:
                self.client(["scontrol", "update", f"PartitionName={name}", "State=DOWN"], seconds=15)
            running = self.client(["squeue", "-h", "-t", "R,S,CF", "-o", "%A"], seconds=15).split()
            if running:
                self.client(["scancel", *sorted(set(running))], seconds=30)
            wait_for(self._no_job_runs, self.layout.kill_wait + 6, 0.2)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return  # it does not answer: what is left of the jobs is ended below

    def _no_job_runs(self) -> bool:
        return not self.client(["squeue", "-h", "-t", "R,CG,S", "-o", "%A"], seconds=15).split()

    def _end_leftovers(self) -> None:
        ours = f"SLURM_CONF={self.layout.conf}"
        if wait_for(lambda: not processes_with(ours), 1.0, 0.1):
            return
        for pid in processes_with(ours):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not processes_with(ours), 3.0, 0.1)

    def _all_idle(self) -> bool:
        states = self.client(["sinfo", "-h", "-N", "-p", "main", "-t", "idle", "-o", "%N"], seconds=15)
        return len(set(states.split())) == self.layout.nodes

    def _expect(self, condition: Callable[[], object], seconds: float, what: str) -> None:
        def holds() -> bool:
            try:
                return bool(condition())
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
                return False

        if not wait_for(holds, seconds, 0.1):
            raise LabError(f"{what} did not come up in {seconds:.0f} s; see {self.layout.folder / 'log'}.")

    def _up_munged(self) -> None:
        folder, socket = self.layout.folder, self.layout.socket
        socket.unlink(missing_ok=True)
        places = {"key-file": "etc/munge.key", "pid-file": "run/munged.own.pid", "seed-file": "run/munged.seed"}
        command = [_found("munged"), "-F", f"--socket={socket}", f"--log-file={folder}/log/munged.log"]
        command += [f"--{option}={folder / place}" for option, place in places.items()]
        self.processes.spawn("munged", [*command, "--num-threads=4"])
        self._expect(lambda: self.client(["munge", "-n", "-S", str(socket)]), UP_SECONDS, "munged")

    def _up_mariadbd(self) -> None:
        folder, own = self.layout.folder, f"--defaults-file={self.layout.folder}/etc/my.cnf"
        if not (folder / "db" / "mysql").exists():
            install = ["mariadb-install-db", own, "--auth-root-authentication-method=normal", "--skip-test-db"]
            self.client(install, seconds=300)
        self.processes.spawn("mariadbd", [_found("mariadbd"), own])
        sql = ["mariadb", "--no-defaults", "-S", str(self.layout.database_socket), "-u", "root", "-e"]
        self._expect(lambda: self.client([*sql, "select 1"]), UP_SECONDS, "mariadbd")
        self.client([*sql, "create database if not exists slurm_acct"])
        self.client([*sql, "create user if not exists slurm@'127.0.0.1' identified by 'slurm'"])
        self.client([*sql, "grant all on slurm_acct.* to slurm@'127.0.0.1'"])

    def _up_slurmdbd(self) -> None:
        self.processes.spawn("slurmdbd", [_found("slurmdbd"), "-D"], self.environment)
        self._expect(lambda: "Cluster" in self.client(["sacctmgr", "show", "cluster"]), UP_SECONDS, "slurmdbd")

    def _up_slurmctld(self) -> None:
        self.processes.spawn("slurmctld", [_found("slurmctld"), "-D", "-f", str(self.layout.conf)])
        self._expect(lambda: "is UP" in self.client(["scontrol", "ping"]), UP_SECONDS, "slurmctld")

    def _up_slurmd(self, node: str) -> None:
        """Each node in its own UTS and mount namespace: its host name, and a hosts file that knows the others."""
        (self.layout.folder / "spool" / node).mkdir(exist_ok=True)
        enter = 'hostname "$1"; mount --bind "$2" /etc/hosts; shift 2; exec "$@"'
        hosts = str(self.layout.folder / "etc" / "hosts")
        slurmd = [_found("slurmd"), "-D", "-f", str(self.layout.conf), "-N", node]
        command = ["unshare", "--uts", "--mount", "sh", "-c", enter, "sh", node, hosts, *slurmd]
        self.processes.spawn(f"slurmd-{node}", command)

    def _up_slurmrestd(self, kind: str = "") -> None:
        """Refuses to be root unless told to; `jwt`: nobody, who has no right but those of each question's token."""
        host, port = "127.0.0.1", self.layout.port(2)
        if kind:
            who = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
            rest, environment, where = "rest_auth/jwt", {"SLURM_JWT": "daemon"}, f"{host}:{port}"
        else:
            self.layout.rest_socket.unlink(missing_ok=True)
            who, rest, environment = [], "rest_auth/local", {"SLURMRESTD_SECURITY": "disable_user_check"}
            where = f"unix:{self.layout.rest_socket}"
        command = [
            *who,
            _found("slurmrestd"),
            "-f",
            str(self.layout.conf),
            "-a",
            rest,
            "-s",
            "openapi/v0.0.38",
            where,
        ]
        self.processes.spawn(f"slurmrestd-{kind}" if kind else "slurmrestd", command, environment)
        there = (lambda: answers(port)) if kind else self.layout.rest_socket.exists
        self._expect(there, UP_SECONDS, "slurmrestd")

    def rest_token(self, user: str = "root", seconds: int = 3600) -> str:
        """A token that slurmrestd takes for a user."""
        told = self.client(["scontrol", "token", f"username={user}", f"lifespan={seconds}"])
        return told.strip().removeprefix("SLURM_JWT=")

    def _up_sshd(self) -> None:
        folder = self.layout.folder / "ssh"
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # compiled into sshd
        if not (folder / "host_ed25519").exists():
            for name in ("host_ed25519", "id_ed25519"):
                self.client(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)])
            shutil.copy(folder / "id_ed25519.pub", folder / "authorized_keys")
            kind, key = (folder / "host_ed25519.pub").read_text().split()[:2]
            (folder / "known_hosts").write_text(f"[127.0.0.1]:{self.layout.port(3)} {kind} {key}\n")
        own = str(self.layout.folder / "etc" / "sshd_config")
        self.processes.spawn("sshd", [_found("sshd"), "-D", "-e", "-f", own])
        self._expect(
            lambda: self.client(["ssh", "-F", str(folder / "config"), "lab", "true"]) == "", UP_SECONDS, "sshd"
        )


def _path() -> str:
    return f"/usr/sbin:/sbin:{os.environ.get('PATH', '/usr/bin:/bin')}"


def _found(name: str) -> str:
    return shutil.which(name, path=_path()) or name
