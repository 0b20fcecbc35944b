"""Does the admin of the advisor add what may be added, with its event, and change nothing else?"""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from advisor_api.authentication import find_token
from advisor_api.models import ApiToken, Exclusion, Pause
from audit.models import AuditEvent
from tests.advisor_api.world import an_advice
from workloads.models import Cluster

pytestmark = pytest.mark.django_db
ROOT = "/admin/advisor_api"


@pytest.fixture
def admin(people: dict[str, User]) -> Client:
    client = Client()
    client.force_login(people["root"])
    return client


def soon(**span: float) -> dict[str, str]:
    at = timezone.now() + timedelta(**(span or {"hours": 1}))
    return {"until_0": at.strftime("%Y-%m-%d"), "until_1": at.strftime("%H:%M:%S")}


def test_every_list_and_page_opens(admin: Client, cluster: Cluster) -> None:
    advice = an_advice(cluster, now=timezone.now())
    for name in (
        "advice",
        "sequence",
        "milestone",
        "exclusion",
        "pause",
        "apitoken",
        "policyversion",
        "policyactivation",
        "leftalone",
        "silence",
        "controllerlease",
        "jobreport",
    ):
        assert admin.get(f"{ROOT}/{name}/").status_code == 200, name
    assert admin.get(f"{ROOT}/advice/{advice.pk}/change/").status_code == 200
    assert admin.get(f"{ROOT}/policyversion/{advice.policy_id}/change/").status_code == 200


READ = (
    "advice",
    "sequence",
    "milestone",
    "controllerlease",
    "jobreport",
    "leftalone",
    "policyactivation",
    "silence",
)


@pytest.mark.parametrize("name", READ)
def test_what_is_only_read(admin: Client, name: str) -> None:
    assert admin.get(f"{ROOT}/{name}/add/").status_code == 403


def test_an_exclusion_is_made_and_lifted(admin: Client, cluster: Cluster) -> None:
    form = {"cluster": cluster.pk, "node": "n05", "reason": "fan", **soon()}
    assert admin.post(f"{ROOT}/exclusion/add/", form).status_code == 302
    row = Exclusion.objects.get()
    assert (row.owner, row.lifted_at) == ("root", None)
    admin.post(f"{ROOT}/exclusion/", {"action": "lift_now", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert row.lifted_by == "root"
    assert AuditEvent.objects.filter(type="exclusion").count() == 2


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"node": "n99"}, "demo has no node"),
        (soon(days=-1), "must be in the future"),
        (soon(days=8), "at most 7 days"),
    ],
)
def test_a_bad_exclusion(admin: Client, cluster: Cluster, change: dict[str, str], sentence: str) -> None:
    form = {"cluster": cluster.pk, "node": "n05", "reason": "fan", **soon(), **change}
    found = admin.post(f"{ROOT}/exclusion/add/", form)
    assert found.status_code == 200
    assert sentence in found.content.decode()
    assert not Exclusion.objects.exists()


def test_a_pause_is_made_and_ended(admin: Client, cluster: Cluster) -> None:
    form = {"cluster": cluster.pk, "scope": "user", "value": "tess", "reason": "r", **soon()}
    assert admin.post(f"{ROOT}/pause/add/", form).status_code == 302
    row = Pause.objects.get()
    admin.post(f"{ROOT}/pause/", {"action": "end_now", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert row.until <= timezone.now()
    found = admin.post(f"{ROOT}/pause/add/", {**form, "scope": "cluster"})
    assert "A pause of the cluster has no value" in found.content.decode()


class TestTokens:
    def make(self, admin: Client, cluster: Cluster) -> str:
        form = {"name": "ctl", "role": "controller", "clusters": [cluster.pk], "days": "30"}
        page = admin.post(f"{ROOT}/apitoken/add/", form, follow=True).content.decode()
        start = page.index("shown this once: ") + len("shown this once: ")
        return page[start:].split("<")[0].strip()

    def test_shown_once(self, admin: Client, cluster: Cluster) -> None:
        secret = self.make(admin, cluster)
        token = find_token(secret, timezone.now())
        assert (token.name, list(token.clusters.all()), token.created_by) == ("ctl", [cluster], "root")
        assert secret not in admin.get(f"{ROOT}/apitoken/").content.decode()
        assert secret not in admin.get(f"{ROOT}/apitoken/{token.pk}/change/").content.decode()

    def test_rotated_and_revoked(self, admin: Client, cluster: Cluster) -> None:
        self.make(admin, cluster)
        chosen: dict[str, Any] = {"action": "rotate_now", "_selected_action": [ApiToken.objects.get().pk]}
        assert "shown this once" in admin.post(f"{ROOT}/apitoken/", chosen, follow=True).content.decode()
        fresh = ApiToken.objects.get(name="ctl")
        admin.post(f"{ROOT}/apitoken/", {"action": "revoke_now", "_selected_action": [fresh.pk]})
        fresh.refresh_from_db()
        assert fresh.revoked_at is not None

    def test_a_name_twice_is_refused(self, admin: Client, cluster: Cluster) -> None:
        self.make(admin, cluster)
        form = {"name": "ctl", "role": "viewer", "clusters": [cluster.pk], "days": "30"}
        assert "already exists" in admin.post(f"{ROOT}/apitoken/add/", form).content.decode()

    def test_too_long_a_life_is_refused(self, admin: Client, cluster: Cluster) -> None:
        form = {"name": "ctl", "role": "viewer", "clusters": [cluster.pk], "days": "4000"}
        assert admin.post(f"{ROOT}/apitoken/add/", form).status_code == 200
        assert not ApiToken.objects.exists()


def test_who_may_not_sees_nothing(people: dict[str, User]) -> None:
    User.objects.filter(username="olga").update(is_staff=True)
    client = Client()
    client.force_login(User.objects.get(username="olga"))
    assert client.get(f"{ROOT}/apitoken/add/").status_code == 403
    assert client.get(f"{ROOT}/policyversion/add/").status_code == 403
