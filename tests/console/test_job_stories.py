"""Is what happened to a job's newest attempts told in full, the earlier ones in a line, and none out of reach?"""

import re
from datetime import datetime, timedelta
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from audit.event_type import EventType
from console.job_rows import ATTEMPTS_SHOWN, ATTEMPTS_TOLD
from console.job_stories import TOLD_WHOLE, stories_of
from console.job_window import WHOLE
from detectors.models import Anomaly, Verdict
from tests.console import sample
from tests.console.sample import HOSTILE, JobState, Sample
from workloads.models import Attempt, Job

PANEL = "/panels/job_recovery/demo/9000/0"


@pytest.fixture
def long(rows: Sample, now: datetime) -> Job:
    """A job that failed again and again for days: 40 attempts, an hour each, all but the last one judged."""
    return failing(rows, now, 40)


def failing(rows: Sample, now: datetime, number: int) -> Job:
    of = sample.job(rows.cluster, 9000, now)
    for index in range(number):
        begun = now - timedelta(hours=number - index)
        over = begun + timedelta(minutes=55)
        last = index == number - 1
        made = sample.attempt(
            of, index, JobState.RUNNING if last else JobState.FAILED, now,
            started_at=begun, submitted_at=begun, ended_at=None if last else over,
        )  # fmt: skip
        if not last:
            judge(made, over, "hang" if index % 3 == 0 else "crash")
    return of


def judge(attempt: Attempt, at: datetime, kind: str) -> None:
    Verdict.objects.create(
        attempt=attempt, kind=kind, layer="hardware.gpu", sentence=f"Cause {attempt.index}. {HOSTILE}",
        evidence_status="established", confidence=0.9, action="restart", input_hash=str(attempt.pk),
        happened_at=at, judged_at=at,
    )  # fmt: skip
    Anomaly.objects.create(
        attempt=attempt, key="k", kind=kind, layer="hardware.gpu", sentence="seen", happened_at=at, basis="line",
        detected_at=at,
    )  # fmt: skip


def test_the_newest_are_told_whole_and_the_others_in_a_line(as_viewer: Client, long: Job) -> None:
    text = as_viewer.get(PANEL).content.decode()
    whole = [int(found) for found in re.findall(r'id="story-(\d+)"', text)]
    assert whole == list(range(38, 38 - TOLD_WHOLE, -1)), "the running one has no story yet"
    earlier = [int(found) for found in re.findall(r">Attempt (\d+)</a>", text)]
    assert earlier == list(range(whole[-1] - 1, 40 - ATTEMPTS_SHOWN - 1, -1))
    hangs = len([index for index in earlier if index % 3 == 0])
    summary = re.search(r"<summary>(\d+ earlier attempts: [^<]*)</summary>", text)
    assert summary and summary[1] == f"{len(earlier)} earlier attempts: {len(earlier) - hangs} crash, {hangs} hang"
    assert f"Attempts before {40 - ATTEMPTS_SHOWN}: choose one in the timeline" in text
    assert "<script>alert" not in text and "\u202e" not in text


def test_each_line_leads_to_all_of_its_attempt(as_viewer: Client, long: Job) -> None:
    text = as_viewer.get(PANEL).content.decode()
    links = re.findall(r'<li><a href="([^"#]*)(?:#[^"]*)?" data-stretch="([^"]*)"[^>]*>Attempt (\d+)</a>', text)
    assert len(links) == ATTEMPTS_SHOWN - TOLD_WHOLE - 1
    for address, stretch, index in (links[0], links[len(links) // 2], links[-1]):
        assert address == f"/jobs/demo/9000/0{stretch}"
        shown = as_viewer.get(unescape(address)).content.decode()
        assert f'id="story-{index}"' in shown and f"Cause {index}." in shown
        assert "Show the whole job" in shown


def test_a_job_of_few_attempts_has_no_earlier_ones(as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get("/panels/job_recovery/demo/4711/0").content.decode()
    assert 'id="story-0"' in text and "earlier attempt" not in text


def test_what_was_only_seen_or_left_alone_has_its_line(rows: Sample, now: datetime) -> None:
    of = failing(rows, now, 9)
    Verdict.objects.filter(attempt__job=of, attempt__index__lte=1).delete()
    Anomaly.objects.filter(attempt__job=of, attempt__index=0).delete()
    of.cluster = rows.cluster
    first = Attempt.objects.get(job=of, index=0)
    first.job = of
    sample.event(now, EventType.NO_ADVICE, first, "Left alone: nobody asked for it")
    told = stories_of(of, rows.cluster, WHOLE, now)
    assert [(one.attempt.index, one.sentence) for one in told.earlier][-2:] == [
        (1, "seen"), (0, "Left alone: nobody asked for it"),
    ]  # fmt: skip
    assert dict(told.kinds)["not judged"] == 2


def test_in_a_stretch_in_which_nothing_went_wrong_it_says_so(as_viewer: Client, long: Job, now: datetime) -> None:
    quiet = f"{now - timedelta(days=90):%Y-%m-%dT%H:%M:%SZ}"
    end = f"{now - timedelta(days=89):%Y-%m-%dT%H:%M:%SZ}"
    text = as_viewer.get(f"{PANEL}?from={quiet}&to={end}").content.decode()
    assert "Nothing went wrong in this stretch of time that Rekindle could see." in text


def test_the_table_of_attempts_leads_to_the_earlier_ones(as_viewer: Client, long: Job) -> None:
    address, seen = "/panels/job_attempts/demo/9000/0", []
    for _page in range(10):
        text = as_viewer.get(address).content.decode()
        seen += [int(found) for found in re.findall(r'id="attempt-(\d+)"', text)]
        link = re.search(r'href="[^"]*(\?[^"#]*)#title-job_attempts" data-stretch', text)
        if link is None:
            break
        address = f"/panels/job_attempts/demo/9000/0{unescape(link[1])}"
    assert seen == list(range(39, -1, -1)), "each attempt once, the newest first"
    assert ATTEMPTS_TOLD < 40


@pytest.mark.parametrize("panel", ["job_recovery", "job_attempts", "job_lanes", "job_curves", "job_summary"])
def test_two_hundred_attempts_take_as_many_queries_as_forty(
    panel: str, as_viewer: Client, rows: Sample, now: datetime
) -> None:
    address, taken = f"/panels/{panel}/demo/9000/0", []
    for number in (40, 200):
        Job.objects.filter(number=9000).delete()
        failing(rows, now, number)
        with CaptureQueriesContext(connection) as captured:
            assert as_viewer.get(address).status_code == 200
        taken.append(len(captured))
    assert taken[1] <= taken[0]
