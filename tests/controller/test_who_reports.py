"""Only the lease's holder says what became of an open advice: to others his steps in the middle look final."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from schedulers.states import JobState
from tests.controller.advisor import advice, wire
from tests.controller.bench import Bench
from tests.controller.scripted import START, row

ENDS = ("CONVERGED", "DESIRED_STATE_OBSERVED")


@pytest.mark.parametrize("state", [JobState.FAILED, JobState.RUNNING], ids=["failed", "hung"])
@pytest.mark.parametrize("may_act", [True, False], ids=["waits for the lease", "only watches"])
def test_another_that_looks_between_any_two_steps(
    bench: Bench, tmp_path: Path, state: JobState, may_act: bool
) -> None:
    """Seen on a real Slurm: one looked between hold and mark, and called the other's hold somebody else's."""
    other = bench.another("host-2", tmp_path)
    own = replace(other.settings.controller, acknowledge_scheduler_actions=may_act)
    other.settings = replace(other.settings, controller=own)
    bench.scheduler.add(row(state=state))
    bench.start()
    bench.passes(1)
    bench.advisor.advice = [advice()]
    points: list[str] = []
    plain = bench.fuse.tick

    def looked_at(point: str) -> None:
        plain(point)
        other.start()  # its first listing is of this very moment
        assert other.controller is not None
        other.controller.run_pass()
        points.append(point)
        assert "before reconcile" not in other.fuse.points, f"reported {point}: {other.log}"

    bench.fuse.tick = looked_at  # type: ignore[method-assign]
    bench.to_the_end()
    other.stop()
    assert len(points) > 40 and bench.advisor.reports[0][1:] == ENDS
    assert state is JobState.RUNNING or any("not reported" in line for line in other.log)


def test_who_lost_the_lease_leaves_the_report_to_the_new_holder_and_then_closes_its_entry(
    bench: Bench, tmp_path: Path
) -> None:
    other = bench.another("host-2", tmp_path)
    bench.scheduler.add(row())
    bench.advisor.advice = [
        advice(notBefore=wire(START + timedelta(seconds=50)), holdUntil=wire(START + timedelta(minutes=9)))
    ]
    bench.passes(10, until=lambda: "update_exclusions" in bench.effects())
    bench.clock.seconds += 61  # it was stopped for as long
    other.passes(1)
    for _ in range(500):
        bench.passes()
        other.passes()
        if bench.advisor.reports:
            break
    assert bench.advisor.reports[0][1] == "CONVERGED"
    assert bench.effects() == ["requeue_hold", "mark", "update_exclusions", "release", "mark"]
    assert bench.fuse.points.count("before reconcile") == 0
    bench.passes(10)
    assert bench.journal is not None and not bench.journal.entries
    other.stop()


def test_a_taker_reports_nothing_while_the_one_before_may_still_be_at_work(bench: Bench) -> None:
    bench.scheduler.add(row(state=JobState.HELD, restarts=1, reason="job requeued in held state"))
    bench.advisor.advice = [advice(expiresAt=wire(START + timedelta(hours=1)))]
    bench.advisor.lease = ("host-2", 4, START)
    bench.passes(300, until=lambda: bench.clock.seconds > 1055)
    assert bench.advisor.reports == []
    assert any("not reported, the lease was somebody else's" in line for line in bench.log)
    bench.to_the_end(200)
    assert bench.advisor.reports[0][1:] == ("ABANDONED", "GATE_CLOSED")


@pytest.mark.parametrize(
    "change", [{"enabled": False}, {"acknowledge_scheduler_actions": False}, {"environment_pattern": "prod*"}]
)
def test_one_that_may_not_act_reports_nothing(bench: Bench, change: dict[str, Any]) -> None:
    bench.scheduler.add(row(state=JobState.COMPLETED))
    bench.advisor.advice = [advice()]
    bench.start(settings=replace(bench.settings, controller=replace(bench.settings.controller, **change)))
    bench.passes(20)
    assert bench.advisor.reports == []
    bench.start()
    bench.to_the_end()
    assert bench.advisor.reports[0][1:] == ("ABANDONED", "ALREADY_SATISFIED")
