"""Who says which groups see a cluster, and does nobody gain or lose more by it than was meant?"""

from io import StringIO
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from advisor_api.models import ApiToken
from advisor_api.notification_models import NotificationRoute
from advisor_api.token_role import TokenRole
from advisor_api.tokens import issue, revoke
from audit.actor_kind import ActorKind
from audit.in_sight import NOTHING, Hidden, InSight, InSightByName, hidden_now, without
from audit.models import AuditEvent
from audit.trail import Actor
from console.topics import OVERVIEW, seen_of
from recovery_site.people import groups_to_give, may_change
from tests.site.test_people import a_person, browser, form, page
from workloads.models import Cluster
from workloads.removed_models import RemovedCluster
from workloads.seen_by import hidden_from

pytestmark = pytest.mark.django_db
OF_NO_CLUSTER = {
    "workloads.RemovedCluster": "says itself whom a trail is hidden from",
    "console.SignInLink": "of a person",
    "console.SignInTry": "of an address",
    "console.ProviderIdentity": "of a person",
    "console.SavedView": "of a person: words that he typed",
}


@pytest.fixture
def cluster() -> Cluster:
    Cluster.objects.create(name="open", changed_at=timezone.now())
    return Cluster.objects.create(name="alpha", changed_at=timezone.now())


@pytest.fixture
def physics() -> Group:
    return Group.objects.create(name="Physics")


def said(*words: str) -> str:
    out = StringIO()
    call_command("seen_by", *words, stdout=out)
    return out.getvalue()


def admin_form(client: Client, cluster: Cluster, **changed: Any) -> dict[str, Any]:
    """What a browser sends of the cluster's page."""
    shown = client.get(reverse("admin:workloads_cluster_change", args=[cluster.pk])).context["adminform"].form
    values = {name: shown[name].value() for name in shown.fields}
    sent = {name: "" if value is None else value for name, value in values.items() if value is not False}
    seen = {name: value for name, value in shown.initial.items() if name.startswith("_")}
    return {**sent, **seen, **changed}


def test_every_row_of_a_cluster_is_looked_for_with_its_sight() -> None:
    """A new model has one of both managers, or stands in the table."""
    ours = {"audit", "workloads", "detectors", "advisor_api", "console"}
    models = [model for model in apps.get_models() if model._meta.app_label in ours]
    others = {
        model._meta.label for model in models if not isinstance(model._default_manager, InSight | InSightByName)
    }
    assert others == {*OF_NO_CLUSTER}
    assert len(models) > 40


@pytest.mark.parametrize("label", [m._meta.label for m in apps.get_models() if hasattr(m, "cluster_at")])
def test_the_path_of_each_model_leads_to_a_cluster(label: str, cluster: Cluster) -> None:
    model = apps.get_model(label)
    with without(lambda: Hidden(frozenset({cluster.pk}), frozenset({"alpha"}))):
        assert str(cluster.pk) in str(model._default_manager.all().query) or "alpha" in str(
            model._default_manager.all().query
        )
        list(model._default_manager.all()[:1])


def test_what_is_hidden_is_asked_for_once_and_only_within() -> None:
    asked = []

    def ask() -> Hidden:
        asked.append(1)
        return Hidden(frozenset({1}), frozenset({"a"}))

    with without(ask):
        assert not asked
        assert hidden_now() and hidden_now().names == {"a"}
        with without(lambda: NOTHING):
            assert not hidden_now()
        assert hidden_now()
    assert len(asked) == 1 and not hidden_now()


class TestCommand:
    def test_it_is_said_stored_told_and_taken_back(self, cluster: Cluster, physics: Group) -> None:
        reader = a_person("reader")
        assert said("alpha") == "alpha is seen by whoever may sign in.\n"
        assert said("alpha", "Physics") == "alpha is seen by members of Physics and superusers.\n"
        assert hidden_from(reader).names == {"alpha"}
        event = AuditEvent.objects.get(type="configuration", cluster="alpha")
        assert "showed cluster alpha to the groups Physics alone" in event.sentence
        assert event.payload == {"before": {"seen_by": []}, "after": {"seen_by": ["Physics"]}}
        said("alpha", "Physics")
        assert AuditEvent.objects.filter(cluster="alpha").count() == 1, "the same again is no change"
        assert said("alpha", "--everybody") == "alpha is seen by whoever may sign in.\n"
        assert hidden_from(reader) == NOTHING

    @pytest.mark.parametrize(
        ("words", "sentence"),
        [
            (["beta"], "There is no cluster 'beta'; see `cluster list`."),
            (["alpha", "Fysics"], "There is no group 'Fysics'; there are: Administrators, Operators, Physics."),
            (["alpha", "Physics", "--everybody"], "Either groups or --everybody."),
        ],
    )
    def test_a_mistake_is_a_sentence(
        self, cluster: Cluster, physics: Group, words: list[str], sentence: str
    ) -> None:
        with pytest.raises(CommandError, match="^" + sentence.replace("(", r"\(").replace(".", r"\.") + "$"):
            said(*words)

    def test_it_names_what_was_made_while_more_people_saw_it(self, cluster: Cluster, physics: Group) -> None:
        by = Actor(ActorKind.PERSON, "root")
        for name, revoked in (("reader", False), ("gone", True)):
            issue(name, TokenRole.VIEWER, [cluster], now=timezone.now(), actor=by)
            if revoked:
                revoke(ApiToken.objects.get(name=name), now=timezone.now(), actor=by)
        NotificationRoute.objects.create(name="all", kind="mail", recipients="a@example.org", since=timezone.now())
        lines = said("alpha", "Physics").splitlines()
        assert lines[1:] == [
            "Look at the tokens of the API that reach it, whoever has them: reader.",
            "Look at the notification routes that reach it, whoever has them: all.",
        ]

    def test_the_trail_of_one_that_was_removed_is_opened(self, cluster: Cluster, physics: Group) -> None:
        reader = a_person("reader")
        said("alpha", "Physics")
        call_command("cluster", "remove", "alpha", "--yes", stdout=StringIO())
        assert said("alpha") == "alpha was removed; its trail is seen by members of Physics and superusers.\n"
        assert hidden_from(reader) == Hidden(frozenset(), frozenset({"alpha"}))
        with pytest.raises(CommandError, match="take another name"):
            call_command("cluster", "add", "alpha", stdout=StringIO())
        with pytest.raises(CommandError, match="can only be opened to --everybody"):
            said("alpha", "Physics")
        assert said("alpha", "--everybody") == "alpha was removed; its trail is seen by whoever may sign in.\n"
        assert (
            "showed cluster alpha to everybody who may sign in"
            in AuditEvent.objects.filter(cluster="alpha").last().sentence
        )
        assert hidden_from(reader) == NOTHING
        call_command("cluster", "add", "alpha", stdout=StringIO())

    def test_one_that_everybody_saw_is_removed_as_ever(self, cluster: Cluster) -> None:
        call_command("cluster", "remove", "alpha", "--yes", stdout=StringIO())
        with pytest.raises(CommandError, match="There is no cluster 'alpha'"):
            said("alpha")


class TestAdmin:
    def test_groups_are_ticked_and_the_change_is_told(self, cluster: Cluster, physics: Group) -> None:
        adam = a_person("adam", "Administrators", "Physics", is_staff=True)
        client = browser(adam)
        sent = admin_form(client, cluster, seen_by=["Physics"])
        assert client.post(reverse("admin:workloads_cluster_change", args=[cluster.pk]), sent).status_code == 302
        cluster.refresh_from_db()
        assert cluster.seen_by == ["Physics"]
        assert "changed seen_by of cluster alpha" in AuditEvent.objects.get(cluster="alpha").sentence

    def test_nobody_hides_a_cluster_from_himself(self, cluster: Cluster, physics: Group) -> None:
        client = browser(a_person("adam", "Administrators", is_staff=True))
        sent = admin_form(client, cluster, seen_by=["Physics"])
        answer = client.post(reverse("admin:workloads_cluster_change", args=[cluster.pk]), sent)
        assert "You are in none of these groups" in answer.content.decode()
        cluster.refresh_from_db()
        assert cluster.seen_by == []

    def test_a_group_that_is_gone_is_named_and_can_be_unticked(self, cluster: Cluster) -> None:
        Cluster.objects.filter(pk=cluster.pk).update(seen_by=["Chemistry"])
        client = browser(a_person("root", is_staff=True, is_superuser=True))
        address = reverse("admin:workloads_cluster_change", args=[cluster.pk])
        assert "Chemistry (there is no such group)" in client.get(address).content.decode()
        assert client.post(address, admin_form(client, cluster, seen_by=[])).status_code == 302
        cluster.refresh_from_db()
        assert cluster.seen_by == []

    def test_a_name_that_is_taken_out_of_sight_is_refused_in_words(self, cluster: Cluster, physics: Group) -> None:
        Cluster.objects.filter(pk=cluster.pk).update(seen_by=["Physics"])
        client = browser(a_person("adam", "Administrators", is_staff=True))
        answer = client.post(reverse("admin:workloads_cluster_add"), {"name": "alpha", "poll_seconds": "15"})
        assert answer.status_code == 200 and "There is a cluster of this name already" in answer.content.decode()

    def test_a_renamed_group_keeps_its_clusters_and_one_that_is_named_is_not_deleted(
        self, cluster: Cluster, physics: Group
    ) -> None:
        said("alpha", "Physics")
        RemovedCluster.objects.create(name="gone", seen_by=["Physics"])
        client = browser(a_person("root", is_staff=True, is_superuser=True))
        address = reverse("admin:auth_group_change", args=[physics.pk])
        assert client.post(address, {"name": "Plasma"}).status_code == 302
        cluster.refresh_from_db()
        assert cluster.seen_by == RemovedCluster.objects.get().seen_by == ["Plasma"]
        RemovedCluster.objects.all().delete()
        assert (
            client.post(reverse("admin:auth_group_delete", args=[physics.pk]), {"post": "yes"}).status_code == 403
        )
        said("alpha", "--everybody")
        assert (
            client.post(reverse("admin:auth_group_delete", args=[physics.pk]), {"post": "yes"}).status_code == 302
        )


class TestGaining:
    def test_nobody_puts_others_or_himself_where_more_is_seen(self, cluster: Cluster, physics: Group) -> None:
        said("alpha", "Physics")
        adam = a_person("adam", "Administrators", is_staff=True)
        nora = a_person("nora")
        assert physics.pk not in groups_to_give(adam)
        answer = browser(adam).post(page(nora), form(nora, groups=[physics.pk]))
        assert "Physics may do or see more than you may" in answer.content.decode()
        assert not nora.groups.exists()
        member = a_person("member", "Administrators", "Physics", is_staff=True)
        assert physics.pk in groups_to_give(member)

    def test_whoever_sees_more_is_out_of_reach(self, cluster: Cluster, physics: Group) -> None:
        said("alpha", "Physics")
        adam, nora = a_person("adam", "Administrators", is_staff=True), a_person("nora", "Physics")
        assert not may_change(adam, nora)
        assert may_change(a_person("member", "Administrators", "Physics", is_staff=True), nora)
        assert may_change(adam, User.objects.create_user("other"))


@pytest.mark.parametrize(
    ("touched", "seen"),
    [
        ({OVERVIEW, "cluster:a"}, set()),
        ({OVERVIEW, "cluster:a", "cluster:b"}, {OVERVIEW, "cluster:b"}),
        ({OVERVIEW}, {OVERVIEW}),
        ({OVERVIEW, "site", "cluster:a"}, {OVERVIEW, "site"}),
        ({"job:a/1/0", "gates:a", "job:b/1/0"}, {"job:b/1/0"}),
        (set(), set()),
    ],
)
def test_a_topic_of_what_is_hidden_is_none(touched: set[str], seen: set[str]) -> None:
    assert seen_of(touched, {"a"}) == seen
    assert seen_of(touched, ()) == touched
