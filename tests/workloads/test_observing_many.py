"""Does observing hold for thousands of jobs, and for two observers at once?"""

from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import AuditEvent
from schedulers.port import NodeRow, Unreachable
from schedulers.states import JobState
from tests.workloads.scripted import ScriptedScheduler, a_row, after, failed
from tests.workloads.test_observing import everything
from workloads.models import Attempt, Cluster, Job, Node
from workloads.observing import observe

MANY = 2000


def queries(cluster: Cluster, scheduler: ScriptedScheduler, seconds: float) -> int:
    with CaptureQueriesContext(
        connection,
    ) as captured:
        observe(cluster, scheduler, after(seconds))
    return len(captured)


def rows(count: int, **facts: Any) -> list[Any]:
    return [a_row(number, **facts) for number in range(1, count + 1)]


def test_a_listing_without_news_costs_the_same_for_ten_jobs_and_for_thousands(cluster: Cluster) -> None:
    other = Cluster.objects.create(name="other")
    nodes = tuple(NodeRow(f"n{number:04}", ("idle",)) for number in range(1000))
    few, many = ScriptedScheduler(rows(10)), ScriptedScheduler(rows(MANY), node_rows=nodes)
    observe(cluster, few, after(0))
    observe(other, many, after(0))
    assert Job.objects.filter(cluster=other).count() == MANY
    assert Node.objects.filter(cluster=other).count() == 1000
    assert queries(cluster, few, 15) == queries(other, many, 15) <= 10


def test_thousands_that_change_at_once_are_written_many_at_a_time(cluster: Cluster) -> None:
    waiting = rows(MANY, state=JobState.PENDING, comment="{a:1}")
    first = queries(cluster, ScriptedScheduler(waiting), 0)
    assert Attempt.objects.filter(state="pending").count() == MANY
    assert AuditEvent.objects.count() == 2 * MANY + 0
    started = queries(cluster, ScriptedScheduler(rows(MANY, comment="{a:1}")), 15)
    ended = queries(cluster, ScriptedScheduler([failed(row, after(20)) for row in rows(MANY)]), 30)
    assert Attempt.objects.filter(state="failed", exit_code=3, read_due_at=after(30)).count() == MANY
    # The most rows of one statement are the database's choice: 999 parameters on SQLite.
    assert max(first, started, ended) < MANY / 8


def test_thousands_that_vanish_at_once(cluster: Cluster) -> None:
    observe(cluster, ScriptedScheduler(rows(MANY)), after(0))
    observe(cluster, ScriptedScheduler(rows(1)), after(15))
    assert Attempt.objects.filter(state="running").count() == MANY
    assert queries(cluster, ScriptedScheduler(rows(1)), 30) < MANY / 8
    assert Attempt.objects.filter(state="gone").count() == MANY - 1


def test_the_second_of_two_observers_drops_what_it_brings(cluster: Cluster) -> None:
    observe(cluster, ScriptedScheduler([a_row()]), after(0))
    newer = ScriptedScheduler([failed(a_row(), after(14))])
    older = ScriptedScheduler([replace(a_row(), reason="old"), a_row(7)])
    older.meanwhile = lambda: observe(cluster, newer, after(16))
    observe(cluster, older, after(15))
    assert Attempt.objects.get().state == "failed"
    assert Attempt.objects.get().reason == "NonZeroExitCode"
    assert AuditEvent.objects.count() == 2
    cluster.refresh_from_db()
    assert cluster.seen_at == after(16)


def test_two_observers_of_a_new_cluster_store_every_job_once(cluster: Cluster) -> None:
    first = ScriptedScheduler([a_row()])
    first.meanwhile = lambda: observe(cluster, ScriptedScheduler([a_row()]), after(1))
    observe(cluster, first, after(1))
    assert (Job.objects.count(), Attempt.objects.count(), AuditEvent.objects.count()) == (1, 1, 1)


def test_an_observer_that_got_no_answer_does_not_blind_a_newer_one(cluster: Cluster) -> None:
    observe(cluster, ScriptedScheduler([a_row()]), after(0))
    slow = ScriptedScheduler(fails={"nodes": Unreachable("no answer")})
    slow.meanwhile = lambda: observe(cluster, ScriptedScheduler([a_row()]), after(16))
    observe(cluster, slow, after(15))
    cluster.refresh_from_db()
    assert cluster.cannot_see_since is None
    assert AuditEvent.objects.count() == 1


def test_a_worker_that_dies_while_storing_leaves_nothing_behind(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    observe(cluster, ScriptedScheduler([a_row()]), after(0))
    before = everything()

    def dies(*_arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("workloads.observing.record", dies)  # the last thing before the commit
        with pytest.raises(KeyboardInterrupt):
            observe(cluster, ScriptedScheduler([failed(a_row(), after(9)), a_row(7)]), after(15))
    assert everything() == before
    observe(cluster, ScriptedScheduler([failed(a_row(), after(9)), a_row(7)]), after(30))
    assert sorted(Attempt.objects.values_list("state", flat=True)) == ["failed", "running"]
