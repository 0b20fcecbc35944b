"""How does the product live in virtual time? What the beat and the controllers would do, when it is due.

Nothing of the product is replaced but `django.utils.timezone.now`, the chance in the ends of claims, the clock by
which the API counts requests, the way a command reaches its scheduler, and the network between controller and site.
Moments lie on the grid of the beat's own schedule; those at which nothing is due are jumped over.
"""

import math
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self
from unittest import mock

from django.db import transaction
from django.utils import timezone

from advisor_api.rates import CallerRate
from lab.replay.keeping import keep
from lab.score.said import Said
from lab.simulate.model import Cluster as Simulated
from lab.virtual.beats import BEATS, Stage
from lab.virtual.clock import VirtualClock
from lab.virtual.fate import Fate
from lab.virtual.said import said_of
from lab.virtual.watched import Watched, watch
from recovery_site.forgetting import forget
from workloads import claim_marks
from workloads.models import Cluster


class VirtualSite:
    """A site with controllers and watchdogs, from `start` (epoch seconds) on. Use as a context, or `close` it.

    Django must be ready and its database empty (`lab.virtual.django`, or pytest's). `folder` takes tokens and
    journals. `seed` decides the only chance there is: the jitter between two observations, and the part of a second
    after which what a dead worker had claimed is taken by another one.
    """

    def __init__(self, folder: Path, start: float, seed: int = 0) -> None:
        self._folder = folder
        self._seed = seed
        self._start = math.floor(start)
        self._stage = Stage(VirtualClock(self._start))
        self._beats = tuple(kind(self._stage) for kind in BEATS)
        self._replaced = ExitStack()
        for place, name, ours in self._instead():
            self._replaced.enter_context(mock.patch.object(place, name, ours))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the real time and the real chance back."""
        for one in self._stage.watched.values():
            one.hands.close()
        self._stage.watched.clear()
        self._replaced.close()

    @property
    def now(self) -> float:
        """The virtual moment in epoch seconds."""
        return self._stage.clock.seconds

    @property
    def clock(self) -> VirtualClock:
        """The clock of everything on this site."""
        return self._stage.clock

    @property
    def fate(self) -> Fate:
        """Who of the product dies, and when."""
        return self._stage.fate

    def set_clock(self, ahead: float) -> None:
        """From now on the site's clock is so many seconds fast."""
        self._stage.clock.ahead = ahead
        self._stage.clock_set = True
        self._stage.forget_dues()

    def forget_dues(self) -> None:
        """Something came from outside: what is due is looked up again."""
        self._stage.forget_dues()

    def watched(self, name: str) -> Watched:
        """What belongs to one cluster that is watched."""
        return self._stage.watched[name]

    def sleep(self, to: float) -> None:
        """Nobody of the product does anything until `to` (epoch seconds), as if all stood still; jobs go on."""
        self._move(max(to, self.now))

    def watch(
        self,
        name: str,
        cluster: Simulated,
        logs_folder: Path,
        *,
        environment: str = "",
        limits: Mapping[str, float] | None = None,
        poll_seconds: float = 15.0,
        policy: Mapping[str, Any] | None = None,
    ) -> None:
        """Have the site watch a simulated cluster from now on, and act on it: mode action, with controller.

        Jobs opt in with `lab.simulate.demo.opt_in(environment)`; without one it is the name. `limits` are the
        cluster's own detector limits, `policy` values of a policy of its own.
        """
        self._stage.watched[name] = watch(
            name,
            cluster,
            logs_folder,
            environment=environment or name,
            folder=self._folder,
            limits=limits or {},
            poll_seconds=poll_seconds,
            policy=policy,
            clock=self._stage.clock,
            fate=self._stage.fate,
            seed=self._seed,
        )
        self._stage.forget_dues()

    def forget(self, name: str) -> None:
        """Watch a cluster no more, and drop everything that is stored of it but its trail."""
        one = self._stage.watched.pop(name)
        one.hands.close()
        with transaction.atomic():
            forget(Cluster.objects.get(pk=one.key))
        self._stage.forget_dues()

    def advance(self, to: float) -> None:
        """Let everything happen until `to` (epoch seconds). At `to` itself the acts of others come afterwards."""
        while (moment := self._next_moment()) <= to:
            self._move(moment)
            for beat in self._beats:
                if beat.is_at(moment - self._start):
                    beat.turn()
        self._move(max(to, self.now))

    def said(self, name: str) -> Said:
        """What the product said and did on one cluster so far."""
        commands = tuple(" ".join(call) for call in self._stage.watched[name].hands.transport.calls)
        return said_of([name], {name: commands})[name]

    def keep_verdicts(self, name: str, file: Path) -> None:
        """Write the verdicts on one cluster into `file`, before it is forgotten, to be computed again elsewhere."""
        keep(name, file)

    def log(self, name: str) -> tuple[str, ...]:
        """What the controller and the watchdog of a cluster wrote into their logs."""
        return tuple(self._stage.watched[name].hands.said)

    def _instead(self) -> tuple[tuple[object, str, object], ...]:
        """What of the product is replaced, by what."""
        clock, chance = self._stage.clock, Random(f"{self._seed} claims")
        return (
            (timezone, "now", clock.now),
            (claim_marks, "below", chance.randrange),
            (CallerRate, "timer", staticmethod(clock.monotonic)),
        )

    def _next_moment(self) -> float:
        now = self.now - self._start
        dues = ((beat, beat.due_at()) for beat in self._beats)
        moments = (beat.first_after(now, due - self._start) for beat, due in dues if due is not None)
        return self._start + min(moments, default=math.inf)

    def _move(self, to: float) -> None:
        self._stage.clock.seconds = to
        for one in self._stage.watched.values():
            one.cluster.advance(to)
