"""Which body does each kind of receiver understand? Pure; what is hostile in one of them is made harmless there.

Slack: the shape of incoming webhooks, https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks.
Alertmanager: its API (v2, what Prometheus posts) and its webhooks (version 4, what it posts itself),
https://prometheus.io/docs/alerting/latest/configuration/#webhook_config.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from advisor_api.notifying.message import Message

FORM = "rekindle.notification/1"
FIRES = timedelta(hours=1)
"""How long Alertmanager shows what it is told of: nothing tells it that it is over."""
HEADER_LIMIT, SECTION_LIMIT = 150, 3000  # characters that Slack takes
_GAP = "\u200b"  # has no width: the text looks the same and is none of the receiver's signs any more


def harmless(text: str) -> str:
    """Text that mentions nobody and links nowhere, wherever it is passed on to."""
    for sign in ("<!", "<@", "<#", "](", "://", "@", "${", "{{"):
        text = text.replace(sign, f"{sign[0]}{_GAP}{sign[1:]}")
    return text


def _mrkdwn(text: str) -> str:
    """Slack's own escape: three signs, of which mentions and links are made."""
    return harmless(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def webhook(message: Message) -> Any:
    """Ours: everything, as JSON values."""
    return {
        "form": FORM,
        "key": message.key,
        "route": message.route,
        "topic": message.topic,
        "level": message.level,
        "cluster": message.cluster,
        "would": message.would,
        "count": message.count,
        "more": message.more,
        "title": message.title,
        "text": message.text,
        "link": message.link,
        "first_at": message.first_at.isoformat(),
        "last_at": message.last_at.isoformat(),
        "items": [{**item, "link": message.base + item["path"]} for item in message.items],
    }


def slack(message: Message) -> Any:
    """An incoming webhook of Slack, or of what takes its shape. Text from outside is plain text, without marks."""
    said = "\n".join(f"• {item['sentence']}" for item in message.items[:5])
    rest = message.count - min(len(message.items), 5)
    more = f"\n… and {rest} more" if rest > 0 else ""
    where = f"<{message.link}|Open in Rekindle> · {_mrkdwn(message.cluster)} · {message.level}"
    return {
        "text": _mrkdwn(message.title),
        "mrkdwn": False,
        "parse": "none",
        "link_names": False,
        "unfurl_links": False,
        "blocks": [
            {"type": "header", "text": _plain(message.title, HEADER_LIMIT)},
            {"type": "section", "text": _plain(f"{said}{more}", SECTION_LIMIT)},
            {"type": "context", "elements": [{"type": "mrkdwn", "text": where}]},
        ],
    }


def alertmanager(message: Message) -> Any:
    """What Alertmanager's API takes: one for each message, by its key, so that no two become one."""
    return [
        {
            "labels": {**_labels(message), "rekindle_key": message.key},
            "annotations": {
                "summary": harmless(message.title),
                "description": _with_links(message),
                "count": str(message.count),
            },
            "startsAt": message.last_at.isoformat(),
            "endsAt": (message.last_at + FIRES).isoformat(),
            "generatorURL": message.link,
        }
    ]


def receiver(message: Message) -> Any:
    """What Alertmanager posts to a webhook (version 4): one entry for each thing that is named."""
    labels = _labels(message)
    return {
        "version": "4",
        "groupKey": f"{{}}:{{rekindle_key={message.key!r}}}",
        "truncatedAlerts": message.more,
        "status": "firing",
        "receiver": message.route,
        "groupLabels": {"rekindle_key": message.key},
        "commonLabels": labels,
        "commonAnnotations": {"summary": harmless(message.title)},
        "externalURL": message.base,
        "alerts": [
            {
                "status": "firing",
                "labels": {**labels, "attempt": item["attempt"], "node": harmless(item["node"])},
                "annotations": {"summary": harmless(message.title), "description": harmless(item["sentence"])},
                "startsAt": item["at"],
                "endsAt": "0001-01-01T00:00:00Z",
                "generatorURL": message.base + item["path"],
                "fingerprint": f"{message.key[:12]}{number:04x}",
            }
            for number, item in enumerate(message.items)
        ],
    }


def _plain(text: str, limit: int) -> Mapping[str, Any]:
    shown = harmless(text)
    cut = shown if len(shown) <= limit else f"{shown[: limit - 1]}…"
    return {"type": "plain_text", "text": cut, "emoji": False}


def _with_links(message: Message) -> str:
    """The text, in which only addresses of our own are still such."""
    return harmless(message.text).replace(harmless(message.base), message.base)


def _labels(message: Message) -> dict[str, str]:
    return {
        "alertname": f"Rekindle{message.topic.title()}",
        "cluster": message.cluster,
        "severity": message.level,
        "topic": message.topic,
        "mode": "monitor" if message.would else "",
    }


SHAPES: Mapping[str, Callable[[Message], Any]] = {
    "webhook": webhook,
    "slack": slack,
    "alertmanager": alertmanager,
    "receiver": receiver,
}
