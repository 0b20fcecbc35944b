"""How is VictoriaLogs asked for lines, and what do its answers mean?

Observed: only a time filter in the query is half-open, a page is the oldest lines only after `sort`, equal lines of
one instant are all kept, an empty line comes back as a sentence, and a body may break off behind status 200.
"""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from detectors.stores.labels import VALUES_LIMIT, listed
from detectors.stores.store import (
    SECOND,
    Answer,
    Filter,
    Line,
    Question,
    Request,
    StoreTrouble,
    TooSlow,
    key_of,
    refused,
)

PAGE, INSTANT = 2_000, 20_000  # the store itself has no largest limit
EMPTY = "missing _msg field; see https://docs."
"""How the default of `-defaultMsgValue` begins, which stands for a line without text."""
SLOW = b"couldn't be executed in"  # a store that is only busy says "couldn't start executing"
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z\Z")
_OR = re.compile(r"\bor\b", re.IGNORECASE)


class VictoriaLogs:
    """`GET /select/logsql/query`."""

    name = "victorialogs"
    title = "VictoriaLogs"
    page = PAGE
    instant = INSTANT
    settles_seconds = 15  # visible after 1.5 s; a new stream asked for too early stays empty for up to 10 s

    def request(self, selector: str, tenant: str, question: Question) -> Request:
        """One page by time: pages by offset move when a late line comes."""
        wanted = f"({selector})" if _OR.search(selector) else selector
        window = f"_time:[{stamp_of(question.start)}, {stamp_of(question.end)})"
        filters = "".join(_filter(one) for one in question.filters)
        query = f"{wanted} {window}{filters} | sort by (_time, _stream_id, _msg) limit {question.limit}"
        return Request("/select/logsql/query", {"query": query, "timeout": "10s"}, _tenant(tenant))

    def lines(self, answer: Answer) -> Sequence[Line]:
        """The lines in the order of the answer, which was asked for by time. One that is no JSON spoils all."""
        if answer.status != 200:
            trouble = refused(self.title, answer)
            raise TooSlow(str(trouble)) if answer.status == 503 and SLOW in answer.body else trouble
        if answer.body and not answer.body.endswith(b"\n"):
            raise StoreTrouble("VictoriaLogs' answer breaks off")
        try:
            found = [_line(json.loads(row)) for row in answer.body.split(b"\n") if row]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise StoreTrouble(
                "VictoriaLogs' answer cannot be understood: is this the address of a VictoriaLogs?"
            ) from None
        return sorted(found, key=lambda line: line.ns)

    def names_request(self, tenant: str, start: int, end: int) -> Request:
        """Fields of streams and of lines alike."""
        params = {"query": "*", "start": stamp_of(start), "end": stamp_of(end)}
        return Request("/select/logsql/field_names", params, _tenant(tenant))

    def names(self, answer: Answer) -> Sequence[str]:
        """Without the store's own, which begin with `_`."""
        return [name for name in listed(self.title, answer, "values") if not name.startswith("_")]

    def values_request(self, name: str, tenant: str, start: int, end: int) -> Request:
        """At most `VALUES_LIMIT` values; which ones stay of more is not promised."""
        params = {"query": "*", "field": name, "limit": str(VALUES_LIMIT)}
        params |= {"start": stamp_of(start), "end": stamp_of(end)}
        return Request("/select/logsql/field_values", params, _tenant(tenant))

    def values(self, answer: Answer) -> Sequence[str]:
        """Lines without the field count as the empty value, which is left out."""
        return listed(self.title, answer, "values")

    def having(self, label: str) -> str:
        """A field filter: it finds fields of streams and of lines alike."""
        return f"{label if label.isidentifier() else json.dumps(label)}:*"


def _tenant(tenant: str) -> dict[str, str]:
    account, _, project = tenant.partition(":")
    return {"AccountID": account, "ProjectID": project or "0"} if tenant else {}


def stamp_of(ns: int) -> str:
    """The moment as VictoriaLogs reads it, to the nanosecond."""
    return f"{datetime.fromtimestamp(ns // SECOND, UTC):%Y-%m-%dT%H:%M:%S}.{ns % SECOND:09}Z"


def ns_of(stamp: str) -> int:
    """Nanoseconds since 1970 of `_time`, which has 0 to 9 digits of a fraction. Raises `ValueError`."""
    found = _TIME.match(stamp)
    if found is None:
        raise ValueError(f"{stamp[:40]!r} is no time")
    seconds = int(datetime.fromisoformat(f"{found[1]}+00:00").timestamp())
    return seconds * SECOND + int((found[2] or "").ljust(9, "0"))


def _filter(one: Filter) -> str:
    return f" {'' if one.wanted else '!'}~{json.dumps(re.escape(one.text))}"


def _line(row: dict[str, Any]) -> Line:
    ns = ns_of(row["_time"])
    text = str(row.get("_msg", ""))
    text = "" if text.startswith(EMPTY) else text
    labels = {name: str(value) for name, value in row.items() if name not in ("_time", "_msg", "_stream")}
    return Line(ns, text, labels, key_of(ns, text, labels))
