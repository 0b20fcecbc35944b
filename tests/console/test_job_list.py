"""Which jobs does the list show?"""

from datetime import datetime

import pytest
from django.http import QueryDict
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from console.job_list import PAGE, job_page, read_wanted
from tests.console import sample
from tests.console.sample import JobState, Sample


def numbers(query: str) -> list[int]:
    return [row.job.number for row in job_page(read_wanted(QueryDict(query))).rows]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [99, 4712, 815, 4711]),
        ("state=running", [4712, 815, 4711]),
        ("state=waiting", []),
        ("state=recovery", [99, 4711]),
        ("state=blind", [4712]),
        ("state=failed", [99]),
        ("state=ended", [99, 12]),
        ("state=every", [99, 4712, 815, 12, 4711]),
        ("cluster=demo", [4712, 4711]),
        ("cluster=nowhere", []),
        ("q=4711", [4711]),
        ("q=4711-1", [4711]),
        ("q=llama", [4711]),
        ("q=LLAMA", [4711]),
        ("q=mallory", [815]),
        ("q=mallor", []),
        ("q=%25", []),
        ("q=12&state=every", [12]),
    ],
)
def test_filters(query: str, found: list[int], rows: Sample, now: datetime) -> None:
    gone = sample.job(rows.monitor, 12, now, name="old", live=False)
    sample.attempt(gone, 0, JobState.COMPLETED, now)
    assert sorted(numbers(query)) == sorted(found)


def test_a_job_is_in_the_state_of_its_newest_attempt(rows: Sample) -> None:
    assert 4711 not in numbers("state=failed"), "its first attempt failed, its second one runs"


@pytest.mark.parametrize(
    ("query", "mistake"),
    [
        ("state=nonsense", "There is no state of that name"),
        ("before=x", "not a number"),
        ("state=live&before=5", ""),
    ],
)
def test_what_is_not_understood_is_said(query: str, mistake: str, as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get(f"/jobs?{query}")
    assert text.status_code == 200
    assert mistake in text.content.decode()


@pytest.mark.parametrize(
    "query", ["q=%00", "q=" + "9" * 60, "before=" + "9" * 30, "cluster=%00%27", "q=%F0%9F%98%80", "q=%D9%A3"]
)
def test_strange_queries_find_nothing_and_break_nothing(query: str, as_viewer: Client, rows: Sample) -> None:
    assert as_viewer.get(f"/jobs?{query}").status_code == 200


def test_pages_follow_each_other_without_a_count(
    rows: Sample, now: datetime, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(2 * PAGE):
        sample.attempt(sample.job(rows.cluster, 10000 + number, now), 0, JobState.RUNNING, now)
    seen, before = [], None
    for _ in range(3):
        with django_assert_num_queries(3):
            page = job_page(read_wanted(QueryDict(f"before={before}" if before else "")))
        seen += [row.job.number for row in page.rows]
        before = page.next_before
    assert before is None
    assert len(seen) == len(set(seen)) == 2 * PAGE + 4
    assert seen[0] == 10000 + 2 * PAGE - 1


def test_the_address_keeps_the_filter(as_viewer: Client, rows: Sample, now: datetime) -> None:
    for number in range(PAGE + 1):
        sample.attempt(sample.job(rows.cluster, 10000 + number, now), 0, JobState.RUNNING, now)
    text = as_viewer.get("/jobs?state=running&q=llama").content.decode()
    older = text.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
    assert "state=running" in older
    assert "q=llama" in older
    assert "before=" in older
    assert as_viewer.get(older).content.decode().count('<tr id="job-') == 2
