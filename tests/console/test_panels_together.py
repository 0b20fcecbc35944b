"""Does one request bring exactly the panels that look different now, to whom may see them?"""

from datetime import datetime

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from audit.event_type import EventType
from tests.console import sample
from tests.console.sample import Sample

JOB = "/panels/job_events/demo/4711/0"
SUMMARY = "/panels/job_summary/demo/4711/0"
SITE = "/panels/clusters"


@pytest.fixture(autouse=True)
def standing_clock(monkeypatch: pytest.MonkeyPatch, now: datetime) -> None:
    """Ages are told in seconds: what differs by the clock alone is no difference here."""
    monkeypatch.setattr(timezone, "now", lambda: now)


def tags(answer: dict[str, dict[str, str]]) -> str:
    return ", ".join(panel["etag"] for panel in answer.values())


def test_all_that_the_page_does_not_show_yet(as_viewer: Client, rows: Sample) -> None:
    answer = as_viewer.get("/panels", {"of": [JOB, SUMMARY, SITE]})
    assert answer.status_code == 200
    assert set(answer.json()) == {JOB, SUMMARY, SITE}
    assert answer.json()[JOB]["html"] == as_viewer.get(JOB).text
    assert answer.json()[JOB]["etag"] == as_viewer.get(JOB)["ETag"]
    assert answer["Cache-Control"] == "private, no-cache"
    assert set(answer["Vary"].split(", ")) == {"Cookie", "Accept-Language"}


def test_nothing_when_nothing_differs(as_viewer: Client, rows: Sample) -> None:
    shown = tags(as_viewer.get("/panels", {"of": [JOB, SUMMARY]}).json())
    again = as_viewer.get("/panels", {"of": [JOB, SUMMARY]}, headers={"If-None-Match": shown})
    assert again.status_code == 304
    assert again.content == b""


def test_only_what_differs(as_viewer: Client, rows: Sample, now: datetime) -> None:
    shown = tags(as_viewer.get("/panels", {"of": [JOB, SUMMARY]}).json())
    attempt = rows.recovered.attempts.get(index=1)
    sample.event(now, EventType.VERDICT, attempt, "Something new")
    again = as_viewer.get("/panels", {"of": [JOB, SUMMARY]}, headers={"If-None-Match": shown}).json()
    assert list(again) == [JOB]
    assert "Something new" in again[JOB]["html"]


def test_what_is_gone_comes_back_empty_and_the_rest_is_there(as_viewer: Client, rows: Sample) -> None:
    gone = ["/panels/job_events/demo/999/0", "/panels/cluster_health/nowhere", "/panels/no-such-panel"]
    answer = as_viewer.get("/panels", {"of": [*gone, SITE]}).json()
    assert [answer[address] for address in gone] == [{}, {}, {}]
    assert answer[SITE]["html"]


def test_the_filters_of_an_address_are_kept(as_viewer: Client, rows: Sample) -> None:
    address = "/panels/job_table?state=every&q=4712"
    html = as_viewer.get("/panels", {"of": address}).json()[address]["html"]
    assert "4712" in html
    assert "4711" not in html


def test_a_stranger_gets_nothing(client: Client, rows: Sample) -> None:
    answer = client.get("/panels", {"of": SITE})
    assert answer.status_code == 401
    assert b"demo" not in answer.content


@pytest.mark.parametrize(
    "of",
    [
        [],
        [SITE] * 17,
        ["/"],
        ["/jobs/demo/4711/0"],
        ["/panels"],
        ["/v1/jobs"],
        ["//evil.example/panels/clusters"],
        ["http://[evil/panels/clusters"],
        ["/panels/clusters" + "?" + "x" * 2000],
        ["\x00"],
        ["/admin/"],
        ["/sign-out"],
    ],
)
def test_what_is_no_panel_is_refused_in_a_sentence(as_viewer: Client, rows: Sample, of: list[str]) -> None:
    answer = as_viewer.get("/panels", {"of": of})
    assert answer.status_code == 400
    assert answer.content.endswith(b".")


def test_nothing_is_changed_by_asking(as_viewer: Client) -> None:
    assert as_viewer.post("/panels", {"of": SITE}).status_code == 405


def test_panels_of_one_scope_are_looked_at_once(as_viewer: Client, rows: Sample) -> None:
    one, all_of_them = [JOB], [JOB, SUMMARY, "/panels/job_lanes/demo/4711/0", "/panels/job_attempts/demo/4711/0"]
    as_viewer.get("/panels", {"of": all_of_them})
    with CaptureQueriesContext(
        connection,
    ) as alone:
        as_viewer.get("/panels", {"of": one})
    with CaptureQueriesContext(connection) as together:
        as_viewer.get("/panels", {"of": all_of_them})
    assert len(together) <= len(alone) + 2 * (len(all_of_them) - 1)  # cluster and job of each address


def look(client: Client, after: float | str) -> int:
    """How many queries a request costs that asks because of a frame of that moment."""
    with CaptureQueriesContext(connection) as made:
        assert client.get("/panels", {"of": [SUMMARY], "after": str(after)}).status_code == 200
    return len(made)


def test_a_look_that_began_after_the_frame_serves_other_pages_too(as_viewer: Client, rows: Sample) -> None:
    before = timezone.now().timestamp() - 1.0
    first = look(as_viewer, before)
    assert look(as_viewer, before) < first
    assert look(as_viewer, timezone.now().timestamp()) > look(as_viewer, before), "it does not see what came later"


@pytest.mark.parametrize("after", ["", "0", "x", "1e400", "nan", "-1", "9" * 40, "99999999999"])
def test_what_no_frame_has_said_is_looked_up_or_a_moment_old_at_most(
    as_viewer: Client, rows: Sample, after: str
) -> None:
    assert look(as_viewer, after) > 0


def test_a_change_before_the_frame_is_seen_by_the_next_page(as_viewer: Client, rows: Sample, now: datetime) -> None:
    early = timezone.now().timestamp() - 1.0
    look(as_viewer, early)
    sample.event(now, EventType.VERDICT, rows.recovered.attempts.get(index=1), "Seen by the tail")
    frame = timezone.now().timestamp()
    html = as_viewer.get("/panels", {"of": [JOB], "after": f"{frame:.3f}"}).json()[JOB]["html"]
    assert "Seen by the tail" in html
