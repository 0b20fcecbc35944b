"""How are cases put on on a real Slurm? Many side by side, each on nodes of its own, watched from outside."""

import itertools
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from lab.cases.case import Case
from lab.parts.running import until
from lab.real.plan import Planned, rounds
from lab.real.playing import Place, Playing
from lab.real.queue import Listed, look
from lab.real.reading import Reading
from lab.real.rig import POLICY_SAYS, Rig, rig
from lab.score.grading import grade
from lab.score.said import Result
from lab.slurm.layout import answers, free_base_port

AT_ONCE = 12  # cases: on two processors the site keeps up with as many jobs at a poll of a second
NODES_AT_ONCE = 30
PAUSE = 0.4
BEGIN_EVERY = 0.8  # seconds: a start of many processes at once would look like a slow cluster
QUIET_SECONDS = 30.0  # without a word to whoever waits
PORTS = 12  # of one job, for as many attempts


def put_on(cases: Sequence[Case], folder: Path, say: Callable[[str], None]) -> list[Result]:
    """Put on every case that has a script for Slurm, and say a line when it is over; in the order of the cases.

    `folder` gets the truth files, the site's database, the jobs' logs and the product's output.
    `lab.slurm.cluster.LabError` when the private Slurm cannot start.
    """
    results: list[Result] = []
    planned = rounds(cases)
    over = Counted(say, sum(map(len, planned)))
    if planned:
        say(POLICY_SAYS)
    for number, one in enumerate(planned, 1):
        here = folder / f"round{number}"
        here.mkdir(parents=True)
        begun = time.monotonic()
        with rig([plan.partition for plan in one], here) as (made, reading):
            over.say(f"{made.slurm.layout.nodes} nodes, the site and the controller are up in {_since(begun)}")
            results += _Round(made, reading, here, over).play(one)
        say(f"{len(one)} cases in {_since(begun)}, with start and stop")
    places = {case.name: place for place, case in enumerate(cases)}
    return sorted(results, key=lambda result: places[result.case.name])


class Counted:
    """Says which case of how many is over, and now and then that others are still watched."""

    def __init__(self, say: Callable[[str], None], of: int) -> None:
        self._say, self._of = say, of
        self._number = 0
        self._said_at = 0.0

    def say(self, line: str) -> None:
        """A line of another kind."""
        self._said_at = time.monotonic()
        self._say(line)

    def over(self, line: str) -> None:
        """One more is over; `line` says how it went."""
        self._number += 1
        self.say(f"{self._number}/{self._of} {line}")

    def watching(self, names: Sequence[str]) -> None:
        """These are still being watched, which is said when nothing else was for a while."""
        if names and time.monotonic() - self._said_at > QUIET_SECONDS:
            self.say(f"still watched: {', '.join(names)}")


class _Round:
    """The cases of one private Slurm."""

    def __init__(self, made: Rig, reading: Reading, folder: Path, counted: Counted) -> None:
        self._slurm, self._reading, self._counted = made.slurm, reading, counted
        self._truth = folder / "truth"
        self._truth.mkdir()
        self._ports = itertools.count(free_base_port(), PORTS)

    def play(self, planned: Sequence[Planned]) -> list[Result]:
        """Those that may run side by side, then those that must be alone, one by one."""
        results = self._together([plan for plan in planned if not plan.alone])
        for plan in planned:
            if plan.alone:
                results += self._together([plan])
                until(self._answers, 60, "the scheduler answers again")
        return results

    def _together(self, waiting: list[Planned]) -> list[Result]:
        results: list[Result] = []
        playing: list[Playing] = []
        began = 0.0
        while waiting or playing:
            if time.monotonic() - began > BEGIN_EVERY and (plan := _next(waiting, playing)):
                began = time.monotonic()
                waiting.remove(plan)
                playing.append(self._begin(plan))
            listed = self._listed(playing)
            for one in list(playing):
                one.look(listed)
                if one.over():
                    playing.remove(one)
                    results.append(one.end())
                    self._counted.over(told(results[-1], one.seconds))
            self._counted.watching([one.case.name for one in playing])
            time.sleep(PAUSE)
        return results

    def _begin(self, plan: Planned) -> Playing:
        truth = self._truth / f"{plan.tag}.jsonl"
        place = Place(self._slurm, plan.partition, plan.tag, truth, lambda: _free(self._ports), self._reading.said)
        playing = Playing(plan.case, place)
        playing.begin()
        return playing

    def _listed(self, playing: Sequence[Playing]) -> Mapping[int, Listed]:
        if any(one.scene.away for one in playing):
            return {}
        try:
            return look(self._slurm)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return {}

    def _answers(self) -> bool:
        try:
            return "is UP" in self._slurm.client(["scontrol", "ping"])
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return False


def told(result: Result, seconds: float) -> str:
    """One line on a case that is over; without a deed in its truth file it was not put on."""
    case, graded = result.case, grade(result, "slurm")
    if not graded.counted:
        return f"{case.sort} {case.name}: {graded.standing}: {graded.why}; {seconds:.0f} s"
    return f"{case.sort} {case.name}: {graded.said}: {'; '.join(graded.wrong) or 'right'}; {seconds:.0f} s"


def _next(waiting: Sequence[Planned], playing: Sequence[Playing]) -> Planned | None:
    """The first case that still fits beside those that are being played."""
    if len(playing) >= AT_ONCE:
        return None
    taken = sum(one.script.nodes for one in playing)
    return next((plan for plan in waiting if not taken or taken + plan.nodes <= NODES_AT_ONCE), None)


def _free(ports: "itertools.count[int]") -> int:
    """The next block in which nobody listens."""
    return next(port for port in ports if not any(answers(port + place) for place in range(PORTS)))


def _since(begun: float) -> str:
    return f"{time.monotonic() - begun:.0f} s"
