"""How long does a recovery take, station by station?

`python -m benchmarks.recoveries [--count 20] [--hangs 5] [--real-slurm | --simulated] [--default-limits]` makes
recoveries one after the other with the product's own processes and prints Markdown. Basis of the clock's start
(decisions 28): for a crash the moment at which the fault's first line stood in the log, for a hang that of the last
step's line, both seen from outside the product. Nothing is left out of the series, and nothing is asserted.
"""

import argparse
import signal
import sys
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from benchmarks.log_eye import LogEye
from benchmarks.machine import machine_line
from benchmarks.rigs import Rig
from benchmarks.stations import CRASH, HANG, stations, table
from lab.parts.person import told
from lab.parts.running import until

LONGEST = 300.0  # seconds for one recovery; a series with a longer one fails
ECC = {"kind": "ecc"}
STOPPED = {"kind": "stop", "step": 26}


def main() -> int:
    """Make both series and print them."""
    arguments = _arguments()
    for number in (signal.SIGTERM, signal.SIGINT):  # a shell lets its background jobs ignore SIGINT
        signal.signal(number, lambda *_: sys.exit(1))  # by way of the rig's exit: Slurm must not be left behind
    print(machine_line(), file=sys.stderr)
    with Rig(simulated=arguments.simulated, default_limits=arguments.default_limits) as rig:
        # A job that dies before the default poll has shown it once would measure the poll and nothing else.
        early = 80 if arguments.default_limits else 0
        ecc = {**ECC, "step": 12 + early}
        crashes = [recover(rig, f"crash{n}", ecc, steps=18 + early) for n in range(arguments.count)]
        hangs = [recover(rig, f"hang{n}", STOPPED, steps=32) for n in range(arguments.hangs)]
    print(_result(arguments, crashes, hangs))
    return 0


def recover(rig: Rig, name: str, fault: Mapping[str, Any], steps: int) -> dict[str, float] | None:
    """One job that breaks, comes back and completes: its stations in seconds since 1970; `None`: it did not."""
    number, log = rig.cluster.submit(name, steps, fault)
    eye = LogEye(log)
    try:
        until(lambda: eye.beyond_at, LONGEST, lambda: f"job {number} trains on:\n{told(rig.trail(number))}", 0.5)
        trail = rig.wait_for(number, "training_completed", LONGEST)
    except AssertionError as error:
        print(f"{name} did not recover: {error}", file=sys.stderr)
        return None
    finally:
        eye.close()
    zero = eye.step_at.get(fault["step"] - 1) if fault["kind"] == "stop" else eye.fault_at
    moments = {"zero": zero, "runs": eye.runs_at, "beyond": eye.beyond_at}
    seen = {station: moment for station, moment in moments.items() if moment is not None}
    kind = "hang" if fault["kind"] == "stop" else "crash"
    found = stations(trail, seen, kind)
    ways = [
        f"{station} {moment - found['zero']:.2f}" for station, moment in sorted(found.items(), key=itemgetter(1))
    ]
    print(f"{name}: {', '.join(ways)}", file=sys.stderr)
    return found


def _result(
    arguments: argparse.Namespace,
    crashes: Sequence[dict[str, float] | None],
    hangs: Sequence[dict[str, float] | None],
) -> str:
    options = " ".join(sys.argv[1:])
    parts = [f"`python -m benchmarks.recoveries {options}`", "", f"{machine_line()}."]
    for title, ways, series in (("Crash (ECC failure)", CRASH, crashes), ("Hang (one rank stopped)", HANG, hangs)):
        if series:
            recovered = [one for one in series if one is not None]
            parts += ["", f"**{title}**, {len(recovered)} of {len(series)} recovered and completed", ""]
            parts.append(table(ways, recovered))
    if not arguments.simulated:
        parts += ["", "With Slurm's own `cred_expire` of 120 s a requeued job waits 121 s instead of 6 s."]
    return "\n".join(parts)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recoveries")
    parser.add_argument("--count", type=int, default=20, help="recoveries from a crash")
    parser.add_argument("--hangs", type=int, default=5, help="recoveries from a hang")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--real-slurm", action="store_true", help="a private real Slurm (the default; needs root)")
    where.add_argument("--simulated", action="store_true", help="the simulated cluster")
    parser.add_argument(
        "--default-limits", action="store_true", help="poll and limits of the product, not the tests'"
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
