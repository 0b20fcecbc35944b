"""Does the page of the API describe all of it, and fetch nothing from elsewhere?"""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from advisor_api.described import document
from advisor_api.wire.examples import EXAMPLES
from console.api_pages import operations, schemas, type_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def page() -> str:
    client = Client()
    client.force_login(User.objects.create_user("vera"))
    answer = client.get("/api")
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    return answer.content.decode()


def test_it_is_for_those_who_are_signed_in() -> None:
    answer = Client().get("/api")
    assert (answer.status_code, answer.headers["Location"]) == (302, "/sign-in?next=/api")


def test_every_operation_and_every_form_stands_there_with_what_it_leads_to(page: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    described = document()
    for path, methods in described["paths"].items():
        assert path in page
        assert {each["operationId"] for each in methods.values()} <= set(ids)
    assert {f"schema-{name}" for name in described["components"]["schemas"]} <= set(ids)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(ids)


def test_every_operation_shows_an_answer_and_every_body_a_request(page: str) -> None:
    for each in (one for topic in operations(document()).values() for one in topic):
        assert each.example or "answer" not in EXAMPLES[each.name], each.name
        assert each.example in unescape(page)
        assert bool(each.body) <= bool(each.request), each.name


def test_nothing_comes_from_elsewhere_and_nothing_stands_inline(page: str) -> None:
    assert not re.findall(r'(?:src|href)="(?:https?:)?//', page)
    assert not re.findall(r"<style|style=|onclick=|<script(?![^>]* src=)", page)


def test_the_console_leads_to_it(page: str) -> None:
    assert re.search(r'<a href="/api" data-key="v"[^>]*>Advisor API</a>', page)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["string", "null"], "format": "date-time"}, "date-time or null"),
        ({"type": "string", "minLength": 1, "maxLength": 256}, "string, 1 to 256 characters"),
        ({"type": "integer", "minimum": 1, "maximum": 250, "default": 100}, "integer, 1 to 250, default 100"),
        (
            {"type": "array", "items": {"$ref": "#/components/schemas/Job"}, "maxItems": 9},
            "list of Job, at most 9 entries",
        ),
        ({"enum": ["a", "b", None]}, "a | b | null"),
        ({"oneOf": [{"$ref": "#/components/schemas/Job"}, {"type": "null"}]}, "Job or null"),
        ({"type": "integer", "minimum": 0}, "integer, at least 0"),
        ({}, "anything"),
    ],
)
def test_types_in_words(schema: dict[str, Any], words: str) -> None:
    assert type_of(schema) == words


def test_forms_that_lead_on_say_where_to() -> None:
    job = next(each for each in schemas(document()) if each.name == "JobAnswer")
    assert [(each.name, each.schema) for each in job.fields] == [("job", "Job")]
