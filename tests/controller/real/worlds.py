"""A job on a real Slurm, its own Advisor, and controllers that live and die: many worlds on one cluster."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lab.slurm.cluster import SlurmCluster
from schedulers.port import JobDetail
from schedulers.slurm.adapter import Slurm
from schedulers.slurm.listing import address
from schedulers.transport import LocalTransport
from tests.controller.advisor import TOKEN, Server, SmallAdvisor, advice, wire
from tests.controller.conftest import write_config

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 180.0  # seconds, on a machine with other things to do


def until(true: Callable[[], Any], told: Callable[[], str], seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, told()
        time.sleep(0.1)


def excluding(nodes: Iterable[str], bad: str) -> str:
    """A list of exclusions in words, the bad node first."""
    return f"exclude {','.join(sorted({bad: 'BAD'}.get(node, node) for node in nodes))}".rstrip()


def word(argv: list[str], own: str, bad: str) -> str:
    """A command in words, its bad node by name; one on another job than `own` is left as it is."""
    verb = argv[1]
    if verb != "update" and argv[-1] != own:
        return " ".join(argv)
    if argv[0] == "scancel":
        return "cancel"
    if verb != "update":
        return " ".join([verb, *argv[2:-1]])
    name, _, value = argv[3].partition("=")
    short = {
        "AdminComment": "mark" if value.startswith("rekindle/1 g=") else "unmark",
        "ExcNodeList": excluding(value.split(","), bad),
        "StartTime": "start",
    }[name]
    return short if argv[2] == f"JobId={own}" else f"{short} for {argv[2]}"


class World:
    """One story. A context manager: its processes and its job end with it."""

    def __init__(self, lab: SlurmCluster, folder: Path, job: int, bad: str, **config: str) -> None:
        self.lab, self.folder, self.job, self.bad = lab, folder, job, bad
        self.slurm = Slurm(LocalTransport("", str(lab.layout.conf)), 30.0)
        self.advisor = SmallAdvisor(lambda: datetime.now(UTC))
        self._config = config
        self._stack = ExitStack()
        self._lives: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.server = self._stack.enter_context(Server(self.advisor))
        token = self.folder / "token"
        token.touch(mode=0o600)
        token.write_text(TOKEN)
        self.config = self.configured(self.folder, **self._config)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for life in self._lives:
            life.kill()
            life.wait()
        self._stack.close()
        with suppress(subprocess.CalledProcessError):
            self.lab.client(["scancel", str(self.job)])

    def configured(self, folder: Path, **config: str) -> Path:
        """A configuration of this world, its journal in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        path = write_config(folder, self.server.url, self.folder / "token", **config)
        text = path.read_text().replace("[controller]", f'config = "{self.lab.layout.conf}"\n\n[controller]', 1)
        path.write_text(text.replace("[controller]", "[controller]\npoll_seconds = 0.5", 1))
        return path

    def advise(self, **changes: Any) -> None:
        """One advice about the job as it is now."""
        self.advisor.advice = [self.advice_on(self.job, self.bad, **changes)]

    def advice_on(self, job: int, bad: str, **changes: Any) -> dict[str, Any]:
        """An advice about a job as it is now."""
        now = datetime.now(UTC)
        row = self.slurm.job(job).row
        assert row.submitted_at is not None
        usual = {
            "attemptIndex": 0,
            "partition": row.partition,
            "user": row.user,
            "nodeConstraints": {"excludedNodes": [bad]},
            "notBefore": wire(now),
            "holdUntil": wire(now + timedelta(minutes=10)),
            "expiresAt": wire(now + timedelta(minutes=15)),
            "observedState": {"submittedAt": wire(row.submitted_at)},
        }
        return advice(job, **(usual | changes))

    def live(self, *options: str, config: Path | None = None) -> subprocess.Popen[bytes]:
        """Begin a life of a controller."""
        command = [sys.executable, "-m", "tests.controller.real.life", config or self.config, self.folder, *options]
        with (self.folder / "log").open("ab") as log:
            self._lives.append(subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log))
        return self._lives[-1]

    def dies(self, at: int, seconds: float = PATIENCE) -> str:
        """Live until the point `at`; its name, or "" when everything was reported before."""
        life = self.live("--die-at", str(at))
        until(lambda: life.poll() is not None or self.at_rest(), self.told, seconds)
        if life.poll() is None:
            life.kill()
        life.wait()
        died = self.folder / "died"
        return died.read_text() if died.exists() else ""

    def at_rest(self) -> bool:
        """Whether the advice is reported and its entry closed."""
        journal = self.folder / "journal.jsonl"
        return bool(self.advisor.reports) and '"finished"' in journal.read_text()

    def to_the_end(self, seconds: float = PATIENCE) -> None:
        """Live until the advice is reported."""
        life = self.live()
        until(lambda: bool(self.advisor.reports) or life.poll() is not None, self.told, seconds)
        assert self.advisor.reports, self.told()

    def commands(self) -> list[str]:
        """What changed something, in words."""
        own = address(self.shown().row)
        return [word(argv, own, self.bad) for _, *argv in self.written("commands")]

    def listings(self) -> list[float]:
        """When everything was listed, seconds since 1970."""
        return [at for at, *argv in self.written("questions") if argv[0] == "squeue" and "-j" not in argv]

    def shown(self) -> JobDetail:
        return self.slurm.job(self.job)

    def report(self) -> tuple[str, ...]:
        return self.advisor.reports[0][1:] if self.advisor.reports else ()

    def told(self) -> str:
        """Everything about this world, for a person."""
        log = self.folder / "log"
        lines = log.read_text() if log.exists() else "it never lived"
        return f"{self.folder.name}: {self.commands()} {self.advisor.reports}\n{lines}\n{self.shown()}"

    def written(self, name: str) -> list[list[Any]]:
        """Every command so far, its time first: `commands` or `questions`."""
        path = self.folder / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
