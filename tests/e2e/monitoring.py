"""Does monitor mode send listings only, while a cluster breaks jobs without end?

`python -m tests.e2e.monitoring SECONDS`. The configuration of controller and watchdog would let them act: it is the
cluster's mode that keeps them from it. Every command of site, controller and watchdog passes through a recorder.
"""

import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from lab.parts.controller import Controller
from lab.parts.recording import changes, recording_commands
from lab.parts.running import PYTHON, Running, expect, until
from lab.parts.site import Site

CLUSTER = "demo"
WATCHDOG = """[watchdog]
mode = "action"
acknowledgeSchedulerActions = true
environmentPattern = "test"
poll_seconds = 1.0
"""


@dataclass(frozen=True)
class Seen:
    """What came of it: recorded commands by program and verb, those that change something, and what was said."""

    commands: Counter[str]
    changing: tuple[str, ...]
    would: tuple[str, ...]
    advice: int


def monitor(folder: Path, seconds: float) -> Seen:
    """Watch a demonstration cluster for so long in monitor mode."""
    folder.mkdir(exist_ok=True)
    cluster, log = folder / CLUSTER, folder / "commands.log"
    simulator = Running([PYTHON, "-m", "lab.simulate", "serve", str(cluster), "--scenario", "demo"], {})
    site = controller = None
    try:
        until((cluster / "ready").exists, 120, "the simulated cluster")
        recorder = recording_commands(folder / "bin", log, str(cluster / "bin"))
        site = Site(folder)
        options = ["--scheduler-path", str(recorder), "--log-root", str(cluster / "logs")]
        site.add_cluster(CLUSTER, "monitor", options)
        controller = Controller(site, CLUSTER, str(recorder), "", "action")
        with controller.file.open("a") as file:
            file.write(WATCHDOG)
        site.start()
        controller.start()
        controller.start_watchdog()
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            time.sleep(1)
        expect(controller.running and controller.running.process.poll() is None, "the controller lives")
        expect(controller.watchdog and controller.watchdog.process.poll() is None, "the watchdog lives")
        said = controller.running.lines if controller.running else []
        advice = int(site.manage("shell", "-v", "0", "-c", COUNT))
        calls = Counter(" ".join(line.split(" ")[:2]) for line in log.read_text().strip("\n").split("\n"))
        return Seen(calls, tuple(changes(log)), tuple(line for line in said if "would " in line), advice)
    finally:
        for part in (controller, site):
            if part is not None:
                part.stop()
        simulator.end()


COUNT = "from advisor_api.models import Advice; print(Advice.objects.count())"


def main(words: list[str]) -> int:
    """Print what was seen as Markdown; the exit status is 0 when nothing was changed and something was advised."""
    seconds = float(words[0])
    with tempfile.TemporaryDirectory(prefix="rk-") as folder:
        seen = monitor(Path(folder) / "m", seconds)
    print(f"Monitor mode, {seconds / 60:g} minutes of faults on a simulated cluster: {seen.advice} advice, "
          f"{len(seen.would)} times said what would be done, {seen.commands.total()} commands, "
          f"{len(seen.changing)} of them change something.")  # fmt: skip
    for call, count in seen.commands.most_common():
        print(f"- `{call}` {count}")
    return 0 if seen.advice and not seen.changing else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
