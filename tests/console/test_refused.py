"""Does each page that has nothing to show say what it is, and what to do?"""

import re
from collections.abc import Iterator

import pytest
from django.db import OperationalError
from django.template.loader import render_to_string
from django.test import Client

from console.urls import urlpatterns
from console.views import pages
from console.views.refused import WAYS
from tests.console.sample import Sample

GONE = "00000000-0000-0000-0000-000000000000"


def main_of(text: str) -> str:
    return re.sub(r"\s+", " ", text.partition("<main")[2])


@pytest.mark.parametrize(
    ("address", "title", "said", "link"),
    [
        ("/nothing", "Nothing is here", "The address is wrong", 'href="/"'),
        (
            "/jobs/demo/99999/0",
            "There is no such job",
            "There is no job of that number on this cluster.",
            'href="/jobs?q=99999&amp;state=every"',
        ),
        ("/jobs/demo/99999", "There is no such job", "no job of that number", "/jobs?q=99999&amp;state=every"),
        ("/jobs/nowhere/1/0", "There is no such job", "There is no cluster of that name.", 'href="/jobs?q=1&amp;'),
        (f"/incidents/{GONE}", "There is no such incident", "There is no such incident.", 'href="/incidents"'),
        ("/nodes/demo/n9%3Cb%3E", "There is no such node", "no node of that name", 'href="/nodes?q=n9%3Cb%3E"'),
        ("/clusters/nowhere", "There is no such cluster", "no cluster of that name", 'href="/clusters"'),
        ("/jobs/demo/4711/0/log/99999", "This copy of a log is not there", "no such copy", "/jobs/demo/4711/0"),
        ("/jobs/demo/4711/0/attempts/9/logs", "This log is not there", "no such attempt", "/jobs/demo/4711/0"),
        ("/approvals/99999", "There is no such advice", "There is no such advice.", 'href="/approvals"'),
        ("/notifications/99999", "There is no such message", "no such message", 'href="/notifications"'),
        (f"/audit/{GONE}", "There is no such event", "", 'href="/audit"'),
    ],
)
def test_what_is_not_there_is_named_with_where_to_look(
    address: str, title: str, said: str, link: str, as_operator: Client, rows: Sample
) -> None:
    answer = as_operator.get(address)
    assert answer.status_code == 404
    text = main_of(answer.content.decode())
    assert f'<h1 class="page-title">{title}</h1>' in text
    assert said in text and link in text and "Go to the overview" in text


def test_the_ways_begin_as_addresses_do() -> None:
    names = [str(one.name) for one in urlpatterns]
    for begins, _title, _way in WAYS:
        assert any(name.startswith(begins) for name in names), begins


@pytest.mark.parametrize("address", ["/clusters/demo/mode", "/approvals/several", "/clusters/demo/exclude/n01"])
def test_who_may_not_is_told_who_may(address: str, as_viewer: Client, rows: Sample) -> None:
    answer = as_viewer.get(address)
    assert answer.status_code == 403
    text = main_of(answer.content.decode())
    assert "You are signed in as <b>viewer</b>" in text and "Nothing was changed." in text
    assert "Ask an administrator of this site" in text and "<b>Operators</b> decide on advice" in text


def test_a_stranger_is_led_to_the_door(client: Client, db: None) -> None:
    text = main_of(client.get("/nothing").content.decode())
    assert 'href="/sign-in"' in text and "overview" not in text


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Exception]]:
    """The next panel breaks by this."""
    errors: list[Exception] = []

    def broken(*_args: object, **_named: object) -> None:
        raise errors[0]

    monkeypatch.setattr(pages, "page", broken)
    yield errors


@pytest.mark.parametrize(
    ("error", "status", "title"),
    [
        (
            OperationalError(2002, "Can't connect to server on 'db.example.org'"),
            503,
            "The database does not answer",
        ),
        (ValueError("a secret of the inside"), 500, "Something broke"),
    ],
)
def test_a_fault_says_what_it_is_and_nothing_of_the_inside(
    error: Exception, status: int, title: str, as_viewer: Client, breaking: list[Exception]
) -> None:
    breaking.append(error)
    as_viewer.raise_request_exception = False
    answer = as_viewer.get("/")
    assert answer.status_code == status
    assert answer.get("Retry-After") == ("10" if status == 503 else None)
    text = answer.content.decode()
    assert f'<h1 class="page-title">{title}</h1>' in text and "Jobs run on" in text
    assert "example.org" not in text and "secret" not in text
    assert "console/console" in text and "console/theme" in text, "in the frame of the console"


def test_an_old_form_says_so_in_the_frame(rows: Sample, as_operator: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = as_operator.cookies
    answer = strict.post("/approvals/several", {"decision": "approve"})
    assert answer.status_code == 403
    text = answer.content.decode()
    assert "The form was too old" in text and "Nothing was changed." in text and "console/console" in text


@pytest.mark.parametrize("template", ["400.html", "500.html", "403_csrf.html"])
def test_the_pages_of_a_fault_need_nothing(template: str) -> None:
    text = render_to_string(template)
    assert 'href="/"' in text and "<h1" in text and text.count("<main") == 1
