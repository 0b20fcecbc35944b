"""Does the loop carry advice out, exactly once, and only when it may?"""

import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from controller.advice import Mode
from controller.config import Settings
from schedulers.port import Listing
from schedulers.states import JobState
from tests.controller.advisor import SmallAdvisor, advice, wire
from tests.controller.bench import Bench
from tests.controller.scripted import START, ScriptedClock, ScriptedScheduler, row

TERMINATE = {"operation": "RECOVERY_OPERATION_TERMINATE", "desiredState": "STOPPED"}
RUNNING = {"state": JobState.RUNNING}
FROM_START_TO_END = ["requeue_hold", "mark", "update_exclusions", "release", "mark"]


def test_a_failed_job_comes_back_without_the_node(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    bench.to_the_end()
    assert bench.effects() == FROM_START_TO_END
    assert bench.scheduler.excluded[12] == ("n03",)
    assert bench.advisor.reports[0][1:] == ("CONVERGED", "DESIRED_STATE_OBSERVED")
    assert bench.milestones() == ["SLURM_REQUEUE_HOLD", "SLURM_UPDATE_CONSTRAINTS", "SLURM_RELEASE"]
    assert [key.split(":")[1] for key in bench.advisor.events] == ["intent"]
    assert bench.scheduler.jobs_by_number[12].admin_comment == ""
    bench.passes(10)
    assert bench.effects() == FROM_START_TO_END


def test_the_mark_is_as_agreed_and_keeps_foreign_text_behind_it(bench: Bench) -> None:
    bench.scheduler.add(row(state=JobState.RUNNING, admin_comment="ticket 77"))
    bench.advisor.advice = [advice()]
    bench.to_the_end()
    until = int((START + timedelta(minutes=5)).timestamp())
    marks = [effect[2] for effect in bench.scheduler.effects if effect[0] == "mark"]
    assert marks == [f"rekindle/1 g=1 r=1 until={until} ticket 77", "ticket 77"]


def test_a_hung_job_is_marked_before_it_is_held_and_released_after_it_ended(bench: Bench) -> None:
    bench.scheduler.kill_seconds = 4.7
    bench.scheduler.add(row(**RUNNING))
    bench.advisor.advice = [advice()]
    bench.to_the_end()
    assert bench.effects() == ["mark", "requeue_hold", "update_exclusions", "release", "mark"]
    assert ("requeue_hold", 12, True) in bench.scheduler.commands


def test_the_intent_is_on_the_trail_before_the_first_command(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    bench.advisor.refuse["audit"] = 503
    bench.passes(5)
    assert bench.scheduler.commands == []
    bench.advisor.refuse.clear()
    bench.to_the_end()
    assert bench.effects() == FROM_START_TO_END


def test_a_job_that_changed_while_the_intent_was_stored_is_looked_at_again(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    plain = bench.advisor.store

    def slow(body: dict[str, list[dict[str, str]]]) -> dict[str, object]:
        bench.clock.seconds += 3
        bench.scheduler.change(12, state=JobState.COMPLETED, word="COMPLETED")
        return plain(body)

    bench.advisor.store = slow  # type: ignore[method-assign]
    bench.to_the_end()
    assert bench.scheduler.commands == []


def test_gates_are_read_again_before_each_command(bench: Bench) -> None:
    """The cluster is switched to monitor mode while the scheduler takes its time to list the jobs."""
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    plain = bench.scheduler.jobs

    def slow() -> Listing:
        bench.clock.seconds += 3
        bench.advisor.cluster["mode"] = "monitor"
        return plain()

    bench.scheduler.jobs = slow  # type: ignore[method-assign]
    bench.passes(3)
    assert bench.scheduler.commands == []


def test_the_users_own_exclusions_stay_and_only_ours_are_taken_off_later(bench: Bench) -> None:
    bench.scheduler.add(row(), excluded=["n07"])
    bench.advisor.advice = [advice()]
    bench.to_the_end()
    assert bench.scheduler.excluded[12] == ("n03", "n07")
    bench.start()  # the memory of what is ours survives a restart
    bench.advisor.reports.clear()
    bench.scheduler.change(12, state=JobState.FAILED, word="FAILED", nodes=("n01", "n02"))
    second = advice(
        heimdallJobId="11111111-2222-4333-8444-555555555555",
        attemptIndex=1,
        nodeConstraints={"excludedNodes": ["n02"]},
        observedState={"submittedAt": None},
    )
    bench.advisor.advice = [second]
    bench.to_the_end()
    assert bench.scheduler.excluded[12] == ("n02", "n07")


def test_a_job_that_slurm_requeued_itself_gets_exclusions_and_nothing_else(bench: Bench) -> None:
    bench.scheduler.add(row(state=JobState.PENDING, restarts=1, reason="BeginTime"))
    bench.advisor.advice = [advice()]
    bench.to_the_end()
    assert bench.effects() == ["update_exclusions"]
    assert bench.advisor.reports[0][1:] == ("CONVERGED", "ALREADY_SATISFIED")


def test_not_before_is_kept_while_the_job_is_held(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice(notBefore=wire(START + timedelta(seconds=30)))]
    bench.passes(20, until=lambda: bench.clock.seconds > 1028)
    assert bench.effects() == ["requeue_hold", "mark", "update_exclusions"]
    bench.to_the_end()
    assert bench.effects() == FROM_START_TO_END
    assert bench.clock.seconds < 1033


def test_a_hold_ends_even_when_not_before_lies_behind_it(bench: Bench) -> None:
    bench.scheduler.add(row())
    late = {"notBefore": wire(START + timedelta(hours=1)), "holdUntil": wire(START + timedelta(seconds=20))}
    bench.advisor.advice = [advice(**late)]
    bench.to_the_end()
    assert bench.clock.seconds < 1030


def test_a_job_that_expires_while_it_is_held_is_released_all_the_same(bench: Bench) -> None:
    bench.scheduler.add(row())
    times = {"notBefore": wire(START + timedelta(seconds=30)), "expiresAt": wire(START + timedelta(seconds=10))}
    bench.advisor.advice = [advice(**times)]
    bench.passes(20, until=lambda: bench.clock.seconds > 1015)
    bench.advisor.advice[0].update(mayBeActedOn=False, whyNot="it expired")
    bench.to_the_end()
    assert bench.effects() == FROM_START_TO_END


def test_a_job_to_be_stopped_is_cancelled_once(bench: Bench) -> None:
    bench.scheduler.add(row(**RUNNING))
    bench.advisor.advice = [advice(**TERMINATE)]
    bench.to_the_end()
    assert bench.effects() == ["cancel"]
    assert bench.milestones() == ["SLURM_CANCEL"]
    assert bench.advisor.reports[0][1:] == ("CONVERGED", "DESIRED_STATE_OBSERVED")


def test_a_successor_that_its_user_holds_is_released(bench: Bench) -> None:
    held = row(
        state=JobState.HELD,
        dependency="singleton(unfulfilled)",
        comment='{"APS": {"auto_resume_mode": "singleton_dependency"}}',
        reason="JobHeldUser",
    )
    bench.scheduler.add(held)
    bench.advisor.advice = [
        advice(operation="RECOVERY_OPERATION_DAG_RELEASE", nodeConstraints={"excludedNodes": []})
    ]
    bench.to_the_end()
    assert bench.effects() == ["release"]
    assert bench.milestones() == ["SLURM_RELEASE"]


def test_a_person_who_takes_the_mark_off_keeps_the_job(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice(notBefore=wire(START + timedelta(seconds=30)))]
    bench.passes(10, until=lambda: bench.clock.seconds > 1005)
    bench.scheduler.change(12, admin_comment="I look at this myself")
    bench.to_the_end()
    assert "release" not in bench.effects()
    assert bench.advisor.reports[0][1:] == ("ABANDONED", "GATE_CLOSED")
    assert any(":abandoned:" in key for key in bench.advisor.events)


def test_mark_and_exclusions_that_a_crash_of_the_scheduler_lost_are_set_again(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice(notBefore=wire(START + timedelta(seconds=30)))]
    bench.passes(10, until=lambda: bench.clock.seconds > 1005)
    bench.scheduler.add(replace(bench.scheduler.jobs_by_number[12], admin_comment=""))
    bench.to_the_end()
    assert bench.effects()[-3:] == ["update_exclusions", "release", "mark"]
    assert bench.scheduler.excluded[12] == ("n03",)


def test_a_hold_of_somebody_else_is_never_released(bench: Bench) -> None:
    bench.scheduler.add(row(state=JobState.HELD, restarts=1, reason="launch failed requeued held"))
    bench.advisor.advice = [advice()]
    bench.to_the_end()
    assert bench.scheduler.commands == []
    assert bench.advisor.reports[0][1:] == ("ABANDONED", "GATE_CLOSED")


def test_a_collision_is_released_and_reported(bench: Bench) -> None:
    """Another restart slips in between our look and our command: the job is ours to release, two restarts later."""
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    plain = bench.scheduler.requeue_hold

    def slip(number: int, *, running: bool) -> None:
        bench.scheduler.change(number, restarts=1, state=JobState.RUNNING)
        plain(number, running=running)

    bench.scheduler.requeue_hold = slip  # type: ignore[method-assign]
    bench.to_the_end()
    assert bench.scheduler.jobs_by_number[12].restarts == 2
    assert bench.effects() == ["requeue_hold", "mark", "release", "mark"]
    assert bench.advisor.reports[0][1:] == ("ABANDONED", "SUPERSEDED")


def test_exclusions_that_are_refused_do_not_keep_the_job_held(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice(nodeConstraints={"excludedNodes": ["n99"]})]
    bench.to_the_end()
    assert bench.effects() == ["requeue_hold", "mark", "release", "mark"]
    assert bench.advisor.reports[0][1:] == ("ABANDONED", "REFUSED_BY_SCHEDULER")
    assert bench.milestones() == ["SLURM_REQUEUE_HOLD", "SLURM_RELEASE"]


def test_of_excluded_nodes_the_known_ones_are_left_out_and_the_others_told(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice(nodeConstraints={"excludedNodes": ["n03", "n99"]})]
    bench.to_the_end()
    assert bench.effects() == FROM_START_TO_END
    assert bench.scheduler.excluded[12] == ("n03",)
    assert bench.advisor.reports[0][1:] == ("CONVERGED", "DESIRED_STATE_OBSERVED")
    (told,) = [event for key, event in bench.advisor.events.items() if ":exclusions_refused:" in key]
    assert "does not know n99" in told["payload"]["sentence"]


def test_a_job_for_which_too_few_nodes_are_left_gets_ours_back_and_the_users_own_stay(bench: Bench) -> None:
    bench.scheduler.short_of_nodes, bench.scheduler.shown_wait = True, 121.0
    bench.scheduler.add(row(), excluded=["n07"])
    bench.advisor.advice = [advice()]
    bench.passes(20, until=lambda: ("update_exclusions", 12, ("n07",)) in bench.scheduler.effects)
    bench.scheduler.short_of_nodes = False
    bench.to_the_end()
    assert bench.effects() == [*FROM_START_TO_END[:4], "start_after", "update_exclusions", "mark"]
    assert bench.scheduler.excluded[12] == ("n07",)
    assert bench.advisor.reports[0][1:] == ("ABANDONED", "REFUSED_BY_SCHEDULER")
    assert bench.journal is not None and not bench.journal.memory.added


@pytest.mark.parametrize("shortened", [True, False])
def test_a_requeued_job_begins_in_three_seconds_unless_the_site_wants_it_to_wait(
    bench: Bench, shortened: bool
) -> None:
    own = replace(bench.settings.controller, shorten_requeue_wait=shortened)
    bench.settings = replace(bench.settings, controller=own)
    bench.scheduler.shown_wait = bench.scheduler.requeue_seconds = 121.0
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    began = bench.clock.seconds
    bench.to_the_end(200)
    assert bench.scheduler.jobs_by_number[12].state is JobState.RUNNING
    assert (bench.clock.seconds - began < 15) is shortened
    assert bench.effects().count("start_after") == int(shortened)
    told = [line for line in bench.log if "it may begin at" in line]
    assert told or shortened, "a wait that is not shortened is told"


def test_an_operator_is_told_that_finished_jobs_are_forgotten_too_early(bench: Bench) -> None:
    plain = bench.scheduler.limits()
    bench.scheduler.limits = lambda: replace(plain, min_job_age=60)  # type: ignore[method-assign]
    bench.passes(5)
    assert [line for line in bench.log if "forgotten after 60 s (MinJobAge)" in line] == [
        "warning: finished jobs are forgotten after 60 s (MinJobAge); below 120 s a decision or an approval may "
        "come too late to restart a failed job"
    ]


@pytest.mark.parametrize("answer", ["done", "undone"])
@pytest.mark.parametrize("action", ["requeue_hold", "mark", "update_exclusions", "release"])
@pytest.mark.parametrize("state", [JobState.FAILED, JobState.RUNNING])
def test_a_lost_answer_is_looked_at_and_never_doubled(
    bench: Bench, state: JobState, action: str, answer: str
) -> None:
    bench.scheduler.add(row(state=state))
    bench.advisor.advice = [advice()]
    bench.scheduler.lose = {action: answer}
    bench.to_the_end()
    assert bench.effects().count("requeue_hold") == 1
    assert bench.effects().count("release") == 1
    assert bench.scheduler.jobs_by_number[12].restarts == 1
    assert bench.scheduler.excluded[12] == ("n03",)
    assert bench.advisor.reports[0][1] == "CONVERGED"


@pytest.mark.parametrize("action", ["requeue_hold", "mark", "update_exclusions", "release"])
def test_a_hung_scheduler_that_obeys_later_restarts_once(bench: Bench, action: str) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    plain = getattr(bench.scheduler, action)
    times = iter([True])

    def hang(*args: object, **options: object) -> None:
        bench.scheduler.hung = next(times, False)
        plain(*args, **options)

    setattr(bench.scheduler, action, hang)
    bench.start()
    bench.passes(40, until=lambda: bench.scheduler.hung)
    bench.passes(30)
    bench.scheduler.resume()
    bench.to_the_end()
    assert bench.effects().count("requeue_hold") == 1
    assert bench.effects().count("release") == 1
    assert bench.scheduler.jobs_by_number[12].restarts == 1


def test_a_scheduler_that_is_away_changes_nothing(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    bench.scheduler.down = True
    bench.passes(10)
    assert bench.scheduler.commands == [] and bench.advisor.reports == []
    assert sum("cannot be seen" in line for line in bench.log) == 1
    bench.scheduler.down = False
    bench.to_the_end()


def test_an_empty_listing_is_asked_about_twice_before_a_job_is_gone(bench: Bench) -> None:
    bench.advisor.advice = [advice()]
    bench.passes(1)
    assert bench.advisor.reports == []
    bench.to_the_end()
    assert bench.advisor.reports[0][1:] == ("ABANDONED", "JOB_GONE")


@pytest.mark.parametrize(
    "state", [JobState.FAILED, JobState.RUNNING, JobState.PENDING], ids=["failed", "hung", "requeued by Slurm"]
)
@pytest.mark.parametrize(
    "change",
    [
        {"mode": Mode.MONITOR},
        {"enabled": False},
        {"acknowledge_scheduler_actions": False},
        {"environment_pattern": "prod*"},
    ],
    ids=["monitor mode", "not enabled", "not acknowledged", "another environment"],
)
def test_a_closed_gate_of_its_own_sends_no_command(
    bench: Bench, change: dict[str, object], state: JobState
) -> None:
    bench.scheduler.add(row(state=state, restarts=1 if state is JobState.PENDING else 0))
    bench.advisor.advice = [advice(), advice(99, **TERMINATE)]
    bench.scheduler.add(row(99, **RUNNING))
    own = replace(bench.settings, controller=replace(bench.settings.controller, **change))
    bench.start(settings=own)
    bench.passes(20)
    assert bench.scheduler.commands == []
    assert bench.advisor.lease is None and not bench.advisor.events


@pytest.mark.parametrize(
    "change",
    [
        {"mode": "monitor"},
        {"acknowledgeSchedulerActions": False},
        {"environment": "prod"},
        {"partitions": ["other"]},
        {"mode": "approve"},
        {
            "pauses": [
                {"scope": "user", "value": "trainer", "until": wire(START + timedelta(days=1)), "reason": "x"}
            ]
        },
        {"pauses": [{"scope": "moon", "value": "", "until": wire(START + timedelta(days=1)), "reason": "x"}]},
    ],
    ids=["monitor", "not acknowledged", "environment", "partition", "approve", "paused user", "unknown pause"],
)
def test_a_closed_gate_of_the_cluster_sends_no_command(bench: Bench, change: dict[str, object]) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    bench.advisor.cluster.update(change)
    bench.passes(10)
    assert bench.scheduler.commands == []
    assert sum("would requeue" in line for line in bench.log) == 1


def test_advice_that_waits_for_approval_is_carried_out_after_it(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.cluster["mode"] = "approve"
    bench.advisor.advice = [advice(modeAtDecision="approve", mayBeActedOn=False, whyNot="waits for approval")]
    bench.passes(5)
    assert bench.scheduler.commands == []
    bench.advisor.advice[0].update(mayBeActedOn=True, whyNot="")
    bench.to_the_end()
    assert bench.effects() == FROM_START_TO_END


def test_a_pause_in_the_middle_stops_the_next_command_until_it_ends(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    bench.passes(10, until=lambda: bench.effects() == ["requeue_hold", "mark"])
    pause = {"scope": "cluster", "value": "", "until": wire(START + timedelta(minutes=1)), "reason": "maintenance"}
    bench.advisor.cluster["pauses"] = [pause]
    bench.passes(20, until=lambda: bench.clock.seconds > 1050)
    assert bench.effects() == ["requeue_hold", "mark"]
    bench.to_the_end()
    assert bench.effects() == FROM_START_TO_END


def test_advice_withdrawn_before_the_hold_takes_the_mark_off(bench: Bench) -> None:
    bench.scheduler.add(row(**RUNNING))
    bench.advisor.advice = [advice()]
    bench.passes(10, until=lambda: bench.effects() == ["mark"])
    bench.advisor.advice = []
    bench.passes(10)
    assert bench.effects() == ["mark", "mark"]
    assert bench.scheduler.jobs_by_number[12].admin_comment == ""
    assert bench.journal is not None and not bench.journal.entries


def test_advice_withdrawn_after_the_hold_is_carried_to_its_release(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    bench.passes(10, until=lambda: bench.effects() == ["requeue_hold"])
    bench.advisor.advice = []
    bench.passes(20)
    assert bench.effects() == FROM_START_TO_END
    assert bench.journal is not None and not bench.journal.entries


def test_a_newer_generation_waits_for_what_was_begun(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice(notBefore=wire(START + timedelta(seconds=10)))]
    bench.passes(10, until=lambda: len(bench.effects()) == 3)
    bench.advisor.advice = [advice(generation="2", nodeConstraints={"excludedNodes": ["n05"]})]
    bench.passes(5)
    assert any("g1 is being carried out first" in line for line in bench.log)
    bench.passes(30)
    assert bench.effects().count("requeue_hold") == bench.effects().count("release") == 1
    assert bench.advisor.reports[0][1] == "CONVERGED"


@pytest.mark.parametrize("status", [503, 401], ids=["it answers no more", "the token expired"])
@pytest.mark.parametrize("when", [["requeue_hold"], ["requeue_hold", "mark"], FROM_START_TO_END[:3]])
def test_without_the_advisor_a_held_job_is_carried_to_its_release(
    bench: Bench, when: list[str], status: int
) -> None:
    bench.scheduler.add(row())
    bench.scheduler.add(row(13))
    bench.advisor.advice = [advice()]
    bench.passes(10, until=lambda: bench.effects() == when)
    assert bench.effects() == when
    bench.advisor.advice.append(advice(13))
    bench.advisor.refuse["/v1/"] = status
    bench.passes(200)
    assert bench.effects() == FROM_START_TO_END
    assert all(effect[1] == 12 for effect in bench.scheduler.effects)
    bench.advisor.refuse.clear()
    bench.passes(200, until=lambda: len(bench.advisor.reports) == 2)
    assert {report[1] for report in bench.advisor.reports} == {"CONVERGED"}
    assert len(bench.advisor.milestones) == 6


def test_milestones_that_are_not_taken_now_are_told_before_the_report(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    bench.advisor.refuse["milestones"] = 403
    bench.passes(30)
    assert bench.effects() == FROM_START_TO_END
    assert bench.advisor.reports == []
    bench.advisor.refuse.clear()
    bench.to_the_end()
    assert bench.milestones() == ["SLURM_REQUEUE_HOLD", "SLURM_UPDATE_CONSTRAINTS", "SLURM_RELEASE"]


@pytest.mark.parametrize(
    ("path", "status"), [("milestones", 400), ("reconciliation", 409), ("reconciliation", 404)]
)
def test_what_the_advisor_will_never_take_is_given_up(bench: Bench, path: str, status: int) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    bench.advisor.refuse[path] = status
    bench.passes(30)
    assert bench.effects() == FROM_START_TO_END
    assert bench.journal is not None and not bench.journal.entries
    assert sum("does not take it" in line for line in bench.log) >= 1


def test_what_was_refused_for_good_is_not_said_again_and_again(bench: Bench) -> None:
    bench.scheduler.add(row(state=JobState.FAILED))
    bench.advisor.advice = [advice(**TERMINATE)]
    bench.advisor.refuse["reconciliation"] = 409
    began = bench.clock.now()
    bench.passes(12)
    told = [path for _, path, _ in bench.advisor.requests if "reconciliation" in path]
    passed = (bench.clock.now() - began).total_seconds()
    assert passed >= 10
    assert 1 <= len(told) <= 1 + passed / 5


def test_without_the_advisor_a_marked_running_job_is_left_running(bench: Bench) -> None:
    bench.scheduler.add(row(**RUNNING))
    bench.advisor.advice = [advice()]
    bench.passes(10, until=lambda: bench.effects() == ["mark"])
    bench.advisor.refuse["/v1/"] = 503
    bench.passes(20)
    assert bench.effects() == ["mark"]


def test_two_controllers_act_once(bench: Bench, tmp_path: Path) -> None:
    other = bench.another("host-2", tmp_path)
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    for _ in range(30):
        bench.passes()
        other.passes()
    other.stop()
    assert bench.effects() == FROM_START_TO_END
    assert len(bench.advisor.reports) == 1


def test_a_taker_waits_a_lease_and_looks_twice_before_it_goes_on(bench: Bench, tmp_path: Path) -> None:
    """The first controller dies while it holds a marked job; the second takes over from the mark alone."""
    other = bench.another("host-2", tmp_path)
    bench.scheduler.add(row())
    bench.advisor.advice = [advice(holdUntil=wire(START + timedelta(minutes=9)))]
    bench.passes(10, until=lambda: bench.effects() == ["requeue_hold", "mark"])
    bench.stop()
    began = bench.clock.seconds
    other.passes(500, until=lambda: len(bench.effects()) > 2)
    assert bench.clock.seconds - began > 110
    other.to_the_end()
    other.stop()
    assert bench.effects() == FROM_START_TO_END


def test_a_taker_acts_on_no_job_that_still_changes(bench: Bench, tmp_path: Path) -> None:
    """As long as two looks in a row differ, the one before may still be at work."""
    bench.scheduler.add(row(state=JobState.FAILED))
    bench.advisor.advice = [advice(expiresAt=wire(START + timedelta(hours=1)))]
    bench.advisor.lease = ("host-2", 4, START)
    plain = bench.scheduler.jobs
    looks = iter(range(10))  # one in 15 s

    def changing() -> Listing:
        if (look := next(looks, None)) is not None:
            bench.scheduler.change(12, admin_comment=f"text {look}")
        return plain()

    bench.scheduler.jobs = changing  # type: ignore[method-assign]
    bench.passes(500, until=lambda: bench.clock.seconds > 1135)
    assert bench.scheduler.commands == []
    assert any("second look" in line for line in bench.log)
    bench.to_the_end()
    assert bench.effects() == FROM_START_TO_END


def test_a_lease_that_is_lost_in_the_middle_stops_the_first_controller(bench: Bench, tmp_path: Path) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice(notBefore=wire(START + timedelta(seconds=50)))]
    bench.passes(10, until=lambda: bench.effects() == FROM_START_TO_END[:3])
    bench.advisor.lease = ("host-2", 9, START + timedelta(hours=1))
    bench.passes(100)
    assert bench.effects() == FROM_START_TO_END[:3]
    assert any("the lease is not ours" in line for line in bench.log)


def test_a_restarted_controller_goes_on_at_once(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice()]
    bench.passes(10, until=lambda: bench.effects() == ["requeue_hold"])
    bench.start()
    bench.to_the_end()
    assert bench.effects() == FROM_START_TO_END
    assert bench.clock.seconds < 1015


def test_no_command_starts_with_less_than_25_seconds_of_the_lease(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice(notBefore=wire(START + timedelta(seconds=50)))]
    bench.passes(10, until=lambda: bench.effects() == FROM_START_TO_END[:3])
    lease = bench.advisor.lease
    assert lease is not None
    answer = bench.advisor.take_lease

    def short(body: dict[str, str]) -> dict[str, object]:
        return answer(body) | {"until": wire(bench.clock.now() + timedelta(seconds=20))}

    bench.advisor.take_lease = short  # type: ignore[method-assign]
    bench.passes(100)
    assert bench.effects() == FROM_START_TO_END[:3]
    assert any("of the lease are left" in line for line in bench.log)


def test_single_jobs_are_looked_at_five_times_a_second_at_most(bench: Bench) -> None:
    for number in range(100, 140):
        bench.scheduler.add(row(number))
    bench.advisor.advice = [advice(number) for number in range(100, 140)]
    began = bench.clock.seconds
    bench.passes(400, until=lambda: len(bench.advisor.reports) == 40)
    assert len(bench.advisor.reports) == 40
    assert bench.scheduler.looks <= 5 * (bench.clock.seconds - began) + 6
    assert bench.effects().count("release") == 40


def test_everything_is_listed_twice_in_30_seconds_at_most_whatever_there_is_to_do(bench: Bench) -> None:
    listed: list[float] = []
    plain = bench.scheduler.jobs

    def noted() -> Listing:
        listed.append(bench.clock.seconds)
        return plain()

    bench.scheduler.jobs = noted  # type: ignore[method-assign]
    for number in range(100, 140):
        bench.scheduler.add(row(number))
    bench.advisor.advice = [advice(number) for number in range(100, 140)]
    began = bench.clock.seconds
    bench.passes(400, until=lambda: bench.clock.seconds > began + 200)
    assert len(bench.advisor.reports) == 40
    assert max(sum(at <= other <= at + 30 for other in listed) for at in listed) == 2


def test_no_job_starves_when_there_are_more_than_can_be_looked_at(bench: Bench) -> None:
    """Forty jobs are still ending, and each is looked at again and again: the next is carried through as well."""
    for number in range(100, 140):
        bench.scheduler.add(row(number, state=JobState.COMPLETING))
    bench.scheduler.add(row(200))
    bench.advisor.advice = [advice(number) for number in (*range(100, 140), 200)]
    bench.passes(400, until=lambda: bool(bench.advisor.reports))
    assert bench.clock.seconds < 1060 and ("release", 200) in bench.scheduler.effects


def test_a_stopping_controller_finishes_the_command_and_starts_no_other(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.scheduler.add(row(13))
    bench.advisor.advice = [advice(), advice(13)]
    plain = bench.scheduler.requeue_hold

    def stop_in_the_middle(number: int, *, running: bool) -> None:
        bench.clock.stopping = True
        plain(number, running=running)

    bench.scheduler.requeue_hold = stop_in_the_middle  # type: ignore[method-assign]
    bench.start()
    assert bench.controller is not None and bench.journal is not None
    bench.controller.run()
    assert bench.effects() == ["requeue_hold"]
    assert bench.log[-1] == "stopped"


def test_an_unreadable_advice_is_told_and_the_others_go_on(bench: Bench) -> None:
    bench.scheduler.add(row())
    bench.advisor.advice = [advice(13, jobId="../../etc"), advice()]
    bench.to_the_end()
    assert sum("jobId is no whole number" in line for line in bench.log) == 1


def test_the_log_never_holds_the_token_and_no_line_twice(bench: Bench, settings: Settings) -> None:
    token = settings.advisor.token_file.read_text().strip()
    bench.scheduler.add(row())
    bench.advisor.advice = [advice(reason="two\nlines \x1b[31m")]
    bench.to_the_end()
    assert token not in "\n".join(bench.log)
    assert not any("\n" in line or "\x1b" in line for line in bench.log)


def test_the_disk_is_full(
    bench: Bench, scheduler: ScriptedScheduler, advisor: SmallAdvisor, clock: ScriptedClock
) -> None:
    scheduler.add(row())
    advisor.advice = [advice()]
    bench.start()
    assert bench.journal is not None
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, bench.journal._file)
    os.close(full)
    bench.journal.check_place = lambda: None  # type: ignore[method-assign]  # the device stands in for a full disk
    bench.passes(5)
    assert scheduler.commands == []
    assert any("cannot be written" in line for line in bench.log)


DENIED = "Access/permission denied"


def let_go_unmarked(bench: Bench) -> None:
    """Job 12 has been held, could not be marked, and is let go; then comes the advice on job 13."""
    bench.scheduler.mark_refused = DENIED
    bench.scheduler.add(row())
    bench.scheduler.add(row(13))
    bench.advisor.advice = [advice(notBefore=wire(START + timedelta(minutes=4)))]
    bench.to_the_end()
    bench.advisor.advice.append(advice(13))
    bench.passes(10)


def test_a_job_that_may_not_be_marked_is_let_go_at_once_and_nothing_new_is_begun(bench: Bench) -> None:
    let_go_unmarked(bench)
    assert bench.effects() == ["requeue_hold", "update_exclusions", "release"]
    assert bench.clock.now() < START + timedelta(minutes=1)
    assert [report[1:] for report in bench.advisor.reports] == [("CONVERGED", "DESIRED_STATE_OBSERVED")]
    said = next(line for line in bench.log if ": would " in line)
    assert DENIED in said and "AdminLevel=Administrator" in said


def test_what_was_begun_before_the_first_refusal_is_let_go_too(bench: Bench) -> None:
    bench.scheduler.mark_refused = DENIED
    for number in (12, 13):
        bench.scheduler.add(row(number))
    bench.advisor.advice = [advice(12), advice(13)]
    bench.passes(30, until=lambda: len(bench.advisor.reports) == 2)
    assert [bench.effects().count(effect) for effect in ("requeue_hold", "release")] == [2, 2]
    assert {report[1] for report in bench.advisor.reports} == {"CONVERGED"}


def test_between_the_refusal_and_the_next_look_nothing_is_begun(bench: Bench) -> None:
    bench.scheduler.mark_refused = DENIED
    bench.scheduler.add(row())
    bench.scheduler.add(row(13))
    bench.advisor.advice = [advice()]
    bench.passes(10, until=lambda: bench.effects() == ["requeue_hold"])
    bench.advisor.advice.append(advice(13))
    bench.passes(1)
    assert bench.scheduler.commands[-1][:2] == ("mark", 12)
    bench.passes(20)
    assert bench.effects() == ["requeue_hold", "update_exclusions", "release"]


def test_after_a_restart_of_the_controller_it_is_tried_again(bench: Bench) -> None:
    let_go_unmarked(bench)
    bench.scheduler.mark_refused = ""
    bench.passes(10)
    assert bench.scheduler.jobs_by_number[13].restarts == 0
    bench.start()
    bench.passes(60, until=lambda: bench.scheduler.jobs_by_number[13].restarts == 1)
    assert bench.scheduler.jobs_by_number[13].restarts == 1


def test_neither_mark_nor_exclusions(bench: Bench) -> None:
    bench.scheduler.mark_refused = DENIED
    bench.scheduler.add(row())
    bench.advisor.advice = [advice(nodeConstraints={"excludedNodes": ["n99"]})]
    bench.to_the_end()
    assert bench.effects() == ["requeue_hold", "release"]
    assert bench.advisor.reports[0][1:] == ("ABANDONED", "REFUSED_BY_SCHEDULER")


def test_a_job_cancelled_before_its_mark_does_not_stop_the_others(bench: Bench) -> None:
    """Its mark is refused too, but not for a missing right: the next look shows that nothing is held."""
    for number in (12, 13):
        bench.scheduler.add(row(number))
    bench.advisor.advice = [advice()]
    plain = bench.scheduler.mark

    def cancelled_first(number: int, text: str, *, instead_of: str | None = None) -> None:
        if number == 12:
            bench.scheduler.cancel(12)
        plain(number, text)

    bench.scheduler.mark = cancelled_first  # type: ignore[method-assign]
    bench.to_the_end()
    bench.advisor.advice.append(advice(13))
    bench.passes(60, until=lambda: len(bench.advisor.reports) == 2)
    assert [report[1:] for report in bench.advisor.reports] == [
        ("ABANDONED", "CANCELLED_BY_USER"), ("CONVERGED", "DESIRED_STATE_OBSERVED")
    ]  # fmt: skip
