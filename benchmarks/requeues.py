"""How long after an advice was stored does Slurm itself show the requeue?

`python -m benchmarks.requeues [--count 50] [--hung-each 5] [--poll-seconds 1.0]` breaks jobs one after the other on
a private real Slurm, with site and controller as processes of their own, and prints Markdown. It begins at the
start of the task that stored the advice (before its commit, so nothing is won by it) and ends when slurmctld writes
the requeue into its log, in milliseconds. Nothing is left out and nothing is asserted.
"""

import argparse
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from benchmarks.machine import machine_line
from benchmarks.rigs import POLICY, RealSlurm, Rig
from benchmarks.stations import MILLION, Way, table
from lab.parts.person import told
from lab.parts.running import until

LONGEST = 120.0  # seconds until an advice is carried out; a longer one is told and counts as lost
WAYS = (
    Way("stored", "heard", "advice stored → the controller announces its intent"),
    Way("heard", "requeued", "intent → requeue in slurmctld's log"),
    Way("stored", "requeued", "**advice stored → requeue visible in Slurm**"),
    Way("requeued", "released", "requeue → release acknowledged"),
)
FAILED, HUNG = {"kind": "ecc", "step": 6}, {"kind": "stop", "step": 26}
REQUEUED = re.compile(r"^\[([0-9T:.-]+)\] Requeuing JobId=(\d+)$", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """One broken job: of which kind, and when each station was reached, in seconds since 1970."""

    kind: str
    found: Mapping[str, float]


def main() -> int:
    """Make the series and print it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.requeues")
    parser.add_argument("--count", type=int, default=50, help="jobs in all")
    parser.add_argument("--hung-each", type=int, default=5, help="every how many-th job hangs instead of failing")
    parser.add_argument("--poll-seconds", type=float, default=1.0, help="the controller's own poll (its default)")
    options = parser.parse_args()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(1))  # by way of the rig's exit: Slurm must not be left behind
    print(f"{machine_line()}\n", flush=True)
    with Rig(simulated=False, default_limits=False) as rig:
        prepare(rig, options.poll_seconds)
        kinds = [
            "hung" if n % options.hung_each == options.hung_each - 1 else "failed" for n in range(options.count)
        ]
        runs = [broken(rig, f"{kind}{n}", kind) for n, kind in enumerate(kinds)]
    print(result(runs, len(kinds)), flush=True)
    print(f"\n{machine_line()} at the end.", flush=True)
    return 0 if all(runs) else 1


def prepare(rig: Rig, poll_seconds: float) -> None:
    """Exclusions that end soon, and the controller's poll as an operator has it."""
    rig.person.set_policy({**POLICY, "exclusion_seconds": 60, "max_excluded_share": 1.0}, "a measurement")
    text = rig.controller.file.read_text()
    rig.controller.file.write_text(re.sub(r"poll_seconds = \S+", f"poll_seconds = {poll_seconds}", text))
    rig.controller.start()


def broken(rig: Rig, name: str, kind: str) -> Run | None:
    """Break one job and wait until it was let go again; `None`: that did not happen."""
    slurm = rig.cluster
    if not isinstance(slurm, RealSlurm):
        raise TypeError("only a real Slurm keeps a record of its own")
    number, _ = slurm.submit(name, 20 if kind == "failed" else 32, HUNG if kind == "hung" else FAILED)
    try:
        until(lambda: "released" in moments(rig.trail(number)), LONGEST, lambda: told(rig.trail(number)), 0.5)
    except AssertionError as error:
        print(f"{name} was not requeued: {error}", file=sys.stderr)
        return None
    finally:
        slurm.slurm.client(["scancel", str(number)])
    found = moments(rig.trail(number))
    found |= requeues((slurm.slurm.layout.folder / "log" / "slurmctld.log").read_text()).get(number, {})
    said = ", ".join(f"{station} {moment - found['stored']:.2f}" for station, moment in found.items())
    print(f"{name}: {said}", file=sys.stderr)
    return Run(kind, found)


def moments(trail: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What the trail tells of the first attempt's advice."""
    found: dict[str, float] = {}
    for event in trail:
        if event["attemptIndex"] != 0:
            continue
        produced = int(event["eventProducedAt"]) / MILLION
        if event["eventType"] == "advice":
            found.setdefault("stored", datetime.fromisoformat(event["receivedAt"]).timestamp())
        elif event["eventType"] == "intent":
            found.setdefault("heard", produced)
        elif event["eventType"] == "action" and "RELEASE" in event["action"].upper():
            found.setdefault("released", produced)
    return found


def requeues(log: str) -> dict[int, dict[str, float]]:
    """When slurmctld wrote that it requeued each job; its times are local ones, without a zone."""
    found: dict[int, dict[str, float]] = {}
    for at, number in REQUEUED.findall(log):
        found.setdefault(int(number), {"requeued": datetime.fromisoformat(at).astimezone().timestamp()})
    return found


def result(runs: Sequence[Run | None], count: int) -> str:
    """Markdown: a table of all, and one of each kind."""
    done = [run for run in runs if run is not None]
    parts = [f"`python -m benchmarks.requeues {' '.join(sys.argv[1:])}`: {len(done)} of {count} requeued"]
    for kind in ("failed", "hung"):
        mine = [run.found for run in done if run.kind == kind]
        parts += ["", f"**{kind.capitalize()}**, {len(mine)}", "", table(WAYS, mine)]
    parts += ["", f"**All**, {len(done)}", "", table(WAYS, [run.found for run in done])]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
