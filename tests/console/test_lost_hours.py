"""Is what failures cost measured as the page says it is?"""

from datetime import UTC, datetime, timedelta

import pytest
from django.template.loader import render_to_string

from advisor_api.models import JobReport
from console.lost_hours import Failure, Lost, add_up, lost_of, lost_today
from detectors.models import Verdict
from tests.console import sample
from tests.console.sample import JobState, Sample
from workloads.models import Attempt
from workloads.progress_models import Checkpoint

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


def failure(**more: object) -> Failure:
    values = {
        "happened_at": at(30), "started_at": at(90), "ended_at": at(29), "saved_at": at(40), "again_at": at(20),
        "job_waits": True, "nodes": 2, "gpus": 16,
    }  # fmt: skip
    return Failure(**(values | more))


@pytest.mark.parametrize(
    ("what", "again", "waited"),
    [
        (failure(), 10, 10),
        (failure(saved_at=None), 60, 10),
        (failure(saved_at=None, started_at=None), 0, 10),
        (failure(again_at=None), 10, 30),
        (failure(again_at=None, job_waits=False), 10, 1),
        (failure(again_at=None, job_waits=False, ended_at=None), 10, 30),
        (failure(saved_at=at(5)), 0, 10),
        (failure(again_at=at(31)), 10, 0),
        (failure(again_at=NOW + timedelta(hours=1)), 10, 30),
    ],
)
def test_what_one_failure_costs(what: Failure, again: int, waited: int) -> None:
    assert lost_of(what, NOW) == (timedelta(minutes=again), timedelta(minutes=waited))


def test_what_nobody_told_is_counted_in_nodes() -> None:
    lost = add_up([failure(), failure(gpus=0)], NOW)
    assert (lost.failures, lost.unknown) == (2, 1)
    assert lost.again_gpu_hours == pytest.approx(16 / 6)
    assert lost.waited_gpu_hours == pytest.approx(16 / 6)
    assert lost.node_hours == pytest.approx(2 / 3)
    assert lost.again_node_hours == lost.waited_node_hours == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("lost", "told", "not_told"),
    [
        (Lost(), "Nothing was lost today", "hours of"),
        (Lost(3, 1.5, 0.5), "Lost today: <b>2.0</b> GPU-hours of 3 attempts</summary>", "node-hours"),
        (
            Lost(1, 0, 0, 1, 3.0, 1.0),
            "Lost today: <b>4.0</b> node-hours of 1 attempt whose number of GPUs is not known</summary>",
            "GPU-hours of",
        ),
        (
            Lost(3, 1.5, 0.5, 1, 3.0, 1.0),
            "<b>2.0</b> GPU-hours of 2 attempts; apart from these, <b>4.0</b> node-hours of 1 attempt whose",
            "hours and",
        ),
    ],
    ids=["nothing", "GPUs alone", "nodes alone", "both"],
)
def test_hours_of_gpus_and_of_nodes_are_said_apart(lost: Lost, told: str, not_told: str) -> None:
    text = render_to_string("console/panels/at_a_glance.html", {"counts": (), "lost": lost, "now": NOW})
    summary = text.partition("<summary>")[2].partition("</summary>")[0] + "</summary>"
    assert told in summary and not_told not in summary
    assert ("so these hours are in no number of GPU-hours" in text) is bool(lost.unknown)


def test_it_is_read_off_what_is_stored(rows: Sample) -> None:
    failed = Attempt.objects.get(job=rows.recovered, index=0)
    Verdict.objects.update(happened_at=at(30))
    Attempt.objects.filter(pk=failed.pk).update(started_at=at(90))
    Attempt.objects.filter(job=rows.recovered, index=1).update(started_at=at(20))
    Checkpoint.objects.create(attempt=failed, at=at(40), step=500, deed="saved")
    Checkpoint.objects.create(attempt=failed, at=at(35), step=500, deed="loaded")
    JobReport.objects.create(attempt=failed, gpu_count_per_node=8, reported_by="x", reported_at=NOW)
    lost = lost_today(NOW)
    assert lost.failures == 1
    assert lost.again_gpu_hours == pytest.approx(24 / 6)
    assert lost.waited_gpu_hours == pytest.approx(24 / 6)
    assert lost_today(NOW + timedelta(days=1)) == Lost(), "yesterday is not today"


def test_whose_attempts_fail_most_is_said(rows: Sample, now: datetime) -> None:
    old = Verdict.objects.get()
    Verdict.objects.update(happened_at=now)
    for number, user in enumerate(["eve&co", "eve&co", "zoe", "", ""]):
        failed = sample.attempt(sample.job(rows.cluster, 9100 + number, now, user=user), 0, JobState.FAILED, now)
        Verdict.objects.create(
            attempt=failed, kind=old.kind, layer=old.layer, sentence="s", confidence=0.5, signature="gpu.made_up",
            evidence_status=old.evidence_status, action=old.action, input_hash="1" * 64, happened_at=now,
            judged_at=now,
        )  # fmt: skip
    lost = lost_today(now)
    assert lost.users == (("eve&co", 2), ("trainer", 1), ("zoe", 1))
    text = render_to_string("console/panels/at_a_glance.html", {"counts": [], "lost": lost})
    assert 'state=every&amp;user=eve%26co&amp;since=1d">eve&amp;co</a> 2, ' in text


def test_a_superseded_verdict_counts_once(rows: Sample) -> None:
    Verdict.objects.update(happened_at=at(30))
    old = Verdict.objects.get()
    Verdict.objects.create(
        attempt=old.attempt, supersedes=old, kind=old.kind, layer=old.layer, sentence="again", confidence=0.5,
        evidence_status=old.evidence_status, action=old.action, input_hash="1" * 64,
        happened_at=at(30), judged_at=NOW,
    )  # fmt: skip
    assert lost_today(NOW).failures == 1


def test_a_job_that_is_not_started_again_waits_for_nothing(rows: Sample, now: datetime) -> None:
    gone = sample.attempt(sample.job(rows.cluster, 6, now, live=False), 0, JobState.FAILED, now, ended_at=at(29))
    Verdict.objects.update(happened_at=at(30), attempt=gone)
    assert lost_today(NOW).node_hours == pytest.approx(3 / 60)
