"""Which page answers whom, and with which status?"""

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from console.rendering import bodies
from detectors.models import Verdict
from schedulers.observation import LATEST
from tests.console import sample
from tests.console.sample import Sample
from tests.detectors.providers.rows import make_question
from workloads.models import Cluster

READERS = ["viewer", "operator", "admin"]


def pages(rows: Sample) -> dict[str, str]:
    job = (rows.cluster.name, rows.recovered.number, rows.recovered.epoch)
    copy = rows.recovered.attempts.get(index=0).excerpts.get()
    return {
        "overview": reverse("overview"),
        "jobs": reverse("jobs"),
        "job": reverse("job", args=job),
        "log copy": reverse("log-copy", args=[*job, copy.pk]),
        "cluster": reverse("cluster", args=[rows.unseen.name]),
        "incidents": reverse("incidents"),
        "approvals": reverse("approvals"),
    }


@pytest.mark.parametrize("who", READERS)
def test_everybody_with_an_account_reads_every_page(
    who: str, cast: dict[str, User], rows: Sample, client: Client
) -> None:
    client.force_login(cast[who])
    for name, address in pages(rows).items():
        assert client.get(address).status_code == 200, name


def test_a_stranger_is_sent_to_the_sign_in_and_learns_nothing(client: Client, rows: Sample) -> None:
    for name, address in pages(rows).items():
        answer = client.get(address)
        assert answer.status_code == 302, name
        assert answer["Location"].startswith(reverse("sign-in")), name
        assert client.get(address.replace("4711", "99999"))["Location"].startswith(reverse("sign-in")), name


def test_the_token_of_a_controller_opens_no_page(client: Client, rows: Sample) -> None:
    for address in pages(rows).values():
        assert client.get(address, headers={"Authorization": "Bearer something"}).status_code == 302


def test_an_account_that_was_closed_is_a_stranger(as_viewer: Client, cast: dict[str, User], rows: Sample) -> None:
    User.objects.filter(username="viewer").update(is_active=False)
    assert as_viewer.get(reverse("overview")).status_code == 302


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_pages_are_only_read(method: str, as_viewer: Client, rows: Sample) -> None:
    for name, address in pages(rows).items():
        assert getattr(as_viewer, method)(address).status_code == 405, name


@pytest.mark.parametrize(
    "address",
    [
        "/jobs/demo/1/0",
        "/jobs/demo/4711/1",
        "/jobs/nowhere/4711/0",
        "/jobs/demo/4711/0/log/999999",
        "/jobs/demo/1",
        "/clusters/nowhere",
        "/jobs/demo/99999999999999999999/0",
        "/jobs/demo/4711/999999999999999999",
    ],
)
def test_what_is_not_there_is_404(address: str, as_viewer: Client, rows: Sample) -> None:
    assert as_viewer.get(address).status_code == 404


def test_a_log_copy_belongs_to_its_job(as_viewer: Client, rows: Sample) -> None:
    copy = rows.recovered.attempts.get(index=0).excerpts.get()
    assert as_viewer.get(reverse("log-copy", args=["demo", rows.blind.number, 0, copy.pk])).status_code == 404


def test_a_number_leads_to_its_newest_job(as_viewer: Client, rows: Sample, now: datetime) -> None:
    sample.job(rows.cluster, 4711, now, epoch=1)
    assert as_viewer.get("/jobs/demo/4711")["Location"] == reverse("job", args=["demo", 4711, 1])


def test_the_overview_says_how_every_cluster_stands(as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get(reverse("overview")).content.decode()
    assert "Cannot see the scheduler" in text
    assert "squeue gave no answer within 10 s" in text
    assert "<b>2</b> running" in text
    assert "<b>1</b> in recovery" in text
    assert "<b>1</b> blind" in text
    assert "Restart 99-0 without f02, because the scheduler lost f02." in text
    assert "Not acted on: waits for approval" in text


@pytest.mark.parametrize(("age", "told"), [(119, True), (120, False), (300, False), (None, False)])
def test_a_site_that_forgets_finished_jobs_too_early_is_told(
    as_viewer: Client, rows: Sample, age: int | None, told: bool
) -> None:
    Cluster.objects.update(min_job_age_seconds=age)
    text = as_viewer.get(reverse("cluster", args=[rows.cluster.name])).content.decode()
    assert ("forgets a finished job after 119 s (MinJobAge)" in text) is told


def test_a_worker_that_stopped_is_not_shown_as_a_healthy_cluster(as_viewer: Client, rows: Sample) -> None:
    Cluster.objects.filter(name="demo").update(seen_at=rows.unseen.seen_at)
    assert "Nobody is looking" in as_viewer.get(reverse("overview")).content.decode()


def test_the_job_page_tells_the_whole_story(as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get(reverse("job", args=["demo", 4711, 0])).content.decode()
    for said in (
        "Attempt 0</a> <span>failed</span><small>steps 1 to 524, checkpoint 500</small>",
        "Attempt 1</a> <span>running</span>",
        "GPU 2 of n03 lost data: an uncorrectable ECC error came before every other message",
        "93 % sure",
        "at byte 82400",
        "uncorrectable ECC error encountered",
        "Missing: no kernel log of n03",
        "Restart 4711-0 without n03, because n03 is named by a proved cause.",
        "would have applied",
        "confidence = 93 %",
        "Progress resumed",
        "+28 s",
        "resumed from 500",
        "controller demo-controller",
        "An uncorrectable ECC error on GPU 2 (job 4711-0)",
    ):
        assert said in text, said


def test_every_mark_of_the_timeline_leads_to_its_line(as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get(reverse("job", args=["demo", 4711, 0])).content.decode()
    anchors = [part.partition('"')[0] for part in text.split('<a href="#event-')[1:]]
    assert len(anchors) == 7, "three actions within two seconds share a mark; one is a change of state"
    assert all(f'id="event-{anchor}"' in text for anchor in anchors)


def test_a_job_that_is_left_alone_says_by_which_rule(as_viewer: Client, rows: Sample, now: datetime) -> None:
    of = sample.attempt(sample.job(rows.cluster, 77, now), 0, sample.JobState.CANCELLED, now)
    trace = [{"rule": "cancelled", "then": "", "applied": True, "chosen": True, "because": "somebody cancelled it"}]
    sentence = "77-0 is left alone: somebody cancelled the job."
    sample.event(now, sample.EventType.NO_ADVICE, of, sentence, payload={"trace": trace})
    text = as_viewer.get(reverse("job", args=["demo", 77, 0])).content.decode()
    assert "Left alone" in text
    assert "somebody cancelled it" in text


def test_a_correction_stands_beside_what_was_acted_on(as_viewer: Client, rows: Sample, now: datetime) -> None:
    of = sample.attempt(sample.job(rows.cluster, 78, now), 0, sample.JobState.FAILED, now)
    sample.event(now, sample.EventType.NO_ADVICE, of, "78-0 is left alone: it was requeued already.")
    sentence = "What advice 1 on 78-0 was based on is corrected: <b>n01</b> is now n02."
    sample.event(now, sample.EventType.CORRECTION, of, sentence)
    text = as_viewer.get(reverse("job", args=["demo", 78, 0])).content.decode()
    assert "Corrected" in text and "&lt;b&gt;n01&lt;/b&gt; is now n02" in text


def test_blind_and_misunderstood_are_said_with_their_reasons(as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get(reverse("job", args=["demo", 4712, 0])).content.decode()
    assert "/home/trainer/slurm-4712.out" in text
    assert "nvidia-recovery.mode is &#x27;actoin&#x27;" in text
    assert "Rekindle reads no log of this job" in text
    assert "Nothing went wrong" not in text


def test_the_raw_answer_is_kept_for_the_operator(as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get(reverse("cluster", args=["far-away"])).content.decode()
    assert "Unable to contact slurm controller (connect failure)" in text


def test_a_cluster_shows_nodes_with_both_reasons(as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get(reverse("cluster", args=["demo"])).content.decode()
    assert "bad PSU, ticket 812" in text
    assert "An uncorrectable ECC error on GPU 2 (job 4711-0)" in text


def test_pages_send_a_strict_policy_and_hold_nothing_inline(as_admin: Client, rows: Sample) -> None:
    for name, address in {**pages(rows), "mode": reverse("cluster-mode", args=["demo"])}.items():
        answer = as_admin.get(address)
        assert "default-src 'none'" in answer["Content-Security-Policy"], name
        text = answer.content.decode()
        assert " style=" not in text, name
        assert " onclick=" not in text, name
        assert "<style" not in text, name
        assert all(" src=" in tag.partition(">")[0] for tag in text.split("<script")[1:]), name
        assert "//cdn" not in text, name


@pytest.mark.parametrize("extra_jobs", [0, 60])
def test_the_number_of_queries_does_not_grow_with_the_rows(
    extra_jobs: int,
    as_viewer: Client,
    rows: Sample,
    now: datetime,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    for number in range(extra_jobs):
        extra = sample.job(rows.cluster, 5000 + number, now)
        for index in range(2):
            sample.attempt(extra, index, sample.JobState.RUNNING, now)
    bounds = {
        "overview": 39,
        "jobs": 15,
        "job": 55,
        "cluster": 31,
        "approvals": 12,
        "incidents": 15,
        "log copy": 15,
    }
    for name, address in pages(rows).items():
        bodies.forget()
        with django_assert_max_num_queries(bounds[name]):
            as_viewer.get(address)


def test_what_a_provider_answered_stands_beside_the_verdict(as_viewer: Client, rows: Sample, now: datetime) -> None:
    verdict = Verdict.objects.filter(attempt__job=rows.recovered).order_by("-pk")[0]
    make_question(verdict, now, said="hardware <script>alert(1)</script>")
    text = as_viewer.get(reverse("job", args=["demo", rows.recovered.number, 0])).content.decode()
    assert "Asked outside" in text and "acme</span> Answered" in text
    assert "hardware &lt;script&gt;" in text and "<script>alert(1)" not in text


@pytest.mark.parametrize("column", ["submitted_at", "started_at", "ended_at"])
@pytest.mark.parametrize("moment", [datetime(1970, 1, 1, tzinfo=UTC), LATEST], ids=["the first", "the last"])
def test_a_date_at_the_end_of_all_times_breaks_no_page(
    as_viewer: Client, rows: Sample, column: str, moment: datetime
) -> None:
    for job in (rows.recovered, rows.running):
        job.attempts.update(**{column: moment})
        address = reverse("job", args=[job.cluster.name, job.number, job.epoch])
        for asked in (address, f"{address}/curves.json", reverse("jobs"), reverse("overview"), reverse("nodes")):
            assert as_viewer.get(asked).status_code == 200, asked
