"""Which jobs does the list show, in which order, and how does it leave the site?"""

import csv
import io
import re
from datetime import UTC, datetime, timedelta

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from advisor_api.models import Advice, Sequence
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from console import job_finding
from console.job_list import PAGE, job_page
from console.job_wanted import JobOrder, moment_of, read_wanted
from console.rendering import bodies
from detectors.models import Stay, Verdict
from tests.console import sample
from tests.console.sample import JobState, Sample
from workloads.models import Attempt, Cluster, Job

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def numbers(query: str, now: datetime = NOW) -> list[int]:
    return [row.job.number for row in job_page(read_wanted(QueryDict(query)), now).rows]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [99, 4712, 815, 4711]),
        ("state=running", [4712, 815, 4711]),
        ("state=waiting", []),
        ("state=recovery", [99, 4711]),
        ("state=approval", [99]),
        ("state=asked", []),
        ("state=blind", [4712]),
        ("state=failed", [99]),
        ("state=ended", [99, 12]),
        ("state=stopped", [12]),
        ("state=every", [99, 4712, 815, 12, 4711]),
        ("cluster=demo", [4712, 4711]),
        ("cluster=nowhere", []),
        ("kind=slurm", [99, 4712, 815, 4711]),
        ("kind=other", []),
        ("partition=main", [99, 4712, 815, 4711]),
        ("partition=gpu", []),
        ("user=mallory", [815]),
        ("node=n05", [4712]),
        ("node=n01", [4711]),
        ("node=n0", []),
        ("node=m01&state=every", [815, 12]),
        ("pattern=gpu.ecc", [4711]),
        ("pattern=gpu.ecc.uncorrectable", [4711]),
        ("pattern=cc.uncorrectable", []),
        ("wish=refused", [4712]),
        ("wish=action", [99, 4711]),
        ("attempts=1", [4711]),
        ("attempts=2", []),
        ("since=1h&state=every", [99, 4712, 815, 4711]),
        ("until=1h&state=every", [12]),
        ("q=4711", [4711]),
        ("q=4711-1", [4711]),
        ("q=llama", [4711]),
        ("q=LLAMA", [4711]),
        ("q=mallory", [815]),
        ("q=mallor", []),
        ("q=%25", []),
        ("q=_", []),
        ("q=n05", [4712]),
        ("q=gpu.ecc", [4711]),
        ("q=12&state=every", [12]),
        ("q=user:mallory", [815]),
        ("q=user:trainer+node:n05", [4712]),
        ('q=user:"trainer"+llama', [4711]),
        ("q=state:every+attempts:1", [4711]),
        ("q=is:failed", [99]),
        ("q=odd:llama", []),
    ],
)
def test_filters(query: str, found: list[int], rows: Sample, now: datetime) -> None:
    Job.objects.filter(number=4712).update(wish="refused")
    Job.objects.filter(number__in=[99, 4711]).update(wish="action")
    old = now - timedelta(hours=5)
    gone = sample.job(rows.monitor, 12, old, name="old", user="somebody", live=False)
    ended = sample.attempt(gone, 0, JobState.CANCELLED, now)
    Stay.objects.create(cluster=rows.monitor, attempt=ended, node="m01", ended_at=old, seconds=9)
    advice = Advice.objects.get(pk=rows.waiting.pk)
    advice.pk, advice.attempt, advice.operation = None, ended, Operation.TERMINATE
    advice.state, advice.state_at = AdviceState.CONVERGED, now
    advice.save()
    assert sorted(numbers(query, now)) == sorted(found)


def test_a_job_is_in_the_state_of_its_newest_attempt(rows: Sample) -> None:
    assert 4711 not in numbers("state=failed"), "its first attempt failed, its second one runs"


@pytest.mark.parametrize(
    ("query", "mistake"),
    [
        ("state=nonsense", "There is no state of that name"),
        ("wish=x", "known are action, peace, nothing, refused"),
        ("after=x", "not understood"),
        ("attempts=many", "give a number"),
        ("since=yesterday", "A time is"),
        ("since=0001-01-01", "A time is"),
        ("sort=colour", "sorted by one of"),
        ("&".join(f"{name}={'%25' * 250}" for name in ("user", "node", "pattern")), "too long together"),
        ("q=" + "x" * 300, "Only the first 256 characters"),
        ("state=live&after=5", ""),
    ],
)
def test_what_is_not_understood_is_said(query: str, mistake: str, as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get(f"/jobs?{query}", follow=True)
    assert text.status_code == 200
    assert mistake in text.content.decode()


@pytest.mark.parametrize(
    "query",
    [
        "q=%00",
        "q=" + "9" * 60,
        "q=" + "x" * 5000,
        "q=.*%5B%28%2B",
        "q=%5C%25%27%22%3B--",
        "q=user%3A%22",
        "q=%E2%80%AEtxet%E2%80%AC",
        "q=%07%1b%5B31m",
        "after=" + "9" * 30,
        "after=5~%00&sort=name",
        "after=5~x&sort=submitted",
        "after=5~x&sort=nodes",
        "cluster=%00%27",
        "q=%F0%9F%98%80",
        "q=%D9%A3",
        "q=%ED%A0%80",
        "node=" + "%22" * 200,
        "pattern=%25_",
        "since=99999w",
        "attempts=%D9%A3",
    ],
)
def test_strange_queries_find_nothing_and_break_nothing(query: str, as_viewer: Client, rows: Sample) -> None:
    answer = as_viewer.get(f"/jobs?{query}", follow=True)
    assert answer.status_code == 200
    assert len(answer.redirect_chain) <= 1


@pytest.mark.parametrize("sort", ["", *(sign + word for word in JobOrder for sign in ("", "-"))])
def test_pages_follow_each_other_in_every_order_and_nothing_is_missed(
    sort: str, rows: Sample, now: datetime, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(2 * PAGE):
        made = now - timedelta(seconds=number % 7)
        of = sample.job(rows.cluster, 10000 + number, made, name=f"job, {number % 5}~'\"%", node_count=number % 3)
        sample.attempt(of, 0, (JobState.RUNNING, JobState.FAILED)[number % 2], now)
    seen: list[int] = []
    after = ""
    for _ in range(3):
        query = QueryDict(mutable=True)
        query.update({"sort": sort, "after": after})
        with django_assert_max_num_queries(4):
            page = job_page(read_wanted(query), now)
        seen += [row.job.pk for row in page.rows]
        after = page.next_after
    assert after == ""
    assert len(seen) == len(set(seen)) == 2 * PAGE + 4


def test_rows_that_come_meanwhile_shift_nothing(rows: Sample, now: datetime) -> None:
    for number in range(PAGE + 5):
        sample.attempt(
            sample.job(rows.cluster, 10000 + number, now, name=f"a{number:03}"), 0, JobState.RUNNING, now
        )
    first = job_page(read_wanted(QueryDict("sort=name")), now)
    sample.attempt(sample.job(rows.cluster, 9000, now, name="a000b"), 0, JobState.RUNNING, now)
    query = QueryDict(mutable=True)
    query.update({"sort": "name", "after": first.next_after})
    second = job_page(read_wanted(query), now)
    assert second.rows[0].job.name == f"a{PAGE:03}"


def test_the_address_is_always_written_in_one_way(as_viewer: Client, rows: Sample) -> None:
    answer = as_viewer.get("/jobs?cluster=&q=user:mallory+probe&state=live&node=")
    assert answer.status_code == 302
    assert answer.headers["Location"] == "/jobs?user=mallory&q=probe"
    text = as_viewer.get(answer.headers["Location"]).content.decode()
    assert "Take away the filter user mallory" in text
    assert 'href="/jobs?q=probe"' in text
    assert as_viewer.get("/jobs").status_code == 200


def test_the_address_keeps_the_filter(as_viewer: Client, rows: Sample, now: datetime) -> None:
    for number in range(PAGE + 1):
        sample.attempt(sample.job(rows.cluster, 10000 + number, now), 0, JobState.RUNNING, now)
    text = as_viewer.get("/jobs?state=running&q=llama&sort=-nodes").content.decode()
    older = text.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
    assert "state=running" in older
    assert "q=llama" in older
    assert "sort=-nodes" in older
    assert "after=" in older
    assert as_viewer.get(older).content.decode().count('<tr id="job-') == 2


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("90min", NOW - timedelta(minutes=90)),
        ("2h", NOW - timedelta(hours=2)),
        ("1w", NOW - timedelta(weeks=1)),
        ("2026-11-29", datetime(2026, 11, 29, tzinfo=UTC)),
        ("2026-11-29T22:00Z", datetime(2026, 11, 29, 22, tzinfo=UTC)),
        ("0h", None),
        ("yesterday", None),
        ("2026-13-01", None),
    ],
)
def test_moments(text: str, at: datetime | None) -> None:
    assert moment_of(text, NOW) == at


def exported(client: Client, query: str) -> list[dict[str, str]]:
    answer = client.get(f"{reverse('jobs-export')}{query}")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(answer.getvalue().decode())))


def test_the_table_has_the_same_filter_and_no_formula(as_viewer: Client, rows: Sample, now: datetime) -> None:
    evil = sample.job(rows.cluster, 66, now, name='=HYPERLINK("http://x")', user="@evil")
    sample.attempt(evil, 0, JobState.RUNNING, now, nodes=["n01"])
    found = exported(as_viewer, "?state=running")
    assert {row["job"] for row in found} == {"66", "4711", "4712", "815"}
    row = next(row for row in found if row["job"] == "66")
    assert (row["name"], row["user"]) == ('\'=HYPERLINK("http://x")', "'@evil")
    assert (row["cluster"], row["state"], row["nodeNames"]) == ("demo", "running", "n01")


def test_without_names_of_people_the_same_person_is_still_the_same(as_viewer: Client, rows: Sample) -> None:
    found = exported(as_viewer, "?state=every&people=pseudonyms")
    assert all(row["user"].startswith("person-") for row in found)
    assert len({row["user"] for row in found}) == 2


def test_a_long_table_comes_page_by_page(as_viewer: Client, rows: Sample, now: datetime) -> None:
    cluster = Cluster.objects.get(pk=rows.cluster.pk)
    Job.objects.bulk_create(
        Job(cluster=cluster, number=20000 + number, name=f"n{number % 3}", user="u", created_at=now, seen_at=now)
        for number in range(1200)
    )
    found = exported(as_viewer, "?user=u&sort=name")
    assert len({row["job"] for row in found}) == 1200
    assert [row["name"] for row in found] == sorted(row["name"] for row in found)


def test_a_stranger_gets_no_table(client: Client, rows: Sample) -> None:
    assert client.get(reverse("jobs-export")).status_code == 302


def stays_on_m01(rows: Sample, count: int) -> list[int]:
    """Jobs that were on m01 one after the other, all submitted together; the newest first."""
    for number in range(count):
        ended = sample.attempt(sample.job(rows.cluster, 9000 + number, NOW), 0, JobState.COMPLETED, NOW)
        at = NOW - timedelta(hours=count - number)
        Stay.objects.create(cluster=rows.cluster, attempt=ended, node="m01", ended_at=at, seconds=9)
    return [9000 + number for number in reversed(range(count))]


def on_the_page(client: Client, address: str) -> tuple[list[int], str]:
    bodies.forget()
    answer = client.get(address)
    assert answer.status_code == 200
    text = answer.content.decode()
    table = text.partition("<tbody")[2].partition("</tbody>")[0]
    shown = [int(part.partition("<")[0]) for part in re.split(r'href="/jobs/demo/\d+/0">', table)[1:]]
    note = text.partition(">Only the newest ")[2].partition("</p>")[0]
    return shown, note.partition('href="')[2].partition('"')[0].replace("&amp;", "&")


@pytest.mark.parametrize("query", ["node=m01", "q=m01"])
def test_what_was_not_looked_at_is_said_and_can_be_reached(
    query: str, as_viewer: Client, rows: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = stays_on_m01(rows, 7)
    monkeypatch.setattr(job_finding, "KEYS", 3)
    seen, address, pages = set(), f"/jobs?state=every&{query}", 0
    while address:
        shown, address = on_the_page(as_viewer, address)
        seen |= set(shown)
        pages += 1
        assert pages < 10 and len(shown) <= 3
    assert seen == set(wanted) and pages == 3


def test_of_a_pattern_what_was_not_looked_at_is_said(
    as_viewer: Client, rows: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = Verdict.objects.get()
    for number in range(4):
        failed = sample.attempt(sample.job(rows.cluster, 9100 + number, NOW), 0, JobState.FAILED, NOW)
        Verdict.objects.create(
            attempt=failed, kind=old.kind, layer=old.layer, sentence="s", confidence=0.5, signature="gpu.made_up",
            evidence_status=old.evidence_status, action=old.action, input_hash="1" * 64, happened_at=NOW,
            judged_at=NOW - timedelta(hours=number),
        )  # fmt: skip
    monkeypatch.setattr(job_finding, "KEYS", 3)
    shown, link = on_the_page(as_viewer, "/jobs?state=every&pattern=gpu.made_up")
    assert set(shown) == {9100, 9101, 9102}
    assert on_the_page(as_viewer, link) == ([9103], "")


@pytest.mark.parametrize("state", ["blind", "recovery", "approval", "asked", "stopped"])
def test_of_a_state_what_was_not_looked_at_is_said_and_can_be_reached(
    state: str, as_viewer: Client, rows: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seven jobs came into the state one after the other; the newest three are looked at, then those before."""
    now = timezone.now()
    for number in range(7):
        at = now - timedelta(minutes=10 + number)
        live = JobState.RUNNING if state == "blind" else JobState.FAILED
        attempt = sample.attempt(sample.job(rows.cluster, 9200 + number, now), 0, live, now)
        if state == "blind":
            Attempt.objects.filter(pk=attempt.pk).update(blind_since=at)
            continue
        advice = Advice.objects.get(pk=rows.waiting.pk)
        advice.pk, advice.attempt, advice.created_at, advice.state_at = None, attempt, at, at
        if state == "asked":
            advice.operation, advice.state = Operation.WAIT.value, AdviceState.PENDING.value
        if state == "stopped":
            advice.operation, advice.state = Operation.TERMINATE.value, AdviceState.CONVERGED.value
        advice.save(force_insert=True)
        if state == "recovery":
            Sequence.objects.create(advice=advice, happened_at=at, detected_at=at, advised_at=at)
    monkeypatch.setattr(job_finding, "KEYS", 3)
    seen, address, pages = [], f"/jobs?cluster=demo&state={state}", 0
    while address:
        shown, address = on_the_page(as_viewer, address)
        seen.append({number for number in shown if number >= 9200})
        pages += 1
        assert pages < 10 and len(shown) <= 3
    assert set().union(*seen) == set(range(9200, 9207))
    assert [min(part) for part in seen if part] == sorted(min(part) for part in seen if part), "the newest first"


@pytest.mark.parametrize("query", ["node=n03", "", "q=llama", "node=n03&earlier=2026-11-30T12:00:00", "earlier=x"])
def test_where_all_was_looked_at_nothing_is_said(query: str, as_viewer: Client, rows: Sample) -> None:
    assert "were looked at" not in as_viewer.get(f"/jobs?{query}", follow=True).content.decode()
