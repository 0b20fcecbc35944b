"""Do the pages of clusters say how each stands, and is a pause made and ended only by who may, as it was seen?"""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from advisor_api.models import Advice, Exclusion, Pause
from audit.models import AuditEvent
from console.rendering import bodies
from console.source_health import HOUR, source_lines, unseen_spans
from detectors.models import Verdict
from schedulers.states import JobState
from tests.console import sample
from tests.console.sample import Sample
from workloads.models import Cluster, Node

PAUSE = "/clusters/demo/pause"
WORDS = {
    "scope": "partition",
    "value": "main",
    "lasts": "2h",
    "until": "",
    "reason": "switch is swapped",
    "seen": "",
}
CONFIRMED = WORDS | {"confirmed": "yes"}


def pauses() -> list[tuple[str, str]]:
    return list(Pause.objects.filter(cluster__name="demo").order_by("pk").values_list("scope", "value"))


def told() -> list[str]:
    return list(AuditEvent.objects.filter(type="pause").order_by("pk").values_list("action", flat=True))


def test_the_list_says_how_each_cluster_stands(as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get(reverse("clusters")).content.decode()
    for said in (
        "far-away",
        "Cannot see the scheduler",
        "Slurm",
        "22.05.8",
        "2 isolated",
        "4 effective",
        "blind on 1",
    ):
        assert said in text, said


@pytest.mark.parametrize(
    ("query", "shown"),
    [("?mode=monitor", {"demo-monitor"}), ("?kind=slurm&mode=approve", {"far-away"}), ("?kind=lsf", None)],
)
def test_clusters_are_filtered_by_the_address(
    query: str, shown: set[str] | None, as_viewer: Client, rows: Sample
) -> None:
    text = as_viewer.get(reverse("clusters") + query).content.decode()
    found = {name for name in ("demo", "demo-monitor", "far-away") if f'"/clusters/{name}"' in text}
    assert found == (shown if shown is not None else {"demo", "demo-monitor", "far-away"})
    assert ("There is no kind of scheduler" in text) is (shown is None)


def test_what_was_out_of_sight_within_the_last_hour_is_told(rows: Sample, now: datetime) -> None:
    (line,) = source_lines(rows.unseen, now)
    assert timedelta(minutes=10, seconds=59) < line.unseen < timedelta(minutes=11, seconds=1)
    assert 81 < line.percent < 82


@pytest.mark.parametrize(
    ("told", "since", "minutes"),
    [
        ([], None, []),
        ([(10, True), (20, False)], None, [(10, 20)]),
        ([(5, False)], None, [(0, 5)]),
        ([(50, True)], 50, [(50, 60)]),
        ([], -600, [(0, 60)]),
        ([(10, True), (15, True), (20, False)], None, [(10, 20)]),
        ([(30, False), (40, True), (41, False)], None, [(0, 30), (40, 41)]),
    ],
    ids=["never", "once", "from before", "still", "all the hour", "told twice", "twice"],
)
def test_spans_out_of_sight(
    told: list[tuple[int, bool]], since: int | None, minutes: list[tuple[int, int]], now: datetime
) -> None:
    def at(minute: int) -> datetime:
        return now - HOUR + timedelta(minutes=minute)

    found = unseen_spans(
        [(at(minute), begins) for minute, begins in told], None if since is None else at(since), now
    )
    assert found == [(at(start), at(end)) for start, end in minutes]


@pytest.mark.parametrize("address", [PAUSE, "/clusters/demo/pauses/1/end"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_viewer_may_not_pause(address: str, method: str, as_viewer: Client, rows: Sample) -> None:
    assert getattr(as_viewer, method)(address, CONFIRMED).status_code == 403
    assert pauses() == []


def test_a_stranger_and_another_site_may_not_either(client: Client, cast: dict[str, User], rows: Sample) -> None:
    assert client.post(PAUSE, CONFIRMED)["Location"].startswith(reverse("sign-in"))
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(cast["operator"])
    assert strict.post(PAUSE, CONFIRMED).status_code == 403
    assert pauses() == []


def test_the_first_post_only_says_what_it_means(as_operator: Client, rows: Sample) -> None:
    text = as_operator.post(PAUSE, WORDS).content.decode()
    assert "Rekindle begins nothing on partition main of demo until" in text
    assert "2 jobs run there now and are left as they are" in text
    assert pauses() == [] and told() == []


def test_the_advice_that_would_be_held_back_is_listed(as_operator: Client, rows: Sample) -> None:
    words = WORDS | {"scope": "user", "value": "trainer"}
    text = as_operator.post("/clusters/far-away/pause", words).content.decode()
    assert "1 open advice is not carried out while the pause lasts" in text and ">99-0</a>" in text


def test_a_pause_is_made_shown_everywhere_and_ended(as_operator: Client, rows: Sample, now: datetime) -> None:
    answer = as_operator.post(PAUSE, CONFIRMED, follow=True)
    assert answer.status_code == 200
    (row,) = Pause.objects.all()
    assert (row.scope, row.value, row.owner, row.reason) == ("partition", "main", "operator", "switch is swapped")
    assert timedelta(hours=1, minutes=59) < row.until - now < timedelta(hours=2, minutes=1)
    for address in (reverse("cluster", args=["demo"]), reverse("overview"), reverse("clusters")):
        assert "Paused (partition main)" in as_operator.get(address).content.decode(), address
    end = reverse("pause-end", args=["demo", row.pk])
    assert f'href="{end}"' in answer.content.decode()
    assert as_operator.post(end, {"reason": ""}).status_code == 400
    assert as_operator.post(end, {"reason": "switch is back"}).status_code == 302
    assert as_operator.post(end, {"reason": "again"}).status_code == 409
    assert told() == ["pause", "resume"]
    assert "switch is back" in AuditEvent.objects.filter(type="pause").order_by("-pk")[0].sentence
    assert "Paused" not in as_operator.get(reverse("clusters")).content.decode()


@pytest.mark.parametrize(
    ("change", "status", "sentence"),
    [
        ({"reason": ""}, 400, "Say why"),
        ({"scope": "galaxy"}, 400, "A pause is of one of these."),
        ({"value": "gpu"}, 400, "demo has no partition"),
        ({"value": ""}, 400, "every other one needs it"),
        ({"scope": "job", "value": "all"}, 400, "is its number"),
        ({"scope": "user", "value": "a,b"}, 400, "the name of one user"),
        ({"lasts": "until", "until": "2020-01-01 00:00"}, 400, "The end must be in the future"),
        ({"lasts": "until", "until": "2190-01-01 00:00"}, 400, "at most 7 days"),
        ({"lasts": "until", "until": "9999-99-99 00:00"}, 400, "Write the moment as"),
        ({"seen": "9"}, 409, "have changed since you looked"),
        ({"seen": "9;drop"}, 400, "open the page again"),
        ({"scope": "job", "value": "9" * 19 + "_" + "1" * 30}, 400, "is its number"),
    ],
)
def test_a_pause_that_cannot_be_used_changes_nothing(
    change: dict[str, str], status: int, sentence: str, as_operator: Client, rows: Sample
) -> None:
    answer = as_operator.post(PAUSE, CONFIRMED | change)
    assert answer.status_code == status
    assert sentence in answer.content.decode()
    assert pauses() == [] and told() == []


def test_of_two_operators_at_once_one_is_told(as_operator: Client, as_admin: Client, rows: Sample) -> None:
    assert as_operator.post(PAUSE, CONFIRMED).status_code == 302
    answer = as_admin.post(PAUSE, CONFIRMED | {"scope": "cluster", "value": ""})
    assert answer.status_code == 409 and "Paused already: partition main" in answer.content.decode()
    assert pauses() == [("partition", "main")]


def test_a_pause_of_another_cluster_is_404(as_operator: Client, rows: Sample, now: datetime) -> None:
    as_operator.post(PAUSE, CONFIRMED)
    row = Pause.objects.get()
    assert as_operator.post(f"/clusters/far-away/pauses/{row.pk}/end", {"reason": "r"}).status_code == 404


def advised(rows: Sample, now: datetime, number: int, state: JobState = JobState.FAILED, **more: object) -> Advice:
    """An advice in monitor mode on a job that failed two hours ago."""
    at = now - timedelta(hours=2)
    of = sample.job(rows.monitor, number, now, name=f"run-{number}", created_at=at)
    failed = sample.attempt(of, 0, state, at, nodes=["n01", "n02"], ended_at=at, first_seen_at=at)
    values = {
        "operation": "restart", "excluded_nodes": ["n02"], "rule": "named_node", "because": "n02 is named",
        "mode_at_decision": "monitor", "not_before": at, "hold_until": at, "expires_at": at, "created_at": at,
        "state": "abandoned", "state_reason": "ADVICE_EXPIRED", "state_at": at,
    }  # fmt: skip
    return Advice.objects.create(attempt=failed, generation=1, **(values | more))


def test_a_switch_shows_how_people_acted_where_it_only_advised(
    as_admin: Client, rows: Sample, now: datetime
) -> None:
    at = now - timedelta(hours=1)
    same = advised(rows, now, 1)
    sample.attempt(same.attempt.job, 1, JobState.RUNNING, now, nodes=["n01", "n02"], first_seen_at=at)
    again = advised(rows, now, 2)
    sample.job(rows.monitor, 3, now, name=again.attempt.job.name, created_at=at)
    advised(rows, now, 4, state=JobState.CANCELLED)
    advised(rows, now, 5)
    advised(rows, now, 6, operation="terminate", excluded_nodes=[])
    advised(rows, now, 7, operation="wait")
    Node.objects.create(
        cluster=rows.monitor, name="n02", state="drained", available=False, reason="ECC", reason_at=at, seen_at=now
    )
    asked = {"mode": "approve", "version_seen": "1", "reason": "r"}
    text = as_admin.post("/clusters/demo-monitor/mode", asked).content.decode()
    table = [part.partition("</tr>")[0] for part in text.partition("<tbody>")[2].split("<tr>")[1:]]
    counts = {
        row.partition("</th>")[0].rpartition('">')[2].partition("<")[0]: [
            int(cell.partition(">")[2].partition("<")[0]) for cell in row.split("<td ")[1:]
        ]
        for row in table
    }
    assert counts == {"Restart": [4, 2, 1, 1, 0, 0], "Stop": [1, 1, 0, 0, 0, 0]}
    assert "1 node would have been left out" in text and "People took 1 of them out of use within a day" in text
    assert "1 job started again on a node that the advice left out" in text
    assert "1 more only asked a person to look" in text
    assert "Has the node a hardware witness?" in text


def test_a_switch_without_advice_says_so(as_admin: Client, rows: Sample) -> None:
    asked = {"mode": "approve", "version_seen": "1", "reason": "r"}
    text = as_admin.post("/clusters/demo-monitor/mode", asked).content.decode()
    assert "There is nothing to compare" in text


def test_what_rekindle_did_itself_is_not_counted_as_people(as_admin: Client, rows: Sample) -> None:
    asked = {"mode": "approve", "version_seen": "1", "reason": "r"}
    text = as_admin.post("/clusters/demo/mode", asked).content.decode()
    assert "Rekindle did it</span>" in text
    assert Verdict.objects.exists() and Exclusion.objects.exists()


@pytest.mark.parametrize("many", [0, 60])
def test_the_number_of_queries_does_not_grow(
    many: int, as_admin: Client, rows: Sample, now: datetime, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(many):
        advised(rows, now, 1000 + number)
        Cluster.objects.create(name=f"more-{number}")
        Pause.objects.create(
            cluster=rows.cluster, scope="user", value=f"u{number}", reason="r", owner="o", since=now,
            until=now + timedelta(hours=1),
        )  # fmt: skip
    for address, bound in {reverse("clusters"): 26, PAUSE: 8, reverse("cluster", args=["demo"]): 40}.items():
        bodies.forget()
        with django_assert_max_num_queries(bound):
            assert as_admin.get(address).status_code == 200
    with django_assert_max_num_queries(30):
        asked = {"mode": "approve", "version_seen": "1", "reason": "r"}
        assert as_admin.post("/clusters/demo-monitor/mode", asked).status_code == 200
