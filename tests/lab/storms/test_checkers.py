"""Do the checkers of the storms see what is wrong? Each is shown a command or a product that does it."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction

from advisor_api import deciding
from advisor_api.policy.operation import Operation
from audit.event_type import EventType
from controller.watchdog import Watchdog
from detectors import judging
from lab.simulate import commands
from lab.simulate.model import Cluster
from lab.simulate.play import Fault
from lab.storms.checking import Checker, Requeue
from lab.storms.drawing import HOSTILE_NAMES, LIMITS, OWN_NAME
from lab.storms.hazards import Event
from lab.storms.running import START
from lab.virtual.clock import VirtualClock
from lab.virtual.fate import Doom, Killed
from lab.virtual.transport import InProcess
from schedulers.transport import TimedOut
from tests.lab.storms.scenes import ECC, lived, plan, play, put_on_record
from workloads.mode import Mode
from workloads.models import Cluster as Row

pytestmark = pytest.mark.django_db
Scene = Callable[..., tuple[Checker, Cluster]]
RELEASE = ("scontrol", "release", "1")
REQUEUE = ("scontrol", "requeuehold", "1")


@pytest.fixture
def scene(db: None) -> Scene:
    """`scene(fault, …)`: a checker before a cluster with one job that has run for a minute."""

    def make(*faults: Fault, mode: Mode = Mode.ACTION, **changes: Any) -> tuple[Checker, Cluster]:
        what = plan(mode=mode, nodes=4)
        cluster = Cluster(START, what.settings(os.getuid()))
        clock = VirtualClock(START)
        checker = Checker(what, InProcess(cluster), cluster, clock)
        Row.objects.create(name=what.name, environment=what.name)
        cluster.submit(play(*faults, **changes))
        clock.seconds += 60
        cluster.advance(clock.seconds)
        return checker, cluster

    return make


def asked(checker: Checker, *calls: tuple[str, ...]) -> str:
    for call in calls:
        checker.run(call, 10.0)
    return " ".join(checker.finish())


def test_a_restart_of_a_failed_job_that_is_on_record_is_right(scene: Scene) -> None:
    checker, _ = scene(ECC)
    put_on_record(Row.objects.get(), 1)
    mark = ("scontrol", "update", "JobId=1", "AdminComment=rekindle/1 g=1 r=1 until=1777622500")
    exclude = ("scontrol", "update", "JobId=1", "ExcNodeList=n02")
    assert asked(checker, REQUEUE, mark, exclude, RELEASE) == ""


def test_our_own_hold_may_be_ended_although_its_mark_was_never_set(scene: Scene) -> None:
    checker, _ = scene(ECC)
    put_on_record(Row.objects.get(), 1)
    assert asked(checker, REQUEUE, RELEASE) == ""


def update(word: str) -> tuple[str, ...]:
    return ("scontrol", "update", "JobId=1", word)


WRONG: list[tuple[str, tuple[Fault, ...], dict[str, Any], tuple[tuple[str, ...], ...], str]] = [
    ("healthy", (), {}, (REQUEUE,), "[1] a requeue of a job that is RUNNING, struck: False"),
    ("healthy cancelled", (), {}, (("scancel", "1"),), "[6] a healthy job was cancelled"),
    ("cancelled", (Fault("cancel", step=20),), {}, (REQUEUE,), "[1] a requeue of a job that is CANCELLED"),
    ("its limit", (), {"time_limit_seconds": 20}, (REQUEUE,), "[1] a requeue of a job that is TIMEOUT"),
    ("monitor mode", (ECC,), {"mode": Mode.MONITOR}, (REQUEUE,), "[4] a command in monitor mode"),
    ("no opt-in", (ECC,), {"comment": "x"}, (REQUEUE,), "[6] a job that did not opt in"),
    ("our own job", (ECC,), {"name": OWN_NAME}, (REQUEUE,), "[9] a job of our own"),
    ("not on record", (ECC,), {}, (REQUEUE,), "[3] nothing on record says so"),
    (
        "a foreign hold",
        (ECC,),
        {},
        (REQUEUE, RELEASE, ("scontrol", "hold", "1"), RELEASE),
        "[6] a release of a hold that is not",
    ),
    ("too few nodes", (ECC,), {}, (REQUEUE, update("ExcNodeList=n01,n02,n03")), "[6] fewer nodes are left"),
    ("above the cap", (ECC,), {}, (REQUEUE, update("ExcNodeList=n01,n02")), "[6] more than 1 nodes of 4"),
    (
        "a node",
        (ECC,),
        {},
        (("scontrol", "update", "NodeName=n01", "State=DRAIN", "Reason=x"),),
        "[6] a command that",
    ),
    ("hostile", (ECC,), {}, (REQUEUE, update(f"AdminComment={HOSTILE_NAMES[0]}")), "[10] a command with words"),
]


@pytest.mark.parametrize(("faults", "more", "calls", "said"), [pytest.param(*row[1:], id=row[0]) for row in WRONG])
def test_a_wrong_command_is_seen(
    scene: Scene, faults: tuple[Fault, ...], more: dict[str, Any], calls: tuple[tuple[str, ...], ...], said: str
) -> None:
    assert said in asked(scene(*faults, **more)[0], *calls)


def test_a_command_that_nobody_approved_is_seen(scene: Scene) -> None:
    checker, _ = scene(ECC, mode=Mode.APPROVE)
    put_on_record(Row.objects.get(), 1)
    assert "[4] nobody approved it" in asked(checker, REQUEUE)


def test_a_record_that_is_not_committed_is_none(scene: Scene) -> None:
    checker, _ = scene(ECC)
    put_on_record(Row.objects.get(), 1, Operation.RESTART)
    with transaction.atomic():
        assert "[3] a command inside a transaction" in asked(checker, REQUEUE)


def test_what_only_all_commands_show_is_seen(scene: Scene) -> None:
    checker, _ = scene(ECC)
    for at, job, restarts in ((1, 7, 0), (2, 7, 0), (3, 8, 0), (4, 9, 0)):
        checker.requeues.append(Requeue(START + at, job, restarts, "ann", 0))
    said = " ".join(checker.finish())
    assert "[5] attempt 7-0 was requeued 2 times" in said
    assert "[7] 4 restarts of all jobs within 600 s" in said


def test_too_many_restarts_of_one_job_are_seen(scene: Scene) -> None:
    checker, _ = scene(ECC)
    checker.requeues += [Requeue(START + 700 * turn, 7, turn, "ann", 10) for turn in range(6)]
    said = " ".join(checker.finish())
    assert "[7] job 7 was requeued 6 times" in said
    assert "[7] job 7 was restarted 6 times at one checkpoint" in said


def test_restarts_over_a_jump_of_the_clock_are_not_added_up(scene: Scene) -> None:
    checker, _ = scene(ECC)
    checker.requeues += [Requeue(START + job, job, 0, "ann", 0, stretch=job // 2) for job in range(6)]
    assert checker.finish() == []


def test_a_command_that_is_refused_did_nothing(scene: Scene) -> None:
    checker, cluster = scene(Fault("cancel", step=20))
    assert commands.answer(cluster, ("scontrol", "requeuehold", "99"))[0] != 0
    assert asked(checker, ("scontrol", "requeuehold", "99")) == ""


@pytest.mark.parametrize(("when", "restarts"), [("before", 0), ("after", 1)])
def test_a_kill_strikes_before_or_after_the_effect(scene: Scene, when: str, restarts: int) -> None:
    checker, cluster = scene(ECC)
    checker.fate.dooms["controller x"] = Doom(frozenset({"command"}), 1, when)
    with checker.fate.acting("controller x"), pytest.raises(Killed):
        checker.run(REQUEUE, 10.0)
    assert cluster.jobs[1].restarts == restarts


def test_an_answer_that_gets_lost_leaves_its_effect(scene: Scene) -> None:
    checker, cluster = scene(ECC)
    checker.lose = True
    with pytest.raises(TimedOut):
        checker.run(REQUEUE, 10.0)
    assert cluster.jobs[1].restarts == 1


# --- products that do what they must not do


def test_a_product_without_caps_is_seen(tmp_path: Path) -> None:
    jobs = [play(ECC, nodes=1, user=user) for user in ("ann", "ben", "ann", "ben")]
    loose = {"storm_restarts": 100, "max_user_restarts": 100, "min_exclusions": 8, "max_excluded_share": 1.0}
    said = " ".join(lived(plan(*jobs), tmp_path, 32, policy=loose).violations)
    assert "restarts of all jobs within 600 s" in said
    assert "[6] more than 1 nodes of 8 are left out" in said


@pytest.mark.parametrize(
    ("mode", "said"), [(Mode.MONITOR, "[4] a command in monitor mode"), (Mode.APPROVE, "[4] nobody approved it")]
)
def test_a_product_that_does_not_ask_for_its_mode_is_seen(tmp_path: Path, mode: Mode, said: str) -> None:
    assert said in " ".join(lived(plan(play(ECC), mode=mode), tmp_path, 25, acts_anyhow=True).violations)


def test_a_product_that_calls_every_pause_a_hang_is_seen(tmp_path: Path) -> None:
    pause = Fault("pause", step=40, attempt=0, seconds=20.0)
    hasty = {"hang_floor_seconds": 2.0, "hang_cold_seconds": 2.0, "hang_factor": 1.0}
    said = " ".join(lived(plan(play(pause)), tmp_path, 38, limits={**LIMITS, **hasty}).violations)
    assert "[2] 1-0 is said to hang" in said
    assert "[1] a restart of 1-0, which is" in said


def test_a_product_that_leaves_no_trail_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = deciding.record
    monkeypatch.setattr(
        deciding,
        "record",
        lambda entries, now: record([entry for entry in entries if entry.type is not EventType.ADVICE], now),
    )
    said = " ".join(lived(plan(play(ECC)), tmp_path, 25).violations)
    assert "[3] advice 1 on 1-0 has no event" in said
    assert "[3] nothing on record says so" in said


def test_a_product_whose_incidents_count_nothing_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "count_stored", lambda verdict, latest: None)
    found = lived(plan(play(ECC)), tmp_path, 25).violations
    assert any("attempt_count of an incident is 0, and 1 stand in it" in one for one in found)


def test_a_watchdog_that_lets_nothing_go_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Watchdog, "run_pass", lambda self: None)
    gone = Event(2, "kill_controller", ("command", "2", "after", "100000"))
    said = lived(plan(play(ECC), events=(gone,)), tmp_path, 150, policy={"hold_seconds": 10}).violations
    assert "[8] job 1 is still held by us" in " ".join(said)


@pytest.mark.parametrize(
    ("others", "seconds", "right"),
    [(0, 41, True), (0, 39, False), (1, 60, False)],
    ids=["alone", "soon", "company"],
)
def test_only_a_silence_that_is_long_and_alone_may_be_taken_for_a_hang(
    scene: Scene, others: int, seconds: float, right: bool
) -> None:
    checker, cluster = scene()
    for _ in range(others):
        cluster.submit(play(nodes=1))
    checker.clock.seconds += 10
    cluster.advance(checker.clock.seconds)
    checker.hush.begin(checker.clock.seconds)
    checker.clock.seconds += seconds
    cluster.advance(checker.clock.seconds)
    put_on_record(Row.objects.get(), 1)
    assert (asked(checker, REQUEUE) == "") is right


def test_who_hung_long_before_is_no_company(scene: Scene) -> None:
    checker, cluster = scene(Fault("hang", step=2))
    cluster.submit(play(nodes=1))
    checker.clock.seconds += 30
    cluster.advance(checker.clock.seconds)
    checker.hush.begin(checker.clock.seconds)
    checker.clock.seconds += 60
    cluster.advance(checker.clock.seconds)
    assert checker.hush.look(checker.clock.seconds) == {(2, 0)}
