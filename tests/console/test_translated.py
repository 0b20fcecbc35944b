"""Does a translation reach every page, panel and script, and only the person who asked for it?"""

import html
import re
from collections.abc import Iterator
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client, override_settings

from audit.models import AuditEvent
from benchmarks.console_addresses import addresses
from console.rendering import bodies
from tests.console import pseudo
from tests.console.everything import EVERYBODY, make_everything
from tests.console.sample import Sample
from tests.console.test_open_forms import CASES, Case

UNREAD = {"script", "style", "code", "kbd", "samp", "pre"}


@pytest.fixture(scope="module")
def locale(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pseudo.made(tmp_path_factory.mktemp("pseudo"))


@pytest.fixture
def person(locale: Path, cast: dict[str, User], rows: Sample, now: datetime) -> Iterator[Client]:
    """Somebody who may see everything, of whose language there is a translation."""
    client = Client(headers={"Accept-Language": f"{pseudo.CODE},en;q=0.5"})
    client.force_login(make_everything(now))
    with override_settings(LANGUAGES=[("en", "English"), (pseudo.CODE, "Marked")], LOCALE_PATHS=[locale]):
        bodies.forget()
        yield client
    bodies.forget()


class _Read(HTMLParser):
    """The texts between tags, but for those that are no words of ours."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unread += tag in UNREAD

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in UNREAD

    def handle_data(self, data: str) -> None:
        if not self._unread and data.strip():
            self.texts.append(" ".join(data.split()))


def read(page: str) -> list[str]:
    reader = _Read()
    reader.feed(page)
    return reader.texts


def test_what_is_collected(locale: Path) -> None:
    texts = pseudo.collected(locale)
    assert {"Overview", "Waiting for approval"} <= texts
    assert "Zoom in" in pseudo.collected(locale, "djangojs")


STORED = frozenset({"Checkpoint saved", "cancelled", "all clusters"})
"""Sentences of the trail, names of rules and places, which are also words of ours somewhere."""


def test_no_text_of_ours_is_left_in_english(person: Client, locale: Path) -> None:
    texts = pseudo.collected(locale)
    left: list[str] = []
    for name, address in addresses():
        answer = person.get(address)
        assert answer.status_code == 200, (name, answer.content[:500])
        if name == "api":  # the document of the API, in English
            continue
        if "html" in answer["Content-Type"]:
            plain = {text for text in read(pseudo.MARKED.sub("⟦⟧", answer.text)) if text in texts - STORED}
            left += [f"{name}: {text}" for text in sorted(plain)]
    assert not left, "\n".join(left)


def test_nothing_is_translated_twice(person: Client) -> None:
    """A part of a sentence may be translated by itself, a whole one not again."""
    twice = re.compile(r"⟦⟦[^⟦⟧]*⟧⟧")
    for name, address in addresses():
        found = [text for text in read(person.get(address).text) if twice.search(html.unescape(text))]
        assert found == [], name


def test_each_person_reads_his_own_language(person: Client) -> None:
    english = Client()
    english.force_login(User.objects.get(username=EVERYBODY))
    for address in ("/", "/panels/at_a_glance", "/panels?of=/panels/at_a_glance", "/texts.js"):
        assert "⟦" in _text(person, address), address
        assert "⟦" not in _text(english, address), address
        assert "⟦" in _text(person, address), address


def _text(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.text.replace(r"\u27e6", "⟦")  # as JSON and scripts write it


def test_the_page_says_its_language(person: Client) -> None:
    assert f'<html lang="{pseudo.CODE}"' in person.get("/").text


def test_a_language_that_is_not_there_is_english(person: Client) -> None:
    assert '<html lang="en"' in person.get("/", headers={"Accept-Language": "tlh"}).text


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_stored_stays_english(case: Case, person: Client, rows: Sample) -> None:
    """Whatever a person reads, what is stored is the same for all: it is signed, searched and exported."""
    before = AuditEvent.objects.count()
    case.deed(person, rows)
    assert AuditEvent.objects.count() > before
    assert dict(_stored_marks()) == {}


def _stored_marks() -> Iterator[tuple[str, object]]:
    for model in apps.get_models():
        for row in model._default_manager.values():
            yield from ((f"{model._meta.label}.{name}", value) for name, value in row.items() if "⟦" in str(value))
