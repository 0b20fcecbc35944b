"""What do the tests of the model share? A cluster in virtual time and a way to speak to it."""

from typing import Any

from lab.simulate.commands import answer
from lab.simulate.jobs import Job
from lab.simulate.logs import MemoryLogs
from lab.simulate.model import Cluster
from lab.simulate.play import play_of
from lab.simulate.settings import Settings

START = 1_795_968_000.0


class Stage:
    """A simulated cluster of four nodes unless told otherwise; every play has ten quick steps."""

    def __init__(self, nodes: int = 4, **settings: Any) -> None:
        names = tuple(f"n{number:02d}" for number in range(1, nodes + 1))
        self.logs = MemoryLogs()
        self.cluster = Cluster(START, Settings(node_names=names, **settings), self.logs)

    def submit(self, **told: Any) -> Job:
        """Submit a play; the job."""
        usual = {"name": "llama", "steps": 10, "step_seconds": 1, "checkpoint_every": 4, "output": "%j.log"}
        return self.cluster.jobs[self.cluster.submit(play_of({**usual, **told}))]

    def running(self, **told: Any) -> Job:
        """Submit a play and wait until it runs."""
        job = self.submit(**told)
        self.wait(0.6)
        assert job.word == "RUNNING"
        return job

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.cluster.advance(self.cluster.now + seconds)

    def until(self, job: Job, *words: str, seconds: float = 600) -> None:
        """Let time pass until the job shows one of these states."""
        ends = self.cluster.now + seconds
        while job.word not in words:
            assert self.cluster.now < ends, f"still {job.word} ({job.reason})"
            self.wait(0.05)

    def run(self, *argv: str, time_format: str = "%s") -> tuple[int, str, str]:
        """What a command answers."""
        return answer(self.cluster, argv, time_format)

    def do(self, *argv: str) -> None:
        """A command that must succeed, in silence."""
        assert self.run(*argv) == (0, "", "")

    def refused(self, *argv: str) -> str:
        """What a command that fails with rc 1 says."""
        code, out, err = self.run(*argv)
        assert (code, out) == (1, "")
        return err

    def log(self, job: Job) -> str:
        """The job's output."""
        return self.logs.files[job.path]
