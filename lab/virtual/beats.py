"""What does the real beat start, and when is there something for it to do?

Each beat knows its rhythm (that of `recovery_site.celery`, or the controller's own), the time from which there is
something to do, and does it by the product's own functions. A run without anything to do changes nothing, which is
why it may be left out.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from django.conf import settings

from advisor_api.models import Advice
from advisor_api.policy.operation import Operation
from advisor_api.tasks import decide_due, follow_open
from detectors.claims import EARLY
from detectors.tasks import judge_due, read_due
from lab.virtual.clock import VirtualClock
from lab.virtual.dues import OPEN, Dues, read_dues
from lab.virtual.fate import CONTROLLER, SITE, WATCHDOG, Fate
from lab.virtual.hands import default_seconds
from lab.virtual.watched import Watched
from recovery_site.celery import app
from recovery_site.timers import set_right
from workloads.models import Cluster
from workloads.observing import observe
from workloads.turns import claim_due, end_turn

SAME = 1e-6  # seconds: less than this apart is the same moment
HALF = 0.5  # of its rhythm, by which a controller is behind the beat: the mean of what is nobody's choice
RHYTHM = {
    entry["task"]: float(entry["schedule"])
    for entry in app.conf.beat_schedule.values()
    if isinstance(entry["schedule"], int | float)  # what waits for a time of the day is nothing of a run
}


@dataclass
class Stage:
    """What all beats share. `stirred_at`: when anything but reading was done last, in epoch seconds."""

    clock: VirtualClock
    watched: dict[str, Watched] = field(default_factory=dict)
    fate: Fate = field(default_factory=Fate)
    read_at: float = 0.0
    stirred_at: float = 0.0
    clock_set: bool = False  # since the timers were last looked at
    _dues: Dues | None = None

    @property
    def dues(self) -> Dues:
        """What is due; read again after anything was done."""
        if self._dues is None:
            self._dues = read_dues(self.clock.ahead)
        return self._dues

    def forget_dues(self) -> None:
        """Something was done, or came from outside."""
        self._dues = None


class Beat(ABC):
    """One thing that is done again and again: at `phase + n * every` seconds after the start."""

    every: float
    phase = 0.0
    part = ""  # of the site, in whose process it is done

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    @property
    def now(self) -> float:
        """The moment, epoch seconds."""
        return self.stage.clock.seconds

    @abstractmethod
    def due_at(self) -> float | None:
        """Since or from when there is something to do, in epoch seconds; `None`: there is nothing."""

    @abstractmethod
    def run(self) -> bool:
        """Do it; whether there was anything in the end."""

    def turn(self) -> None:
        """Do it if there is something to do at this moment."""
        due = self.due_at()
        if due is None or due > self.now + SAME:
            return
        try:
            with self.stage.fate.acting(self.part):
                did = self.run()
        except BaseException:  # whoever died has done something before
            self.stage.stirred_at = self.now
            self.stage.forget_dues()
            raise
        if not did:
            return
        self.stage.forget_dues()
        if isinstance(self, Reading):
            self.stage.read_at = self.now
        else:
            self.stage.stirred_at = self.now

    def is_at(self, seconds: float) -> bool:
        """Whether this many seconds after the start are on its rhythm."""
        turns = (seconds - self.phase) / self.every
        return abs(turns - round(turns)) * self.every < SAME

    def first_after(self, now: float, due: float) -> float:
        """The first moment on its rhythm after `now` and not before `due`, all in seconds after the start."""
        next_one = math.floor((now + SAME - self.phase) / self.every) + 1
        return self.phase + max(next_one, math.ceil((due - SAME - self.phase) / self.every)) * self.every


class Observing(Beat):
    """As `workloads.tasks.observe_due` and `observe_cluster`, over the transport of the lab and with its chance."""

    every = RHYTHM["workloads.tasks.observe_due"]
    part = SITE + "observing"

    def due_at(self) -> float | None:
        """When the first cluster is due."""
        return self.stage.dues.observe_at

    def run(self) -> bool:
        """Observe every cluster that is due; one that answers slowly is over so much later."""
        clock = self.stage.clock
        least = timedelta(seconds=settings.REKINDLE["REKINDLE_COMMAND_SECONDS"] + 5)
        by_key = {one.key: one for one in self.stage.watched.values()}
        for turn in claim_due(clock.now(), least):
            one = by_key[turn.cluster_id]
            before = one.transport.spent_seconds
            try:
                observe(Cluster.objects.get(pk=one.key), one.scheduler, clock.now())
            finally:
                took = timedelta(seconds=one.transport.spent_seconds - before)
                end_turn(turn, clock.now(), clock.now() + took, one.random.random)
        return True


class Reading(Beat):
    """`detectors.tasks.read_due`, and what the beat links to it."""

    every = RHYTHM["detectors.tasks.read_due"]
    part = SITE + "reading"

    def due_at(self) -> float | None:
        """When the first attempt may be claimed."""
        at = self.stage.dues.read_at
        return None if at is None else at - EARLY * settings.REKINDLE["REKINDLE_READ_SECONDS"]

    def run(self) -> bool:
        """Read, judge, decide."""
        read_due()
        with self.stage.fate.acting(Deciding.part):
            decide_due()
        return True


class Judging(Beat):
    """`detectors.tasks.judge_due`."""

    every = RHYTHM["detectors.tasks.judge_due"]
    part = SITE + "judging"

    def due_at(self) -> float | None:
        """When the first attempt is to be judged."""
        return self.stage.dues.judge_at

    def run(self) -> bool:
        """Judge."""
        judge_due()
        return True


class Deciding(Beat):
    """`advisor_api.tasks.decide_due`."""

    every = RHYTHM["advisor_api.tasks.decide_due"]
    part = SITE + "deciding"

    def due_at(self) -> float | None:
        """When the first verdict is to be decided on."""
        return self.stage.dues.decide_at

    def run(self) -> bool:
        """Decide."""
        decide_due()
        return True


class Following(Beat):
    """`advisor_api.tasks.follow_open`, after whatever it could see the consequence of.

    New lines matter to it only while a recovery waits for a step.
    """

    every = RHYTHM["advisor_api.tasks.follow_open"]
    part = SITE + "following"

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self._followed_at = 0.0

    def due_at(self) -> float | None:
        """Since the last moment that matters, while something is open; else when the first advice expires."""
        stage, dues = self.stage, self.stage.dues
        if dues.expire_at is None and not dues.open_recoveries:
            return None
        moved_at = max(stage.stirred_at, stage.read_at if dues.moving else 0.0)
        return moved_at if moved_at > self._followed_at else dues.expire_at

    def run(self) -> bool:
        """Follow."""
        follow_open()
        return True

    def turn(self) -> None:
        """What it does itself stirs nothing."""
        stirred_at = self.stage.stirred_at
        super().turn()
        self.stage.stirred_at = stirred_at
        self._followed_at = self.now


class SettingRight(Beat):
    """`recovery_site.tasks.set_timers_right`."""

    every = RHYTHM["recovery_site.tasks.set_timers_right"]
    part = SITE + "observing"

    def due_at(self) -> float | None:
        """At once, since the clock was set."""
        return self.now if self.stage.clock_set else None

    def run(self) -> bool:
        """Set right."""
        moved = set_right(self.stage.clock.now())
        self.stage.clock_set = False
        return moved > 0


class Controlling(Beat):
    """The controllers of clusters on which something is advised or begun, and each once at its start.

    A pass without either asks three questions and does nothing; its lease is extended again by the next pass,
    under the same fencing number, even when it has run out meanwhile. Nor does a pass do anything that sees what
    the one before saw, while the controller leaves every job of it alone.
    """

    every = default_seconds("controller", "poll_seconds")
    phase = HALF * every

    def due_at(self) -> float | None:
        """Now, while there is one: what it sees may change at any moment."""
        return self.now if self._concerned() else None

    def run(self) -> bool:
        """Those that see something new make their passes."""
        awake = [(one, shown) for one, shown, advised in self._concerned() if not one.hands.rests(shown, advised)]
        for one, shown in awake:
            one.introduced = True
            with self.stage.fate.acting(CONTROLLER + one.cluster.settings.cluster_name):
                one.hands.run_passes(shown)
        return bool(awake)

    def _concerned(self) -> list[tuple[Watched, Hashable, int]]:
        """Each with what it can see, and how many advice there are."""
        given = self._given()
        concerned: list[tuple[Watched, Hashable, int]] = []
        for one in self.stage.watched.values():
            if self.now < one.controller_from:
                continue
            advice = given.get(one.key, [])
            if advice or one.hands.busy or not one.introduced:
                concerned.append((one, (tuple(advice), one.listed()), len(advice)))
        return concerned

    def _given(self) -> dict[int, list[int]]:
        """Open advice of each cluster that is for a controller."""
        found: dict[int, list[int]] = {}
        if self.stage.dues.expire_at is None:  # no advice is open at all
            return found
        rows = Advice.objects.filter(state__in=OPEN).exclude(operation=Operation.WAIT.value).order_by("pk")
        for cluster, key in rows.values_list("attempt__job__cluster_id", "pk"):
            found.setdefault(cluster, []).append(key)
        return found


class Guarding(Beat):
    """The watchdogs of clusters on which a job is held, by whomever, and once more when none is."""

    every = default_seconds("watchdog", "poll_seconds")
    phase = HALF * Controlling.every

    def due_at(self) -> float | None:
        """Now, while there is one."""
        return self.now if any(True for _ in self._active()) else None

    def run(self) -> bool:
        """Each has one look."""
        for one in list(self._active()):
            one.held = _holds(one)
            with self.stage.fate.acting(WATCHDOG + one.cluster.settings.cluster_name):
                one.hands.watchdog.run_pass()
        return True

    def _active(self) -> Iterator[Watched]:
        there = (one for one in self.stage.watched.values() if self.now >= one.watchdog_from)
        return (one for one in there if one.held or _holds(one))


def _holds(one: Watched) -> bool:
    return any(job.held for job in one.cluster.jobs.values())


BEATS: tuple[type[Beat], ...] = (
    SettingRight,
    Observing,
    Reading,
    Judging,
    Deciding,
    Following,
    Controlling,
    Guarding,
)
