"""Are the groups there from the start, and left alone afterwards?"""

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.test import Client

from recovery_site.groups import GROUPS, make_groups


@pytest.mark.django_db
def test_each_group_has_its_permissions() -> None:
    for name, permissions in GROUPS.items():
        held = Group.objects.get(name=name).permissions.values_list("content_type__app_label", "codename")
        assert {".".join(pair) for pair in held} == set(permissions)


@pytest.mark.django_db
def test_a_group_that_was_changed_stays_so() -> None:
    Group.objects.get(name="Operators").permissions.clear()
    make_groups()
    assert not Group.objects.get(name="Operators").permissions.exists()


@pytest.mark.django_db
def test_the_admin_has_no_door_of_its_own(client: Client) -> None:
    answer = client.get("/admin/", follow=True)
    assert "sign-in" in answer.redirect_chain[-1][0]


@pytest.mark.django_db
def test_the_deployment_checks_find_the_site_usable() -> None:
    call_command("check", database=["default"])
