"""What becomes of a job that the listings no longer show?"""

import pytest

from audit.models import AuditEvent
from schedulers.port import JobRow, Unreachable
from schedulers.states import JobState
from tests.workloads.scripted import ScriptedScheduler, a_row, accounted, after, failed, requeued
from workloads.models import Attempt, Cluster, Job
from workloads.observing import observe

OTHER = a_row(7, name="other")
DOWN = Unreachable("sacct gave no answer.")


def state(number: int = 12345) -> str:
    return Attempt.objects.filter(job__number=number).order_by("index").last().state  # type: ignore[union-attr]


def look(cluster: Cluster, seconds: float, *rows: JobRow, accounting: object = None) -> ScriptedScheduler:
    scheduler = ScriptedScheduler(rows, accounting=accounting)  # type: ignore[arg-type]
    observe(cluster, scheduler, after(seconds))
    return scheduler


def test_one_listing_without_it_says_nothing_two_say_gone_and_never_failed(cluster: Cluster) -> None:
    look(cluster, 0, a_row(), OTHER)
    look(cluster, 15, OTHER)
    assert state() == "running"
    look(cluster, 30, OTHER)
    attempt = Attempt.objects.get(job__number=12345)
    assert (attempt.state, attempt.ended_at, attempt.exit_code) == ("gone", after(30), None)
    assert (attempt.read_due_at, attempt.phase) == (after(30), "ended")
    assert not Job.objects.get(number=12345).live
    event = AuditEvent.objects.last()
    assert event is not None
    assert event.sentence == "Attempt 12345-0 went from Running to Gone (no longer listed)."
    before = AuditEvent.objects.count()
    look(cluster, 45, OTHER)
    assert AuditEvent.objects.count() == before


def test_two_listings_in_quick_succession_are_not_enough(cluster: Cluster) -> None:
    look(cluster, 0, a_row(), OTHER)
    for seconds in (15, 16, 17, 26):
        look(cluster, seconds, OTHER)
        assert state() == "running"
    look(cluster, 27, OTHER)  # 0.8 of the poll after the first that missed it
    assert state() == "gone"


def test_a_job_that_comes_back_was_never_away(cluster: Cluster) -> None:
    look(cluster, 0, a_row(), OTHER)
    look(cluster, 15, OTHER)
    look(cluster, 30, a_row(), OTHER)
    look(cluster, 45, OTHER)
    job = Job.objects.get(number=12345)
    assert (state(), job.missing_listings, job.missing_since) == ("running", 1, after(45))


def test_a_job_that_was_gone_and_is_back_is_running_again(cluster: Cluster) -> None:
    look(cluster, 0, a_row(), OTHER)
    look(cluster, 15, OTHER)
    look(cluster, 30, OTHER)
    look(cluster, 45, a_row(), OTHER)
    attempt = Attempt.objects.get(job__number=12345)
    assert (attempt.state, attempt.ended_at) == ("running", None)
    assert Job.objects.get(number=12345).live


def test_one_that_comes_back_with_more_restarts_is_in_doubt_and_a_new_epoch(cluster: Cluster) -> None:
    look(cluster, 0, a_row(), OTHER)
    look(cluster, 15, OTHER)
    look(cluster, 30, OTHER)
    look(cluster, 45, requeued(a_row(), after(40)), OTHER)
    assert list(Job.objects.filter(number=12345).values_list("epoch", "live").order_by("epoch")) == [
        (0, False),
        (1, True),
    ]


def test_an_empty_listing_needs_a_scheduler_that_answers_otherwise_too(cluster: Cluster) -> None:
    look(cluster, 0, a_row())
    for seconds in (15, 30, 45):
        scheduler = ScriptedScheduler(fails={"ping": Unreachable("Slurmctld is DOWN.")})
        observe(cluster, scheduler, after(seconds))
    cluster.refresh_from_db()
    job = Job.objects.get()
    assert (state(), job.missing_listings, job.live) == ("running", 0, True)
    assert (cluster.cannot_see_since, cluster.cannot_see_reason) == (after(15), "Slurmctld is DOWN.")
    scheduler = look(cluster, 60)
    assert scheduler.calls[:2] == ["jobs", "ping"]
    assert state() == "running"
    look(cluster, 75)
    assert state() == "gone"


def test_an_empty_listing_of_an_empty_cluster_is_an_answer(cluster: Cluster) -> None:
    assert "ping" not in look(cluster, 0).calls
    cluster.refresh_from_db()
    assert cluster.seen_at == after(0)


def test_a_finished_job_that_is_purged_keeps_its_end(cluster: Cluster) -> None:
    look(cluster, 0, failed(a_row(), after(-1)), OTHER)
    before = AuditEvent.objects.count()
    look(cluster, 15, OTHER)
    scheduler = look(cluster, 30, OTHER, accounting={})
    assert (state(), Job.objects.get(number=12345).live) == ("failed", False)
    assert "ended" not in scheduler.calls
    assert AuditEvent.objects.count() == before


ENDS = {
    JobState.FAILED: "failed",
    JobState.NODE_FAIL: "node_fail",
    JobState.COMPLETED: "completed",
    JobState.CANCELLED: "cancelled",
    JobState.RUNNING: "gone",
    JobState.UNKNOWN: "gone",
}


@pytest.mark.parametrize(("end", "expected"), ENDS.items(), ids=[end.value for end in ENDS])
def test_the_accounting_tells_how_it_ended(cluster: Cluster, end: JobState, expected: str) -> None:
    look(cluster, 0, a_row(), OTHER)
    look(cluster, 15, OTHER)
    records = (accounted(a_row(), end, after(9), exit_code=3),)
    look(cluster, 30, OTHER, accounting={12345: records})
    attempt = Attempt.objects.get(job__number=12345)
    assert attempt.state == expected
    if expected != "gone":
        assert (attempt.exit_code, attempt.ended_at, attempt.nodes) == (3, after(9), ["n01", "n02"])


def test_the_record_of_another_submission_under_this_number_is_not_its(cluster: Cluster) -> None:
    look(cluster, 0, a_row(), OTHER)
    look(cluster, 15, OTHER)
    records = (accounted(a_row(submitted_at=after(-9999)), JobState.FAILED, after(-9000)),)
    look(cluster, 30, OTHER, accounting={12345: records})
    assert state() == "gone"


def test_an_accounting_that_is_away_is_asked_again_for_an_hour(cluster: Cluster) -> None:
    look(cluster, 0, a_row(), OTHER)
    look(cluster, 15, OTHER)
    look(cluster, 30, OTHER, accounting={12345: DOWN})
    cluster.refresh_from_db()
    assert (state(), cluster.cannot_see_since) == ("running", None)
    look(cluster, 45, OTHER, accounting={12345: (accounted(a_row(), JobState.OUT_OF_MEMORY, after(9)),)})
    assert state() == "out_of_memory"
    look(cluster, 60, a_row(8), OTHER)
    for seconds in (75, 90, 75 + 3601):
        assert state(8) == "running"
        look(cluster, seconds, OTHER, accounting={8: DOWN})
    assert state(8) == "gone"


def test_many_that_vanish_at_once_are_asked_for_a_few_at_a_time(cluster: Cluster) -> None:
    look(cluster, 0, OTHER, *(a_row(number) for number in range(100, 160)))
    look(cluster, 15, OTHER)
    remaining = []
    for seconds in (30, 45, 60):
        scheduler = look(cluster, seconds, OTHER, accounting={})
        assert scheduler.calls.count("ended") <= 25
        remaining.append(Attempt.objects.filter(state="running").exclude(job__number=7).count())
    assert remaining == [35, 10, 0]


def test_a_number_used_again_is_asked_for_too(cluster: Cluster) -> None:
    look(cluster, 0, a_row())
    records = (accounted(a_row(), JobState.COMPLETED, after(9)),)
    look(cluster, 15, a_row(user="somebody", submitted_at=after(10)), accounting={12345: records})
    assert Attempt.objects.get(job__epoch=0).state == "completed"
