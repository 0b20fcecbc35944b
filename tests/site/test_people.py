"""Can people and groups be changed in the admin without anybody gaining what he may not, or shutting all out?"""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from advisor_api.token_role import TokenRole
from audit.models import AuditEvent
from console.models import SignInLink
from recovery_site.people import groups_to_give, may_change, others_remain

pytestmark = pytest.mark.django_db
PASSWORD = "three words of a person"  # of a test


@pytest.fixture(autouse=True)
def quick(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def a_person(name: str, *groups: str, **values: Any) -> User:
    person = User(username=name, **values)
    person.set_password(PASSWORD)
    person.save()
    person.groups.set(Group.objects.filter(name__in=groups))
    return person


@pytest.fixture
def root() -> User:
    return a_person("root", is_staff=True, is_superuser=True)


@pytest.fixture
def adam() -> User:
    """One of the group Administrators."""
    return a_person("adam", "Administrators", is_staff=True)


def browser(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def page(person: User) -> str:
    return reverse("admin:auth_user_change", args=[person.pk])


def form(person: User, **changed: Any) -> dict[str, Any]:
    """What a browser sends of the page; `None` for a box that is not ticked."""
    ticked = {name: "on" for name in ("is_active", "is_staff", "is_superuser") if getattr(person, name)}
    groups = list(person.groups.values_list("pk", flat=True))
    rights = list(person.user_permissions.values_list("pk", flat=True))
    whole = {"username": person.username, **ticked, "groups": groups, "user_permissions": rights, **changed}
    return {name: value for name, value in whole.items() if value is not None}


def group(name: str) -> int:
    return Group.objects.get(name=name).pk


def told() -> int:
    return AuditEvent.objects.filter(type="configuration", action="rights").count()


class TestShuttingOut:
    @pytest.mark.parametrize("right", ["is_active", "is_staff", "is_superuser"])
    def test_nobody_takes_a_right_from_himself(self, root: User, right: str) -> None:
        a_person("other", is_staff=True, is_superuser=True)
        answer = browser(root).post(page(root), form(root, **{right: None}))
        assert "Nobody takes this from himself" in answer.content.decode()
        root.refresh_from_db()
        assert getattr(root, right) and told() == 0

    def test_an_administrator_does_not_leave_his_own_group(self, adam: User, root: User) -> None:
        answer = browser(adam).post(page(adam), form(adam, groups=[]))
        assert "Nobody takes this from himself" in answer.content.decode()
        assert adam.groups.exists() and told() == 0

    def test_the_last_one_who_can_change_people_is_known(self, adam: User) -> None:
        """The page refuses where only the person himself would remain: two may close each other at once."""
        a_person("nora", "Operators", is_staff=True)
        a_person("gone", "Administrators", is_staff=True, is_active=False)
        a_person("outside", "Administrators")
        assert not others_remain(adam)
        a_person("eva", "Administrators", is_staff=True)
        assert others_remain(adam)

    def test_two_who_close_each_other_at_once_do_not_both(self, root: User) -> None:
        other = a_person("other", is_staff=True, is_superuser=True)
        first, second = browser(root), browser(other)
        assert first.post(page(other), form(other, is_active=None)).status_code == 302
        assert second.post(page(root), form(root, is_active=None)).status_code == 302  # to the sign-in
        assert User.objects.filter(is_active=True, is_superuser=True).count() == 1


class TestGaining:
    def test_an_administrator_makes_and_helps_people_of_no_more_rights(self, adam: User) -> None:
        client = browser(adam)
        new = {"username": "nora", "usable_password": "false"}
        assert client.post(reverse("admin:auth_user_add"), new).status_code == 302
        nora = User.objects.get(username="nora")
        assert client.post(page(nora), form(nora, groups=[group("Operators")])).status_code == 302
        assert nora.groups.get().name == "Operators"
        assert told() == 2

    def test_a_superuser_is_out_of_his_reach(self, adam: User, root: User) -> None:
        client = browser(adam)
        assert client.get(page(root)).status_code == 200  # to be read
        assert client.post(page(root), form(root, is_active=None)).status_code == 403
        address = reverse("admin:auth_user_password_change", args=[root.pk])
        words = {"password1": "a new one of adam", "password2": "a new one of adam", "usable_password": "true"}
        assert client.post(address, words).status_code == 403
        root.refresh_from_db()
        assert root.check_password(PASSWORD) and root.is_active

    def test_fields_that_he_does_not_see_are_not_taken_from_his_form(self, adam: User) -> None:
        nora = a_person("nora")
        right = Permission.objects.get(codename="delete_user").pk
        crafted = form(nora, is_superuser="on", user_permissions=[right], password="x")
        assert browser(adam).post(page(nora), crafted).status_code == 302
        nora.refresh_from_db()
        assert not nora.is_superuser and not nora.user_permissions.exists() and nora.check_password(PASSWORD)

    def test_a_group_that_may_more_is_neither_given_nor_taken(self, adam: User) -> None:
        mighty = Group.objects.create(name="Mighty")
        mighty.permissions.set(Permission.objects.filter(codename="delete_user"))
        nora = a_person("nora")
        assert mighty.pk not in groups_to_give(adam)
        answer = browser(adam).post(page(nora), form(nora, groups=[mighty.pk]))
        assert "Mighty may do or see more than you may" in answer.content.decode()
        assert not nora.groups.exists()
        nora.groups.add(mighty)
        assert browser(adam).post(page(nora), form(nora, groups=[])).status_code == 403
        assert not may_change(adam, nora)

    def test_one_who_is_closed_out_and_may_more_is_out_of_reach_too(self, adam: User) -> None:
        gone = a_person("gone", is_active=False)
        gone.user_permissions.add(Permission.objects.get(codename="delete_user"))
        assert browser(adam).post(page(gone), form(gone, is_active="on")).status_code == 403

    @pytest.mark.parametrize("role", [role.value for role in TokenRole if role is not TokenRole.VIEWER])
    def test_a_token_of_a_role_that_its_maker_has_not(self, role: str) -> None:
        maker = a_person("maker", is_staff=True)
        rights = Permission.objects.filter(codename__in=["add_apitoken", "view_apitoken"])
        maker.user_permissions.set(rights)
        asked = {"name": "mine", "role": role, "days": "30"}
        answer = browser(maker).post(reverse("admin:advisor_api_apitoken_add"), asked)
        assert "You may not do yourself what this role may do" in answer.content.decode()
        answer = browser(maker).post(reverse("admin:advisor_api_apitoken_add"), {**asked, "role": "viewer"})
        assert "The token mine" in answer.content.decode()


class TestClosing:
    def test_sessions_and_links_end_for_good(self, root: User) -> None:
        nora = a_person("nora")
        hers = browser(nora)
        assert hers.get("/").status_code == 200
        link = SignInLink.objects.create(user=nora, digest="0" * 64, expires_at=timezone.now() + timedelta(hours=1))
        answer = browser(root).post(page(nora), form(nora, is_active=None), follow=True)
        assert "The account nora is closed; 1 session ended." in answer.content.decode()
        assert hers.get("/").status_code == 302
        link.refresh_from_db()
        assert link.used_at is not None
        User.objects.update(is_active=True)  # let in again: what was open stays closed
        assert hers.get("/").status_code == 302
        assert Session.objects.count() == 1  # root's
        assert told() == 1

    def test_nobody_is_deleted(self, root: User) -> None:
        nora = a_person("nora")
        assert (
            browser(root).post(reverse("admin:auth_user_delete", args=[nora.pk]), {"post": "yes"}).status_code
            == 403
        )

    def test_a_group_is_deleted_where_nobody_misses_it(self, root: User) -> None:
        client, night = browser(root), Group.objects.create(name="night")
        nora = a_person("nora", "night")
        for name in ("night", "Operators", "Administrators"):
            address = reverse("admin:auth_group_delete", args=[group(name)])
            assert client.post(address, {"post": "yes"}).status_code == 403, name
        nora.groups.clear()
        assert client.post(reverse("admin:auth_group_delete", args=[night.pk]), {"post": "yes"}).status_code == 302
        assert told() == 1


class TestSecrets:
    def test_no_part_of_a_password_is_shown(self, root: User, adam: User) -> None:
        for who in (root, adam):
            text = browser(who).get(page(adam)).content.decode()
            hashed = User.objects.get(pk=adam.pk).password
            assert not any(part in text for part in hashed.split("$")[1:]), who
            assert "and never shown" in text

    def test_the_own_password_and_its_event(self, root: User) -> None:
        client = browser(root)
        words = {
            "old_password": PASSWORD,
            "new_password1": "another of root's",
            "new_password2": "another of root's",
        }
        assert client.post("/admin/password_change/", {**words, "old_password": "wrong"}).status_code == 200
        assert not AuditEvent.objects.filter(type="sign_in").exists()
        assert client.post("/admin/password_change/", words).status_code == 302
        event = AuditEvent.objects.get(type="sign_in")
        assert event.sentence == "root changed the own password." and "another" not in str(event.payload)

    def test_to_leave_by_the_admin_is_told_as_well(self, root: User) -> None:
        client = browser(root)
        client.post("/admin/logout/")
        assert AuditEvent.objects.get(type="sign_in").sentence == "root signed out."
        assert client.get("/admin/").status_code == 302


def test_what_changes_nothing_tells_nothing(root: User) -> None:
    nora = a_person("nora")
    assert browser(root).post(page(nora), form(nora)).status_code == 302
    assert told() == 0
