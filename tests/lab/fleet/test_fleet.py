"""Does the fleet live as it should without anybody watching? Truth, ledger, people, determinism."""

from collections import Counter
from dataclasses import asdict
from pathlib import Path

import pytest

from lab import truth
from lab.fleet.classes import KINDS
from lab.fleet.fleet import Fleet
from lab.fleet.goodput import goodput
from lab.fleet.ledger import BY_NAME, Ledger
from lab.fleet.options import Options
from lab.fleet.results import results_of
from lab.fleet.run import live_alone
from lab.score.grading import grade
from lab.score.said import Said
from lab.simulate.jobs import PENDING, RUNNING
from lab.texts.texts import TEXTS

WEEK = Options(days=7, nodes=128)


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> tuple[Fleet, list[truth.Injected]]:
    path = tmp_path_factory.mktemp("fleet") / "truth.jsonl"
    fleet = Fleet(WEEK, truth=path)
    fleet.cluster.advance(WEEK.end)
    fleet.closed()
    return fleet, truth.read([path])


def facts(ledger: Ledger) -> list[dict[str, object]]:
    return [asdict(one) | {"strikes": [(at, kind.name) for at, kind in one.strikes]} for one in ledger.attempts]


def test_the_same_seed_lives_the_same_week(lived: tuple[Fleet, list[truth.Injected]]) -> None:
    assert facts(live_alone(WEEK)) == facts(lived[0].cluster.ledger)


def test_another_seed_lives_another_week(lived: tuple[Fleet, list[truth.Injected]]) -> None:
    other = live_alone(Options(days=7, nodes=128, seed=2))
    assert facts(other) != facts(lived[0].cluster.ledger)


def test_every_text_of_a_class_is_known() -> None:
    assert {fault.text for kind in KINDS for fault in kind.faults if fault.text} <= set(TEXTS)
    assert len(BY_NAME) == len(KINDS)


def test_the_truth_file_tells_exactly_the_strikes_of_the_ledger(lived: tuple[Fleet, list[truth.Injected]]) -> None:
    fleet, deeds = lived
    strikes = Counter(
        (one.job, one.index, kind.name, at) for one in fleet.cluster.ledger.attempts for at, kind in one.strikes
    )
    assert Counter((deed.job, deed.attempt, deed.case, deed.at) for deed in deeds) == strikes
    for deed in deeds:
        attempt = next(
            one for one in fleet.cluster.ledger.attempts if (one.job, one.index) == (deed.job, deed.attempt)
        )
        assert set(deed.nodes) <= set(attempt.nodes)
        assert attempt.started_at <= deed.at <= (attempt.ended_at or WEEK.end)


def test_healthy_hours_add_up(lived: tuple[Fleet, list[truth.Injected]]) -> None:
    fleet, deeds = lived
    ledger = fleet.cluster.ledger
    results = results_of(ledger, WEEK, Said(), deeds)
    broken = sum(one.seconds(WEEK.end) - one.healthy_seconds(WEEK.end) for one in ledger.attempts)
    whole = sum(one.seconds(WEEK.end) for one in ledger.attempts)
    assert sum(one.healthy_seconds for one in results) == pytest.approx(whole - broken)
    for one in ledger.attempts:
        assert 0 <= one.healthy_seconds(WEEK.end) <= one.seconds(WEEK.end)


def test_each_attempt_stands_in_one_result_that_counts(lived: tuple[Fleet, list[truth.Injected]]) -> None:
    fleet, deeds = lived
    results = results_of(fleet.cluster.ledger, WEEK, Said(), deeds)
    grades = [grade(result, "fleet") for result in results]
    assert all(one.counted for one in grades), [one.why for one in grades if not one.counted]
    struck = sum(one.struck is not None for one in fleet.cluster.ledger.attempts)
    assert sum(len(one.injected) for one in results if BY_NAME[one.case.name].harmful) == struck


def test_nobody_watching_finds_nothing_and_does_nothing(lived: tuple[Fleet, list[truth.Injected]]) -> None:
    fleet, deeds = lived
    grades = [grade(result, "fleet") for result in results_of(fleet.cluster.ledger, WEEK, Said(), deeds)]
    assert not any(one.found for one in grades)
    assert not any(one.false_actions for one in grades)


def test_gpu_hours_add_up_and_fit_the_cluster(lived: tuple[Fleet, list[truth.Injected]]) -> None:
    hours = goodput(lived[0].cluster.ledger, WEEK)
    assert 0 < hours.trained < hours.allocated <= WEEK.nodes * 8 * 24 * WEEK.days
    assert hours.lost > 0 and hours.other > 0
    assert hours.failures > 0 and hours.completed > 0


def test_people_leave_nothing_lying_about(lived: tuple[Fleet, list[truth.Injected]]) -> None:
    """No work is forgotten: each is over, runs, waits in the queue, or somebody is on the way to it."""
    fleet, _ = lived
    cluster = fleet.cluster
    for number in cluster.works:
        job = cluster.jobs.get(cluster.ledger.job_of[number])
        alive = job is not None and job.state in (RUNNING, PENDING)
        assert alive or cluster.agenda.next_at is not None
    lost = [node for node in cluster.nodes.values() if node.lost]
    drained = [node for node in cluster.nodes.values() if node.drained]
    assert len(lost) + len(drained) < len(cluster.nodes) / 4


def test_every_class_that_comes_often_has_come(lived: tuple[Fleet, list[truth.Injected]]) -> None:
    seen = {one.kind for one in lived[0].cluster.ledger.attempts}
    often = {"gpu", "program", "program_start", "cuda_memory", "data", "cancelled", "preempted", "time_limit"}
    assert {f"fleet.{name}" for name in often} <= seen


def test_logs_are_written_where_the_site_reads_them(tmp_path: Path) -> None:
    fleet = Fleet(Options(days=0.1, nodes=16))
    fleet.cluster.advance(fleet.options.end)
    running = [job for job in fleet.cluster.jobs.values() if job.state == RUNNING]
    assert running and all(job.path.endswith(f"_{job.number}.log") for job in running)
