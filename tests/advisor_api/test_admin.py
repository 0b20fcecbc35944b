"""Does the admin of the advisor add what may be added, with its event, and change nothing else?"""

import html
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from advisor_api.authentication import find_token
from advisor_api.models import ApiToken, Exclusion, Pause
from advisor_api.token_role import TokenRole
from advisor_api.tokens import issue
from audit.models import AuditEvent
from tests.advisor_api.world import OPERATOR, an_advice
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


def chosen(action: str, rows: list[int], reason: str | None = None) -> dict[str, Any]:
    said = {} if reason is None else {"confirmed": "yes", "reason": reason}
    return {"action": action, "_selected_action": rows, **said}


def confirmed(admin: Client, name: str, action: str, rows: list[int], reason: str = "because") -> str:
    """Do an action after its question; gives the question."""
    before = AuditEvent.objects.count()
    question = admin.post(f"{ROOT}/{name}/", chosen(action, rows))
    assert question.status_code == 200 and AuditEvent.objects.count() == before  # asked, not done
    assert admin.post(f"{ROOT}/{name}/", chosen(action, rows, reason)).status_code == 302
    return html.unescape(question.content.decode())


def secret_on(answer: Any) -> str:
    """What the page shows once."""
    assert answer.status_code == 200
    found = re.search(r'id="secret"[^>]*>([^<]+)<', answer.content.decode())
    assert found
    return found[1]


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
    assert "Api token" not in admin.get(f"{ROOT}/apitoken/").content.decode()
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
    asked = confirmed(admin, "exclusion", "lift_now", [row.pk], "the fan is new")
    assert f"n05 of {cluster.name}, out until" in asked
    row.refresh_from_db()
    assert row.lifted_by == "root"
    assert AuditEvent.objects.filter(type="exclusion").count() == 2
    assert "the fan is new" in AuditEvent.objects.filter(type="exclusion").latest("pk").sentence


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
    confirmed(admin, "pause", "end_now", [row.pk])
    row.refresh_from_db()
    assert row.until <= timezone.now()
    found = admin.post(f"{ROOT}/pause/add/", {**form, "scope": "cluster"})
    assert "A pause of the cluster has no value" in found.content.decode()


class TestTokens:
    def make(self, admin: Client, cluster: Cluster) -> str:
        form = {"name": "ctl", "role": "controller", "clusters": [cluster.pk], "days": "30"}
        return secret_on(admin.post(f"{ROOT}/apitoken/add/", form))

    def test_shown_once(self, admin: Client, cluster: Cluster) -> None:
        secret = self.make(admin, cluster)
        token = find_token(secret, timezone.now())
        assert (token.name, list(token.clusters.all()), token.created_by) == ("ctl", [cluster], "root")
        assert secret not in admin.get(f"{ROOT}/apitoken/").content.decode()
        assert secret not in admin.get(f"{ROOT}/apitoken/{token.pk}/change/").content.decode()

    def test_rotated_and_revoked(self, admin: Client, cluster: Cluster) -> None:
        self.make(admin, cluster)
        old = ApiToken.objects.get()
        answer = admin.post(f"{ROOT}/apitoken/", chosen("rotate_now", [old.pk], "it leaked"))
        fresh = ApiToken.objects.get(name="ctl")
        assert find_token(secret_on(answer), timezone.now()) == fresh
        asked = confirmed(admin, "apitoken", "revoke_now", [fresh.pk, old.pk], "it leaked again")
        assert "never used" in asked and "refused" in asked
        assert not ApiToken.objects.filter(revoked_at=None).exists()
        told = list(AuditEvent.objects.filter(type="token").order_by("pk").values_list("sentence", flat=True))
        assert [one.rsplit(": ", 1)[-1] for one in told if ": " in one] == ["it leaked", *["it leaked again"] * 2]

    def test_two_are_not_replaced_at_once_and_nothing_without_a_reason(
        self, admin: Client, cluster: Cluster
    ) -> None:
        self.make(admin, cluster)
        first = ApiToken.objects.get()
        issue("two", TokenRole.VIEWER, [cluster], now=timezone.now(), actor=OPERATOR)
        both = list(ApiToken.objects.values_list("pk", flat=True))
        page = admin.post(f"{ROOT}/apitoken/", chosen("rotate_now", both, "all"), follow=True).content.decode()
        assert "Choose one token to replace" in page
        for reason in ("", "   "):
            answer = admin.post(f"{ROOT}/apitoken/", chosen("revoke_now", [first.pk], reason))
            assert answer.status_code == 400 and "Say why" in answer.content.decode()
        assert ApiToken.objects.filter(revoked_at=None).count() == 2
        assert AuditEvent.objects.filter(type="token").count() == 2

    def test_the_secret_lies_in_no_message(self, admin: Client, cluster: Cluster) -> None:
        secret = self.make(admin, cluster)
        assert "messages" not in admin.cookies
        assert all(secret not in cookie.value for cookie in admin.cookies.values())
        answer = admin.get(f"{ROOT}/apitoken/")
        assert "no-store" in answer["Cache-Control"]

    def test_its_page_offers_what_it_still_allows(self, admin: Client, cluster: Cluster) -> None:
        self.make(admin, cluster)
        token = ApiToken.objects.get()
        page = f"{ROOT}/apitoken/{token.pk}/change/"
        assert "Replace…" in admin.get(page).content.decode()
        asked = admin.get(f"{ROOT}/apitoken/{token.pk}/act/revoke_now/").content.decode()
        assert 'value="revoke_now"' in asked and f'value="{token.pk}"' in asked
        confirmed(admin, "apitoken", "revoke_now", [token.pk])
        assert "Replace…" not in admin.get(page).content.decode()
        assert admin.get(f"{ROOT}/apitoken/{token.pk}/act/delete_selected/").status_code == 403
        assert admin.get(f"{ROOT}/apitoken/{10**30}/act/revoke_now/").status_code == 404
        assert admin.post(f"{ROOT}/apitoken/{token.pk}/act/revoke_now/").status_code == 403

    def test_its_hash_cannot_be_guessed_by_the_address(self, admin: Client, cluster: Cluster) -> None:
        self.make(admin, cluster)
        digest = ApiToken.objects.get().digest
        for asked in (f"digest={digest}", f"digest__startswith={digest[0]}", "clusters__name__startswith=d"):
            assert admin.get(f"{ROOT}/apitoken/?{asked}").status_code == 400, asked
        assert digest not in admin.get(f"{ROOT}/apitoken/").content.decode()

    def test_a_name_twice_is_refused(self, admin: Client, cluster: Cluster) -> None:
        self.make(admin, cluster)
        form = {"name": "ctl", "role": "viewer", "clusters": [cluster.pk], "days": "30"}
        assert "There is a token of this name already" in admin.post(f"{ROOT}/apitoken/add/", form).content.decode()

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
