"""Is a cluster that is for some groups alone not there for anybody else, on no page, in no list and no download?"""

import re
from collections.abc import Iterator
from datetime import datetime
from io import StringIO
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection, transaction
from django.test import AsyncClient, Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from advisor_api.activating import establish
from advisor_api.models import Advice, ApiToken, Exclusion
from advisor_api.notification_models import NotificationRoute
from advisor_api.policies import Place
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from advisor_api.refusals import Bad
from advisor_api.states import Move, move
from advisor_api.token_role import TokenRole
from advisor_api.tokens import issue
from audit.actor_kind import ActorKind
from audit.in_sight import InSight, InSightByName, without
from audit.models import AuditEvent
from audit.trail import Actor
from benchmarks.console_addresses import addresses
from console.models import SavedView
from console.rights import mark_of, marks_of
from detectors.models import Incident, SiteSignature
from detectors.site_catalogues import site_catalogues
from recovery_site.forgetting import forget
from tests.console.everything import make_everything
from tests.console.sample import Sample
from workloads.models import Attempt, Cluster, Job
from workloads.seen_by import hidden_from, hidden_from_each

EXAMPLES = re.compile(r'placeholder="[^"]*"')
WITHOUT = {"api"}
"""The documentation of the API, whose examples are of a cluster of that name."""


@pytest.fixture
def hidden(rows: Sample, cast: dict[str, User], now: datetime) -> Sample:
    """Everything that pages show is of `demo`, and that is for the group Physics alone."""
    make_everything(now)
    Group.objects.create(name="Physics")
    Cluster.objects.filter(pk=rows.cluster.pk).update(seen_by=["Physics"])
    return rows


def person(name: str, *groups: str) -> User:
    """One who may do everything that is no matter of a superuser."""
    made = User.objects.create_user(name, is_staff=True)
    made.user_permissions.set(Permission.objects.all())
    made.groups.set(Group.objects.filter(name__in=groups))
    return made


def browser(who: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(who)
    return client


@pytest.fixture
def outside(hidden: Sample) -> Client:
    return browser(person("outside", "Operators"))


@pytest.fixture
def inside(hidden: Sample) -> Client:
    return browser(person("inside", "Physics"))


def traces(hidden: Sample) -> list[re.Pattern[str]]:
    """What would tell of the cluster: its name, its jobs and their users and names, its nodes, ids of its rows."""
    jobs = Job.objects.filter(cluster=hidden.cluster)
    others = Job.objects.exclude(cluster=hidden.cluster)
    words = {str(word) for name in ("number", "name", "user") for word in jobs.values_list(name, flat=True)}
    words -= {str(word) for name in ("number", "name", "user") for word in others.values_list(name, flat=True)}
    words |= {
        str(pk) for pk in Attempt.objects.filter(job__cluster=hidden.cluster).values_list("heimdall_id", flat=True)
    }
    words |= {str(pk) for pk in Incident.objects.filter(cluster=hidden.cluster).values_list("uuid", flat=True)}
    words |= {str(pk) for pk in AuditEvent.objects.filter(cluster="demo").values_list("uuid", flat=True)}
    return [
        re.compile(r"\bdemo\b(?!-)"),
        *(re.compile(rf"\b{re.escape(word)}\b") for word in words if len(word) > 3),
    ]


def content(answer: Any) -> str:
    raw = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return EXAMPLES.sub("", raw.decode())


def found_in(answer: Any, wanted: list[re.Pattern[str]], asked: str = "") -> list[str]:
    """The traces that stand in an answer, but for what the address itself said."""
    text = content(answer)
    return [one.pattern for one in wanted if not one.search(asked) and one.search(text)]


def test_no_page_and_no_panel_tells_of_it(hidden: Sample, outside: Client, inside: Client) -> None:
    wanted = traces(hidden)
    told, silent = {}, []
    for name, address in list(addresses()):
        if name in WITHOUT:
            continue
        answer = outside.get(address)
        assert answer.status_code in {200, 404}, f"{name}: {address} gives {answer.status_code}"
        if found := found_in(answer, wanted, address):
            told[name] = found
        if answer.status_code == 200 and not found_in(inside.get(address), wanted):
            silent.append(name)
    assert not told
    assert len(silent) < 12, f"these tell nobody anything, so they prove nothing: {silent}"


def test_its_pages_are_not_there(hidden: Sample, outside: Client, inside: Client) -> None:
    own = [(name, address) for name, address in addresses() if "/demo" in address or "=demo" in address]
    assert len(own) > 25
    for name, address in own:
        assert inside.get(address).status_code == 200, name
        assert outside.get(address).status_code == 404, name


@pytest.mark.parametrize(
    "address",
    [
        "/jobs?q=llama",
        "/jobs?q=4711",
        "/jobs?q=cluster:demo",
        "/jobs/export.csv",
        "/incidents?state=all",
        "/audit?cluster=demo",
        "/audit?q=ECC",
        "/audit?job=4711",
        "/nodes?q=n03",
        "/nodes/export.csv",
        "/policy?cluster=demo",
        "/policy/versions?cluster=demo",
        "/silences/new?cluster=demo",
    ],
)
def test_nothing_that_is_asked_for_finds_it(hidden: Sample, outside: Client, address: str) -> None:
    answer = outside.get(address, follow=True)
    assert answer.status_code in {200, 404} and not found_in(answer, traces(hidden), address)


def test_what_one_may_see_is_not_what_another_gets(hidden: Sample, outside: Client, inside: Client) -> None:
    """Panels are rendered once for all who may see the same."""
    wanted = traces(hidden)
    asked = "/panels?of=/panels/advice_now&of=/panels/clusters&of=/panels/newest_events&of=/panels/incidents_now"
    for _ in range(2):
        assert len(found_in(inside.get(asked), wanted)) > 2
        assert not found_in(outside.get(asked), wanted)
        assert len(found_in(inside.get("/"), wanted)) > 2
        assert not found_in(outside.get("/"), wanted)
    assert "for other groups of people" in content(outside.get("/"))
    assert "for other groups of people" not in content(inside.get("/"))


def test_what_is_asked_together_of_a_hidden_job_is_as_if_it_were_gone(hidden: Sample, outside: Client) -> None:
    asked = "/panels?of=/panels/job_summary/demo/4711/0&of=/panels/cluster_health/demo"
    assert re.fullmatch("[0-9a-f]{16}", outside.get(asked)["Rekindle-Rights"])
    assert outside.get(asked).json() == {
        "/panels/job_summary/demo/4711/0": {},
        "/panels/cluster_health/demo": {},
    }


def acts(hidden: Sample) -> Iterator[tuple[str, dict[str, str]]]:
    """What somebody may do to the cluster and to what is on it, with forms that are otherwise right."""
    advice = Advice.objects.filter(attempt__job__cluster=hidden.cluster, state=AdviceState.PENDING.value).first()
    incident = Incident.objects.filter(cluster=hidden.cluster, ended_at=None).first()
    excluded = Exclusion.objects.filter(cluster=hidden.cluster).first()
    assert advice and incident and excluded
    why = {
        "reason": "r",
        "sure": "yes",
        "minutes": "30",
        "hours": "1",
        "text": "t",
        "version": "1",
        "mode": "monitor",
    }
    yield reverse("cluster-mode", args=["demo"]), why
    yield reverse("cluster-pause", args=["demo"]), why
    yield reverse("step-hold", args=[advice.pk]), why
    yield reverse("approval", args=[advice.pk]), {**why, "answer": "approve", "generation": str(advice.generation)}
    yield reverse("node-exclude", args=["demo", "n05"]), why
    yield reverse("node-lift", args=["demo", excluded.node]), why
    yield reverse("exclusion-undo", args=["demo", excluded.pk]), why
    for name in ("incident-answer", "incident-unanswer", "incident-note", "incident-join", "incident-split"):
        yield reverse(name, args=[incident.uuid]), why


def test_nothing_can_be_done_to_it(hidden: Sample, outside: Client) -> None:
    before = AuditEvent.objects.count()
    for address, sent in acts(hidden):
        assert outside.post(address, sent).status_code == 404, address
    for address in ("/silences/new", "/approvals/several"):
        assert not found_in(
            outside.post(address, {"cluster": "demo", "node": "n01", "reason": "r"}), traces(hidden)
        )
    assert AuditEvent.objects.count() == before


def test_the_admin_tells_nothing_of_it(hidden: Sample, outside: Client, inside: Client) -> None:
    wanted = [one for one in traces(hidden) if "4711" not in one.pattern]  # help texts have it as their example
    told, seen = {}, 0
    for model in admin.site._registry:
        named = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        answer = outside.get(reverse(f"{named}_changelist"))
        if found := found_in(answer, wanted):
            told[named] = found
        for address in (reverse(f"{named}_add"), reverse("admin:index")):
            if found := found_in(outside.get(address), wanted):
                told[address] = found
        seen += bool(found_in(inside.get(reverse(f"{named}_changelist")), wanted))
        if not isinstance(model._default_manager, InSight | InSightByName):
            continue
        for row in list(model._base_manager.order_by("pk")[:30]):
            address = reverse(f"{named}_change", args=[row.pk])
            hides = not rows_seen(model, hidden).filter(pk=row.pk).exists()
            if hides and outside.get(address).status_code == 200:
                told[address] = [str(row)]
    assert not told
    assert seen > 10


def rows_seen(model: Any, hidden: Sample) -> Any:
    path = getattr(model, "cluster_at", "cluster")
    if isinstance(model._default_manager, InSightByName):
        return model._base_manager.exclude(**{f"{path}__in": ["demo", ""]})
    return model._base_manager.exclude(**{f"{path}__in": [hidden.cluster.pk]})


def under_asgi(who: User, address: str) -> str:
    """The whole answer of the embedded site's way to serve."""

    async def ask() -> bytes:
        client = AsyncClient()
        await client.aforce_login(who)
        answer = await client.get(address)
        if not answer.streaming:
            return bytes(answer.content)
        return b"".join([piece async for piece in answer.streaming_content])

    return async_to_sync(ask)().decode()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("address", ["/jobs/export.csv", "/v1/trail:export?format=csv", "/", "/jobs"])
def test_what_is_streamed_later_is_as_blind(hidden: Sample, address: str) -> None:
    """Its lines are made when the request is over."""
    wanted = traces(hidden)
    text, members = under_asgi(person("outside"), address), under_asgi(person("inside", "Physics"), address)
    assert not [one for one in wanted if one.search(EXAMPLES.sub("", text))]
    assert [one for one in wanted if one.search(members)]


def signature(**changed: Any) -> dict[str, Any]:
    """What a browser sends of the form of a signature."""
    usual = {
        "name": "site.quench", "cluster": "", "says": "The magnet quenched", "kind": "crash",
        "layer": "hardware.gpu", "role": "candidate", "action": "restart", "confidence": "0.6",
        "pattern": "magnet quenched", "unless": "", "example": "the magnet quenched",
        "must_not": "the magnet is cold", "note": "seen twice",
    }  # fmt: skip
    return usual | changed


def test_what_holds_for_all_clusters_is_not_set_by_who_does_not_see_all(hidden: Sample, now: datetime) -> None:
    client = browser(person("outside", "Operators"))
    route = NotificationRoute.objects.create(name="everywhere", kind="mail", recipients="a@example.org", since=now)
    own = NotificationRoute.objects.create(
        name="own", cluster=hidden.monitor, kind="mail", recipients="a@example.org", since=now
    )
    sent = {
        "least_level": "info", "topics": "[]", "kind": "mail", "recipients": "b@example.org",
        "timeout_seconds": "10", "enabled": "on", "cluster": "",
    }  # fmt: skip
    add = reverse("admin:advisor_api_notificationroute_add")
    assert "You do not see" not in content(client.get(add))
    for address, form in (
        (add, {**sent, "name": "mine"}),
        (reverse("admin:advisor_api_notificationroute_change", args=[own.pk]), sent),
        (reverse("admin:detectors_sitesignature_add"), signature()),
        (reverse("admin:advisor_api_policyversion_add"), {"values": "{}", "note": "n"}),
    ):
        assert "whoever sees all of them, and you do not" in content(client.post(address, form)), address
    assert (
        client.post(reverse("admin:advisor_api_notificationroute_change", args=[route.pk]), sent).status_code == 403
    )
    assert client.post(reverse("notifications"), {"route": "everywhere"}).status_code == 409
    own.refresh_from_db()
    assert own.cluster == hidden.monitor and not NotificationRoute.objects.filter(name="mine").exists()
    with pytest.raises(Bad, match="whoever sees all of them"), without(lambda: hidden_from(person("other"))):
        establish(Place(), {}, "n", actor=Actor(ActorKind.PERSON, "other"), now=now)


def test_a_signature_is_not_put_on_a_hidden_cluster(hidden: Sample) -> None:
    client = browser(person("outside"))
    sent = signature(cluster=str(hidden.cluster.pk))
    answer = content(client.post(reverse("admin:detectors_sitesignature_add"), sent))
    assert "not one of the available choices" in answer and 'name="seal"' not in answer


def test_names_out_of_sight_are_taken(hidden: Sample, now: datetime) -> None:
    client = browser(person("outside", "Operators"))
    token = ApiToken.objects.create(name="taken", digest="0" * 64, role="viewer", created_at=now, expires_at=now)
    token.clusters.set([hidden.cluster])
    NotificationRoute.objects.create(
        name="taken", cluster=hidden.cluster, kind="mail", recipients="a@example.org", since=now
    )
    asked = {"name": "taken", "role": "viewer", "days": "3"}
    answer = client.post(reverse("admin:advisor_api_apitoken_add"), asked)
    assert "There is a token of this name already" in content(answer)
    answer = client.post(reverse("admin:advisor_api_notificationroute_add"), {"name": "taken"})
    assert "There is a route of this name already" in content(answer)


def test_views_of_people_who_see_more_are_not_shared(hidden: Sample, outside: Client, now: datetime) -> None:
    views = {"query": "?q=secret-word", "shared": True, "created_at": now}
    SavedView.objects.create(owner=person("member", "Physics"), name="Told by more", **views)
    SavedView.objects.create(owner=person("equal", "Operators"), name="Told by an equal", **views)
    shown = content(outside.get(reverse("views")))
    assert "Told by an equal" in shown and "Told by more" not in shown
    assert "Told by more" in content(browser(person("another", "Physics")).get(reverse("views")))


def test_views_of_people_who_see_more_are_not_there_by_number_either(hidden: Sample, now: datetime) -> None:
    views = {"query": "?q=secret-word", "shared": True, "created_at": now}
    view = SavedView.objects.create(owner=person("member", "Physics"), name="Told by more", **views)
    client = browser(person("outside"))  # who may change what others share
    address = reverse("view", args=[view.pk])
    assert client.get(address).status_code == 404
    assert client.post(address, {"deed": "delete", "revision": "1"}).status_code == 404
    assert browser(person("another", "Physics")).get(address).status_code == 200


def test_the_catalogue_of_a_process_is_everybodys(hidden: Sample, now: datetime) -> None:
    """Whoever makes it be read, it holds the signatures of hidden clusters too: workers match with it."""
    stored = signature()
    for name in ("cluster", "names", "must_not", "confidence"):
        stored.pop(name, None)
    SiteSignature.objects.create(
        **stored, cluster=hidden.cluster, names=[], must_not=["the magnet is cold"], confidence=0.6, version=1,
        enabled=True, created_at=now, created_by="x",
    )  # fmt: skip
    with without(lambda: hidden_from(person("outside"))):
        inside = site_catalogues()
    assert inside is site_catalogues()
    assert "site.quench" in {one.id for one in inside.of(hidden.cluster.pk).signatures}


def test_the_trail_of_a_removed_cluster_stays_hidden(hidden: Sample, outside: Client, now: datetime) -> None:
    wanted = traces(hidden)
    token = ApiToken.objects.create(name="of demo", digest="0" * 64, role="viewer", created_at=now, expires_at=now)
    token.clusters.set([hidden.cluster])
    with transaction.atomic():
        forget(Cluster.objects.get(name="demo"))
    assert "of demo" not in content(outside.get(reverse("admin:advisor_api_apitoken_changelist")))
    root = browser(User.objects.create_superuser("root of all"))
    panels = "/panels?of=/panels/newest_events&of=/panels/audit_events"
    addresses = ("/audit?cluster=demo", "/audit", "/audit?job=4711", "/", panels, "/v1/trail:export?format=csv")
    told = [address for address in addresses if found_in(root.get(address), wanted, address)]
    assert len(told) >= 3  # and is kept for who sees as much
    for address in addresses:
        assert not found_in(outside.get(address), wanted, address), address
    assert "for other groups" not in content(outside.get("/")), "of what is there everything is seen"
    with without(lambda: hidden_from(person("other"))):  # so what holds for all may be set
        establish(Place(), {}, "n", actor=Actor(ActorKind.PERSON, "other"), now=now)
    with pytest.raises(ValidationError, match="take another name"):
        Cluster(name="demo").full_clean()
    call_command("seen_by", "demo", "--everybody", stdout=StringIO())
    assert found_in(outside.get("/audit?cluster=demo"), wanted, "/audit?cluster=demo")
    Cluster(name="demo").full_clean()


def test_a_token_is_bounded_by_its_clusters_and_not_by_the_session_beside_it(hidden: Sample, now: datetime) -> None:
    issue("reader", TokenRole.VIEWER, [hidden.cluster], now=now, actor=Actor(ActorKind.PERSON, "root"))
    secret = issue("reads", TokenRole.VIEWER, [hidden.cluster], now=now, actor=Actor(ActorKind.PERSON, "root"))
    client = browser(person("outside"))
    with_both = client.get("/v1/clusters", headers={"Authorization": f"Bearer {secret}"})
    assert [one["name"] for one in with_both.json()["clusters"]] == ["demo"]
    assert "demo" not in [one["name"] for one in client.get("/v1/clusters").json()["clusters"]]
    wrong = client.get("/v1/clusters", headers={"Authorization": "Bearer rekindle_wrong"})
    assert wrong.status_code == 401
    assert client.get("/jobs/demo/4711/0", headers={"Authorization": f"Bearer {secret}"}).status_code == 404


def test_a_compare_and_swap_stays_one(hidden: Sample, now: datetime) -> None:
    """Of a row that was found in sight nothing else is asked when it moves."""
    who = person("outside", "Operators")
    with without(lambda: hidden_from(who)), CaptureQueriesContext(connection) as captured:
        step = Move(AdviceState.ABANDONED, ReconciliationReason.GATE_CLOSED, Actor(ActorKind.PERSON, "outside"))
        move(hidden.waiting, step, now)
    (moved,) = [one["sql"] for one in captured if one["sql"].startswith("UPDATE") and "advice" in one["sql"]]
    assert "SELECT" not in moved


def test_a_superuser_and_whoever_is_in_the_group_see_everything(hidden: Sample) -> None:
    root = User.objects.create_superuser("root of all")
    for who in (root, person("member", "Physics")):
        assert not hidden_from(who)
        assert browser(who).get("/clusters/demo").status_code == 200


def test_a_group_that_is_gone_opens_nothing(hidden: Sample) -> None:
    member = person("member", "Physics")
    Group.objects.get(name="Physics").delete()
    assert hidden_from(member).names == {"demo"}


def test_nothing_is_asked_where_everybody_sees_everything_but_once(hidden: Sample) -> None:
    Cluster.objects.update(seen_by=[])
    client = browser(person("reader"))
    client.get("/clusters")
    with CaptureQueriesContext(connection) as captured:
        client.get("/clusters")
    asked = [one["sql"] for one in captured if "auth_user_groups" in one["sql"]]
    asked = [sql for sql in asked if "auth_permission" not in sql]
    assert not asked, "who is in which group matters only where a cluster is for some"


def test_a_page_learns_that_it_may_see_more_or_less(hidden: Sample) -> None:
    who = person("reader")
    alone = marks_of([who], hidden_from_each([who]))[who.pk]
    who.groups.add(Group.objects.get(name="Physics"))
    again = User.objects.get(pk=who.pk)
    assert marks_of([again], hidden_from_each([again]))[who.pk] != alone
    assert f'data-rights="{alone}"' not in content(browser(again).get("/"))
    assert mark_of(again) in content(browser(again).get("/"))


def test_a_token_of_another_cluster_is_not_seen(hidden: Sample, outside: Client, now: datetime) -> None:
    token = ApiToken.objects.create(name="of demo", digest="0" * 64, role="viewer", created_at=now, expires_at=now)
    token.clusters.set([hidden.cluster, hidden.monitor])
    assert "of demo" not in content(outside.get(reverse("admin:advisor_api_apitoken_changelist")))
    assert outside.get(reverse("admin:advisor_api_apitoken_change", args=[token.pk])).status_code == 302
