"""What does the real beat start, and when is there something for it to do?

Each beat knows its rhythm (that of `recovery_site.celery`, or the controller's own), the time from which there is
something to do, and does it by the product's own functions. A run without anything to do changes nothing, which is
why it may be left out.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Min

from advisor_api.models import Advice, Sequence
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from advisor_api.tasks import decide_due, follow_open
from detectors.models import Verdict
from detectors.tasks import EARLY, judge_due, read_due
from lab.virtual.clock import VirtualClock
from lab.virtual.hands import default_seconds
from lab.virtual.watched import Watched
from recovery_site.celery import app
from workloads.models import Attempt, Cluster
from workloads.observing import observe
from workloads.turns import claim_due, end_turn

SAME = 1e-6  # seconds: less than this apart is the same moment
HALF = 0.5  # of its rhythm, by which a controller is behind the beat: the mean of what is nobody's choice
OPEN = (AdviceState.PENDING.value, AdviceState.AWAITING_APPROVAL.value)
RHYTHM = {entry["task"]: float(entry["schedule"]) for entry in app.conf.beat_schedule.values()}


class Beat(ABC):
    """One thing that is done again and again: at `phase + n * every` seconds after the start."""

    every: float
    phase = 0.0

    def __init__(self, watched: Mapping[str, Watched], clock: VirtualClock) -> None:
        self.watched = watched
        self.clock = clock

    @abstractmethod
    def due_at(self) -> float | None:
        """Since or from when there is something to do, in epoch seconds; `None`: there is nothing."""

    @abstractmethod
    def run(self) -> None:
        """Do it."""

    def is_due(self, moment: float) -> bool:
        """Whether there is something to do at this moment."""
        due = self.due_at()
        return due is not None and due <= moment + SAME

    def is_at(self, seconds: float) -> bool:
        """Whether this many seconds after the start are on its rhythm."""
        turns = (seconds - self.phase) / self.every
        return abs(turns - round(turns)) * self.every < SAME

    def first_after(self, now: float, due: float) -> float:
        """The first moment on its rhythm after `now` and not before `due`, all in seconds after the start."""
        turns = max(
            math.floor((now + SAME - self.phase) / self.every) + 1,
            math.ceil((due - SAME - self.phase) / self.every),
        )
        return self.phase + turns * self.every


class Observing(Beat):
    """As `workloads.tasks.observe_due` and `observe_cluster`, over the transport of the lab and with its chance."""

    every = RHYTHM["workloads.tasks.observe_due"]

    def due_at(self) -> float | None:
        """When the first cluster is due."""
        enabled = Cluster.objects.filter(enabled=True)
        if enabled.filter(observe_due_at=None).exists():
            return self.clock.seconds
        return _seconds(enabled.aggregate(at=Min("observe_due_at"))["at"])

    def run(self) -> None:
        """Observe every cluster that is due."""
        least = timedelta(seconds=settings.REKINDLE["REKINDLE_COMMAND_SECONDS"] + 5)
        by_key = {one.key: one for one in self.watched.values()}
        for turn in claim_due(self.clock.now(), least):
            one = by_key[turn.cluster_id]
            try:
                observe(Cluster.objects.get(pk=one.key), one.scheduler, self.clock.now())
            finally:
                end_turn(turn, self.clock.now(), self.clock.now(), one.random.random)


class Reading(Beat):
    """`detectors.tasks.read_due`, and what the beat links to it."""

    every = RHYTHM["detectors.tasks.read_due"]

    def due_at(self) -> float | None:
        """When the first attempt may be claimed."""
        at = _seconds(Attempt.objects.aggregate(at=Min("read_due_at"))["at"])
        return None if at is None else at - EARLY * settings.REKINDLE["REKINDLE_READ_SECONDS"]

    def run(self) -> None:
        """Read, judge, decide."""
        read_due()
        decide_due()


class Judging(Beat):
    """`detectors.tasks.judge_due`."""

    every = RHYTHM["detectors.tasks.judge_due"]

    def due_at(self) -> float | None:
        """When the first attempt is to be judged."""
        return _seconds(Attempt.objects.aggregate(at=Min("judge_due_at"))["at"])

    def run(self) -> None:
        """Judge."""
        judge_due()


class Deciding(Beat):
    """`advisor_api.tasks.decide_due`."""

    every = RHYTHM["advisor_api.tasks.decide_due"]

    def due_at(self) -> float | None:
        """When the first verdict is to be decided on."""
        return _seconds(Verdict.objects.aggregate(at=Min("decide_due_at"))["at"])

    def run(self) -> None:
        """Decide."""
        decide_due()


class Following(Beat):
    """`advisor_api.tasks.follow_open`: once after every moment at which anything else was done."""

    every = RHYTHM["advisor_api.tasks.follow_open"]

    def __init__(self, watched: Mapping[str, Watched], clock: VirtualClock) -> None:
        super().__init__(watched, clock)
        self._followed_at = clock.seconds

    def due_at(self) -> float | None:
        """Since the last moment, while something is open; else when the first advice expires."""
        now = self.clock.seconds
        given = Advice.objects.filter(state__in=OPEN)
        expires_at = _seconds(given.aggregate(at=Min("expires_at"))["at"])
        if expires_at is None and not Sequence.objects.filter(closed_at=None).exists():
            return None
        return now if self._followed_at < now else expires_at

    def run(self) -> None:
        """Follow."""
        self._followed_at = self.clock.seconds
        follow_open()


class Controlling(Beat):
    """The controllers of clusters on which something is advised or begun, and each once at its start.

    A pass without either asks three questions and does nothing; its lease is extended again by the next pass,
    under the same fencing number, even when it has run out meanwhile.
    """

    every = default_seconds("controller", "poll_seconds")
    phase = HALF * every

    def due_at(self) -> float | None:
        """Now, while there is one."""
        return self.clock.seconds if any(self._active()) else None

    def run(self) -> None:
        """Each makes its passes."""
        for one in list(self._active()):
            one.introduced = True
            one.hands.run_passes()

    def _active(self) -> Iterator[Watched]:
        given = Advice.objects.filter(state__in=OPEN).exclude(operation=Operation.WAIT.value)
        keys = set(given.values_list("attempt__job__cluster_id", flat=True))
        return (one for one in self.watched.values() if one.key in keys or one.hands.busy or not one.introduced)


class Guarding(Beat):
    """The watchdogs of clusters on which a job is held, by whomever, and once more when none is."""

    every = default_seconds("watchdog", "poll_seconds")
    phase = HALF * Controlling.every

    def due_at(self) -> float | None:
        """Now, while there is one."""
        return self.clock.seconds if any(self._active()) else None

    def run(self) -> None:
        """Each has one look."""
        for one in list(self._active()):
            one.held = _holds(one)
            one.hands.watchdog.run_pass()

    def _active(self) -> Iterator[Watched]:
        return (one for one in self.watched.values() if one.held or _holds(one))


def _holds(one: Watched) -> bool:
    return any(job.held for job in one.cluster.jobs.values())


def _seconds(at: datetime | None) -> float | None:
    return at.timestamp() if at else None


BEATS: tuple[type[Beat], ...] = (Observing, Reading, Judging, Deciding, Following, Controlling, Guarding)
