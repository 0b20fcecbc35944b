"""Is nothing done that must not be done, whatever comes at once? And does the checker see it when it is?"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from django.db import transaction

from lab.simulate import commands
from lab.simulate.demo import opt_in
from lab.simulate.model import Cluster
from lab.simulate.play import Fault, Play
from lab.storms.checking import Checker, Killed
from lab.storms.drawing import SECONDS, Plan, draw
from lab.storms.running import START, live_through
from lab.virtual.clock import VirtualClock
from lab.virtual.transport import InProcess
from workloads.mode import Mode
from workloads.models import Cluster as Row

SEEDS = (3, 6)
"""Short enough for every day; `python -m lab.storms` lives through a thousand."""
PLAN = Plan(1, Mode.ACTION, 4, (), ())


@pytest.mark.django_db
def test_nothing_forbidden_is_done(tmp_path: Path) -> None:
    ran = live_through(SEEDS, tmp_path, 120)
    assert [one.seed for one in ran] == list(SEEDS)
    assert [one.violations for one in ran] == [()] * len(SEEDS)
    assert sum(one.requeues for one in ran) >= 2, "nothing was done at all, so nothing was tried"
    assert sum(one.kills for one in ran) >= 1


@pytest.mark.django_db
def test_a_seed_is_the_same_run_again(tmp_path: Path) -> None:
    found = []
    for turn in ("a", "b"):
        with transaction.atomic():
            found.append(live_through([3], tmp_path / turn, 45))
            transaction.set_rollback(True)
    assert found[0] == found[1]


def test_plans_are_drawn_from_their_seed_alone() -> None:
    plans = [draw(seed) for seed in range(200)]
    assert plans == [draw(seed) for seed in range(200)]
    assert {plan.mode for plan in plans} == set(Mode)
    done = {event.do for plan in plans for event in plan.events}
    assert {"listing_empty", "listing_stale", "listing_slow", "kill", "sleep", "cancel", "node_drain"} <= done
    assert all(event.at <= SECONDS for plan in plans for event in plan.events)


Scene = Callable[..., tuple[Checker, Cluster]]


@pytest.fixture
def scene(db: None) -> Scene:
    """`scene(fault, …)`: a checker before a cluster with one job that has run for a minute."""

    def make(*faults: Fault, plan: Plan = PLAN, comment: str = "", **play: object) -> tuple[Checker, Cluster]:
        cluster = Cluster(START, plan.settings(os.getuid()))
        clock = VirtualClock(START)
        checker = Checker(plan, InProcess(cluster), cluster, clock)
        Row.objects.create(name=plan.name, environment=plan.name)
        cluster.submit(Play(nodes=2, steps=1000, faults=faults, comment=comment or opt_in("e"), **play))  # type: ignore[arg-type]
        clock.seconds += 60
        cluster.advance(clock.seconds)
        return checker, cluster

    return make


ECC = Fault("ecc", step=20, attempt=0)
REQUEUE = ("scontrol", "requeuehold", "1")


def asked(checker: Checker, *calls: tuple[str, ...]) -> str:
    for call in calls:
        checker.run(call, 10.0)
    return " ".join(checker.finish())


def test_a_restart_of_a_failed_job_is_right(scene: Scene) -> None:
    assert asked(scene(ECC)[0], REQUEUE, ("scontrol", "update", "JobId=1", "ExcNodeList=n02")) == ""


WRONG: list[tuple[str, tuple[Fault, ...], dict[str, object], tuple[tuple[str, ...], ...], str]] = [
    ("a healthy job is restarted", (), {}, (REQUEUE,), "a requeue of a job that is RUNNING, struck: False"),
    ("a healthy job is cancelled", (), {}, (("scancel", "1"),), "a healthy job was cancelled"),
    (
        "a cancelled job is restarted",
        (Fault("cancel", step=20),),
        {},
        (REQUEUE,),
        "a requeue of a job that is CANCELLED",
    ),
    (
        "a job that reached its limit",
        (),
        {"time_limit_seconds": 20},
        (REQUEUE,),
        "a requeue of a job that is TIMEOUT",
    ),
    (
        "in monitor mode",
        (ECC,),
        {"plan": replace(PLAN, mode=Mode.MONITOR)},
        (REQUEUE,),
        "a command in monitor mode",
    ),
    (
        "in approve mode",
        (ECC,),
        {"plan": replace(PLAN, mode=Mode.APPROVE)},
        (REQUEUE,),
        "a command in approve mode",
    ),
    ("without opt-in", (ECC,), {"comment": "x"}, (REQUEUE,), "a job that did not opt in"),
    (
        "a foreign hold is released",
        (ECC,),
        {},
        (REQUEUE, ("scontrol", "release", "1")),
        "a release of a hold that is not ours",
    ),
    (
        "too few nodes are left",
        (ECC,),
        {},
        (REQUEUE, ("scontrol", "update", "JobId=1", "ExcNodeList=n01,n02,n03")),
        "fewer nodes are left than the job needs",
    ),
    (
        "held for ever",
        (ECC,),
        {},
        (REQUEUE, ("scontrol", "update", "JobId=1", f"AdminComment=rekindle/1 g=1 r=1 until={START - 100:.0f}")),
        "job 1 is still held by us, 160 s late",
    ),
    (
        "a node is touched",
        (ECC,),
        {},
        (("scontrol", "update", "NodeName=n01", "State=DRAIN", "Reason=x"),),
        "a command that is about no job",
    ),
]


@pytest.mark.parametrize(("faults", "more", "calls", "said"), [pytest.param(*row[1:], id=row[0]) for row in WRONG])
def test_what_is_wrong_is_seen(
    scene: Scene, faults: tuple[Fault, ...], more: dict[str, object], calls: tuple[tuple[str, ...], ...], said: str
) -> None:
    assert said in asked(scene(*faults, **more)[0], *calls)


def test_the_same_attempt_twice_and_a_storm_are_seen(scene: Scene) -> None:
    checker, _ = scene(ECC)
    checker.requeues += [(START + at, job, 0) for at, job in ((1, 7), (2, 7), (3, 8), (4, 9))]
    said = " ".join(checker.finish())
    assert "attempt 7-0 was requeued 2 times" in said
    assert "4 restarts within 600 s" in said


def test_a_command_that_is_refused_did_nothing(scene: Scene) -> None:
    checker, cluster = scene(Fault("cancel", step=20))
    refused = commands.answer(cluster, ("scontrol", "requeuehold", "99"))
    assert refused[0] != 0
    assert asked(checker, ("scontrol", "requeuehold", "99")) == ""


@pytest.mark.parametrize(("when", "restarts"), [("before", 0), ("after", 1)])
def test_a_kill_strikes_before_or_after_the_effect(scene: Scene, when: str, restarts: int) -> None:
    checker, cluster = scene(ECC)
    checker.kill = when
    with pytest.raises(Killed):
        checker.run(REQUEUE, 10.0)
    assert (cluster.jobs[1].restarts, checker.dead) == (restarts, True)
