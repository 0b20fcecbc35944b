"""What can an Advisor do that lies, floods, dawdles or has another clock? Nothing that its words do not allow."""

import os
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from controller import client
from controller.client import Advisor, Unreachable
from controller.standing import MOST_TOLD
from controller.waiting import FIRST_BREATH, LONGEST_BREATH, Waiting
from schedulers.states import JobState
from tests.controller.advisor import Server, SmallAdvisor, advice, wire
from tests.controller.bench import Bench
from tests.controller.scripted import START, ScriptedClock, row


@pytest.fixture
def ask(server: Server, token_file: Path) -> Advisor:
    return Advisor(server.url, "demo", token_file, seconds=60.0)


@pytest.mark.parametrize("token", ["\ud800", "x" * 513, "é", "a\nb", 7, ["x"]], ids=repr)
def test_a_page_token_that_cannot_be_said_again_is_no_answer(
    ask: Advisor, advisor: SmallAdvisor, token: object
) -> None:
    advisor.list_advice = lambda query: {"advice": [], "nextPageToken": token}  # type: ignore[method-assign]
    with pytest.raises(Unreachable, match="cannot be understood"):
        ask.advice()


def test_a_page_that_is_larger_than_any_is_no_answer(ask: Advisor, advisor: SmallAdvisor) -> None:
    advisor.list_advice = lambda query: {"advice": [None] * 251, "nextPageToken": ""}  # type: ignore[method-assign]
    with pytest.raises(Unreachable, match="cannot be understood"):
        ask.advice()


def test_pages_that_come_slowly_end_together(
    ask: Advisor, advisor: SmallAdvisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LIST_SECONDS", 0.5)

    def slow(query: dict[str, list[str]]) -> dict[str, Any]:
        time.sleep(0.3)
        return {"advice": [], "nextPageToken": "more"}

    advisor.list_advice = slow  # type: ignore[method-assign]
    with pytest.raises(Unreachable, match="takes longer"):
        ask.advice()


def test_a_mark_that_cannot_be_said_again_ends_no_thread(
    server: Server, token_file: Path, advisor: SmallAdvisor
) -> None:
    advisor.watch = lambda seen, seconds: {"seen": "\ud800", "changed": True}  # type: ignore[method-assign]
    waiting = Waiting(
        Advisor(server.url, "demo", token_file), ScriptedClock(), wake=lambda: None, woken=lambda held: None
    )
    assert waiting.ask() > 0
    assert waiting.ask() > 0


def test_an_advisor_that_always_has_something_new_wakes_once_a_second(
    server: Server, token_file: Path, advisor: SmallAdvisor
) -> None:
    clock, wakes = ScriptedClock(), []
    advisor.watch = lambda seen, seconds: {"seen": f"{len(wakes)}", "changed": True}  # type: ignore[method-assign]
    told = Advisor(server.url, "demo", token_file)
    waiting = Waiting(told, clock, wake=lambda: wakes.append(1), woken=lambda held: None)
    breaths = [waiting.ask() for _ in range(6)]
    assert FIRST_BREATH < breaths[0] < breaths[1] <= LONGEST_BREATH
    assert breaths[-1] == LONGEST_BREATH


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("holdUntil", "9999-12-31T23:59:59Z"),
        ("notBefore", "0001-01-01T00:00:00Z"),
        ("expiresAt", "2300-01-01T00:00:00Z"),
        ("observedState", {"submittedAt": "0001-01-01T00:00:00Z"}),
        ("observedState", {"submittedAt": "9999-12-31T23:59:59.9Z"}),
    ],
    ids=str,
)
def test_times_beyond_the_calendar_are_told_and_stop_nothing(bench: Bench, field: str, text: object) -> None:
    bench.scheduler.add(row())
    bench.scheduler.add(row(13))
    bench.advisor.advice = [advice(**{field: text}), advice(13)]
    bench.passes(40, until=lambda: bool(bench.advisor.reports))
    assert bench.effects()[0] == "requeue_hold" and {effect[1] for effect in bench.scheduler.effects} == {13}
    assert any("years" in line for line in bench.log)


def test_a_hold_of_more_than_a_day_is_refused(bench: Bench) -> None:
    bench.scheduler.add(row())
    late = wire(START + timedelta(days=2))
    bench.advisor.advice = [advice(holdUntil=late, notBefore=late, expiresAt=late)]
    bench.passes(20)
    assert bench.scheduler.commands == []
    assert any("more than a day" in line for line in bench.log)


def test_much_that_cannot_be_understood_is_told_in_short(bench: Bench) -> None:
    bench.advisor.advice = [{"heimdallJobId": str(number)} for number in range(200)]
    bench.passes(3)
    (line,) = [line for line in bench.log if "cannot be understood" in line]
    assert line.count("cannot be understood") == MOST_TOLD and line.endswith("and 195 more")


def test_the_partition_that_the_scheduler_shows_counts(bench: Bench) -> None:
    only = replace(bench.settings.controller, partitions=("main",))
    bench.settings = replace(bench.settings, controller=only)
    bench.scheduler.add(row(partition="prod"))
    bench.advisor.advice = [advice(partition="main")]
    bench.passes(20)
    assert bench.scheduler.commands == []
    assert any("'prod' is not in the configuration's list" in line for line in bench.log)


def test_an_advice_that_was_begun_never_comes_to_speak_of_another_job(bench: Bench) -> None:
    """Else a person's hold of job 13 would be taken for ours by the journal of job 12."""
    bench.scheduler.add(row())
    bench.scheduler.add(row(13, state=JobState.HELD, restarts=1))
    late = wire(START + timedelta(minutes=4))
    bench.advisor.advice = [advice(notBefore=late)]
    bench.passes(8)
    assert bench.scheduler.jobs_by_number[12].held
    bench.advisor.advice = [advice(12, jobId="13", notBefore=late)]
    bench.to_the_end(600)
    assert {effect[1] for effect in bench.scheduler.effects} == {12}
    assert bench.scheduler.jobs_by_number[13].held


@pytest.mark.parametrize(("off", "begins"), [(30, True), (-30, True), (90, False), (-90, False)])
def test_an_advisor_with_another_clock_begins_nothing(bench: Bench, off: int, begins: bool) -> None:
    bench.advisor._now = lambda: bench.clock.now() + timedelta(seconds=off)
    bench.scheduler.add(row())
    bench.advisor.advice = [advice(notBefore=wire(START - timedelta(minutes=5)))]
    bench.passes(10)
    assert bool(bench.scheduler.commands) is begins
    assert any("the Advisor's clock is" in line for line in bench.log) is not begins


def test_an_advisor_from_another_millennium_is_no_advisor(bench: Bench) -> None:
    bench.advisor._now = lambda: START + timedelta(days=40_000)
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    bench.passes(10)
    assert bench.scheduler.commands == []
    assert any("its clock is more than 1 day off" in line for line in bench.log)


def test_setting_this_machines_clock_makes_no_advice_expire(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.passes(1)
    plain = bench.clock.now
    monkeypatch.setattr(bench.clock, "now", lambda: plain() + timedelta(hours=1))
    bench.scheduler.add(row())
    bench.advisor._now = plain
    bench.advisor.advice = [advice()]
    bench.passes(5)
    assert bench.advisor.reports == []
    assert bench.scheduler.commands == [], "nor is anything begun by two clocks that differ"


def test_a_slow_disk_sends_nothing_late(bench: Bench) -> None:
    """A process that was stopped for minutes stands here, too: the lease may be somebody else's by then."""
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    bench.start()
    assert bench.journal is not None
    write = bench.journal.intend
    slow = [True]

    def intend(*words: Any, **more: Any) -> None:
        write(*words, **more)
        if slow.pop() if slow else False:
            bench.clock.seconds += 300.0

    bench.journal.intend = intend  # type: ignore[method-assign]
    bench.passes(1)
    assert bench.scheduler.commands == []
    bench.to_the_end(200)
    assert bench.effects().count("requeue_hold") == 1


def test_a_journal_that_was_moved_away_stops_everything(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.start()
    bench.passes(1)
    path = bench.settings.controller.journal
    os.rename(path, path.with_suffix(".away"))
    bench.advisor.advice = [advice()]
    bench.passes(5)
    assert bench.scheduler.commands == []
    assert any("was moved away while it is used" in line for line in bench.log)
    os.rename(path.with_suffix(".away"), path)
    bench.to_the_end()
