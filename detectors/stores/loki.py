"""How is Grafana Loki asked for lines, and what do its answers mean?

Observed: `end` is exclusive, times are 19-digit nanoseconds (13 digits are misread as 1970), a forward page holds
the globally oldest lines, too large a limit is refused with the largest in the text, errors are plain text.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from detectors.stores.labels import listed
from detectors.stores.store import (
    Answer,
    Filter,
    Line,
    Question,
    Request,
    StoreTrouble,
    TooMany,
    TooSlow,
    key_of,
    refused,
)

PAGE, INSTANT = 2_000, 5_000  # 5,000 is `max_entries_limit_per_query` by default
_TOO_MANY = re.compile(r"max entries limit.*\(\d+ > (\d{1,9})\)")


class Loki:
    """`GET /loki/api/v1/query_range`."""

    name = "loki"
    title = "Loki"
    page = PAGE
    instant = INSTANT
    settles_seconds = 5  # readable at once; the rest is for shippers

    def request(self, selector: str, tenant: str, question: Question) -> Request:
        """One forward page. Without `no-cache` a window found empty with a filter may stay empty (observed)."""
        headers = {"X-Loki-Response-Encoding-Flags": "categorize-labels", "Cache-Control": "no-cache"}
        headers |= _tenant(tenant)
        params = {
            "query": selector + "".join(_filter(one) for one in question.filters),
            "start": str(question.start),
            "end": str(question.end),
            "limit": str(question.limit),
            "direction": "forward",
        }
        return Request("/loki/api/v1/query_range", params, headers)

    def lines(self, answer: Answer) -> Sequence[Line]:
        """The lines over all streams, ordered by time."""
        if answer.status != 200:
            raise _refusal(answer)
        try:
            body = json.loads(answer.body)
            if body["status"] != "success" or body["data"]["resultType"] != "streams":
                raise StoreTrouble("Loki answered with numbers and not with lines: the selector must select lines")
            found = [line for stream in body["data"]["result"] for line in _lines(stream)]
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            raise StoreTrouble("Loki's answer cannot be understood: is this the address of a Loki?") from None
        return sorted(found, key=lambda line: line.ns)

    def names_request(self, tenant: str, start: int, end: int) -> Request:
        """Structured metadata is not listed (observed): only lines tell of it."""
        return Request("/loki/api/v1/labels", {"start": str(start), "end": str(end)}, _tenant(tenant))

    def names(self, answer: Answer) -> Sequence[str]:
        """`service_name` is Loki's own."""
        return [name for name in listed(self.title, answer, "data") if name != "service_name"]

    def values_request(self, name: str, tenant: str, start: int, end: int) -> Request:
        """The name stands in the path."""
        path = f"/loki/api/v1/label/{quote(name, safe='')}/values"
        return Request(path, {"start": str(start), "end": str(end)}, _tenant(tenant))

    def values(self, answer: Answer) -> Sequence[str]:
        """Of an unknown label: none."""
        return listed(self.title, answer, "data")

    def having(self, label: str) -> str:
        """Loki asks for one matcher that no empty value fits."""
        return f'{{{label}!=""}}'


def _tenant(tenant: str) -> dict[str, str]:
    return {"X-Scope-OrgID": tenant} if tenant else {}


def _filter(one: Filter) -> str:
    return f" {'|=' if one.wanted else '!='} {json.dumps(one.text)}"


def _lines(stream: Any) -> Iterator[Line]:
    labels = {str(name): str(value) for name, value in stream["stream"].items()}
    for value in stream["values"]:
        own = value[2].get("structuredMetadata", {}) if len(value) > 2 else {}
        every = {**labels, **{str(name): str(text) for name, text in own.items()}}
        ns, text = int(value[0]), str(value[1])
        yield Line(ns, text, every, key_of(ns, text, every))


def _refusal(answer: Answer) -> StoreTrouble:
    trouble = refused(Loki.title, answer)
    found = _TOO_MANY.search(answer.body[:1000].decode("utf-8", "replace"))
    if answer.status == 400 and found and int(found[1]) > 0:
        return TooMany(str(trouble), int(found[1]))
    return TooSlow(str(trouble)) if answer.status == 504 else trouble
