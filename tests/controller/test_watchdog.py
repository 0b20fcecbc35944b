"""Does the watchdog let go what we hold for too long, and nothing else? And does `keep` keep?"""

import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from controller.advice import Mode, read_advice
from controller.config import Settings
from controller.entries import Action, Outcome
from controller.journal import Journal
from controller.keeping import keep
from controller.mark import read_comment
from controller.plain import Voice
from controller.watchdog import Watchdog
from schedulers.port import Garbled, JobDetail, JobRow, Listing
from schedulers.states import JobState
from tests.controller.advisor import advice, wire
from tests.controller.bench import Bench
from tests.controller.scripted import START, ScriptedClock, ScriptedScheduler, row

UNTIL = int((START + timedelta(minutes=5)).timestamp())
MARK = f"rekindle/1 g=1 r=1 until={UNTIL}"
ADVICE = read_advice(advice())


class Yard:
    """A watchdog beside a scripted scheduler; `log` is what it said."""

    def __init__(self, settings: Settings, scheduler: ScriptedScheduler, clock: ScriptedClock) -> None:
        self.scheduler = scheduler
        self.clock = clock
        self.log: list[str] = []
        self.settings = settings
        self.start()

    def start(self, **changes: Any) -> None:
        settings = replace(self.settings, watchdog=replace(self.settings.watchdog, **changes))
        self.watchdog = Watchdog(settings, self.scheduler, self.clock, Voice(self.log.append))

    def at(self, seconds: float) -> None:
        """One look, so many seconds after the start."""
        self.clock.seconds = 1000.0 + seconds
        self.watchdog.run_pass()

    def released(self) -> list[int]:
        return [int(str(effect[1])) for effect in self.scheduler.effects if effect[0] == "release"]


@pytest.fixture
def yard(settings: Settings, scheduler: ScriptedScheduler, clock: ScriptedClock) -> Yard:
    return Yard(settings, scheduler, clock)


def held(number: int = 12, comment: str = MARK, **more: Any) -> JobRow:
    return row(number, **{"state": JobState.HELD, "restarts": 1, "admin_comment": comment, **more})


def test_a_marked_job_is_let_go_after_its_hold_and_not_before(yard: Yard) -> None:
    yard.scheduler.add(held(), excluded=["n03", "n07"])
    yard.at(299)
    assert yard.released() == [] and yard.log == ["the scheduler answers"]
    yard.at(300)
    assert yard.released() == [12]
    assert "its exclusions stay: n03,n07" in yard.log[-1]
    assert yard.scheduler.excluded[12] == ("n03", "n07")
    assert [command[0] for command in yard.scheduler.commands] == ["release"]


def test_a_clock_that_is_set_back_prolongs_no_hold(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    yard.scheduler.add(held())
    yard.at(10)
    back = timedelta(hours=2)
    monkeypatch.setattr(yard.scheduler, "now", lambda: yard.clock.now() - back)
    yard.at(299)
    assert yard.released() == []
    yard.at(301)
    assert yard.released() == [12]


def test_another_hold_of_the_same_attempt_has_its_own_time(yard: Yard) -> None:
    yard.scheduler.add(held())
    yard.at(10)
    yard.scheduler.add(held(comment=f"rekindle/1 g=1 r=1 until={UNTIL + 600}"))
    yard.at(301)
    assert yard.released() == []
    yard.at(901)
    assert yard.released() == [12]


LEFT_ALONE = {
    "no mark": held(comment=""),
    "held by its user": held(comment="", reason="JobHeldUser"),
    "a mark of another attempt": held(restarts=2),
    "a mark of the attempt before": held(restarts=0),
    "kept by an operator": held(comment="rekindle/1 kept r=1"),
    "special exit": held(word="SPECIAL_EXIT"),
    "let go, and held by an administrator, our mark still on": held(reason="JobHeldAdmin"),
    "let go, and held by its user, our mark still on": held(reason="JobHeldUser"),
    "its reservation ended, our mark still on": held(word="RESV_DEL_HOLD", reason="Reservation r was deleted"),
    "its launch failed, our mark still on": held(reason="launch failed requeued held"),
    "running": row(state=JobState.RUNNING, restarts=1, admin_comment=MARK),
    "waiting": row(state=JobState.PENDING, restarts=1, admin_comment=MARK),
    "failed": row(restarts=1, admin_comment=MARK),
    "a mark behind other text": held(comment=f"note {MARK}"),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_is_not_ours_is_left_alone(yard: Yard, name: str) -> None:
    yard.scheduler.add(LEFT_ALONE[name])
    yard.at(10_000)
    assert yard.scheduler.commands == []


@pytest.mark.parametrize(
    "change",
    [
        {"mode": Mode.MONITOR},
        {"enabled": False},
        {"acknowledge_scheduler_actions": False},
        {"environment_pattern": "prod*"},
    ],
)
def test_a_closed_gate_only_says_so(yard: Yard, change: dict[str, Any]) -> None:
    yard.scheduler.add(held())
    yard.start(**change)
    yard.at(1000)
    yard.at(1005)
    assert yard.scheduler.commands == []
    assert sum("would release it" in line for line in yard.log) == 1


def test_what_a_person_holds_after_our_release_stays_held(yard: Yard) -> None:
    yard.scheduler.add(held())
    yard.at(300)
    yard.at(305)
    yard.scheduler.add(held())
    yard.at(310)
    assert yard.released() == [12]
    assert "by somebody else" in yard.log[-1]


def test_a_release_that_was_lost_is_sent_again(yard: Yard) -> None:
    yard.scheduler.add(held())
    yard.scheduler.lose = {"release": "undone"}
    yard.at(300)
    assert yard.released() == []
    yard.at(305)
    assert yard.released() == [12]


def test_a_scheduler_that_is_away_is_unknown(yard: Yard) -> None:
    yard.scheduler.add(held())
    yard.scheduler.down = True
    yard.at(300)
    yard.at(305)
    assert yard.log == ["the scheduler cannot be seen: Unable to contact slurm controller"]
    yard.scheduler.down = False
    yard.at(315)
    assert yard.released() == [12]


def test_everything_is_listed_twice_in_30_seconds_at_most_and_a_hold_still_ends_in_time(yard: Yard) -> None:
    listed: list[float] = []
    plain = yard.scheduler.jobs

    def noted() -> Listing:
        listed.append(yard.clock.seconds)
        return plain()

    yard.scheduler.jobs = noted  # type: ignore[method-assign]
    yard.scheduler.add(held())
    released_at = None
    for seconds in range(0, 400, 5):
        yard.at(seconds)
        if released_at is None and yard.released():
            released_at = seconds
    assert max(sum(at <= other <= at + 30 for other in listed) for at in listed) == 2
    assert released_at is not None and 300 <= released_at <= 305


def test_a_job_that_was_let_go_since_the_last_listing_is_left_alone(yard: Yard) -> None:
    yard.scheduler.add(held())
    yard.at(295)
    yard.scheduler.change(12, state=JobState.RUNNING)
    yard.at(300)
    yard.at(305)
    assert yard.released() == []


def journalled(settings: Settings, *, marked: bool = False, refused: bool = False, finished: bool = False) -> None:
    """What a controller that died after its hold left in the journal of this host."""
    with Journal(settings.controller.journal, START) as journal:
        journal.open_entry(ADVICE)
        journal.intend(ADVICE, Action.REQUEUE_HOLD, START)
        if refused:
            journal.answered(ADVICE, Action.REQUEUE_HOLD, Outcome.REFUSED, START)
        if marked:
            journal.seen(ADVICE, Action.REQUEUE_HOLD, 1, START)
            journal.intend(ADVICE, Action.MARK, START)
            journal.seen(ADVICE, Action.MARK, 1, START)
        if finished:
            journal.finished(ADVICE, START, "GATE_CLOSED")


def test_a_hold_that_only_the_journal_knows_is_ended(yard: Yard) -> None:
    journalled(yard.settings)
    yard.scheduler.add(held(comment=""))
    yard.at(299)
    assert yard.released() == []
    yard.at(301)
    assert yard.released() == [12]


@pytest.mark.parametrize(
    ("job", "journal"),
    [
        (held(comment="", restarts=2), {}),
        (held(comment="", restarts=0), {}),
        (held(13, comment=""), {}),
        (held(comment="", user="other"), {}),
        (held(comment="rekindle/1 kept r=1"), {}),
        (held(comment=""), {"marked": True}),
        (held(comment=""), {"refused": True}),
        (held(comment=""), {"finished": True}),
    ],
    ids=[
        "another attempt",
        "the attempt before",
        "another job",
        "another user",
        "kept",
        "a person took the mark off",
        "our hold was refused",
        "the controller gave it up",
    ],
)
def test_the_journal_proves_no_other_hold(yard: Yard, job: JobRow, journal: dict[str, bool]) -> None:
    journalled(yard.settings, **journal)
    yard.scheduler.add(job)
    yard.at(10_000)
    assert yard.scheduler.commands == []


def marked_ahead(settings: Settings, *, asked: bool, others: bool = False) -> None:
    """What a controller left that marked a running job, and then was paused or died."""
    with Journal(settings.controller.journal, START) as journal:
        journal.set_fence(4, START)
        journal.open_entry(ADVICE)
        journal.intend(ADVICE, Action.MARK, START)
        journal.answered(ADVICE, Action.MARK, Outcome.ACCEPTED, START)
        if asked:
            journal.intend(ADVICE, Action.REQUEUE_HOLD, START)
        if others:
            journal.set_fence(6, START)


@pytest.mark.parametrize(
    ("journal", "released"),
    [({"asked": False}, []), ({"asked": True}, [12]), ({"asked": False, "others": True}, [12])],
    ids=["a person did", "we did", "another controller may have"],
)
def test_a_mark_that_was_put_on_ahead_proves_no_hold_that_was_never_asked_for(
    yard: Yard, journal: dict[str, bool], released: list[int]
) -> None:
    """A job that runs is marked before it is requeued; in between somebody else may requeue and hold it."""
    marked_ahead(yard.settings, **journal)
    yard.scheduler.add(held())
    yard.at(301)
    assert yard.released() == released


def test_a_journal_that_cannot_be_read_is_told_and_marks_still_count(yard: Yard) -> None:
    yard.settings.controller.journal.mkdir()
    yard.scheduler.add(held())
    yard.at(300)
    assert yard.released() == [12]
    assert sum("the journal" in line for line in yard.log) == 1


def test_it_needs_no_advisor_and_loads_no_client() -> None:
    heavy = ("ssl", "http.client", "controller.client")
    script = f"import controller.watchdog, sys; print([name for name in {heavy} if name in sys.modules])"
    root = Path(__file__).resolve().parents[2]
    loaded = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, timeout=180, check=True)
    assert loaded.stdout == b"[]\n"


def test_a_kept_job_is_released_by_nobody(bench: Bench, yard: Yard) -> None:
    bench.scheduler.add(row(admin_comment="ticket 77"))
    bench.advisor.advice = [advice(notBefore=wire(START + timedelta(seconds=30)))]
    bench.passes(10, until=lambda: bench.effects() == ["requeue_hold", "mark", "update_exclusions"])
    said: list[str] = []
    assert keep(12, bench.scheduler, bench.clock, said.append)
    assert "stays held" in said[0]
    comment = read_comment(bench.scheduler.jobs_by_number[12].admin_comment)
    assert (comment.mark, comment.kept, comment.foreign) == (None, 1, "ticket 77")
    bench.to_the_end()
    yard.at(10_000)
    assert bench.scheduler.jobs_by_number[12].held
    assert bench.advisor.reports[0][1:] == ("ABANDONED", "GATE_CLOSED")


@pytest.mark.parametrize("state", [JobState.RUNNING, JobState.PENDING, JobState.FAILED])
def test_only_a_held_job_can_be_kept(scheduler: ScriptedScheduler, clock: ScriptedClock, state: JobState) -> None:
    scheduler.add(row(state=state))
    said: list[str] = []
    assert not keep(12, scheduler, clock, said.append)
    assert scheduler.commands == [] and "not held" in said[0]


def test_a_job_that_still_ends_is_kept_once_it_is_held(scheduler: ScriptedScheduler, clock: ScriptedClock) -> None:
    scheduler.add(row(state=JobState.COMPLETING))
    said: list[str] = []
    assert not keep(12, scheduler, clock, said.append)
    assert scheduler.commands == [] and "still ending; if it is held afterwards" in said[0]


def test_keeping_too_late_is_told(scheduler: ScriptedScheduler, clock: ScriptedClock) -> None:
    scheduler.add(held())
    scheduler.due.append((1000.5, lambda: scheduler.release(12)))
    said: list[str] = []
    assert not keep(12, scheduler, clock, said.append)
    assert "in the same moment" in said[0]


def test_keeping_a_job_nobody_knows_is_told(scheduler: ScriptedScheduler, clock: ScriptedClock) -> None:
    said: list[str] = []
    assert not keep(12, scheduler, clock, said.append)
    assert "could not be kept: Invalid job id" in said[0]


def test_who_was_stopped_after_a_listing_releases_no_hold_of_a_person(yard: Yard) -> None:
    """The controller let the job go meanwhile, and somebody took our mark off and holds it."""
    yard.scheduler.add(held())
    plain = yard.scheduler.jobs

    def stopped() -> Listing:
        seen = plain()
        yard.scheduler.change(12, admin_comment="")
        yard.clock.seconds += 600
        return seen

    yard.scheduler.jobs = stopped  # type: ignore[method-assign]
    yard.at(299)
    assert yard.released() == []


def test_a_watchdog_that_was_started_anew_leaves_alone_who_holds_what_was_let_go(yard: Yard) -> None:
    """The first watchdog released it, and our mark stays on; the second one has not seen that."""
    yard.scheduler.add(held())
    yard.at(301)
    yard.scheduler.change(12, state=JobState.HELD, priority=0, reason="JobHeldAdmin")
    yard.start()
    yard.at(330)
    assert yard.released() == [12]


def test_whoever_holds_it_a_moment_before_our_release_keeps_it(yard: Yard) -> None:
    """Between the watchdog's look and its command somebody lets the job go and holds it."""
    yard.scheduler.add(held())
    plain = yard.scheduler.release

    def a_moment_later(number: int, *, ours: bool = False) -> None:
        yard.scheduler.change(12, reason="JobHeldAdmin")
        plain(number, ours=ours)

    yard.scheduler.release = a_moment_later  # type: ignore[method-assign]
    yard.at(301)
    assert yard.released() == [] and yard.scheduler.jobs_by_number[12].held
    assert any("job 12-1 is not released: Somebody else holds it by now" in line for line in yard.log)


@pytest.mark.parametrize(("took", "released"), [(0.0, [12]), (600.0, [])])
def test_where_one_job_cannot_be_asked_about_a_listing_of_this_moment_is_enough(
    yard: Yard, took: float, released: list[int]
) -> None:
    yard.scheduler.add(held())
    plain = yard.scheduler.jobs

    def slow() -> Listing:
        seen = plain()
        yard.clock.seconds += took
        return seen

    def garbled(number: int) -> JobDetail:
        raise Garbled("words nobody knows")

    yard.scheduler.jobs, yard.scheduler.job = slow, garbled  # type: ignore[method-assign]
    yard.at(300)
    assert yard.released() == released
