"""Can an administrator say who is asked, is every mistake one sentence, and does the trail name the change?"""

from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from audit.models import AuditEvent
from detectors.provider_models import AttributionProvider
from tests.audit.people import signed_in
from tests.detectors.rows import make_cluster
from workloads.models import Cluster

pytestmark = pytest.mark.django_db
ADD = "admin:detectors_attributionprovider_add"


def fields(cluster: Cluster, **changes: Any) -> dict[str, Any]:
    """The form as a browser sends it."""
    values = {
        "cluster": cluster.pk,
        "name": "acme",
        "kind": "contract",
        "address": "https://acme.example.org",
        "credential": "acme",
        "timeout_seconds": 10,
        "phases": "both",
        "enabled": "on",
    }
    return {**values, **changes}


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def test_a_provider_is_added_and_changed_with_an_event_each(cluster: Cluster) -> None:
    client = signed_in("anna", superuser=True)
    assert client.post(reverse(ADD), fields(cluster)).status_code == 302
    provider = AttributionProvider.objects.get()
    page = reverse("admin:detectors_attributionprovider_change", args=[provider.pk])
    assert client.post(page, fields(cluster, timeout_seconds=20, name="other")).status_code == 302
    provider.refresh_from_db()
    assert (provider.timeout_seconds, provider.name) == (20, "acme"), "its name is part of the trail"
    assert client.post(page, fields(cluster, timeout_seconds=20)).status_code == 302
    added, changed = AuditEvent.objects.filter(type="configuration").order_by("pk")
    assert "anna added the attribution provider acme" in added.sentence
    assert (changed.payload["before"], changed.payload["after"]) == (
        {"timeout_seconds": 10},
        {"timeout_seconds": 20},
    )
    delete = reverse("admin:detectors_attributionprovider_delete", args=[provider.pk])
    assert client.post(delete, {"post": "yes"}).status_code == 403


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "no address": ({"address": "acme.example.org"}, "is no address: write http://HOST:PORT"),
    "another scheme": ({"address": "file:///etc/passwd"}, "is no address"),
    "a user in it": ({"address": "https://a:b@acme.example.org"}, "Write no user, query or fragment"),
    "a query in it": ({"address": "https://acme.example.org/?to=x"}, "Write no user, query or fragment"),
    "the path twice": ({"address": "https://acme.example.org/v1/attribution"}, "without /v1/attribution"),
    "a credential in the clear": ({"address": "http://acme.example.org"}, "over https only"),
    "a credential elsewhere": ({"credential": "../secret"}, "is no name of a credential"),
    "no time": ({"timeout_seconds": 0}, "greater than or equal to 1"),
    "too much time": ({"timeout_seconds": 61}, "less than or equal to 60"),
    "no plain name": ({"name": "<b>acme</b>"}, "is not a plain name"),
    "an unknown kind": ({"kind": "oracle"}, "Select a valid choice"),
    "no phase": ({"phases": "later"}, "Select a valid choice"),
}


@pytest.mark.parametrize(("changes", "says"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_one_sentence_and_changes_nothing(
    cluster: Cluster, changes: dict[str, Any], says: str
) -> None:
    answer = signed_in("anna", superuser=True).post(reverse(ADD), fields(cluster, **changes))
    assert answer.status_code == 200 and says in answer.content.decode()
    assert not AttributionProvider.objects.exists() and not AuditEvent.objects.filter(type="configuration").exists()


def test_a_name_once_for_each_cluster(cluster: Cluster) -> None:
    client = signed_in("anna", superuser=True)
    assert client.post(reverse(ADD), fields(cluster)).status_code == 302
    assert client.post(reverse(ADD), fields(cluster)).status_code == 200
    assert client.post(reverse(ADD), fields(make_cluster())).status_code == 302


def test_who_may() -> None:
    names = {"view", "add", "change"}
    granted = Group.objects.get(name="Administrators").permissions.filter(codename__endswith="attributionprovider")
    assert {one.codename.partition("_")[0] for one in granted} == names
    assert Client().get(reverse(ADD)).status_code == 302
