"""Into which groups of the site do those of the provider lead, and what can a hostile claim do there?"""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from audit.models import AuditEvent
from console.models import ProviderIdentity
from console.provider.people import MOST_GROUPS, Vouched, let_in
from recovery_site.environment import read_environment
from tests.audit.chain import NOW
from tests.console.provider.conftest import use
from tests.console.provider.op import Provider
from tests.console.provider.test_sign_in import NO_GROUP, come, refused, the_person, told
from workloads.models import Cluster

pytestmark = pytest.mark.django_db
LEADS = "cn=phys,ou=x=Physics; chem=Chemistry; chem=Night shift; both=Physics; gone=Nowhere"
OURS = ("Physics", "Chemistry", "Night shift", "Unnamed")


@pytest.fixture
def led(configured: dict[str, str], settings: Any) -> dict[str, str]:
    """A site with four groups, three of which the provider's lead into."""
    variables = configured | {"REKINDLE_OIDC_SITE_GROUPS": LEADS}
    use(settings, variables)
    for name in OURS:
        Group.objects.create(name=name)
    return variables


def signed_in(provider: Provider, *groups: Any) -> Client:
    provider.claims = {"groups": list(groups)}
    client = Client()
    assert come(client, provider).status_code == 302
    return client


def held() -> list[str]:
    return sorted(the_person().groups.values_list("name", flat=True))


def changes() -> list[dict[str, Any]]:
    rows = AuditEvent.objects.filter(type="configuration", action="rights").order_by("pk")
    return [row.payload for row in rows]


@pytest.mark.parametrize(
    ("groups", "into"),
    [
        (["staff"], []),
        (["staff", "cn=phys,ou=x"], ["Physics"]),
        (["staff", "both", "cn=phys,ou=x", "both"], ["Physics"]),
        (["staff", "chem"], ["Chemistry", "Night shift"]),
        (["staff", "gone"], []),
        (["staff", "Physics", "CHEM", " chem", "chem ", "chem\0", "chem;both", "cn=phys"], []),
        (["staff", "Unnamed", "Administrators", "Operators"], []),
        (["admins", "chem"], ["Administrators", "Chemistry", "Night shift"]),
    ],
)
def test_groups_lead_into_groups(
    groups: list[str], into: list[str], led: dict[str, str], provider: Provider
) -> None:
    signed_in(provider, *groups)
    assert held() == into
    assert (the_person().is_staff, the_person().is_superuser) == ("admins" in groups, False)
    assert not Group.objects.filter(name="Nowhere").exists()


def test_they_are_taken_away_and_others_stay(led: dict[str, str], provider: Provider) -> None:
    signed_in(provider, "staff", "chem")
    the_person().groups.add(Group.objects.get(name="Unnamed"), Group.objects.get(name="Physics"))
    signed_in(provider, "staff", "chem")
    assert held() == ["Chemistry", "Night shift", "Unnamed"], "what was given by hand in a named one goes"
    signed_in(provider, "staff")
    assert held() == ["Unnamed"]
    signed_in(provider, "staff", "both")
    signed_in(provider, "staff", "both")
    name = the_person().username
    assert told("configuration") == [
        f"{name} was added at the first sign-in through the provider.",
        f"{name} has other rights now (got Chemistry, Night shift).",
        f"{name} has other rights now (lost Physics).",
        f"{name} has other rights now (lost Chemistry, Night shift).",
        f"{name} has other rights now (got Physics).",
    ]
    assert [(row["got"], row["lost"]) for row in changes()[1:]] == [
        (["Chemistry", "Night shift"], []),
        ([], ["Physics"]),
        ([], ["Chemistry", "Night shift"]),
        (["Physics"], []),
    ]
    assert changes()[-1]["after"]["groups"] == ["Physics", "Unnamed"]


def test_they_let_nobody_in_and_go_with_the_role(led: dict[str, str], provider: Provider) -> None:
    provider.claims = {"groups": ["chem"]}
    stranger = Client()
    refused(come(stranger, provider), NO_GROUP, stranger)
    assert not User.objects.exists()
    client = signed_in(provider, "staff", "chem")
    the_person().groups.add(Group.objects.get(name="Unnamed"))
    provider.claims = {"groups": ["chem"]}
    refused(come(Client(), provider), NO_GROUP, Client())
    assert held() == ["Unnamed"]
    assert client.get("/").status_code == 302
    assert told("configuration")[-1].endswith("lost its rights (lost Chemistry, Night shift).")


def test_without_the_setting_nothing_is_touched(
    configured: dict[str, str], provider: Provider, settings: Any
) -> None:
    signed_in(provider, "staff")
    the_person().groups.add(*(Group.objects.create(name=name) for name in OURS))
    signed_in(provider, "staff", "chem")
    assert held() == sorted(OURS)


def test_a_superuser_is_left_alone(led: dict[str, str], provider: Provider) -> None:
    signed_in(provider, "staff", "chem")
    User.objects.update(is_superuser=True)
    signed_in(provider, "staff")
    assert held() == ["Chemistry", "Night shift"]
    assert the_person().is_superuser


def test_a_cluster_opens_and_closes_with_the_group(led: dict[str, str], provider: Provider) -> None:
    Cluster.objects.create(name="accelerator", seen_by=["Physics"])
    before = signed_in(provider, "staff")
    assert before.get("/clusters/accelerator").status_code == 404
    after = signed_in(provider, "staff", "both")
    assert after.get("/clusters/accelerator").status_code == 200
    assert before.get("/clusters/accelerator").status_code == 200, "the account, not the session, has the group"
    signed_in(provider, "staff")
    assert after.get("/clusters/accelerator").status_code == 404


HOSTILE = [
    pytest.param({"chem": True, "staff": True}, id="names as keys"),
    pytest.param([["staff", "chem"]], id="nested"),
    pytest.param([{"name": "staff"}, {"name": "chem"}], id="objects"),
    pytest.param("staff,chem", id="one text with a comma"),
    pytest.param("staff chem", id="one text with a space"),
    pytest.param(["sta\0ff", "staff\n", "st\u0430ff"], id="nearly the same"),
    pytest.param(["\ud800", "\x1b[31m", "%s", "{0}", "'; DROP TABLE auth_group; --"], id="control and format"),
    pytest.param([None, True, 7, 1.5], id="no texts"),
    pytest.param(7, id="a number"),
    pytest.param(None, id="nothing"),
]


@pytest.mark.parametrize("claim", HOSTILE)
def test_a_claim_of_another_shape_lets_nobody_in(claim: Any, led: dict[str, str], provider: Provider) -> None:
    provider.claims, provider.userinfo = {"groups": claim}, {}
    client = Client()
    refused(come(client, provider), NO_GROUP, client)
    assert not User.objects.exists()


@pytest.mark.parametrize("claim", HOSTILE)
def test_a_claim_of_another_shape_takes_what_was_there(claim: Any, led: dict[str, str], provider: Provider) -> None:
    signed_in(provider, "admins", "chem")
    provider.claims = {"groups": claim}
    refused(come(Client(), provider), NO_GROUP, Client())
    assert (held(), the_person().is_staff) == ([], False)


def test_what_is_no_text_is_left_out_of_a_list(led: dict[str, str], provider: Provider) -> None:
    signed_in(provider, "staff", None, 7, ["both"], {"both": 1}, "chem")
    assert held() == ["Chemistry", "Night shift"]


def test_too_many_groups_are_refused_in_a_sentence_and_change_nothing(
    led: dict[str, str], provider: Provider
) -> None:
    client = signed_in(provider, "staff", "chem")
    provider.claims = {"groups": ["staff", *(f"g{number}" for number in range(MOST_GROUPS))]}
    refused(come(Client(), provider), "in too many groups", Client())
    assert held() == ["Chemistry", "Night shift"]
    assert client.get("/").status_code == 200
    signed_in(provider, "staff", *(f"g{number}" for number in range(MOST_GROUPS - 1)))
    assert held() == []


def test_no_name_of_a_claim_is_stored_or_looked_up(led: dict[str, str], provider: Provider) -> None:
    signed_in(provider, "staff", "chem", "<script>secret-project</script>")
    for model in (AuditEvent, ProviderIdentity, User, Group):
        assert "secret-project" not in str(list(model.objects.values()))


def test_of_two_sign_ins_the_later_word_holds_whatever_the_first_one_read(led: dict[str, str]) -> None:
    values, _ = read_environment(led)
    roles, site_groups = values["REKINDLE_OIDC_GROUPS"], values["REKINDLE_OIDC_SITE_GROUPS"]

    def comes(*groups: str) -> User:
        return let_in(Vouched("https://login.example.org", "7", frozenset(groups), "x"), roles, site_groups, NOW)

    first = comes("staff", "chem")
    comes("staff", "both")
    assert sorted(first.groups.values_list("name", flat=True)) == ["Physics"]
    assert comes("admins", "both").is_staff, "the answer is the account as it is now"
