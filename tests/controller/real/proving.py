"""Everything that is played with the controller on a real Slurm, in full, as Markdown.

`python -m tests.controller.real.proving [--part NAME] [--runs 50]`: states, lost nodes and memory, gates, kills at
every point, slurmctld stopped and started at every step, the token revoked at every step, two controllers, people
who act between two steps, the wait of requeued jobs. Ends with 1 when something came out otherwise than intended,
and says what. About half an hour on two processors.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import median

from lab.slurm.cluster import SlurmCluster
from lab.slurm.layout import CGROUPS
from tests.controller.real import series
from tests.controller.real.people import STORIES, person_story, state_lost_story
from tests.controller.real.series import STEPS, Told
from tests.controller.real.starting import CLOSED_GATES
from tests.controller.real.waits import crowd, restarts
from tests.controller.real.worlds import World

MOST_POINTS = 60
CROWD = 2000
Part = Callable[[SlurmCluster, Path, int], str]


class Wrong(Exception):
    """A story came out otherwise than intended; all others of its part were played too."""


def played(title: str, stories: Sequence[Callable[[], Told]]) -> str:
    """A table of what came of each story. Raises `Wrong` with every failure."""
    lines, wrong = [], []
    with ThreadPoolExecutor(series.AT_ONCE) as pool:
        for future in [pool.submit(story) for story in stories]:
            try:
                told = future.result()
            except Exception as error:  # whatever it is: the other stories are played, and told
                wrong.append(f"{type(error).__name__}: {error}")
                continue
            print(f"{told.name}: {told.report} ({told.seconds:.0f} s)", file=sys.stderr)
            commands = ", ".join(told.commands) or "none"
            lines.append(f"| {told.name} | {commands} | {told.report or 'waited for'} | {told.end} |")
    if wrong:
        raise Wrong(f"{title}: {len(wrong)} of {len(stories)} went wrong\n\n" + "\n\n".join(wrong))
    head = [f"**{title}**: {len(lines)} of {len(stories)} as intended", "", "| story | commands | report | end |"]
    return "\n".join([*head, "|---|---|---|---|", *lines])


def states(lab: SlurmCluster, folder: Path, runs: int) -> str:
    """Each line of the table that can be made here."""
    lines = series.makeable(quick=False)
    stories = [
        partial(series.state_story, lab, folder / f"{start.made}-{kind[-9:]}", start, kind) for start, kind in lines
    ]
    return played("Starting states × advice", stories)


def losses(lab: SlurmCluster, folder: Path, runs: int) -> str:
    """Lost nodes, memory and room, really: one after the other, for each takes something from its neighbours."""
    stories = [
        partial(series.state_story, lab, folder / f"{start.made}-{kind[-9:]}", start, kind)
        for start, kind in series.makeable(quick=False, loss=True)
    ]
    left_out = "" if CGROUPS.is_dir() else f"\n\nNot played: out of memory, for which there is no {CGROUPS} here."
    old, series.AT_ONCE = series.AT_ONCE, 1
    try:
        return played("Lost nodes, memory and room × advice", stories) + left_out
    finally:
        series.AT_ONCE = old


def gates(lab: SlurmCluster, folder: Path, runs: int) -> str:
    """Each closed gate before a failed and before a hung job."""
    stories = [
        partial(series.gate_story, lab, folder / f"{made}{n}", gate, made)
        for made in ("failed", "running")
        for n, gate in enumerate(CLOSED_GATES)
    ]
    return played("Closed gates", stories)


def kills(lab: SlurmCluster, folder: Path, runs: int) -> str:
    """SIGKILL before and after each write and each command; later points than there are mean no kill."""
    stories = [
        partial(series.kill_story, lab, folder / f"{made}{at}", made, at)
        for made in ("failed", "running")
        for at in range(1, MOST_POINTS)
    ]
    return played("SIGKILL at every point", stories)


def outages(lab: SlurmCluster, folder: Path, runs: int) -> str:
    """slurmctld is stopped while a world stands at each point, and started three seconds later."""
    points = [f"{when} {step}" for step in STEPS for when in ("before", "after")]
    waiting: list[World] = []

    def stand(world: World) -> None:
        waiting.append(world)
        while not (world.folder / "go").exists():
            time.sleep(0.1)

    stories = [
        partial(series.paused_story, lab, folder / f"{made} {point}", made, point, stand, exact=False)
        for made in ("failed", "running")
        for point in points
    ]
    with ThreadPoolExecutor(1) as pool:
        away = pool.submit(_away_when_all_stand, lab, waiting, len(stories))
        old, series.AT_ONCE = series.AT_ONCE, len(stories)
        try:
            table = played("slurmctld stopped and started at every step", stories)
        finally:
            series.AT_ONCE = old
        away.result()
    return table


def _away_when_all_stand(lab: SlurmCluster, waiting: list[World], count: int) -> None:
    deadline = time.monotonic() + 120
    while len(waiting) < count and time.monotonic() < deadline:
        time.sleep(0.1)
    series.slurmctld_away(lab, list(waiting))


def tokens(lab: SlurmCluster, folder: Path, runs: int) -> str:
    """The token is revoked for five seconds at each step."""
    stories = [
        partial(series.paused_story, lab, folder / f"{made} {when} {step}", made, f"{when} {step}",
                series.without_token, exact=True)
        for made in ("failed", "running") for step in STEPS for when in ("before", "after")
    ]  # fmt: skip
    return played("The token revoked at every step", stories)


def two(lab: SlurmCluster, folder: Path, runs: int) -> str:
    """Two controllers, and one that takes over."""
    return played(
        "Two controllers",
        [partial(series.two_story, lab, folder / "two"), partial(series.takeover_story, lab, folder / "over")],
    )


def people(lab: SlurmCluster, folder: Path, runs: int) -> str:
    """What somebody does between two steps; the stories with a watchdog and a lost state each by itself."""
    stories = {story: partial(person_story, lab, folder / f"{n}", story) for n, story in enumerate(STORIES)}
    beside = [play for story, play in stories.items() if not story.watched]
    alone = [*(play for story, play in stories.items() if story.watched),
             partial(state_lost_story, lab, folder / "lost")]  # fmt: skip
    table = played("People between two steps", beside)
    old, series.AT_ONCE = series.AT_ONCE, 1
    try:
        return f"{table}\n\n{played('The same, one by one', alone)}"
    finally:
        series.AT_ONCE = old


def waits(lab: SlurmCluster, folder: Path, runs: int) -> str:
    """The wait of requeued jobs, shortened and not, beside many other jobs."""
    crowd(lab, CROWD)
    lines = [
        f"**A requeued job runs again**: {runs} jobs at once, half failed and half hung, beside {CROWD} others;"
        " seconds from the release to Slurm's start",
        "",
        "| wait | n | p50 | p95 | max | lost | listings, most in 30 s | seconds in all |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    lost = 0
    for name, shortened in (("shortened", True), ("Slurm's own", False)):
        seen = restarts(lab, folder / name[:5], runs, shortened=shortened)
        p95 = seen.waits[min(len(seen.waits) - 1, round(0.95 * (len(seen.waits) - 1)))]
        lost += seen.lost
        lines.append(
            f"| {name} | {len(seen.waits)} | {median(seen.waits):.1f} | {p95:.1f} | {max(seen.waits):.1f} "
            f"| {seen.lost} | {seen.listings}, {seen.most_in_window} | {seen.seconds:.0f} |"
        )
        print(lines[-1], file=sys.stderr)
        if seen.most_in_window > 2:
            raise Wrong(f"{seen.most_in_window} listings within 30 s")
    if lost:
        raise Wrong("\n".join([*lines, f"{lost} restarts were lost"]))
    return "\n".join(lines)


PARTS: dict[str, Part] = {
    "states": states,
    "losses": losses,
    "gates": gates,
    "kills": kills,
    "outages": outages,
    "tokens": tokens,
    "two": two,
    "people": people,
    "waits": waits,
}


def main() -> int:
    """Play the parts asked for and print them."""
    parser = argparse.ArgumentParser(prog="python -m tests.controller.real.proving", description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append", help="only this; may be given again")
    parser.add_argument("--runs", type=int, default=50, help="jobs in each series of waits")
    options = parser.parse_args()
    good = True
    for name in options.part or PARTS:
        with tempfile.TemporaryDirectory(prefix="rk-", ignore_cleanup_errors=True) as folder:
            Path(folder).chmod(0o755)
            begun = series.losing_cluster if name == "losses" else series.cluster
            with begun(Path(folder)) as lab:
                try:
                    print(PARTS[name](lab, Path(folder) / "w", options.runs), end="\n\n", flush=True)
                except Wrong as wrong:
                    good = False
                    print(f"**{name} went wrong**, see above.", end="\n\n", flush=True)
                    print(wrong, file=sys.stderr)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
