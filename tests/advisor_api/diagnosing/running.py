"""How do the tests run the command, and what do their logs say?"""

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

ROOT = Path(__file__).resolve().parents[3]
DIAGNOSE = [sys.executable, "-P", "-m", "advisor_api.diagnosing"]
ENVIRONMENT = {"PATH": os.defpath, "PYTHONPATH": str(ROOT)}
ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"


def steps(first: int, last: int, minute: int = 0) -> list[str]:
    """Step lines of Megatron-LM, one a second from 10:MM:00 on."""
    return [
        f" [2026-05-01 10:{minute + n // 60:02d}:{n % 60:02d}] iteration {step:8d}/  500000 | consumed samples:"
        f" {step * 256:12d} | elapsed time per iteration (ms): 1000.0 | learning rate: 1.500000E-04 |"
        " global batch size:   256 | lm loss: 2.104561E+00 | number of nan iterations:   0 |"
        for n, step in enumerate(range(first, last))
    ]


CRASH = [*steps(0, 40), "Traceback (most recent call last):", '  File "train.py", line 9, in main', ECC]


def text(lines: Sequence[str]) -> str:
    """The lines as a file holds them."""
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Ran:
    """What the command did."""

    status: int
    out: str
    err: str

    @property
    def verdict(self) -> dict[str, Any]:
        """The JSON it printed."""
        read: dict[str, Any] = json.loads(self.out)
        return read


def run(*arguments: str | Path) -> Ran:
    """The command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.raises(SystemExit) as ended:
        call_command("diagnose", *map(str, arguments), stdout=out, stderr=err)
    return Ran(int(ended.value.code or 0), out.getvalue(), err.getvalue())


def run_alone(
    folder: Path, *arguments: str | Path, given: bytes = b"", environment: Mapping[str, str] | None = None
) -> Ran:
    """The command as `./run` starts it: a process of its own, in `folder`."""
    done = subprocess.run(
        [*DIAGNOSE, *map(str, arguments)],
        input=given,
        capture_output=True,
        cwd=folder,
        timeout=180,
        check=False,
        env={**ENVIRONMENT, **(environment or {})},
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())
