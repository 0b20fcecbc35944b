"""How is one run lived through? Several side by side on one site; the product is killed and let sleep as planned.

`python -m lab.virtual FOLDER lab.storms.running SEED COUNT TOGETHER` prints a line of JSON for each run.
"""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings

from lab.simulate.model import Cluster, ControllerDown
from lab.simulate.outside import NotDone, act
from lab.simulate.virtual_logs import VirtualLogs
from lab.storms.checking import Checker, Killed
from lab.storms.drawing import LIMITS, SECONDS, Event, Plan, draw
from lab.virtual.site import VirtualSite
from workloads.models import Cluster as Row

START = 1_777_622_400.0  # 2026-05-01 08:00:00 UTC


@dataclass(frozen=True)
class Ran:
    """What came of one seed."""

    seed: int
    mode: str
    commands: int
    requeues: int
    kills: int
    violations: tuple[str, ...]


class Run:
    """One plan on its cluster."""

    def __init__(self, plan: Plan, site: VirtualSite, folder: Path) -> None:
        self.plan = plan
        self.kills = 0
        self._site = site
        self._numbers: list[int] = []
        logs = folder / "logs" / plan.name
        logs.mkdir(parents=True)
        self._logs = VirtualLogs(logs)
        self.cluster = Cluster(site.now, plan.settings(os.getuid()), self._logs)
        site.watch(plan.name, self.cluster, logs, environment=plan.name, limits=LIMITS)
        Row.objects.filter(name=plan.name).update(mode=plan.mode.value)
        hands = site.watched(plan.name).hands
        self.checker = Checker(plan, hands.transport.inner, self.cluster, site.clock)
        hands.transport.inner = self.checker

    def submit(self, place: int) -> None:
        """The job at this place of the plan; without a controller nobody can submit."""
        with suppress(ControllerDown):
            self._numbers.append(self.cluster.submit(self.plan.jobs[place][1]))

    def do(self, event: Event) -> None:
        """An act from outside, or a kill at the next command."""
        if event.do == "kill":
            self.checker.kill = event.words[0]
            return
        with suppress(NotDone):
            act(self.cluster, event.do, event.words, self._numbers)

    def revive(self) -> None:
        """New hands on the old journal, after the old ones were killed."""
        self.kills += 1
        self.checker.dead = False
        self._site.watched(self.plan.name).hands.restart()

    def end(self) -> Ran:
        """Judge what was done, and forget the cluster."""
        violations = tuple(self.checker.finish())
        self._site.forget(self.plan.name)
        self._logs.close()
        checker = self.checker
        return Ran(
            self.plan.seed, self.plan.mode.value, checker.commands, len(checker.requeues), self.kills, violations
        )


def live_through(seeds: Sequence[int], folder: Path, seconds: float = SECONDS) -> list[Ran]:
    """The runs of these seeds, side by side on one site, or the first `seconds` of them.

    Django must be ready and its database empty.
    """
    with VirtualSite(folder / f"site-{seeds[0]}", START, seeds[0]) as site:
        runs = [Run(draw(seed), site, folder) for seed in seeds]
        agenda = sorted(_agenda(runs), key=lambda one: one[:2])
        for at, _, run, what in agenda:
            if at > seconds:
                break
            _advance(site, runs, START + at)
            if isinstance(what, int):
                run.submit(what)
            elif what.do == "sleep":
                site.sleep(site.now + float(what.words[0]))
            else:
                run.do(what)
        _advance(site, runs, START + seconds)
        return [run.end() for run in runs]


def _agenda(runs: Sequence[Run]) -> Iterator[tuple[float, int, Run, Event | int]]:
    order = 0
    for run in runs:
        for place, (at, _) in enumerate(run.plan.jobs):
            yield at, (order := order + 1), run, place
        for event in run.plan.events:
            yield event.at, (order := order + 1), run, event


def _advance(site: VirtualSite, runs: Sequence[Run], to: float) -> None:
    """Until `to`; whoever is killed on the way is started again."""
    while True:
        try:
            site.advance(max(to, site.now))
        except Killed:
            dead = next(run for run in runs if run.checker.dead)
            dead.revive()
        else:
            return


def main(arguments: Sequence[str]) -> int:
    """`SEED COUNT TOGETHER`; 0: what was wrong stands in the lines."""
    first, count, together = (int(word) for word in arguments)
    folder = Path(str(settings.REKINDLE["REKINDLE_STATE_DIR"]))
    for number in range(first, first + count, together):
        seeds = range(number, min(number + together, first + count))
        for ran in live_through(seeds, folder / f"from-{number}"):
            sys.stdout.write(json.dumps(asdict(ran)) + "\n")
            sys.stdout.flush()
    return 0
