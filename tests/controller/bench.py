"""A controller on the bench: scripted scheduler and clock, real HTTP and journal, killed and restarted at will."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from controller.client import Advisor
from controller.config import Settings
from controller.journal import Journal
from controller.loop import Controller
from controller.plain import Voice
from tests.controller.advisor import SmallAdvisor
from tests.controller.scripted import ScriptedClock, ScriptedScheduler


class Crash(BaseException):
    """The process dies here."""


class Fuse:
    """Burns through at the given effect: `points` counts them and tells their names."""

    def __init__(self, at: int | None = None) -> None:
        self.at = at
        self.points: list[str] = []

    def tick(self, name: str) -> None:
        self.points.append(name)
        if self.at is not None and len(self.points) == self.at:
            raise Crash(name)


def fused(thing: Any, fuse: Fuse, names: tuple[str, ...]) -> Any:
    """`thing` with a point before and a point after each of these calls."""
    for name in names:
        plain = getattr(thing, name)

        def call(*args: Any, _plain: Callable[..., Any] = plain, _name: str = name, **options: Any) -> Any:
            fuse.tick(f"before {_name}")
            answer = _plain(*args, **options)
            fuse.tick(f"after {_name}")
            return answer

        setattr(thing, name, call)
    return thing


ACTIONS = ("mark", "requeue_hold", "update_exclusions", "exclude_for_tasks", "release", "start_after", "cancel")
WRITES = ("take_lease", "reconcile", "milestone", "record")
LINES = (
    "open_entry",
    "announced",
    "intend",
    "answered",
    "seen",
    "told",
    "finished",
    "set_fence",
    "spread",
    "spread_over",
)


class Fused:
    """The scheduler of one life of a controller: the same cluster, with points at each command."""

    def __init__(self, scheduler: ScriptedScheduler) -> None:
        for name in (*ACTIONS, "jobs", "job", "waiting_tasks", "now", "ping", "limits", "nodes", "ended"):
            setattr(self, name, getattr(scheduler, name))


class Bench:
    """`start` gives a new life to the controller; `passes` lets it run; `log` is what it said."""

    def __init__(
        self, settings: Settings, scheduler: ScriptedScheduler, clock: ScriptedClock, advisor: SmallAdvisor
    ) -> None:
        self.settings = settings
        self.scheduler = scheduler
        self.clock = clock
        self.advisor = advisor
        self.log: list[str] = []
        self.journal: Journal | None = None
        self.controller: Controller | None = None
        self.fuse = Fuse()

    def start(self, at: int | None = None, settings: Settings | None = None) -> None:
        self.stop()
        self.fuse = Fuse(at)
        use = settings or self.settings
        scheduler: Any = fused(Fused(self.scheduler), self.fuse, ACTIONS)
        client = fused(Advisor(use.advisor.url, use.cluster, use.advisor.token_file), self.fuse, WRITES)
        self.journal = Journal(use.controller.journal, self.clock.now())
        fused(self.journal, self.fuse, LINES)
        voice = Voice(self.log.append)
        self.controller = Controller(use, scheduler, client, self.journal, clock=self.clock, voice=voice)

    def stop(self) -> None:
        if self.journal is not None:
            self.journal.close()
        self.journal = self.controller = None

    def passes(self, count: int = 1, until: Callable[[], bool] = lambda: False) -> None:
        """At most `count` passes, sleeping like the loop does, until something is so."""
        if self.controller is None:
            self.start()
        for _ in range(count):
            if until():
                return
            if self.controller is not None and not self.controller.run_pass():
                self.clock.sleep(self.settings.controller.poll_seconds)

    def to_the_end(self, count: int = 60) -> None:
        """Until the advice is reported; fails otherwise."""
        self.passes(count, until=lambda: bool(self.advisor.reports))
        assert self.advisor.reports, "\n".join(self.log)

    def effects(self) -> list[str]:
        return [str(effect[0]) for effect in self.scheduler.effects]

    def milestones(self) -> list[str]:
        return [key.split(":")[1] for key in self.advisor.milestones]

    def another(self, holder: str, folder: Path) -> "Bench":
        """A second controller on another host."""
        changed = _with(self.settings, holder, folder / f"{holder}.jsonl")
        return Bench(changed, self.scheduler, self.clock, self.advisor)


def _with(settings: Settings, holder: str, journal: Path) -> Settings:
    return replace(settings, controller=replace(settings.controller, holder=holder, journal=journal))
