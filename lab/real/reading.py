"""What did the product say of some jobs of a running site? Asked of a process with the site's own Django."""

import base64
import contextlib
import pickle
import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from lab.parts.recording import READS
from lab.parts.running import PYTHON, ROOT, clean_environment, end_process
from lab.parts.site import Site
from lab.score.said import Said

A_JOB = re.compile(r"(?:JobId=| )\d+(?: |$)")


class Reading:
    """Reads what is stored on one cluster, and which commands were sent. A context manager: its process ends."""

    def __init__(self, site: Site, cluster: str, commands: Path) -> None:
        self._cluster, self._commands = cluster, commands
        self._process = subprocess.Popen(
            [PYTHON, "-m", "lab.real.reader"],
            cwd=ROOT,
            env=clean_environment() | site.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # it has died with a question in its pipe
                if pipe:
                    pipe.close()
        end_process(self._process)

    def said(self, numbers: Sequence[int]) -> Said:
        """Everything about these jobs; `RuntimeError` when the reader has died."""
        asks, answers = self._process.stdin, self._process.stdout
        if asks is None or answers is None:
            raise RuntimeError("the reader has no pipes")
        asks.write(f"{self._cluster} {' '.join(map(str, numbers))}\n")
        asks.flush()
        answer = answers.readline()
        if not answer:
            raise RuntimeError("the reader of the site's rows has died")
        said: Said = pickle.loads(base64.b64decode(answer))  # noqa: S301  # of our own child
        return replace(said, commands=self._sent(numbers))

    def _sent(self, numbers: Sequence[int]) -> tuple[str, ...]:
        """Commands that change something and name one of the jobs, or no job at all: every case has to answer."""
        if not self._commands.exists():
            return ()
        ours = re.compile(rf"(?:JobId=| )(?:{'|'.join(map(str, numbers))})(?: |$)")
        lines = self._commands.read_text(errors="replace").split("\n")
        changing = [line for line in lines if line and not line.startswith(READS)]
        return tuple(line for line in changing if ours.search(line) or not A_JOB.search(line))
