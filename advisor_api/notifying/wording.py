"""How is a message worded? A title and a text for each topic, which a route may replace by templates of its own.

A template is text with `$name` in it (`NAMES`), no more: it calls nothing, and what is put in is not read again.
"""

from collections.abc import Mapping, Sequence
from string import Template
from typing import Any

from advisor_api.notifying.topic import NotificationTopic as Topic

TITLE_LIMIT, TEXT_LIMIT = 200, 6000  # characters
NAMES = ("cluster", "count", "first", "headline", "level", "lines", "link", "more", "route", "since", "topic")
TITLE = "[$cluster] $headline"
TEXT = "$headline\n\n$lines\n$more\nCluster $cluster, $topic, since $since.\n$link\n"
_HEADLINES: Mapping[tuple[str, bool], tuple[str, str]] = {
    (Topic.APPROVAL, False): ("Somebody is asked: $first", "$count decisions wait for a person"),
    (Topic.APPROVAL, True): ("Monitor mode: $first", "Monitor mode: a person would be asked $count times"),
    (Topic.ACTION, False): ("Acted: $first", "Acted on $count attempts"),
    (Topic.ACTION, True): ("Monitor mode: $first", "Monitor mode: would act on $count attempts"),
    (Topic.STOP, False): ("Stopped: $first", "Stopped $count attempts"),
    (Topic.STOP, True): ("Monitor mode: $first", "Monitor mode: would stop $count attempts"),
    (Topic.BLIND, False): ("$first", "Blind in $count places"),
    (Topic.INCIDENT, False): ("Shared cause: $first", "$count incidents with a shared cause"),
    (Topic.FAILED, False): ("$first", "$count actions or recoveries failed"),
    (Topic.TEST, False): ("$first", "$first"),
}


def unknown_names(template: str) -> str:
    """What is wrong with a template, as a sentence; empty when it can be used."""
    parsed = Template(template)
    if not parsed.is_valid():
        return "A lone $ stands in it: write $$ for the sign itself."
    strange = sorted(set(parsed.get_identifiers()) - set(NAMES))
    return f"{strange[0][:40]!r} is not known; known are {', '.join(NAMES)}." if strange else ""


def worded(template: str, values: Mapping[str, str], limit: int) -> str:
    """The template with the values in it, cut to `limit` characters."""
    return Template(template).safe_substitute(values)[:limit]


def headline(topic: str, would: bool, count: int, first: str) -> str:
    """`Somebody is asked: Restart 12345-0 without n03: …`, or `37 decisions wait for a person`."""
    one, many = _HEADLINES.get((topic, would), ("$first", "$first and $count others"))
    return worded(one if count == 1 else many, {"first": first, "count": str(count)}, TITLE_LIMIT * 2)


def lines(items: Sequence[Mapping[str, Any]], base: str) -> str:
    """Each thing on a line of its own, with its page below it."""
    return "\n".join(f"- {item['sentence']}\n  {base}{item['path']}" for item in items)
