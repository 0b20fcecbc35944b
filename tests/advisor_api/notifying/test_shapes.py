"""Does each shape carry the message, and does nothing hostile act in any of them?"""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from advisor_api.notifying.message import Message, Thing, clean
from advisor_api.notifying.shapes import SHAPES, alertmanager, receiver, slack, webhook
from advisor_api.notifying.wording import unknown_names, worded

AT = datetime(2026, 11, 29, 10, 0, tzinfo=UTC)
BASE = "https://rekindle.example.org"
MARKS = "[click](https://evil.example/x) <https://evil.example|ok> *b* `c` {{ .X }}"
HOSTILE = f"<!channel> <@U1> @here {MARKS} \x1b[31m\u202e"
THING = Thing("blind:1", "blind", "warning", "demo", HOSTILE, "/jobs/demo/1/0", AT, attempt="1-0", node="n<!here>")
MESSAGE = Message(
    key="k" * 32,
    route="ops",
    topic="blind",
    level="warning",
    cluster="demo",
    would=False,
    count=12,
    title=clean(f"[demo] {HOSTILE}", 200),
    text=f"{clean(HOSTILE)}\n{BASE}/jobs/demo/1/0",
    link=f"{BASE}/jobs/demo/1/0",
    base=BASE,
    first_at=AT,
    last_at=AT,
    items=(THING.as_item(), THING.as_item()),
)


def texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in texts(one)]
    return [value] if isinstance(value, str) else []


def test_slack_gets_no_mention_no_link_and_no_mark() -> None:
    body = slack(MESSAGE)
    header, section, context = body["blocks"]
    assert (header["text"]["type"], section["text"]["type"]) == ("plain_text", "plain_text")
    assert len(header["text"]["text"]) <= 150
    assert (body["parse"], body["link_names"], body["mrkdwn"]) == ("none", False, False)
    assert "<" not in body["text"]
    assert context["elements"][0]["text"] == f"<{BASE}/jobs/demo/1/0|Open in Rekindle> · demo · warning"
    assert "… and 10 more" in section["text"]["text"]


@pytest.mark.parametrize("shape", [slack, alertmanager, receiver])
def test_what_is_passed_on_acts_nowhere(shape: Any) -> None:
    for text in texts(shape(MESSAGE)):
        ours = text.replace(f"<{BASE}/jobs/demo/1/0|Open in Rekindle>", "").replace(BASE, "")
        for acts in ("<!", "<@", "](", "@h", "https://", "{{", "\x1b", "\u202e"):
            assert acts not in ours, (acts, ours)


def test_alertmanager_takes_one_for_each_message() -> None:
    (one,) = alertmanager(MESSAGE)
    assert one["labels"]["alertname"] == "RekindleBlind"
    assert one["labels"]["rekindle_key"] == MESSAGE.key
    assert (one["labels"]["severity"], one["annotations"]["count"]) == ("warning", "12")
    assert one["endsAt"] > one["startsAt"]
    assert f"{BASE}/jobs/demo/1/0" in one["annotations"]["description"]
    assert all(isinstance(value, str) for value in (*one["labels"].values(), *one["annotations"].values()))


def test_a_receiver_gets_version_4_with_what_was_left_out() -> None:
    body = receiver(MESSAGE)
    assert (body["version"], body["status"], body["truncatedAlerts"]) == ("4", "firing", 10)
    assert [one["fingerprint"] for one in body["alerts"]] == ["k" * 12 + "0000", "k" * 12 + "0001"]
    assert body["alerts"][0]["labels"]["attempt"] == "1-0"


def test_the_webhook_says_everything() -> None:
    body = webhook(replace(MESSAGE, would=True))
    assert (body["form"], body["would"], body["count"], body["more"]) == ("rekindle.notification/1", True, 12, 10)
    assert body["items"][0]["link"] == f"{BASE}/jobs/demo/1/0"


@pytest.mark.parametrize("shape", SHAPES.values())
def test_every_shape_is_json_of_bounded_size(shape: Any) -> None:
    huge = Thing("x", "blind", "warning", "demo", "<!channel>" * 10_000, "/x", AT, node="n" * 9000)
    message = replace(MESSAGE, items=(huge.as_item(),) * 10, count=10**6, text=clean("<" * 90_000, 6000))
    assert len(json.dumps(shape(message), allow_nan=False)) < 60_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Subject\r\nBcc: evil@example.org", "Subject⟨CR⟩⟨LF⟩Bcc: evil@example.org"),
        ("api_key=abcdef0123456789 failed", "api_key=[masked] failed"),
        ("hf_" + "a" * 30, "[masked]"),
        ("a\tb\0c\ud800", "a b\N{REPLACEMENT CHARACTER}c\N{REPLACEMENT CHARACTER}"),
        ("", ""),
    ],
)
def test_text_is_one_line_without_secrets(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_a_secret_at_the_border_is_masked_before_the_cut() -> None:
    assert "abcdef" not in clean("x" * 390 + " password=abcdefghijklmnop")


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("$cluster: $count", ""),
        ("$$ ${link}", ""),
        ("$pasword", "'pasword' is not known"),
        ("costs $ 5", "A lone $"),
        ("${first.__class__}", "A lone $"),
    ],
)
def test_templates_know_names_and_nothing_else(template: str, said: str) -> None:
    assert unknown_names(template).startswith(said)
    assert bool(unknown_names(template)) == bool(said)


def test_what_is_put_in_is_not_read_again() -> None:
    assert worded("$first", {"first": "$cluster ${x", "cluster": "demo"}, 100) == "$cluster ${x"
