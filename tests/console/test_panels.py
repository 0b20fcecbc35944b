"""Is a panel rendered once, returned alone, and told apart where it must be?"""

import re
import threading
from datetime import datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from console.asking import CLOCK, Scope
from console.panels import PANELS
from console.rendering import Bodies
from detectors.models import Feed
from tests.console import sample
from tests.console.sample import Sample
from workloads.models import Cluster

TEMPLATES = Path(settings.BASE_DIR) / "templates" / "console" / "panels"


def address(panel: object) -> str:
    tails = {Scope.CLUSTER: "/demo", Scope.JOB: "/demo/4711/0", Scope.NODE: "/demo/node/n03"}
    tail = tails.get(panel.scope, "")
    of_one = panel.name.startswith("incident_") and panel.name != "incident_table"
    return f"/panels/{panel.name}{tail}" + (f"?incident={sample.INCIDENT}" if of_one else "")


every_panel = pytest.mark.parametrize("panel", PANELS, ids=[panel.name for panel in PANELS])


def test_every_panel_has_its_template_and_every_template_its_panel() -> None:
    assert {path.stem for path in TEMPLATES.glob("*.html")} == {panel.name for panel in PANELS}
    assert len({panel.name for panel in PANELS}) == len(PANELS)


@every_panel
def test_the_address_of_a_panel_returns_the_panel_alone(panel: object, as_viewer: Client, rows: Sample) -> None:
    answer = as_viewer.get(address(panel))
    assert answer.status_code == 200
    assert "<html" not in answer.content.decode()
    assert "csrf" not in answer.content.decode()
    assert answer["Cache-Control"] == "private, no-cache"


@every_panel
def test_a_panel_that_is_the_same_is_not_sent_again(
    panel: object, as_viewer: Client, rows: Sample, time_stands_still: object
) -> None:
    first = as_viewer.get(address(panel))
    again = as_viewer.get(address(panel), headers={"If-None-Match": first["ETag"]})
    assert again.status_code == 304
    assert again.content == b""
    assert as_viewer.get(address(panel), headers={"If-None-Match": '"other"'}).status_code == 200


@every_panel
def test_a_stranger_gets_401_and_no_sign_in_page(panel: object, client: Client, rows: Sample) -> None:
    answer = client.get(address(panel))
    assert answer.status_code == 401
    assert "<form" not in answer.content.decode()


@pytest.mark.parametrize(
    "wrong",
    [
        "/panels/nothing",
        "/panels/clusters/demo",
        "/panels/job_summary",
        "/panels/job_summary/demo",
        "/panels/cluster_health",
    ],
)
def test_a_panel_at_a_wrong_address_is_404(wrong: str, as_viewer: Client, rows: Sample) -> None:
    assert as_viewer.get(wrong).status_code == 404


@pytest.fixture
def time_stands_still(monkeypatch: pytest.MonkeyPatch, now: datetime) -> datetime:
    monkeypatch.setattr("console.views.asked.timezone.now", lambda: now)
    return now


@every_panel
def test_the_second_one_costs_only_the_question_whether_it_changed(
    panel: object,
    as_viewer: Client,
    rows: Sample,
    time_stands_still: datetime,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    as_viewer.get(address(panel))
    # Session, user, permissions (2), what is hidden, cluster, job, three for the version.
    with django_assert_max_num_queries(10):
        as_viewer.get(address(panel))


def test_a_new_event_makes_a_new_panel(as_viewer: Client, rows: Sample, time_stands_still: datetime) -> None:
    before = as_viewer.get("/panels/job_events/demo/4711/0")
    sample.event(
        time_stands_still,
        sample.EventType.TRAINING_COMPLETED,
        rows.recovered.attempts.get(index=1),
        "4711-1 completed",
    )
    after = as_viewer.get("/panels/job_events/demo/4711/0", headers={"If-None-Match": before["ETag"]})
    assert after.status_code == 200
    assert "4711-1 completed" in after.content.decode()


def test_an_event_committed_below_the_newest_id_makes_a_new_panel(
    as_viewer: Client, rows: Sample, time_stands_still: datetime
) -> None:
    attempt = rows.recovered.attempts.get(index=1)
    first = sample.event(time_stands_still, sample.EventType.ADVICE, attempt, "committed first")
    told = {field.attname: getattr(first, field.attname) for field in first._meta.concrete_fields}
    gap = {**told, "id": first.pk + 1, "uuid": uuid4(), "sentence": "committed late"}
    sample.AuditEvent.objects.create(**{**told, "id": first.pk + 2, "uuid": uuid4()})
    as_viewer.get("/panels/job_events/demo/4711/0")
    sample.AuditEvent.objects.create(**gap)
    assert "committed late" in as_viewer.get("/panels/job_events/demo/4711/0").content.decode()


def test_what_changes_by_the_clock_alone_is_at_most_a_moment_old(
    as_viewer: Client, rows: Sample, monkeypatch: pytest.MonkeyPatch, now: datetime
) -> None:
    monkeypatch.setattr("console.views.asked.timezone.now", lambda: now)
    assert "Nobody is looking" not in as_viewer.get("/panels/clusters").content.decode()
    monkeypatch.setattr("console.views.asked.timezone.now", lambda: now + 3 * CLOCK)
    assert "Nobody is looking" in as_viewer.get("/panels/clusters").content.decode()


def test_only_who_may_switch_sees_the_switch(cast: dict[str, User], rows: Sample) -> None:
    seen = {}
    for who in ("admin", "viewer", "operator", "admin"):
        client = Client()
        client.force_login(cast[who])
        seen[who] = "Switch mode" in client.get("/panels/cluster_health/demo").content.decode()
    assert seen == {"admin": True, "viewer": False, "operator": False}


def test_a_log_store_that_cannot_be_seen_is_said_where_clusters_are(as_viewer: Client, rows: Sample) -> None:
    Cluster.objects.update(
        log_store="loki", log_store_unseen_since=timezone.now(), log_store_unseen_reason="no <b>answer</b>"
    )
    Feed.objects.create(cluster=Cluster.objects.get(name="demo"), source="loki", position={"several": 3})
    shown = as_viewer.get("/panels/cluster_health/demo").content.decode()
    assert "Cannot see the log store" in shown and "no &lt;b&gt;answer&lt;/b&gt;" in shown
    assert "3 lines fit several attempts" in shown and "belong to no watched attempt" not in shown
    assert "Cannot see the log store" in as_viewer.get("/panels/clusters").content.decode()


def test_metrics_that_cannot_be_seen_are_said_where_clusters_are(as_viewer: Client, rows: Sample) -> None:
    Cluster.objects.update(
        metrics_address="http://p", metrics_unseen_since=timezone.now(), metrics_unseen_reason="no <b>answer</b>"
    )
    Feed.objects.create(cluster=Cluster.objects.get(name="demo"), source="prometheus", position={"several": 3})
    shown = as_viewer.get("/panels/cluster_health/demo").content.decode()
    assert "Cannot see the metrics" in shown and "no &lt;b&gt;answer&lt;/b&gt;" in shown
    assert "were not read yet" in shown and "several attempts" not in shown and ">prometheus<" not in shown
    assert "Cannot see the metrics" in as_viewer.get("/panels/clusters").content.decode()


KEY = ("clusters", "", "v1", frozenset())


def test_many_who_ask_at_once_wait_for_one_rendering() -> None:
    bodies, started, go = Bodies(), threading.Event(), threading.Event()
    count = []

    def render() -> str:
        count.append(1)
        started.set()
        assert go.wait(5)
        return "body"

    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(bodies.get(KEY, render).html)) for _ in range(8)]
    threads[0].start()
    assert started.wait(5)
    for thread in threads[1:]:
        thread.start()
    go.set()
    for thread in threads:
        thread.join(5)
    assert found == ["body"] * 8
    assert len(count) == 1


def test_a_rendering_that_fails_is_tried_again() -> None:
    bodies = Bodies()

    def broken() -> str:
        raise LookupError("gone")

    with pytest.raises(LookupError):
        bodies.get(KEY, broken)
    assert bodies.get(KEY, lambda: "body").html == "body"


def test_what_is_kept_is_bounded() -> None:
    bodies = Bodies(kept_bytes=1000)
    for number in range(50):
        bodies.get(("job", str(number), "v", frozenset()), lambda: "x" * 100)
    rendered = []
    for number in (49, 0):
        bodies.get(("job", str(number), "v", frozenset()), lambda: rendered.append(1) or "x" * 100)
    assert len(rendered) == 1, "the newest is kept, the oldest was dropped"


def test_the_same_content_keeps_its_tag_in_a_new_version() -> None:
    bodies = Bodies()
    first = bodies.get(("a", "", "v1", frozenset()), lambda: "same")
    second = bodies.get(("a", "", "v2", frozenset()), lambda: "same")
    assert first.etag == second.etag
    assert timedelta(seconds=5) <= CLOCK <= timedelta(seconds=30)


def test_the_script_has_words_for_the_rows_of_every_list() -> None:
    """What is new is told in whole texts, by what the list calls its rows."""
    lists = [re.findall(r'data-rows="([a-z]+)\|', file.read_text()) for file in TEMPLATES.parent.rglob("*.html")]
    script = (Path(settings.BASE_DIR) / "static" / "console" / "calm.js").read_text()
    told = re.findall(r"^    ([a-z]+): \(count\) => ngettext\(\"%\(count\)s new \1\"", script, re.MULTILINE)
    assert {row for rows in lists for row in rows} == set(told) - {"row"}
