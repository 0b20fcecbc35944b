"""Are nodes found and shown, and left out and given back only by who may, with a reason, and as it was seen?"""

import csv
import io
from datetime import datetime, timedelta
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from advisor_api.models import Exclusion
from audit.models import AuditEvent
from console.node_forms import shown
from console.node_list import read_nodes_wanted
from console.rendering import bodies
from detectors.fate import Fate
from detectors.models import HealthEvent, Stay, Verdict
from schedulers.states import JobState
from tests.console import sample
from tests.console.sample import Sample
from workloads.models import Cluster, Node

EXCLUDE = "/clusters/demo/exclude/n04"
LIFT = "/clusters/demo/lift/n03"
WORDS = {"reason": "smells of smoke", "lasts": "2h", "until": "", "seen": ""}
HOSTILE = 'n<script>alert(1)</script>/../\n"\u202egpj'


def held(node: str) -> list[Exclusion]:
    return list(Exclusion.objects.filter(cluster__name="demo", node=node, lifted_at=None).order_by("pk"))


def events() -> list[str]:
    return list(AuditEvent.objects.filter(type="exclusion").order_by("pk").values_list("action", flat=True))


def seen(node: str) -> str:
    return shown(row.pk for row in held(node))


def test_the_list_shows_every_node_with_its_field_the_troubled_ones_first(as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get(reverse("nodes")).content.decode()
    assert all(f">n0{number}</a>" in text for number in range(1, 7))
    assert text.index(">n03</a>") < text.index(">n01</a>"), "what has something against it stands first"
    assert "bad PSU, ticket 812" in text and "An uncorrectable ECC error on GPU 2 (job 4711-0)" in text


@pytest.mark.parametrize(
    ("query", "nodes"),
    [
        ("?q=N03", {"n03"}),
        ("?standing=isolated", {"n03", "n06"}),
        ("?cluster=demo&partition=main&standing=effective", {"n01", "n02", "n04", "n05"}),
        ("?partition=other", set()),
        ("?cluster=nowhere", set()),
        ("?cluster=far-away", set()),
    ],
)
def test_filters_in_the_address_hold_together(query: str, nodes: set[str], as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get(reverse("nodes") + query).content.decode()
    assert {f"n0{number}" for number in range(1, 7) if f">n0{number}</a>" in text} == nodes


@pytest.mark.parametrize(
    "query", ["?standing=lost", "?page=x", "?page=0", "?page=99999999999", "?q=%00", "?page=77"]
)
def test_an_address_that_makes_no_sense_is_no_error(query: str, as_viewer: Client, rows: Sample) -> None:
    assert as_viewer.get(reverse("nodes") + query).status_code == 200


def test_mistakes_in_the_address_are_said() -> None:
    assert "known are effective" in read_nodes_wanted({"standing": "lost"}).mistake
    assert "no number" in read_nodes_wanted({"page": "-1"}).mistake


def exported(client: Client, query: str = "") -> list[dict[str, str]]:
    answer = client.get(f"{reverse('nodes-export')}{query}")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    return list(csv.DictReader(io.StringIO(answer.getvalue().decode())))


def test_a_list_for_those_who_repair_has_the_same_filter_and_no_formula(
    as_viewer: Client, rows: Sample, now: datetime, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    Exclusion.objects.update(verdict_id=Verdict.objects.get().uuid)
    names = (f"x{number:03}" for number in range(250))
    Node.objects.bulk_create(Node(cluster=rows.cluster, name=name, state="IDLE", seen_at=now) for name in names)
    assert len(exported(as_viewer)) == Node.objects.count() > 250
    evil = "=HYPERLINK(1)"
    more = {"reason": evil, "owner": "@eve", "since": now, "until": now + timedelta(days=1)}
    Exclusion.objects.create(cluster=rows.cluster, node="x200", **more)
    with django_assert_max_num_queries(20):
        found = exported(as_viewer, "?standing=isolated&page=3")
    assert {row["node"] for row in found} == {"n03", "n06", "x200"}
    by_name = {row["node"]: row for row in found}
    out, bad = by_name["n03"], by_name["x200"]
    assert (out["cluster"], out["stands"], out["leftOutAfter"]) == ("demo", "isolated", "4711-0")
    assert out["leftOutReason"] == Exclusion.objects.get(node="n03").reason and out["leftOutUntil"].endswith("Z")
    assert (bad["leftOutReason"], bad["leftOutBy"], bad["leftOutAfter"]) == (f"'{evil}", "'@eve", "")
    assert (by_name["n06"]["schedulerReason"], by_name["n06"]["leftOutSince"]) == ("bad PSU, ticket 812", "")


def test_who_left_a_node_out_stands_in_every_list(as_viewer: Client, rows: Sample, now: datetime) -> None:
    pages = ("/nodes", "/clusters/demo", "/nodes/demo/n03")
    for verdict, owner, said in (
        (Verdict.objects.get().uuid, "rule named_node", "the rule named node"),
        (None, "eve_x", "eve_x"),
    ):
        Exclusion.objects.update(verdict_id=verdict, owner=owner)
        bodies.forget()
        for page in pages:
            assert f"by {said}" in as_viewer.get(page).content.decode(), page


def test_a_stranger_gets_no_list(client: Client, rows: Sample) -> None:
    assert client.get(reverse("nodes-export")).status_code == 302


def test_a_node_tells_its_whole_history(as_viewer: Client, rows: Sample, now: datetime) -> None:
    first = rows.recovered.attempts.get(index=0)
    Stay.objects.create(
        cluster=rows.cluster, attempt=first, node="n03", ended_at=now, seconds=60, fate=Fate.BLAMED.value
    )
    HealthEvent.objects.create(
        cluster=rows.cluster, node="n03", check_name="GpuXid", fatal=True, key="k", happened_at=now,
        received_at=now, message="fallen off <b>the bus</b>", source="nvsentinel", received_from="t",
    )  # fmt: skip
    verdict = Verdict.objects.get(attempt=first)
    Exclusion.objects.filter(node="n03").update(verdict_id=verdict.uuid, confidence=0.93)
    text = as_viewer.get(reverse("node", args=["demo", "n03"])).content.decode()
    for said in (
        "Isolated",
        "The node is blamed",
        "GPU 2 of n03 lost data",
        "fallen off &lt;b&gt;the bus&lt;/b&gt;",
        "An uncorrectable ECC error on GPU 2 (job 4711-0)",
        "halved every",
    ):
        assert said in text, said
    assert "Leave out…" not in text, "a viewer is offered nothing that would be refused"


def test_a_node_that_others_drained_says_who_and_why(as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get(reverse("node", args=["demo", "n06"])).content.decode()
    assert "Taken out of use in the scheduler by root" in text and "bad PSU, ticket 812" in text
    assert "Rekindle never touches that" in text


def test_what_runs_there_is_named(as_viewer: Client, rows: Sample) -> None:
    assert ">4711-1</a>" in as_viewer.get(reverse("node", args=["demo", "n04"])).content.decode()


@pytest.mark.parametrize(
    "address", ["/nodes/demo/n99", "/nodes/nowhere/n01", "/nodes/demo/n01/x", "/nodes/demo/%00"]
)
def test_a_node_that_is_not_there_is_404(address: str, as_viewer: Client, rows: Sample) -> None:
    assert as_viewer.get(address).status_code == 404


@pytest.mark.parametrize("address", [EXCLUDE, LIFT])
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_viewer_may_not_act(address: str, method: str, as_viewer: Client, rows: Sample) -> None:
    assert getattr(as_viewer, method)(address, WORDS | {"seen": seen("n03")}).status_code == 403
    assert events() == []


@pytest.mark.parametrize("address", [EXCLUDE, LIFT, "/clusters/demo/exclusions/1/undo"])
def test_a_stranger_is_sent_to_the_sign_in(address: str, client: Client, rows: Sample) -> None:
    assert client.post(address, WORDS)["Location"].startswith(reverse("sign-in"))


def test_another_site_cannot_leave_nodes_out(cast: dict[str, User], rows: Sample) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast["operator"])
    assert client.post(EXCLUDE, WORDS).status_code == 403
    assert not held("n04")


def test_the_page_says_what_it_means_before_anything_is_done(as_operator: Client, rows: Sample) -> None:
    text = as_operator.get(EXCLUDE).content.decode()
    for said in (
        "Nothing happens to what runs on n04 now: 4711-1 of trainer.",
        "The scheduler itself is told nothing",
        "Partition main: Rekindle then leaves out 2 of 6 nodes (33.3 %); 3 can be used.",
        "That exceeds the cap of main: by itself Rekindle leaves out at most 1 of its nodes.",
    ):
        assert said in text, said
    assert not held("n04")


def test_an_operator_leaves_a_node_out_and_takes_it_back(as_operator: Client, rows: Sample, now: datetime) -> None:
    answer = as_operator.post(EXCLUDE, WORDS, follow=True)
    (row,) = held("n04")
    assert (row.owner, row.reason, row.verdict_id) == ("operator", "smells of smoke", None)
    assert timedelta(hours=1, minutes=59) < row.until - now < timedelta(hours=2, minutes=1)
    event = AuditEvent.objects.get(type="exclusion")
    assert (event.actor_kind, event.actor, event.node) == ("person", "operator", "n04")
    undo = reverse("exclusion-undo", args=["demo", row.pk])
    assert f'href="{undo}"' in answer.content.decode()
    assert as_operator.post(undo, {"reason": "wrong node", "seen": seen("n04")}).status_code == 302
    assert not held("n04")
    assert events() == ["exclude", "lift"]


def test_giving_back_ends_all_that_keeps_it_out_and_can_be_taken_back(
    as_operator: Client, rows: Sample, now: datetime
) -> None:
    Exclusion.objects.create(
        cluster=rows.cluster, node="n03", reason="by hand", owner="x", since=now, until=now + timedelta(hours=1)
    )
    before = [(row.reason, row.until, row.verdict_id, row.since) for row in held("n03")]
    assert len(before) == 2
    text = as_operator.get(LIFT).content.decode()
    assert "all 2 exclusions end" in text
    assert as_operator.post(LIFT, {"reason": "GPU swapped", "seen": seen("n03")}).status_code == 302
    assert not held("n03")
    assert "GPU swapped" in AuditEvent.objects.filter(type="exclusion").order_by("-pk")[0].sentence
    ended = Exclusion.objects.filter(node="n03").order_by("pk")
    for row in (ended[1], ended[0]):
        assert as_operator.get(reverse("exclusion-undo", args=["demo", row.pk])).status_code == 200
    undo = reverse("exclusion-undo", args=["demo", ended[0].pk])
    assert as_operator.post(undo, {"reason": "not yet", "seen": ""}).status_code == 302
    assert as_operator.post(undo, {"reason": "not yet", "seen": ""}).status_code == 409, "once"
    assert sorted((row.reason, row.until, row.verdict_id, row.since) for row in held("n03")) == sorted(before)


@pytest.mark.parametrize(
    ("address", "change", "status", "sentence"),
    [
        (EXCLUDE, {"reason": ""}, 400, "Say why"),
        (EXCLUDE, {"reason": "  "}, 400, "Say why"),
        (EXCLUDE, {"reason": "x" * 501}, 400, "at most 500 characters"),
        (EXCLUDE, {"lasts": "1y"}, 400, "Choose one of the spans"),
        (EXCLUDE, {"lasts": "until"}, 400, "Say until when"),
        (EXCLUDE, {"lasts": "until", "until": "yesterday"}, 400, "Write the moment as"),
        (EXCLUDE, {"lasts": "until", "until": "2020-01-01 00:00"}, 400, "The end must be in the future"),
        (EXCLUDE, {"lasts": "until", "until": "2199-01-01 00:00"}, 400, "The end must be in the future"),
        (EXCLUDE, {"seen": "x"}, 400, "open the page again"),
        (EXCLUDE, {"seen": "1"}, 409, "has changed since you looked"),
        (LIFT, {"seen": ""}, 409, "has changed since you looked"),
        (LIFT, {"seen": "1,2,3"}, 409, "has changed since you looked"),
    ],
)
def test_a_form_that_cannot_be_used_or_is_old_changes_nothing(
    address: str, change: dict[str, str], status: int, sentence: str, as_operator: Client, rows: Sample
) -> None:
    before = [row.pk for row in (*held("n03"), *held("n04"))]
    answer = as_operator.post(address, WORDS | change)
    assert answer.status_code == status
    assert sentence in answer.content.decode()
    assert [row.pk for row in (*held("n03"), *held("n04"))] == before
    assert events() == []


def test_a_form_without_what_was_seen_is_refused(as_operator: Client, rows: Sample) -> None:
    forged = {name: value for name, value in WORDS.items() if name != "seen"}
    assert as_operator.post(EXCLUDE, forged).status_code == 400
    assert not held("n04")


def test_two_operators_at_once_one_is_told_that_it_changed(
    as_operator: Client, as_admin: Client, rows: Sample
) -> None:
    both = [client.get(EXCLUDE).status_code for client in (as_operator, as_admin)]
    assert both == [200, 200]
    assert as_operator.post(EXCLUDE, WORDS).status_code == 302
    answer = as_admin.post(EXCLUDE, WORDS | {"reason": "me too"})
    assert answer.status_code == 409 and "Nothing was changed by you" in answer.content.decode()
    assert f'name="seen" value="{seen("n04")}"' in answer.content.decode(), "it goes on from what is true now"
    assert len(held("n04")) == 1


def test_the_last_usable_node_of_a_partition_asks_for_a_tick(as_operator: Client, rows: Sample) -> None:
    Node.objects.filter(cluster=rows.cluster).exclude(name="n04").update(available=False)
    assert "No usable node of main would be left" in as_operator.get(EXCLUDE).content.decode()
    assert as_operator.post(EXCLUDE, WORDS).status_code == 400
    assert not held("n04")
    assert as_operator.post(EXCLUDE, WORDS | {"understood": "yes"}).status_code == 302
    assert held("n04")


def test_an_old_word_is_not_taken_back(as_operator: Client, rows: Sample, now: datetime) -> None:
    row = Exclusion.objects.create(
        cluster=rows.cluster, node="n01", reason="r", owner="operator",
        since=now - timedelta(hours=1), until=now + timedelta(hours=1),
    )  # fmt: skip
    address = reverse("exclusion-undo", args=["demo", row.pk])
    answer = as_operator.post(address, {"reason": "r", "seen": str(row.pk)})
    assert answer.status_code == 409 and "too long ago" in answer.content.decode()
    assert held("n01")


def test_an_exclusion_of_another_cluster_is_404(as_operator: Client, rows: Sample) -> None:
    (row,) = held("n03")
    assert as_operator.get(f"/clusters/far-away/exclusions/{row.pk}/undo").status_code == 404


def test_a_hostile_name_is_shown_and_acted_on_as_what_it_is(
    as_operator: Client, rows: Sample, now: datetime
) -> None:
    Node.objects.create(cluster=rows.cluster, name=HOSTILE, state="idle", partitions=[HOSTILE], seen_at=now)
    listed = as_operator.get(reverse("nodes")).content.decode()
    assert "<script>alert" not in listed
    page = reverse("node", args=["demo", HOSTILE])
    assert page in listed and quote("<") in page
    text = as_operator.get(page).content.decode()
    assert "&lt;script&gt;" in text and "<script>alert" not in text and "\u202e" not in text
    answer = as_operator.post(
        reverse("node-exclude", args=["demo", HOSTILE]), WORDS | {"understood": "1"}, follow=True
    )
    assert answer.status_code == 200 and "<script>alert" not in answer.content.decode()
    assert held(HOSTILE)


@pytest.mark.parametrize("many", [0, 400])
def test_the_number_of_queries_does_not_grow_with_nodes(
    many: int,
    as_operator: Client,
    rows: Sample,
    now: datetime,
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    other = Cluster.objects.create(name="large")
    Node.objects.bulk_create(
        Node(cluster=other, name=f"g{number:05}", state="idle", partitions=["gpu"], seen_at=now)
        for number in range(many)
    )
    Exclusion.objects.bulk_create(
        Exclusion(
            cluster=other, node=f"g{number:05}", reason="r", owner="o", since=now, until=now + timedelta(hours=1)
        )
        for number in range(many // 4)
    )
    for number in range(many // 10):
        of = sample.attempt(sample.job(rows.cluster, 7000 + number, now), 0, JobState.FAILED, now, nodes=["n03"])
        Stay.objects.create(cluster=rows.cluster, attempt=of, node="n03", ended_at=now, seconds=9)
    bounds = {reverse("nodes"): 24, reverse("node", args=["demo", "n03"]): 38, EXCLUDE: 30}
    for address, bound in bounds.items():
        bodies.forget()
        with django_assert_max_num_queries(bound):
            assert as_operator.get(address).status_code == 200


def test_a_node_that_runs_jobs_is_never_said_to_be_out_of_use(
    as_viewer: Client, rows: Sample, now: datetime
) -> None:
    """n03 is left out of restarts by Rekindle, and allocated: other jobs run there."""
    for address in (reverse("nodes") + "?q=n03", reverse("node", args=["demo", "n03"]), "/clusters/demo"):
        text = as_viewer.get(address).content.decode()
        assert "eft out of restarts, other jobs still run there" in text, address
    node = as_viewer.get(reverse("node", args=["demo", "n03"])).content.decode()
    assert "out of use" not in node
    text = as_viewer.get(reverse("nodes")).content.decode()
    four = text.partition("four-fields")[2].partition("</table>")[0]
    assert ">left out of restarts, or out of use<" in four
