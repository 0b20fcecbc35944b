"""What if the controller dies just before or just after any effect? One requeue, one release, one report."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from controller.plain import Voice
from controller.watchdog import Watchdog
from schedulers.states import JobState
from tests.controller.advisor import advice, wire
from tests.controller.bench import Bench, Crash
from tests.controller.scripted import START, row

MOST_POINTS = 120


@dataclass(frozen=True)
class Story:
    """A job, an advice, and the effects that must come about exactly once."""

    name: str
    job: dict[str, Any]
    advice: dict[str, Any] = field(default_factory=dict)
    once: tuple[str, ...] = ("requeue_hold", "release")
    milestones: tuple[str, ...] = ("SLURM_REQUEUE_HOLD", "SLURM_UPDATE_CONSTRAINTS", "SLURM_RELEASE")
    kill_seconds: float = 0.0
    mark_refused: str = ""


STORIES = (
    Story("a failed job", {}),
    Story("a hung job", {"state": JobState.RUNNING}, kill_seconds=4.7),
    Story("a failed job without exclusions", {}, {"nodeConstraints": {}},
          milestones=("SLURM_REQUEUE_HOLD", "SLURM_RELEASE")),
    Story("a failed job to be released later", {}, {"notBefore": wire(START + timedelta(seconds=12))}),
    Story("a job requeued by Slurm", {"state": JobState.PENDING, "restarts": 1}, once=("update_exclusions",),
          milestones=("SLURM_UPDATE_CONSTRAINTS",)),
    Story("a job to be stopped", {"state": JobState.RUNNING}, {"operation": "RECOVERY_OPERATION_TERMINATE"},
          once=("cancel",), milestones=("SLURM_CANCEL",)),
    Story("a failed job that may not be marked", {}, {"notBefore": wire(START + timedelta(seconds=60))},
          mark_refused="Access/permission denied"),
)  # fmt: skip


def prepare(bench: Bench, story: Story) -> None:
    coarse = replace(bench.settings.controller, poll_seconds=3.0)  # fewer passes, the same points
    bench.settings = replace(bench.settings, controller=coarse)
    bench.scheduler.kill_seconds = story.kill_seconds
    bench.scheduler.mark_refused = story.mark_refused
    bench.scheduler.add(row(**story.job))
    bench.advisor.advice = [advice(**story.advice)]


def live(bench: Bench, at: int | None, passes: int = 80) -> str | None:
    """One life of the controller, until it dies at a point, has reported and come to rest, or time is up."""
    try:
        bench.start(at)
        bench.passes(
            passes, until=lambda: bool(bench.advisor.reports) and not (bench.journal and bench.journal.entries)
        )
    except Crash as crash:
        return str(crash)
    finally:
        bench.stop()
    return None


@pytest.fixture
def fresh(bench: Bench) -> Callable[[], Bench]:
    """A new world on the same bench: cluster, Advisor and journal as if nothing had happened."""

    def start_over() -> Bench:
        bench.stop()
        bench.settings.controller.journal.unlink(missing_ok=True)
        world = bench.scheduler
        for memory in (world.jobs_by_number, world.excluded, world.commands, world.effects, world.due):
            memory.clear()
        bench.clock.seconds = 1000.0
        bench.advisor.lease = None
        for memory in (
            bench.advisor.milestones,
            bench.advisor.events,
            bench.advisor.reports,
            bench.advisor.requests,
        ):
            memory.clear()
        bench.log.clear()
        return bench

    return start_over


def judge(bench: Bench, story: Story, died: str) -> None:
    happened = "\n".join([f"died {died}", *bench.log, str(bench.scheduler.effects)])
    for effect in story.once:
        assert bench.effects().count(effect) == 1, happened
    assert tuple(bench.milestones()) == story.milestones, happened
    assert [report[1] for report in bench.advisor.reports] == ["CONVERGED"], happened
    assert bench.scheduler.jobs_by_number[12].restarts <= 1, happened
    assert bench.scheduler.jobs_by_number[12].admin_comment == "", happened


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.name)
def test_killed_at_every_point_once(fresh: Callable[[], Bench], story: Story) -> None:
    points = 0
    for at in range(1, MOST_POINTS):
        bench = fresh()
        prepare(bench, story)
        died = live(bench, at)
        if died is None:
            break
        points += 1
        assert live(bench, None, passes=300) is None
        judge(bench, story, f"at {at}, {died}")
    assert points >= 20, "the points were not reached"


@pytest.mark.parametrize("story", (*STORIES[:2], STORIES[-1]), ids=lambda story: story.name)
def test_killed_again_and_again_at_every_third_point(fresh: Callable[[], Bench], story: Story) -> None:
    bench = fresh()
    prepare(bench, story)
    deaths = 0
    while deaths < 60 and live(bench, 3, passes=300) is not None:
        deaths += 1
    assert live(bench, None, passes=300) is None
    assert deaths > 5
    judge(bench, story, f"{deaths} times")


def test_a_crash_leaves_the_mark_or_the_journal_to_the_watchdog(fresh: Callable[[], Bench]) -> None:
    """Whatever the moment of death: a job that is held can be told to be ours by the watchdog."""
    held = 0
    for at in range(1, MOST_POINTS):
        bench = fresh()
        prepare(bench, STORIES[0])
        if live(bench, at) is None:
            break
        if bench.scheduler.jobs_by_number[12].state is JobState.HELD:
            held += 1
            bench.clock.sleep(600)
            Watchdog(bench.settings, bench.scheduler, bench.clock, Voice(bench.log.append)).run_pass()
            assert bench.effects().count("release") == 1, "\n".join(bench.log)
    assert held >= 8
