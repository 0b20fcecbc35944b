"""What does a listing through slurmrestd cost, beside the same one by squeue?

`python -m benchmarks.rest_listing [--jobs 200 2000]`. A private real Slurm whose jobs all wait, held, with a
comment of 110 bytes; submitted one by one, which takes most of the time. Elapsed time of one listing read to its
rows, the reader's own processor time, and what slurmrestd holds afterwards. The median of five.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from benchmarks.machine import machine_line
from lab.slurm.cluster import SlurmCluster
from lab.slurm.layout import Layout, free_base_port
from schedulers.port import Listing
from schedulers.slurm.adapter import Slurm
from schedulers.slurm.rest_adapter import SlurmByRest
from schedulers.slurm.rest_place import RestPlace
from schedulers.slurm.restd import Restd
from schedulers.transport import LocalTransport

COMMENT = '{"nvidia-recovery":{"environment":"test","mode":"action"},"workflowId":"' + "w" * 36 + '"}'
RUNS = 5


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rest_listing")
    parser.add_argument("--jobs", type=int, nargs="+", default=[200, 2000])
    sizes = sorted(parser.parse_args().jobs)
    print(f"`python -m benchmarks.rest_listing --jobs {' '.join(map(str, sizes))}`\n\n{machine_line()}.\n")
    print("| jobs | read by | MB | elapsed s | processor s | slurmrestd holds MB |")
    print("|--:|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory(prefix="rk-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        layout = Layout(folder=Path(name) / "c", base_port=free_base_port(), nodes=2, accounting=False, rest=True)
        with SlurmCluster(layout) as lab:
            transport = LocalTransport("", str(layout.conf))
            rest = SlurmByRest(transport, 60.0, Restd(RestPlace(f"unix:{layout.rest_socket}")))
            here = 0
            for size in sizes:
                _submit(lab, size - here)
                here = size
                for words, ask in (("squeue", Slurm(transport, 60.0).jobs), ("slurmrestd", rest.jobs)):
                    cells = _measured(ask, size)
                    held = f"{_held(lab):.0f}" if words == "slurmrestd" else "–"
                    print(f"| {size} | {words} | {cells} | {held} |", flush=True)
    return 0


def _submit(lab: SlurmCluster, count: int) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: lab.submit("#!/bin/sh\nsleep 9\n", "--hold", f"--comment={COMMENT}"), range(count)))


def _measured(ask: Callable[[], Listing], jobs: int) -> str:
    elapsed, used, size = [], [], 0
    for _ in range(RUNS):
        began, own = time.monotonic(), time.process_time()
        listing = ask()
        elapsed.append(time.monotonic() - began)
        used.append(time.process_time() - own)
        size = listing.raw_bytes
        if len(listing.jobs) != jobs:
            raise SystemExit(f"{len(listing.jobs)} jobs instead of {jobs}")
    return f"{size / 1e6:.2f} | {median(elapsed):.3f} | {median(used):.3f}"


def _held(lab: SlurmCluster) -> float:
    """Resident memory of slurmrestd, MB."""
    status = Path(f"/proc/{lab.processes.pid('slurmrestd')}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024


if __name__ == "__main__":
    sys.exit(main())
