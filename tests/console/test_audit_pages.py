"""Is the trail found by whatever it says, page by page, and does an event say what it changed?"""

import json
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from advisor_api.models import PolicyVersion
from advisor_api.switching import switch_mode
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.models import AuditArchive, AuditEvent
from audit.sealing import seal_waiting
from audit.trail import Actor, Entry, Subject, record
from console import audit_list
from console.audit_list import PAGE, SITE, moment_of, read_trail_wanted
from console.rendering import bodies
from tests.console.sample import HOSTILE, Sample
from workloads.mode import Mode

PERSON = Actor(ActorKind.PERSON, "olga")


def said(cluster: str, sentence: str, at: datetime, **more: object) -> AuditEvent:
    values = {"type": EventType.CONFIGURATION, "actor": PERSON, "subject": Subject(cluster=cluster)}
    return record([Entry(sentence=sentence, **(values | more))], at)[0]


def found(client: Client, query: str) -> str:
    bodies.forget()
    answer = client.get(reverse("audit") + query)
    assert answer.status_code == 200
    return str(answer.content.decode())


def test_everything_is_there_newest_first(as_viewer: Client, rows: Sample, now: datetime) -> None:
    said("demo", "the older one", now - timedelta(seconds=2))
    said("far-away", "the newer one", now - timedelta(seconds=1))
    said("", "of the site", now)
    text = found(as_viewer, "")
    assert text.index("of the site") < text.index("the newer one") < text.index("the older one")


@pytest.mark.parametrize(
    "query",
    [
        "?cluster=demo&job=5001",
        "?job=5001-2",
        "?node=n17",
        "?pattern=gpu.xid",
        "?action=exclude",
        "?actor=olga",
        "?actor_kind=person&level=error",
        "?type=token",
        "?since=1m&type=token",
        "?cluster=(site)",
    ],
)
def test_each_filter_finds_what_it_names_and_nothing_else(
    query: str, as_viewer: Client, rows: Sample, now: datetime
) -> None:
    subject = Subject("" if "site" in query else "demo", 5001, 0, 2, None, "n17")
    said(
        subject.cluster, "the wanted one", now, subject=subject, pattern="gpu.xid", action="exclude",
        type=EventType.TOKEN, level=Level.ERROR,
    )  # fmt: skip
    said("demo", "quite another one", now, actor=Actor(ActorKind.RULE, "r"))
    text = found(as_viewer, query)
    assert "the wanted one" in text and "quite another one" not in text


@pytest.mark.parametrize(
    "query",
    [
        "?job=abc",
        "?type=nothing",
        "?level=loud",
        "?since=yesterday",
        "?until=9999-99-99",
        "?before=1.2.3",
        "?before=99999999999999999.1",
        "?before=9.999999999999999999",
        "?node=%00&actor=%00",
        "?since=99999d",
        "?since=0001-01-01T00:00%2B23:59",
        "?actor=" + "x" * 3000,
        "?cluster=nowhere",
        "?job=999999999999999999-999999999",
    ],
)
def test_what_makes_no_sense_is_said_and_is_no_error(query: str, as_viewer: Client, rows: Sample) -> None:
    found(as_viewer, query)


def test_a_moment_may_be_a_span_back(now: datetime) -> None:
    assert moment_of("8h", now) == now - timedelta(hours=8)
    assert moment_of("2026-11-30 16:00", now) == datetime.fromisoformat("2026-11-30T16:00+00:00")
    assert moment_of("tomorrow", now) is None
    assert "moment in UTC" in read_trail_wanted({"since": "tomorrow"}, now).mistake


def test_pages_neither_miss_nor_double_while_events_come_in(as_viewer: Client, rows: Sample, now: datetime) -> None:
    for number in range(2 * PAGE + 7):  # some at the very same moment, on two clusters
        said(
            ("demo", "far-away")[number % 2],
            f"numbered {number}.",
            now + timedelta(seconds=number // 3),
            action="n",
        )
    seen: list[str] = []
    query = "?action=n"
    while query:
        text = found(as_viewer, query)
        seen += [part.partition("<")[0] for part in text.split(">numbered ")[1:]]
        said("demo", "numbered late.", now + timedelta(days=1), action="n")
        link = text.partition('rel="next"')[0].rpartition('href="')[2] if 'rel="next"' in text else ""
        query = link.partition("?")[2].partition('"')[0].replace("&amp;", "&")
        query = f"?{query}" if query else ""
    assert seen == [f"{number}." for number in reversed(range(2 * PAGE + 7))]


def test_what_is_hostile_is_shown_and_does_nothing(as_viewer: Client, rows: Sample, now: datetime) -> None:
    row = said(
        "demo", HOSTILE, now, subject=Subject("demo", node=HOSTILE), actor=Actor(ActorKind.PERSON, HOSTILE),
        pattern=HOSTILE[:100], payload={HOSTILE: [HOSTILE, {"before": HOSTILE}]},
    )  # fmt: skip
    for text in (found(as_viewer, ""), as_viewer.get(reverse("audit-event", args=[row.uuid])).content.decode()):
        assert "<script>alert" not in text and "\u202e" not in text and "\x1b" not in text
        assert "&lt;script&gt;" in text


def test_an_event_shows_the_mode_before_and_after(as_viewer: Client, rows: Sample, now: datetime) -> None:
    switch_mode(rows.monitor, Mode.APPROVE, 1, "a week was enough", PERSON, now)
    row = AuditEvent.objects.get(type="mode_changed")
    text = as_viewer.get(reverse("audit-event", args=[row.uuid])).content.decode()
    assert "<del>monitor</del>" in text and "<ins>approve</ins>" in text


def test_an_event_shows_what_a_configuration_changed(as_viewer: Client, rows: Sample, now: datetime) -> None:
    payload = {"before": {"poll_seconds": 15.0, "same": 1}, "after": {"poll_seconds": 5.0, "same": 1, "new": ["x"]}}
    row = said("demo", "changed", now, payload=payload)
    text = as_viewer.get(reverse("audit-event", args=[row.uuid])).content.decode()
    assert "<del>15.0</del>" in text and "<ins>5.0</ins>" in text and "<ins>[&quot;x&quot;]</ins>" in text
    assert "<code>same</code>" not in text


def test_an_event_shows_what_a_policy_changed(as_viewer: Client, rows: Sample, now: datetime) -> None:
    old = PolicyVersion.objects.create(values={"max_requeues": 10}, created_at=now)
    payload = {"policy": 99, "before": old.pk, "values": {"max_requeues": 3}, "reason": "r"}
    row = said("demo", "activated", now, action="policy", payload=payload)
    text = as_viewer.get(reverse("audit-event", args=[row.uuid])).content.decode()
    assert "<del>10</del>" in text and "<ins>3</ins>" in text


@pytest.mark.parametrize(
    "payload", [[], "text", {"before": 1}, {"before": None, "values": 3}, {"from": {}, "to": []}]
)
def test_a_payload_of_any_shape_is_shown(payload: object, as_viewer: Client, rows: Sample, now: datetime) -> None:
    row = said("demo", "odd", now, payload=payload, action="policy")
    assert as_viewer.get(reverse("audit-event", args=[row.uuid])).status_code == 200


def test_an_event_says_what_seals_it(as_viewer: Client, rows: Sample, now: datetime) -> None:
    row = said("demo", "sealed", now)
    address = reverse("audit-event", args=[row.uuid])
    assert "It is not sealed yet" in as_viewer.get(address).content.decode()
    seal_waiting(now)
    assert "of the chain of demo" in as_viewer.get(address).content.decode()


def test_an_event_that_is_not_there_is_404(as_viewer: Client, rows: Sample) -> None:
    assert as_viewer.get(reverse("audit-event", args=[uuid4()])).status_code == 404


def test_an_export_holds_what_the_filters_say(as_viewer: Client, rows: Sample, now: datetime) -> None:
    row = said("demo", "olga wrote this", now - timedelta(seconds=5), subject=Subject("demo", node="n17"))
    said("demo", "and not this", now - timedelta(seconds=5))
    text = found(as_viewer, "?cluster=demo&node=n17&since=1h")
    form = text.partition('action="/v1/trail:export"')[2].partition("</form>")[0]
    fields = {
        part.partition('"')[0]: part.partition('value="')[2].partition('"')[0]
        for part in form.split('type="hidden" name="')[1:]
    }
    assert fields["node"] == "n17" and fields["cluster"] == "demo"
    answer = as_viewer.get("/v1/trail:export", fields | {"fileFormat": "jsonl", "pseudonyms": "true"})
    lines = [json.loads(line) for line in b"".join(answer.streaming_content).decode().splitlines()]
    assert [line["eventId"] for line in lines] == [str(row.uuid)]
    assert lines[0]["actor"].startswith("person-")


def test_without_a_cluster_no_file_is_offered(as_viewer: Client, rows: Sample) -> None:
    assert "Choose one cluster above" in found(as_viewer, "")


@pytest.mark.parametrize("many", [0, 300])
def test_the_number_of_queries_does_not_grow_with_events(
    many: int, as_viewer: Client, rows: Sample, now: datetime, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(many):
        said("demo", f"n {number}", now)
    row = said("demo", "the last", now)
    for address, bound in {reverse("audit"): 26, reverse("audit-event", args=[row.uuid]): 9}.items():
        bodies.forget()
        with django_assert_max_num_queries(bound):
            assert as_viewer.get(address).status_code == 200


def test_progress_lines_are_shown_where_they_are_asked_for(as_viewer: Client, rows: Sample, now: datetime) -> None:
    """They come by the hundred; one click shows them, and the address keeps that."""
    text = found(as_viewer, "?cluster=demo")
    assert "Checkpoint saved</a>" not in text and "An uncorrectable ECC error" in text
    chip = text.partition("Show progress too")[0].rpartition('href="')[2].partition('"')[0].replace("&amp;", "&")
    assert chip == "/audit?cluster=demo&progress=1"
    shown = found(as_viewer, "?cluster=demo&progress=1")
    assert "Checkpoint saved</a>" in shown and 'name="progress" value="1"' in shown
    assert 'href="/audit?cluster=demo" aria-current="true">Progress lines are shown' in shown
    assert "Checkpoint saved</a>" in found(as_viewer, "?type=checkpoint_saved"), "asked for by its name"


def test_pages_of_progress_lines_keep_them(as_viewer: Client, rows: Sample, now: datetime) -> None:
    for number in range(PAGE + 1):
        said("demo", f"saved {number}", now, type=EventType.CHECKPOINT_SAVED)
    text = found(as_viewer, "?cluster=demo&progress=1")
    link = text.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
    assert "progress=1" in link and "before=" in link


def an_archive(cluster: str, at: datetime) -> None:
    AuditArchive.objects.create(
        cluster=cluster, first_seq=1, last_seq=9, before="a", digest="b", first_at=at - timedelta(days=30),
        last_at=at, file="f", size=1, file_digest="c", at=at, key_id="k", signature="s",
    )  # fmt: skip


def test_the_page_says_from_when_on_events_are_here(as_viewer: Client, rows: Sample, now: datetime) -> None:
    then = now - timedelta(days=400)
    assert "in the archive" not in found(as_viewer, "?cluster=demo")
    an_archive("demo", then)
    an_archive("", then)
    text = found(as_viewer, "?cluster=demo")
    assert "Events of demo later than" in text and f"{then:%Y-%m-%d %H:%M:%S} UTC" in text
    assert f"{then - timedelta(days=30):%Y-%m-%d %H:%M:%S} UTC" in text
    assert "<code>zcat trail-demo-*.jsonl.gz | jq" in text and "verify_audit --archive FOLDER" in text
    assert "Events of the site itself later than" in found(as_viewer, f"?cluster={SITE}")
    assert "in the archive" not in found(as_viewer, "?cluster=far-away"), "nothing of it has left"
    every = found(as_viewer, "")
    assert (
        "where this search does not look" in every and 'href="/audit?cluster=%28site%29">the site itself' in every
    )


@pytest.mark.parametrize(("query", "reaches"), [("since=500d", True), ("until=450d", True), ("since=1h", False)])
def test_a_search_that_reaches_into_the_archive_says_so(
    query: str, reaches: bool, as_viewer: Client, rows: Sample, now: datetime
) -> None:
    an_archive("demo", now - timedelta(days=400))
    for place in ("", "&cluster=demo"):
        assert ("You ask for a time before that" in found(as_viewer, f"?{query}{place}")) is reaches


def test_a_search_among_too_many_clusters_says_so(
    as_viewer: Client, rows: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "more clusters than can be searched" not in found(as_viewer, "")
    monkeypatch.setattr(audit_list, "CLUSTERS_AT_MOST", 2)
    assert "more clusters than can be searched" in found(as_viewer, "")
    assert "more clusters than can be searched" not in found(as_viewer, "?cluster=demo")
