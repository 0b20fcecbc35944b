"""`srun python -m lab.trainer …`: one rank of the stand-in.

Faults are given as JSON: `[{"attempt": 0, "step": 12, "rank": 1, "kind": "ecc"}]`. Kinds: `ecc` (prints an
uncorrectable ECC error and dies), `stop` (stops itself with SIGSTOP: everybody hangs), `exit` (with `code`).
"""

import argparse
import json
import os
import signal
import socket
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from lab.trainer import checkpoint
from lab.trainer.ring import Collective


def main() -> int:
    """Train until the last step or the first fault that is ours."""
    arguments = _arguments()
    rank, world = int(os.environ.get("SLURM_PROCID", "0")), int(os.environ.get("SLURM_NTASKS", "1"))
    attempt = int(os.environ.get("SLURM_RESTART_COUNT", "0"))
    host = socket.gethostname()
    meeting = Collective(rank, world, ("127.0.0.1", arguments.port))
    step = meeting.meet(checkpoint.load(arguments.folder))
    if rank == 0 and step:
        _say(f" successfully loaded checkpoint from {arguments.folder} [ t 1/1, p 1/1 ] at iteration {step}")
    while step < arguments.steps:
        begun = time.monotonic()
        time.sleep(arguments.step_seconds)
        _break_on_order(arguments.faults, attempt, step + 1, rank, host)
        step = meeting.meet(step + 1)
        if rank == world - 1:
            _say(_progress(step, arguments.steps, time.monotonic() - begun))
        if rank == 0 and step % arguments.checkpoint_every == 0:
            checkpoint.save(arguments.folder, step)
            _say(f"  successfully saved checkpoint from iteration {step:7d} to {arguments.folder} [ t 1/1, p 1/1 ]")
    if rank == 0:
        _say(f"[after training is done] datetime: {datetime.now():%Y-%m-%d %H:%M:%S}")  # noqa: DTZ005  # as printed
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.trainer")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--step-seconds", type=float, default=0.5)
    parser.add_argument("--checkpoint-every", type=int, default=10)
    parser.add_argument("--folder", type=Path, required=True, help="where checkpoints are kept")
    parser.add_argument("--port", type=int, required=True, help="of rank 0's collective on the loopback")
    parser.add_argument("--faults", type=json.loads, default=[])
    return parser.parse_args()


def _break_on_order(faults: list[dict[str, Any]], attempt: int, step: int, rank: int, host: str) -> None:
    for fault in faults:
        due = (fault["attempt"], fault["step"]) == (attempt, step)
        if not due or not (fault.get("rank") == rank or fault.get("host") == host):
            continue
        if fault["kind"] == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif fault["kind"] == "ecc":
            _say(f"{host}: NVRM: Xid (PCI:0000:4e:00): 48, pid={os.getpid()}, name=python, DBE (double bit error)")
            _say(f"[rank{rank}]: RuntimeError: CUDA error: uncorrectable ECC error encountered")
            sys.exit(1)
        elif fault["kind"] == "exit":
            sys.exit(fault["code"])


def _progress(step: int, steps: int, seconds: float) -> str:
    now = datetime.now()  # noqa: DTZ005  # a trainer prints local time without a zone
    return (
        f" [{now:%Y-%m-%d %H:%M:%S.%f}] iteration {step:8d}/{steps:8d} | consumed samples: {step * 256:12d} |"
        f" elapsed time per iteration (ms): {seconds * 1000:.1f} | learning rate: 1.500000E-04 |"
        f" global batch size:   256 | lm loss: {2 + 8 / (step + 1):.6E} | loss scale: 1.0 | grad norm: 0.412 |"
        f" number of skipped iterations:   0 | number of nan iterations:   0 |"
    )


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
