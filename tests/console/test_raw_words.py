"""Does every page speak in words, and never in names of the code or half a plural?

A name of the code may stand in `<code>` (or in a log) alone: where a person has to type it.
"""

import re
from datetime import datetime
from html.parser import HTMLParser

import pytest
from django.contrib.auth.models import User
from django.test import Client

from advisor_api.models import Advice
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.trail import Actor, Entry, Subject, record
from benchmarks.console_addresses import addresses
from console.plain_words import coded, node_state, spoken, with_unit
from console.rendering import bodies
from tests.console.everything import make_everything
from tests.console.sample import Sample
from workloads.models import Cluster, Job, Node

QUIET = frozenset({"code", "pre", "script", "style", "textarea", "kbd"})
EMPTY = frozenset({"input", "br", "link", "meta", "img", "hr"})
READ_ALOUD = ("title", "aria-label", "placeholder", "data-failed")
RAW = (
    re.compile(r"\b[a-z]+_[a-z_]+\b"),
    re.compile(r"\w*\(e?s\)"),
    re.compile(r"\b[0-9]{3,} seconds\b"),
    re.compile(r"\b[a-z]+\+[a-z]+\b"),
)


class Spoken(HTMLParser):
    """What a person reads or hears of a page, without what stands in code and logs."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.said: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in EMPTY:
            self.open.append(tag)
        if not QUIET & set(self.open):
            self.said += [value for name, value in attrs if name in READ_ALOUD and value]

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not QUIET & set(self.open) and data.strip():
            self.said.append(" ".join(data.split()))


def heard(html: str) -> list[str]:
    """Each text of a page by itself."""
    parser = Spoken()
    parser.feed(html)
    return parser.said


def raw_in(html: str) -> list[str]:
    return [text for text in heard(html) if any(shape.search(text) for shape in RAW)]


@pytest.fixture
def person(cast: dict[str, User], rows: Sample, now: datetime) -> User:
    """Everything, with what schedulers, rules and policies call things."""
    Node.objects.filter(name__in=["n05", "n01"]).update(state="DOWN+NOT_RESPONDING", available=False)
    Node.objects.filter(name="n04").update(state="idle*+CLOUD")
    Job.objects.update(opt_in_error="`APS.max_requeue_times` must be a whole number from 0, not 'x'.")
    Cluster.objects.filter(name="far-away").update(log_roots=[])
    Advice.objects.update(rule="same_cause_too_often")
    for kind in ActorKind:
        subject = Subject("demo", 4711, 0, 0, None, "n01")
        record([Entry(EventType.INTENT, subject, Actor(kind, "named_node" if kind == "rule" else "o"), "s")], now)
    change = {"before": {"exclusion_seconds": 60}, "after": {"exclusion_seconds": 86400}}
    record(
        [Entry(EventType.CONFIGURATION, Subject("demo"), Actor(ActorKind.PERSON, "o"), "c", payload=change)], now
    )
    return make_everything(now)


NO_PAGES = {
    "api": "the reference of the Advisor API: names are what a program types",
    "job-curves": "numbers for a script",
    "texts": "texts for a script",
}


def test_no_page_shows_a_name_of_the_code(person: User) -> None:
    client = Client()
    client.force_login(person)
    raw = {}
    for name, address in addresses():
        bodies.forget()
        answer = client.get(address)
        assert answer.status_code == 200, name
        if name not in NO_PAGES and (found := raw_in(answer.content.decode())):
            raw[name] = found
    assert not raw, "\n".join(f"{name}: {texts}" for name, texts in raw.items())


def test_values_of_a_policy_have_their_unit(person: User) -> None:
    client = Client()
    client.force_login(person)
    text = " ".join(client.get("/policy").content.decode().split())
    assert '1 d <code class="note">86400</code>' in text and '5 % <code class="note">0.05</code>' in text
    assert 'yes <code class="note">1</code>' in text and "<code>max_requeue_times</code>" in text


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("down+not_responding", "down, not responding"),
        ("DOWN+NOT_RESPONDING", "down, not responding"),
        ("idle*", "idle, not responding"),
        ("down*+not_responding", "down, not responding"),
        ("mixed+drain", "mixed, drain"),
        ("idle~", "idle"),
        ("", ""),
    ],
)
def test_the_state_of_a_node_is_said_in_words(state: str, told: str) -> None:
    assert node_state(state) == told


@pytest.mark.parametrize(
    ("value", "name", "told"),
    [
        (86400, "exclusion_seconds", "1 d"),
        (0.05, "policy.max_excluded_share", "5 %"),
        (0.93, "facts.confidence", "93 %"),
        (1, "act_on_data", "yes"),
        (True, "facts.live", "yes"),
        (3, "max_requeues", "3"),
        (None, "max_requeues", "None"),
        ("a_b", "facts.user", "a_b"),
    ],
)
def test_a_value_is_said_with_its_unit(value: object, name: str, told: str) -> None:
    assert with_unit(value, name) == told


def test_only_names_of_ours_are_respelt() -> None:
    assert (spoken("named_node"), spoken("facts.node_count")) == ("named node", "node count")
    assert (spoken("Ana_B"), spoken("<b>a_b</b>"), spoken("")) == ("Ana_B", "<b>a_b</b>", "")


def test_code_in_a_sentence_is_set_apart_and_nothing_gets_through() -> None:
    assert coded("`a<b>` or max_x is <i>") == "<code>a&lt;b&gt;</code> or <code>max_x</code> is &lt;i&gt;"
