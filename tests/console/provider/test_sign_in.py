"""Who comes in through the provider, who does not, and what does the trail say of it?"""

import time
from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils import timezone

from audit.models import AuditEvent
from console.models import ProviderIdentity
from console.provider.people import Vouched, _made
from console.signing_in import TRIES_PER_ADDRESS
from tests.console.provider.conftest import use
from tests.console.provider.op import FORGERS, Provider

pytestmark = pytest.mark.django_db
NOT_PROVED = "does not prove who you are"
NO_GROUP = "None of your groups"
AWAY = "does not answer as it should"


def away(client: Client, query: str = "") -> str:
    answer = client.get(f"/sign-in/oidc/begin{query}")
    assert answer.status_code == 302, answer.content.decode()
    return str(answer["Location"])


def come(client: Client, provider: Provider, query: str = "") -> object:
    return client.get("/sign-in/oidc/callback", provider.consent(away(client, query)))


def told(kind: str = "sign_in") -> list[str]:
    return list(AuditEvent.objects.filter(type=kind).order_by("id").values_list("sentence", flat=True))


def refused(answer: object, sentence: str, client: Client) -> None:
    assert answer.status_code == 403
    assert sentence in answer.content.decode()
    assert client.get("/").status_code == 302


def the_person() -> User:
    return ProviderIdentity.objects.get().user


def test_without_settings_there_is_no_such_door(client: Client) -> None:
    assert "Sign in with" not in client.get("/sign-in").content.decode()
    assert client.get("/sign-in/oidc/begin").status_code == 404
    assert client.get("/sign-in/oidc/callback?code=a&state=b").status_code == 404


def test_the_page_offers_it_beside_the_password(client: Client, configured: dict[str, str]) -> None:
    page = client.get("/sign-in?next=/jobs%3Fq%3D1%26a%3D2").content.decode()
    assert "Sign in with the example login" in page
    assert 'href="/sign-in/oidc/begin?next=%2Fjobs%3Fq%3D1%26a%3D2"' in page
    assert 'name="password"' in page


def test_somebody_comes_in(client: Client, configured: dict[str, str], provider: Provider) -> None:
    answer = come(client, provider, "?next=/jobs")
    assert provider.problems == []
    assert answer["Location"] == "/jobs"
    assert client.get("/").status_code == 200
    user = the_person()
    assert user.username.startswith("ana.oidc-")
    assert (user.email, user.has_usable_password(), user.is_staff, user.is_superuser) == ("", False, False, False)
    assert not user.groups.exists()
    assert told() == [f"{user.username} signed in through the provider."]
    assert "/userinfo" not in provider.asked, "the token held the groups"


def test_what_is_asked_for(client: Client, configured: dict[str, str], provider: Provider) -> None:
    asked = parse_qs(urlsplit(away(client)).query)
    assert asked["code_challenge_method"] == ["S256"]
    assert asked["scope"] == ["openid profile"]
    assert asked["redirect_uri"] == ["http://testserver/sign-in/oidc/callback"]
    assert len(asked["nonce"][0]) >= 32
    assert len(asked["state"][0]) >= 32


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
def test_both_signatures_and_both_ways_of_the_secret(
    algorithm: str, method: str, client: Client, configured: dict[str, str], provider: Provider, settings: object
) -> None:
    provider.algorithm = algorithm
    provider.document = {"token_endpoint_auth_methods_supported": [method]}
    use(settings, configured | {"REKINDLE_OIDC_ALGORITHM": algorithm})
    assert come(client, provider).status_code == 302
    assert client.get("/").status_code == 200


def test_addresses_that_are_set_are_not_looked_up(
    client: Client, configured: dict[str, str], provider: Provider, settings: object
) -> None:
    places = {"AUTHORIZE": "authorize", "TOKEN": "token", "USERINFO": "userinfo", "JWKS": "jwks"}
    ours = {f"REKINDLE_OIDC_{name}_URL": f"{provider.base}/{path}" for name, path in places.items()}
    use(settings, configured | ours)
    assert come(client, provider).status_code == 302
    assert "/.well-known/openid-configuration" not in provider.asked


MINUTES = 60
NOW = int(time.time())


@pytest.mark.parametrize(
    "claims",
    [
        pytest.param({"nonce": "another"}, id="wrong nonce"),
        pytest.param({"nonce": None}, id="no nonce"),
        pytest.param({"aud": "another-client"}, id="wrong audience"),
        pytest.param({"aud": None}, id="no audience"),
        pytest.param({"aud": ["rekindle", "another"]}, id="several audiences and nobody named"),
        pytest.param({"azp": "another-client"}, id="made for another client"),
        pytest.param({"iss": "https://login.example.net"}, id="other issuer"),
        pytest.param({"iss": None}, id="no issuer"),
        pytest.param({"exp": NOW - 10 * MINUTES, "iat": NOW - 20 * MINUTES}, id="expired"),
        pytest.param({"exp": None}, id="never expires"),
        pytest.param({"iat": NOW + 60 * MINUTES, "exp": NOW + 90 * MINUTES}, id="made in the future"),
        pytest.param({"nbf": NOW + 60 * MINUTES}, id="not yet good"),
        pytest.param({"sub": None}, id="no subject"),
        pytest.param({"sub": ""}, id="empty subject"),
        pytest.param({"sub": "x" * 256}, id="long subject"),
    ],
)
def test_a_token_that_proves_nothing(
    claims: dict[str, object], client: Client, configured: dict[str, str], provider: Provider
) -> None:
    provider.claims = claims
    refused(come(client, provider), NOT_PROVED, client)
    assert told() == ["Sign-in through the provider refused for an unknown name."]
    assert not User.objects.exists()


@pytest.mark.parametrize("spoil", ["forged", "unsigned", "by the secret", "unknown key"])
def test_a_signature_of_somebody_else(
    spoil: str, client: Client, configured: dict[str, str], provider: Provider
) -> None:
    if spoil == "forged":
        provider.signing_key = FORGERS
    elif spoil == "unsigned":
        provider.signing_algorithm = "none"
    elif spoil == "by the secret":
        provider.signing_key, provider.signing_algorithm = "a secret that is thirty-two bytes long", "HS256"
    else:
        provider.kid = "two"
    refused(come(client, provider), NOT_PROVED, client)


@pytest.mark.parametrize("spoil", ["wrong", "other browser", "none", "twice"])
def test_a_state_that_is_not_this_browsers(
    spoil: str, client: Client, configured: dict[str, str], provider: Provider
) -> None:
    back = provider.consent(away(client))
    target = client
    if spoil == "wrong":
        back["state"] = back["state"][::-1]
    elif spoil == "other browser":
        target = Client()
    elif spoil == "none":
        del back["state"]
    else:
        client.get("/sign-in/oidc/callback", back)
        client.post("/sign-out")
    refused(target.get("/sign-in/oidc/callback", back), "Begin again", target)
    assert provider.asked.count("/token") == (1 if spoil == "twice" else 0)


def test_a_link_with_an_error_signs_nobody_out(
    client: Client, configured: dict[str, str], provider: Provider
) -> None:
    state = provider.consent(away(client))["state"]
    come(client, provider)
    for wrong in (state, "made-up"):
        answer = client.get("/sign-in/oidc/callback", {"error": "access_denied", "state": wrong})
        assert answer.status_code == 403
    assert client.get("/").status_code == 200


def test_a_password_is_never_changed_into_a_code(
    client: Client, configured: dict[str, str], provider: Provider
) -> None:
    back = provider.consent(away(client))
    asked = len(provider.asked)
    address = f"/sign-in?code={back['code']}&state={back['state']}"
    assert client.post(address, {"username": "nobody", "password": "x"}).status_code == 200
    assert len(provider.asked) == asked


def test_mail_and_name_open_no_account(client: Client, configured: dict[str, str], provider: Provider) -> None:
    local = User.objects.create_superuser("ana", "root@example.org", "a long password for ana")
    provider.claims = {"email": "root@example.org", "email_verified": True, "preferred_username": "ana"}
    come(client, provider)
    assert the_person() != local
    assert not the_person().is_superuser


def test_the_same_subject_of_another_issuer_is_somebody_else(
    client: Client, configured: dict[str, str], provider: Provider, settings: object
) -> None:
    come(client, provider)
    other = Provider()
    other.start()
    try:
        use(settings, configured | {"REKINDLE_OIDC_ISSUER": other.issuer})
        assert come(Client(), other).status_code == 302
    finally:
        other.end()
    assert User.objects.count() == ProviderIdentity.objects.count() == 2


def test_it_is_the_same_account_the_next_time(
    client: Client, configured: dict[str, str], provider: Provider
) -> None:
    come(client, provider)
    provider.claims = {"preferred_username": "renamed", "email": "new@example.org"}
    come(Client(), provider)
    assert the_person().username.startswith("ana.oidc-")
    assert told("configuration") == [
        f"{the_person().username} was added at the first sign-in through the provider."
    ]


@pytest.mark.parametrize(
    ("groups", "held", "staff"),
    [
        (["staff"], [], False),
        ("staff", [], False),
        (["staff", "cn=ops,ou=groups"], ["Operators"], False),
        (["admins", "staff", "cn=ops,ou=groups"], ["Administrators"], True),
    ],
)
def test_groups_give_rights(
    groups: object, held: list[str], staff: bool, client: Client, configured: dict[str, str], provider: Provider
) -> None:
    provider.claims = {"groups": groups}
    come(client, provider)
    user = the_person()
    assert sorted(user.groups.values_list("name", flat=True)) == held
    assert (user.is_staff, user.has_perm("advisor_api.approve_advice")) == (staff, bool(held))


@pytest.mark.parametrize("groups", [["unknown"], [], None, "Staff", {"staff": True}, 7, [["staff"]], True])
def test_without_a_known_group_nobody_comes_in(
    groups: object, client: Client, configured: dict[str, str], provider: Provider
) -> None:
    provider.claims = {"groups": groups}
    refused(come(client, provider), NO_GROUP, client)
    assert not User.objects.exists()


def test_rights_go_with_the_group(client: Client, configured: dict[str, str], provider: Provider) -> None:
    provider.claims = {"groups": ["admins"]}
    come(client, provider)
    provider.claims = {"groups": ["staff"]}
    come(Client(), provider)
    assert (the_person().is_staff, the_person().groups.count()) == (False, 0)
    assert client.get("/").status_code == 200, "who may less stays signed in"
    provider.claims = {"groups": []}
    refused(come(Client(), provider), NO_GROUP, Client())
    assert client.get("/").status_code == 302, "who may nothing is signed out everywhere"
    name = the_person().username
    assert told("configuration")[1:] == [
        f"{name} has other rights now (got Administrators).",
        f"{name} has other rights now (lost Administrators).",
        f"{name} has no group of the provider any more and lost its rights.",
    ]
    assert told()[-1] == f"Sign-in through the provider refused for {name}."


def test_what_was_given_by_hand_stays(client: Client, configured: dict[str, str], provider: Provider) -> None:
    come(client, provider)
    user = the_person()
    user.groups.add(Group.objects.create(name="night shift"), Group.objects.get(name="Operators"))
    come(Client(), provider)
    assert list(user.groups.values_list("name", flat=True)) == ["night shift"]
    User.objects.update(is_superuser=True, is_staff=True)
    provider.claims = {"groups": []}
    refused(come(Client(), provider), NO_GROUP, Client())
    user.refresh_from_db()
    assert (user.is_superuser, user.is_staff) == (True, True)


def test_a_closed_account_stays_closed(client: Client, configured: dict[str, str], provider: Provider) -> None:
    come(client, provider)
    User.objects.update(is_active=False)
    assert client.get("/").status_code == 302
    refused(come(Client(), provider), "may not sign in", client)


def test_an_account_of_that_name_is_not_taken_over(
    client: Client, configured: dict[str, str], provider: Provider
) -> None:
    come(client, provider)
    ProviderIdentity.objects.all().delete()
    refused(come(Client(), provider), "could not be made", Client())
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    ("said", "sentence"),
    [({"groups": ["staff"]}, ""), ({"groups": ["x"]}, NO_GROUP), ({"groups": ["staff"], "sub": "x"}, NOT_PROVED)],
)
def test_groups_that_the_token_lacks_are_asked_for(
    said: dict[str, object], sentence: str, client: Client, configured: dict[str, str], provider: Provider
) -> None:
    provider.claims, provider.userinfo = {"groups": None}, said
    answer = come(client, provider)
    assert "/userinfo" in provider.asked
    if sentence:
        refused(answer, sentence, client)
    else:
        assert client.get("/").status_code == 200


@pytest.mark.parametrize(
    ("status", "body", "sentence"),
    [
        (500, None, AWAY),
        (400, None, AWAY),
        (200, b"no json", AWAY),
        (200, b"[]", NOT_PROVED),
        (200, b"{}", NOT_PROVED),
        (200, b'{"id_token": 7}', NOT_PROVED),
        (200, b'{"id_token": "a.b.c"}', NOT_PROVED),
        (200, b"[" * 100_000, NOT_PROVED),
    ],
)
def test_answers_that_are_none(
    status: int,
    body: bytes | None,
    sentence: str,
    client: Client,
    configured: dict[str, str],
    provider: Provider,
    caplog: pytest.LogCaptureFixture,
) -> None:
    provider.token_status, provider.token_body = status, body
    refused(come(client, provider), sentence, client)
    assert "SECRET-IN-AN-ANSWER" not in caplog.text


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://login.example.net"},
        {"token_endpoint": None},
        {"jwks_uri": "file:///etc/passwd"},
        {"authorization_endpoint": 7},
    ],
)
def test_a_discovery_document_that_is_not_ours(
    document: dict[str, object], client: Client, configured: dict[str, str], provider: Provider
) -> None:
    provider.document = document
    answer = client.get("/sign-in/oidc/begin")
    refused(answer, AWAY, client)
    assert 'name="password"' in answer.content.decode()
    provider.document = {}
    assert away(client), "it is asked again the next time"


def test_a_provider_that_is_away_keeps_nobody_from_the_password(
    client: Client, configured: dict[str, str], provider: Provider, settings: object
) -> None:
    use(settings, configured | {"REKINDLE_OIDC_ISSUER": "http://127.0.0.1:9"})
    User.objects.create_user("local", password="a long password for local")
    refused(client.get("/sign-in/oidc/begin"), AWAY, client)
    answer = client.post("/sign-in", {"username": "local", "password": "a long password for local"})
    assert answer.status_code == 302
    assert client.get("/").status_code == 200


def test_a_secret_that_others_may_read_is_not_used(
    client: Client, configured: dict[str, str], provider: Provider
) -> None:
    from pathlib import Path

    back = provider.consent(away(client))
    Path(configured["REKINDLE_OIDC_CLIENT_SECRET_FILE"]).chmod(0o644)
    refused(client.get("/sign-in/oidc/callback", back), "cannot read its own secret", client)
    assert "/token" not in provider.asked


def test_the_session_ends_by_itself(
    client: Client, configured: dict[str, str], provider: Provider, settings: object
) -> None:
    use(settings, configured | {"REKINDLE_OIDC_SESSION_HOURS": "3"})
    come(client, provider)
    left = client.session.get_expiry_date() - timezone.now()
    assert timedelta(hours=2, minutes=55) < left <= timedelta(hours=3)
    assert "access" not in str(dict(client.session)), "no token is kept"


def test_out_is_out(client: Client, configured: dict[str, str], provider: Provider) -> None:
    come(client, provider)
    client.post("/sign-out")
    assert client.get("/").status_code == 302
    assert told()[-1] == f"{the_person().username} signed out."


def test_without_the_provider_its_sessions_end(
    client: Client, configured: dict[str, str], provider: Provider, settings: object
) -> None:
    come(client, provider)
    settings.AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
    assert client.get("/").status_code == 302


def test_too_many_tries_ask_the_provider_nothing(
    client: Client, configured: dict[str, str], provider: Provider
) -> None:
    provider.claims = {"nonce": "another"}
    for _ in range(TRIES_PER_ADDRESS):
        come(client, provider)
    asked = provider.asked.count("/token")
    assert come(client, provider).status_code == 429
    assert provider.asked.count("/token") == asked


def test_the_way_on_does_not_leave_the_site(client: Client, configured: dict[str, str], provider: Provider) -> None:
    assert come(client, provider, "?next=https://example.org/")["Location"] == "/"


def test_rights_are_looked_up_without_the_provider(
    client: Client, configured: dict[str, str], provider: Provider
) -> None:
    come(client, provider)
    asked = len(provider.asked)
    client.get("/jobs")
    client.get("/admin/")
    assert len(provider.asked) == asked


def test_of_two_first_sign_ins_at_once_one_makes_the_account(db: None) -> None:
    vouched = Vouched("https://login.example.org", "7", frozenset({"staff"}), "<b>Ana</b>\0")
    first, second = (_made(vouched, timezone.now()) for _ in range(2))  # both saw that nobody was there
    assert first == second
    assert first.username.startswith("b-ana-b.oidc-")
    assert len(told("configuration")) == 1
