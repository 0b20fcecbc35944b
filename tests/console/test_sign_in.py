"""Who comes in, how often may one try, and what does the trail say of it?"""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.core.management import CommandError, call_command
from django.test import Client, RequestFactory
from django.urls import reverse

from audit.models import AuditEvent
from console import signing_in
from console.models import SignInLink, SignInTry
from console.sign_in_links import LinkNotUsable, make_link, use_link
from console.views.sign_in import admin_sign_in

SIGN_IN = "/sign-in"
RIGHT = {"username": "viewer", "password": "a long password for viewer"}
WRONG = {"username": "viewer", "password": "guessed"}


def trail() -> list[str]:
    return list(AuditEvent.objects.filter(type="sign_in").order_by("id").values_list("sentence", flat=True))


def test_the_right_password_opens_the_console(client: Client, cast: dict[str, User]) -> None:
    answer = client.post(SIGN_IN, RIGHT)
    assert answer.status_code == 302
    assert answer["Location"] == "/"
    assert client.get("/").status_code == 200
    assert trail() == ["viewer signed in with a password."]
    assert not SignInTry.objects.exists()


def test_the_wrong_password_does_not(client: Client, cast: dict[str, User]) -> None:
    answer = client.post(SIGN_IN, WRONG)
    assert answer.status_code == 200
    assert "do not fit together" in answer.content.decode()
    assert client.get("/").status_code == 302
    assert trail() == ["Sign-in refused for viewer: wrong password."]


def test_a_name_that_nobody_has_is_not_written_down(client: Client, cast: dict[str, User]) -> None:
    client.post(SIGN_IN, {"username": "my-password-in-the-wrong-field", "password": "x"})
    assert trail() == ["Sign-in refused for an unknown name: wrong password."]
    assert "my-password" not in str(AuditEvent.objects.values())
    assert "my-password" not in str(SignInTry.objects.values())


def test_too_many_tries_are_not_even_looked_at(client: Client, cast: dict[str, User]) -> None:
    for _ in range(signing_in.TRIES_PER_NAME):
        client.post(SIGN_IN, WRONG)
    answer = client.post(SIGN_IN, RIGHT)
    assert answer.status_code == 200
    assert "Too many tries" in answer.content.decode()
    assert len(trail()) == signing_in.TRIES_PER_NAME


def test_the_throttle_counts_names_in_any_case(client: Client, cast: dict[str, User]) -> None:
    for number in range(signing_in.TRIES_PER_NAME):
        client.post(SIGN_IN, WRONG | {"username": "Viewer" if number % 2 else "VIEWER"})
    assert "Too many tries" in client.post(SIGN_IN, RIGHT).content.decode()


def test_others_at_other_addresses_still_come_in(client: Client, cast: dict[str, User]) -> None:
    for _ in range(signing_in.TRIES_PER_NAME + 1):
        client.post(SIGN_IN, WRONG)
    assert client.post(SIGN_IN, RIGHT, REMOTE_ADDR="192.0.2.7").status_code == 302


def test_one_address_may_not_try_many_names(client: Client, cast: dict[str, User]) -> None:
    for number in range(signing_in.TRIES_PER_ADDRESS):
        client.post(SIGN_IN, {"username": f"name-{number}", "password": "x"})
    assert "Too many tries" in client.post(SIGN_IN, RIGHT).content.decode()


def test_after_the_wait_one_may_try_again(client: Client, cast: dict[str, User]) -> None:
    for _ in range(signing_in.TRIES_PER_NAME + 1):
        client.post(SIGN_IN, WRONG)
    old = SignInTry.objects.first().at - signing_in.WINDOW
    SignInTry.objects.update(at=old)
    assert client.post(SIGN_IN, RIGHT).status_code == 302


def test_a_header_of_the_client_does_not_choose_its_address(client: Client, cast: dict[str, User]) -> None:
    for number in range(signing_in.TRIES_PER_NAME):
        client.post(SIGN_IN, WRONG, headers={"X-Forwarded-For": f"192.0.2.{number}"})
    assert (
        "Too many tries" in client.post(SIGN_IN, RIGHT, headers={"X-Forwarded-For": "192.0.2.99"}).content.decode()
    )


def test_behind_our_proxy_its_last_address_counts(settings: object, client: Client, cast: dict[str, User]) -> None:
    settings.REKINDLE = {**settings.REKINDLE, "REKINDLE_TRUSTED_PROXY": True}
    for _ in range(signing_in.TRIES_PER_NAME):
        client.post(SIGN_IN, WRONG, headers={"X-Forwarded-For": "198.51.100.1, 192.0.2.5"})
    assert (
        "Too many"
        in client.post(SIGN_IN, RIGHT, headers={"X-Forwarded-For": "9.9.9.9, 192.0.2.5"}).content.decode()
    )
    assert client.post(SIGN_IN, RIGHT, headers={"X-Forwarded-For": "192.0.2.6"}).status_code == 302


@pytest.mark.parametrize(
    ("first", "second", "counted_together"),
    [
        ("2001:db8:1:2::%d", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::%d", "2001:db8:1:3::9", False),
        ("192.0.2.5", "::ffff:192.0.2.5", True),
        ("::ffff:192.0.2.5", "::ffff:192.0.2.6", False),
    ],
)
def test_a_network_of_addresses_is_one_stranger(
    first: str, second: str, counted_together: bool, client: Client, cast: dict[str, User]
) -> None:
    for number in range(signing_in.TRIES_PER_NAME):
        client.post(SIGN_IN, WRONG, REMOTE_ADDR=first.replace("%d", str(number)))
    last = client.post(SIGN_IN, RIGHT, REMOTE_ADDR=second)
    assert ("Too many tries" in last.content.decode()) is counted_together


def test_the_way_on_does_not_leave_the_site(client: Client, cast: dict[str, User]) -> None:
    away = client.post(SIGN_IN, RIGHT | {"next": "https://example.org/"})
    assert away["Location"] == "/"
    Client().post(SIGN_IN, RIGHT)
    assert Client().post(SIGN_IN, RIGHT | {"next": "/jobs?q=1"})["Location"] == "/jobs?q=1"


@pytest.mark.parametrize(
    "fields",
    [{}, {"username": "viewer"}, {"username": "a\0b", "password": "x"}, {"username": "x" * 300, "password": "y"}],
)
def test_a_form_that_cannot_be_used_is_answered(
    fields: dict[str, str], client: Client, cast: dict[str, User]
) -> None:
    assert client.post(SIGN_IN, fields).status_code == 200
    assert client.get("/").status_code == 302


def test_a_link_works_once(client: Client, cast: dict[str, User], now: datetime) -> None:
    path = make_link(cast["viewer"], now)
    assert "Sign in as viewer" in client.get(path).content.decode()
    assert client.get("/").status_code == 302, "looking at a link signs nobody in"
    assert client.post(path)["Location"] == "/"
    assert client.get("/").status_code == 200
    again = Client()
    assert again.post(path).status_code == 410
    assert again.get(path).status_code == 410
    assert again.get("/").status_code == 302
    assert trail() == ["viewer signed in with a one-time link."]


def test_only_the_hash_of_a_token_is_stored(cast: dict[str, User], now: datetime) -> None:
    token = make_link(cast["viewer"], now).rpartition("/")[2]
    assert token not in str(SignInLink.objects.values())


def test_of_two_who_use_a_link_at_once_one_comes_in(
    cast: dict[str, User], now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have looked before either has used it: the row itself decides."""
    monkeypatch.setattr("console.sign_in_links.look_at_link", lambda token, now: cast["viewer"])
    token = make_link(cast["viewer"], now).rpartition("/")[2]
    use_link(token, "192.0.2.1", now)
    with pytest.raises(LinkNotUsable):
        use_link(token, "192.0.2.2", now)


@pytest.mark.parametrize("spoil", ["expired", "closed account", "unknown"])
def test_a_link_that_is_not_good_any_more(spoil: str, client: Client, cast: dict[str, User], now: datetime) -> None:
    path = make_link(cast["viewer"], now)
    if spoil == "expired":
        SignInLink.objects.update(expires_at=now - timedelta(seconds=1))
    elif spoil == "closed account":
        User.objects.update(is_active=False)
    else:
        path = path[:-3] + "abc"
    assert client.get(path).status_code == 410
    assert client.post(path).status_code == 410


def test_out_by_post_only(as_viewer: Client) -> None:
    assert as_viewer.get("/sign-out").status_code == 405
    assert as_viewer.get("/").status_code == 200
    assert as_viewer.post("/sign-out")["Location"] == reverse("sign-in")
    assert as_viewer.get("/").status_code == 302
    assert trail() == ["viewer signed out."]


@pytest.mark.parametrize("path", ["/sign-in", "/sign-out"])
def test_another_site_cannot_post(path: str, cast: dict[str, User]) -> None:
    assert Client(enforce_csrf_checks=True).post(path, RIGHT).status_code == 403


def test_the_command_prints_a_link(
    capsys: pytest.CaptureFixture[str], cast: dict[str, User], client: Client
) -> None:
    call_command("sign_in_link", "viewer", address="http://127.0.0.1:9/")
    link = capsys.readouterr().out.strip()
    assert link.startswith("http://127.0.0.1:9/sign-in/once/")
    assert client.post(link.removeprefix("http://127.0.0.1:9")).status_code == 302


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nobody"], "There is no active user 'nobody'."),
        (["viewer", "--minutes", "0"], "--minutes must be from 1 to 1440."),
    ],
)
def test_the_command_says_what_is_wrong(arguments: list[str], sentence: str, cast: dict[str, User]) -> None:
    with pytest.raises(CommandError, match=sentence):
        call_command("sign_in_link", *arguments)
    assert not SignInLink.objects.exists()


def test_the_admin_has_no_door_of_its_own(cast: dict[str, User], rf: RequestFactory) -> None:
    request = rf.get("/admin/login/", {"next": "/admin/auth/user/"})
    for user in (AnonymousUser(), cast["admin"]):
        request.user = user
        assert admin_sign_in(request)["Location"] == "/sign-in?next=%2Fadmin%2Fauth%2Fuser%2F"
    request.user = cast["viewer"]
    with pytest.raises(PermissionDenied):  # and no round without an end between the two sign-ins
        admin_sign_in(request)
