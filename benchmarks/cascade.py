"""Who is to blame in a cascade of a million lines of 512 ranks, how soon, and with how much memory?

`python -m benchmarks.cascade [--lines N[,N…]] [--seed S] [--kinds WORD]`. Each kind (`benchmarks.cascades`) is read
twice, each time by a process of its own: by the site's worker (4 MiB of a log a turn: found, read, all detectors,
rows on SQLite, then the verdict), and by `./run diagnose`. *read → verdict*: from the end of the last turn to
the stored verdict. *last byte*: from the moment at which the last byte left the file, the detectors of the last
turn in it; *of a core*: the same as processor time, which no other load changes. *memory*: the most that the worker
had resident, and of `diagnose` all its processes, shared pages once.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks.cascades import KINDS, Cluster, Kind, Right, now_at, write
from benchmarks.machine import machine_line

ROOT = Path(__file__).resolve().parents[1]
LINES = (1_000_000,)
LOOK_SECONDS = 0.2
TIME_LIMIT = 7200.0


@dataclass(frozen=True)
class Measured:
    """What one road said and took. `wrong`: empty when right."""

    seconds: float
    verdict_seconds: float | None  # from the end of the last turn
    last_byte_seconds: float | None  # from the last byte read
    core_seconds: float | None  # of it, processor time of the one core
    peak_mb: float
    said: str
    wrong: str
    spent_seconds: float | None = None  # processor time of reading and verdict, which no neighbour makes longer


def main(arguments: list[str]) -> int:
    """Print a table; 1 when a verdict is wrong."""
    told = _parser().parse_args(arguments)
    sizes = [int(word) for word in told.lines.split(",")]
    print(f"`python -m benchmarks.cascade`, {machine_line()}; seed {told.seed}, clocks wrong by up to 5 s.\n")
    heads = ("read → verdict s", "last byte s", "of a core s", "memory MB", "verdict")
    print(f"| cascade | road | lines | MB | all of it s | {' | '.join(heads)} |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|---|")
    wrong = 0
    for lines in sizes:
        for number, kind in enumerate(one for one in KINDS if told.kinds in one.name):
            cluster = Cluster(told.seed + number, now_at())
            with tempfile.TemporaryDirectory(prefix="rk-cascade-") as folder:
                log = Path(folder) / "7001.out"
                write(kind, cluster, lines, log)
                for road, measure in (("worker", by_worker), ("diagnose", by_diagnose)):
                    if told.road and road != told.road:
                        continue
                    one = measure(kind, cluster, log)
                    wrong += bool(one.wrong)
                    print(_row(kind, road, lines, log, one), flush=True)
    return 1 if wrong else 0


def by_worker(kind: Kind, cluster: Cluster, log: Path) -> Measured:
    """Read by the site's own rooms, in a process of its own."""
    words = [
        sys.executable,
        "-m",
        "benchmarks.cascade_worker",
        kind.name,
        str(cluster.seed),
        cluster.at.isoformat(),
    ]
    done = subprocess.run(
        [*words, str(log)], cwd=ROOT, capture_output=True, text=True, timeout=TIME_LIMIT, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return Measured(**told)


def by_diagnose(kind: Kind, cluster: Cluster, log: Path) -> Measured:
    """Read by `diagnose`, with what the scheduler says of the job."""
    accounting = log.with_name("sacct.json")
    accounting.write_text(json.dumps(_sacct(kind, cluster)))
    words = [sys.executable, "-m", "advisor_api.diagnosing", str(log), "--json", "--scheduler", str(accounting)]
    began = time.monotonic()
    peak = 0.0
    with (
        tempfile.TemporaryFile("w+") as out,
        subprocess.Popen(words, cwd=ROOT, stdout=out, stderr=subprocess.DEVNULL, start_new_session=True) as child,
    ):
        while child.poll() is None:
            peak = max(peak, sum(_proportional(process) for process in _family(child.pid)))
            time.sleep(LOOK_SECONDS)
        seconds = time.monotonic() - began
        out.seek(0)
        body = json.loads(out.read())
    said = Said.of_body(body)
    return Measured(
        round(seconds, 2), None, None, None, round(peak, 1), said.words(), said.wrong(kind.right(cluster))
    )


@dataclass(frozen=True)
class Said:
    """What a verdict says, as far as it is graded."""

    kind: str
    layer: str
    hosts: tuple[str, ...]
    excluded: tuple[str, ...]
    action: str
    signature: str

    @classmethod
    def of_body(cls, body: dict[str, Any]) -> "Said":
        """From the whole verdict."""
        implicated = body["implicated"]
        return cls(
            kind=body["detection"]["kind"],
            layer=body["outcome"]["layer"],
            hosts=tuple(one["host"] for one in implicated if one["role"] in ("culprit", "suspect")),
            excluded=tuple(one["host"] for one in implicated if one["excludable"]),
            action=body["recommendation"]["action"],
            signature=body["root_cause"]["signature_id"] or "",
        )

    def words(self) -> str:
        """In a cell."""
        return f"{self.kind} {self.layer} {self.signature} on {', '.join(self.hosts) or 'nobody'}; {self.action}"

    def wrong(self, right: Right) -> str:
        """What is not right; nobody else than the culprit may be left out."""
        rows = (
            (self.kind != right.kind, f"kind, not {right.kind}"),
            (self.layer not in right.layers, f"layer, not {' or '.join(right.layers)}"),
            (bool(right.host) and self.hosts[:1] != (right.host,), f"culprit, not {right.host}"),
            (bool(set(self.excluded) - {right.host}), "an innocent host left out"),
            (self.action not in right.actions, f"action, not {' or '.join(right.actions)}"),
        )
        return "; ".join(words for is_wrong, words in rows if is_wrong)


def peak_mb() -> float:
    """The most that this process had resident so far, in MB of 1024 KiB.

    Not `ru_maxrss`: it begins with what the process that started this one had.
    """
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def _row(kind: Kind, road: str, lines: int, log: Path, one: Measured) -> str:
    parts = (one.verdict_seconds, one.last_byte_seconds, one.core_seconds)
    verdict = " | ".join(f"{seconds:.2f}" if seconds is not None else "–" for seconds in parts)
    said = f"**wrong: {one.wrong}**: {one.said}" if one.wrong else one.said
    size = log.stat().st_size / 1e6
    took = f"{one.seconds:.1f} | {verdict} | {one.peak_mb:.0f}"
    return f"| {kind.name} | {road} | {lines} | {size:.0f} | {took} | {said} |"


def _sacct(kind: Kind, cluster: Cluster) -> dict[str, Any]:
    start, end = cluster.at - timedelta(seconds=900), cluster.at + timedelta(seconds=70)
    job = {
        "job_id": 7001,
        "name": "train",
        "cluster": "bench",
        "partition": "gpu",
        "user": "trainer",
        "nodes": f"gpu-[001-{len(cluster.hosts):03d}]",
        "state": {"current": kind.state, "reason": "None"},
        "exit_code": {"status": "ERROR", "return_code": 1},
        "restart_cnt": 0,
        "time": {
            "start": int(start.timestamp()),
            "end": int(end.timestamp()),
            "submission": int(start.timestamp()),
        },
        "steps": [],
    }
    return {"jobs": [job]}


def _family(root: int) -> Iterator[int]:
    """The processes of a session: the child and whoever it has started."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.getsid(int(entry.name)) == root:
                    yield int(entry.name)
            except OSError:
                continue


def _proportional(process: int) -> float:
    """MB of a process; what several share counts once over all of them."""
    try:
        text = Path(f"/proc/{process}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in text.splitlines() if line.startswith("Pss:")), 0.0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cascade")
    parser.add_argument("--lines", default=",".join(map(str, LINES)), help="how many, with commas between sizes")
    parser.add_argument("--seed", type=int, default=1, help="of all chance")
    parser.add_argument("--kinds", default="", help="only kinds whose name holds this")
    parser.add_argument("--road", choices=("worker", "diagnose"), default="")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
