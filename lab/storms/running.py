"""How is one run lived through? Several side by side on one site; the product is killed and let sleep as planned.

`python -m lab.virtual FOLDER lab.storms.running SEED [SECONDS]` lives through the whole site of that seed and
prints a line of JSON for each run, and one for the site.
"""

import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from advisor_api.models import Advice, Exclusion
from lab.simulate.model import Cluster, ControllerDown
from lab.simulate.outside import NotDone
from lab.simulate.virtual_logs import VirtualLogs
from lab.storms.acting import happen
from lab.storms.checking import Checker
from lab.storms.drawing import LIMITS, Plan, draw, draw_site, site_of
from lab.storms.hazards import SECONDS, Event
from lab.storms.holding import Holds
from lab.storms.stored import check_caps, check_stored
from lab.virtual.fate import CONTROLLER, SITE, WATCHDOG, Doom, Killed
from lab.virtual.hands import Hands
from lab.virtual.mortal import MortalDatabase
from lab.virtual.site import VirtualSite
from workloads.models import Cluster as Row

START = 1_777_622_400.0  # 2026-05-01 08:00:00 UTC
LOOK_SECONDS = 15.0  # between two looks at holds and caps


@dataclass(frozen=True)
class Ran:
    """What came of one seed. `digest`: of every command with its second, and of every advice."""

    seed: int
    mode: str
    jobs: int
    commands: int
    requeues: int
    advice: dict[str, int]
    exclusions: int
    events: dict[str, int]
    digest: str
    violations: tuple[str, ...]


@dataclass(frozen=True)
class SiteRan:
    """What came of a site: it is over, who died at what, and the processor's seconds."""

    site: int
    deaths: dict[str, int]
    events: dict[str, int]
    seconds: float


class Run:
    """One plan on its cluster."""

    def __init__(
        self,
        plan: Plan,
        site: VirtualSite,
        folder: Path,
        policy: Mapping[str, Any] | None,
        limits: Mapping[str, float],
    ) -> None:
        self.plan = plan
        self.numbers: list[int] = []
        self.touched: set[tuple[int, int]] = set()
        self.forget_dues = site.forget_dues
        self._site = site
        self._events: Counter[str] = Counter()
        self._down: dict[str, float] = {}
        self._unwatched = False
        logs = folder / "logs" / plan.name
        logs.mkdir(parents=True)
        self._logs = VirtualLogs(logs)
        self.cluster = Cluster(site.now, plan.settings(os.getuid()), self._logs)
        site.watch(plan.name, self.cluster, logs, environment=plan.name, limits=limits, policy=policy)
        Row.objects.filter(name=plan.name).update(mode=plan.mode.value)
        self.checker = Checker(plan, self.hands.transport.inner, self.cluster, site.clock, site.fate)
        self.hands.transport.inner = self.checker
        self.holds = Holds(self.checker)

    @property
    def hands(self) -> Hands:
        """Controller and watchdog."""
        return self._site.watched(self.plan.name).hands

    def submit(self, place: int) -> None:
        """The job at this place of the plan; without a controller nobody can submit."""
        with suppress(ControllerDown):
            self.numbers.append(self.cluster.submit(self.plan.jobs[place][1]))

    def do(self, event: Event) -> None:
        """What is planned, if it can be done."""
        with suppress(NotDone):
            happen(self, event)
            self._events[event.do] += 1

    def doom(self, part: str, doom: Doom, down: float) -> None:
        """Somebody of this cluster will die, and stay away for `down` seconds."""
        self._site.fate.dooms[part + self.plan.name] = doom
        self._down[part + self.plan.name] = down

    def revive(self, part: str) -> None:
        """A new controller on the old journal, or a new watchdog, after the old one was killed."""
        watched, site = self._site.watched(self.plan.name), self._site
        site.fate.revive(part)
        begins = site.now + self._down.get(part, 0.0)
        if part.startswith(CONTROLLER):
            watched.hands.restart()
            watched.controller_from = begins
            return
        watched.hands.restart_watchdog()
        watched.watchdog_from = begins
        self._unwatched = True
        self.holds.start_again()

    def look(self, *, awake: bool) -> None:
        """At holds and caps, in the middle of it. `awake`: the product did not stand still since the last look."""
        there = self._site.now >= self._site.watched(self.plan.name).watchdog_from
        self.holds.look(watched=awake and there and not self._unwatched)
        self._unwatched = not there
        check_caps(self.checker)

    def end(self) -> Ran:
        """Judge what was done, and forget the cluster."""
        checker, name = self.checker, self.plan.name
        check_stored(checker, self.touched)
        checker.finish()
        given = Advice.objects.filter(attempt__job__cluster__name=name)
        rows = given.order_by("attempt__job__number", "attempt__index", "generation").values_list(
            "attempt__job__number", "attempt__index", "generation", "operation", "rule", "state"
        )
        told = json.dumps([checker.done, [list(row) for row in rows]])
        ran = Ran(
            seed=self.plan.seed,
            mode=self.plan.mode.value,
            jobs=len(self.numbers),
            commands=checker.commands,
            requeues=len(checker.requeues),
            advice=dict(Counter(row[3] for row in rows)),
            exclusions=Exclusion.objects.filter(cluster__name=name).count(),
            events=dict(self._events),
            digest=hashlib.sha256(told.encode()).hexdigest()[:16],
            violations=tuple(dict.fromkeys(checker.violations)),
        )
        self._site.forget(name)
        self._logs.close()
        return ran


class Storm:
    """Some runs, side by side on one site, to which `events` happen.

    Django must be ready and its database empty. With another `policy` or other `limits` the product does what the
    checkers, which know the defaults alone, must see.
    """

    def __init__(
        self,
        plans: Sequence[Plan],
        events: Sequence[Event],
        folder: Path,
        *,
        policy: Mapping[str, Any] | None = None,
        limits: Mapping[str, float] = LIMITS,
    ) -> None:
        self.site = VirtualSite(folder / f"site-{plans[0].seed}", START, plans[0].seed)
        self.runs = [Run(plan, self.site, folder, policy, limits) for plan in plans]
        self.done: Counter[str] = Counter()
        self._events = events
        self._awake = True
        self._database = MortalDatabase(self.site.fate)

    def live(self, seconds: float = SECONDS) -> list[Ran]:
        """The first `seconds` of it."""
        with self.site, self._database:
            for at, _, run, what in sorted(self._agenda(seconds), key=lambda one: one[:2]):
                if at > seconds:
                    break
                self._advance(START + at)
                if what is None:
                    self._look()
                elif isinstance(what, int):
                    self.runs[run].submit(what)
                elif run < 0:
                    self._on_site(what)
                else:
                    self.runs[run].do(what)
            self._advance(START + seconds)
            self._look()
            return [run.end() for run in self.runs]

    def _agenda(self, seconds: float) -> Iterator[tuple[float, int, int, Event | int | None]]:
        order = 0
        for place, run in enumerate(self.runs):
            for number, (at, _) in enumerate(run.plan.jobs):
                yield at, (order := order + 1), place, number
            for event in run.plan.events:
                yield event.at, (order := order + 1), place, event
        for event in self._events:
            yield event.at, (order := order + 1), -1, event
        for turn in range(1, int(seconds / LOOK_SECONDS)):
            yield turn * LOOK_SECONDS, (order := order + 1), -1, None

    def _on_site(self, event: Event) -> None:
        site = self.site
        self.done[event.do] += 1
        if event.do == "sleep":
            site.sleep(site.now + float(event.words[0]))
            self._awake = False
        elif event.do == "clock_site":
            site.set_clock(float(event.words[0]))
            for run in self.runs:
                run.checker.stretch += 1
        else:
            place, kind, count, when = event.words
            site.fate.dooms[SITE + place] = Doom(frozenset({kind}), int(count), when)

    def _look(self) -> None:
        for run in self.runs:
            run.look(awake=self._awake)
        self._awake = True

    def _advance(self, to: float) -> None:
        """Until `to`; whoever is killed on the way is started again."""
        while True:
            try:
                self.site.advance(max(to, self.site.now))
            except Killed as killed:
                self._revive(killed.part)
            else:
                return

    def _revive(self, part: str) -> None:
        if part.startswith(SITE):
            self._database.revive(part)
            return
        name = part.removeprefix(CONTROLLER).removeprefix(WATCHDOG)
        next(run for run in self.runs if run.plan.name == name).revive(part)


def main(arguments: Sequence[str]) -> int:
    """`SEED [SECONDS]`; 0: what was wrong stands in the lines."""
    seeds = site_of(int(arguments[0]))
    seconds = float(arguments[1]) if len(arguments) > 1 else SECONDS
    plans = [draw(seed) for seed in seeds]
    storm = Storm(plans, draw_site(seeds.start), Path(str(settings.REKINDLE["REKINDLE_STATE_DIR"])))
    lines = [asdict(ran) for ran in storm.live(seconds)]
    deaths, took = dict(storm.site.fate.deaths), round(time.process_time(), 1)
    lines.append(asdict(SiteRan(seeds.start, deaths, dict(storm.done), took)))
    for line in lines:
        sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()
    return 0
