"""Who may read whole logs, and what does everybody else see of one?"""

from datetime import datetime
from pathlib import Path

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from detectors.models import Excerpt
from recovery_site import groups
from recovery_site.groups import GROUPS, READ_LOGS, make_groups, note_permissions
from tests.console.test_job_log import LINES, attempt, lines_in, log, page
from workloads.models import Attempt

__all__ = ["attempt", "log"]  # fixtures
ASK = "Whole logs are for Operators and Administrators; you may read what was kept around the evidence."


def client_of(role: str) -> Client:
    person = User.objects.create_user(f"a {role}", is_superuser=role == "superuser")
    if role in GROUPS:
        person.groups.add(Group.objects.get(name=role))
    client = Client()
    if role != "nobody":
        client.force_login(person)
    return client


@pytest.mark.parametrize(
    ("role", "whole", "status"),
    [
        ("nobody", False, 302),
        ("viewer", False, 403),
        ("Operators", True, 200),
        ("Administrators", True, 200),
        ("superuser", True, 200),
    ],
)
@pytest.mark.parametrize("query", ["", "?at=5000", "?from=0", "?before=9000", "?q=loss"])
def test_who_pages_through_a_whole_log(role: str, whole: bool, status: int, query: str, log: Path) -> None:
    client = client_of(role)
    if status == 302:
        assert client.get("/jobs/demo/4711/0/attempts/1/logs").status_code == 302
        return
    text = page(client, log, query, status)
    assert bool(lines_in(text)) is whole
    assert (ASK in text) is not whole
    if not whole:
        assert "An administrator of this site grants more" in text and "loss 2." not in text


@pytest.mark.parametrize("role", ["viewer", "Operators"])
def test_what_was_kept_around_the_evidence_is_for_everybody(
    role: str, attempt: Attempt, log: Path, now: datetime
) -> None:
    client = client_of(role)
    copy = Excerpt.objects.create(
        attempt=attempt, stream=str(log), offset=700, text="kept\nitself\n", why="evidence", kept_at=now
    )
    shown = client.get(f"/jobs/demo/4711/0/log/{copy.pk}?at=705")
    assert shown.status_code == 200 and ASK not in shown.content.decode()
    assert lines_in(shown.content.decode()) == [(700, "kept"), (705, "itself")]
    text = page(client, log, "?at=705")
    found = lines_in(text)
    if role == "viewer":
        assert found == [(700, "kept"), (705, "itself")] and ASK in text
        assert ">The log itself</a>" not in text
        text = page(client, log, "?at=99999")
        assert lines_in(text) == found and "Byte 99999 is not in this copy" in text
    else:
        assert LINES[0] in [line for _at, line in found]


def test_the_list_says_who_may_read_them(log: Path) -> None:
    address = "/jobs/demo/4711/0/attempts/1/logs"
    assert "Can read whole logs of jobs" in client_of("viewer").get(address).content.decode()
    assert "Can read whole logs of jobs" not in client_of("Operators").get(address).content.decode()


def test_a_permission_that_comes_with_a_migration_goes_to_the_groups_that_exist(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    operators = Group.objects.get(name="Operators")
    operators.permissions.clear()
    monkeypatch.setattr(groups, "_known", set())
    Permission.objects.filter(codename="view_job_log").update(codename="not_there_yet")
    note_permissions()
    Permission.objects.filter(codename="not_there_yet").update(codename="view_job_log")
    make_groups()
    held = operators.permissions.values_list("content_type__app_label", "codename")
    assert {".".join(pair) for pair in held} == {READ_LOGS}, "the others were taken away by an administrator"
    operators.permissions.clear()
    note_permissions()
    make_groups()
    assert not operators.permissions.exists(), "and this one can be, too"
