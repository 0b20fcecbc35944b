"""How does the product live in virtual time? What the beat and the controllers would do, when it is due.

Nothing of the product is replaced but `django.utils.timezone.now`, the way a command reaches its scheduler, and the
network between controller and site. Moments lie on the grid of the beat's own schedule; those at which nothing is
due are jumped over.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unittest import mock

from django.utils import timezone

from lab.score.said import Said
from lab.simulate.commands import answer
from lab.simulate.model import Cluster as Simulated
from lab.virtual.beats import BEATS, Beat
from lab.virtual.clock import VirtualClock
from lab.virtual.said import said_of
from lab.virtual.transport import Answering, InProcess
from lab.virtual.watched import Watched, watch


class VirtualSite:
    """A site with controllers and watchdogs, from `start` (epoch seconds) on. Use as a context, or `close` it.

    Django must be ready and its database empty (`lab.virtual.django`, or pytest's). `folder` takes tokens and
    journals. `seed` decides the only chance there is: the jitter between two observations.
    """

    def __init__(self, folder: Path, start: float, seed: int = 0) -> None:
        self._folder = folder
        self._seed = seed
        self._start = math.floor(start)
        self._clock = VirtualClock(self._start)
        self._watched: dict[str, Watched] = {}
        self._beats: tuple[Beat, ...] = tuple(kind(self._watched, self._clock) for kind in BEATS)
        self._time = mock.patch.object(timezone, "now", self._clock.now)
        self._time.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the real time back."""
        for one in self._watched.values():
            one.hands.close()
        self._time.stop()

    @property
    def now(self) -> float:
        """The virtual moment in epoch seconds."""
        return self._clock.seconds

    def watch(
        self,
        name: str,
        cluster: Simulated,
        logs_folder: Path,
        *,
        limits: Mapping[str, float] | None = None,
        poll_seconds: float = 15.0,
        policy: Mapping[str, Any] | None = None,
        answering: Answering = answer,
    ) -> None:
        """Have the site watch a simulated cluster from now on, and act on it: mode action, with controller.

        The environment is the name: jobs opt in with `lab.simulate.demo.opt_in(name)`. `limits` are the cluster's
        own detector limits, `policy` values of a policy of its own. `answering` gives the answers to commands.
        """
        self._watched[name] = watch(
            name,
            cluster,
            logs_folder,
            folder=self._folder,
            limits=limits or {},
            poll_seconds=poll_seconds,
            policy=policy,
            transport=InProcess(cluster, answering),
            clock=self._clock,
            seed=self._seed,
        )

    def advance(self, to: float) -> None:
        """Let everything happen until `to` (epoch seconds). At `to` itself the acts of others come afterwards."""
        while (moment := self._next_moment()) <= to:
            self._move(moment)
            for beat in self._beats:
                if beat.is_at(moment - self._start) and beat.is_due(moment):
                    beat.run()
        self._move(max(to, self.now))

    def said(self, name: str) -> Said:
        """What the product said and did on one cluster so far."""
        commands = tuple(" ".join(call) for call in self._watched[name].hands.transport.calls)
        return said_of([name], {name: commands})[name]

    def log(self, name: str) -> tuple[str, ...]:
        """What the controller and the watchdog of a cluster wrote into their logs."""
        return tuple(self._watched[name].hands.said)

    def _next_moment(self) -> float:
        now = self.now
        dues = ((beat, beat.due_at()) for beat in self._beats)
        moments = (beat.first_after(now - self._start, due - self._start) for beat, due in dues if due is not None)
        return self._start + min(moments, default=math.inf)

    def _move(self, to: float) -> None:
        self._clock.seconds = to
        for one in self._watched.values():
            one.cluster.advance(to)
