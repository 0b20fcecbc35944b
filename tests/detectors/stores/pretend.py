"""How does a log store behave? Two stores built from the recordings' semantics; a test compares them with those.

They understand the queries that the product sends and no others: a selector of `=` and `!=`, filters, a window.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from detectors.stores.store import Answer, Request
from detectors.stores.victorialogs import EMPTY, ns_of, stamp_of
from tests.detectors.stores.recorded import PUSHED, case

_MATCHER = re.compile(r'(\w+)(!?=)"([^"]*)"')
_LOKI = re.compile(r"(\{[^}]*\})(.*)\Z", re.DOTALL)
_LOGSQL = re.compile(
    r"(\{[^}]*\}|\w+:\*) _time:\[(\S+), (\S+)\)(.*) \| sort by \(_time, _stream_id, _msg\) limit (\d+)\Z"
)
_FILTER = re.compile(r' (\|=|!=|~|!~) ?"([^"]*)"')


@dataclass(frozen=True)
class Row:
    """A line as it was pushed: stored labels, text, and fields that are no labels."""

    ns: int
    text: str
    labels: Mapping[str, str]
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Pretend:
    """A store with lines. `fails` answers in its place as long as it is set; `limit` is the most lines it gives."""

    kind: str
    rows: list[Row] = field(default_factory=list)
    limit: int = 5000
    fails: Answer | None = None
    asked: list[Request] = field(default_factory=list)

    def push(self, ns: int, text: str, labels: Mapping[str, str], **fields: str) -> None:
        """One more line."""
        self.rows.append(Row(ns, text, dict(labels), fields))

    def answer(self, request: Request) -> Answer:
        """What the store answers."""
        self.asked.append(request)
        if self.fails is not None:
            return self.fails
        if request.path not in ("/loki/api/v1/query_range", "/select/logsql/query"):
            return self._lists(request)
        return self._loki(request) if self.kind == "loki" else self._victorialogs(request)

    def _loki(self, request: Request) -> Answer:
        params = request.params
        start, end, limit = (int(params[name]) for name in ("start", "end", "limit"))
        assert params["direction"] == "forward" and len(params["start"]) == 19
        if limit > self.limit:
            said = "max entries limit per query exceeded, limit > max_entries_limit_per_query"
            return Answer(400, f"{said} ({limit} > {self.limit})".encode())
        found = _LOKI.match(params["query"])
        assert found, params["query"]
        once = {}
        for row in self._rows(found[1], found[2], start, end):
            once.setdefault((row.ns, row.text, str(row.labels), str(row.fields)), row)
        streams: dict[str, dict[str, Any]] = {}
        for row in sorted(once.values(), key=lambda row: row.ns)[:limit]:
            stream = streams.setdefault(str(row.labels), {"stream": dict(row.labels), "values": []})
            stream["values"].append([str(row.ns), row.text, {"structuredMetadata": dict(row.fields)}])
        result = {"resultType": "streams", "result": list(reversed(streams.values()))}
        return Answer(200, json.dumps({"status": "success", "data": result}).encode())

    def _victorialogs(self, request: Request) -> Answer:
        found = _LOGSQL.match(request.params["query"])
        assert found and set(request.params) == {"query", "timeout"}, request.params
        rows = self._rows(found[1], found[4], ns_of(found[2]), ns_of(found[3]))
        rows.sort(key=lambda row: (row.ns, str(row.labels), row.text))
        lines = [
            {
                "_time": stamp_of(row.ns),
                "_stream_id": str(sorted(row.labels.items())),
                "_stream": "{}",
                "_msg": row.text or f"{EMPTY}example",
                **row.labels,
                **row.fields,
            }
            for row in rows[: int(found[5])]
        ]
        return Answer(200, "".join(json.dumps(line) + "\n" for line in lines).encode())

    def _lists(self, request: Request) -> Answer:
        """Names of labels, or values of one: Loki lists stored labels alone, VictoriaLogs all fields."""
        params, loki = request.params, self.kind == "loki"
        start, end = (int(params[n]) if loki else ns_of(params[n]) for n in ("start", "end"))
        rows = [row for row in self.rows if start <= row.ns < end]
        labels = [row.labels if loki else {**row.labels, **row.fields} for row in rows]
        name = request.path.split("/")[-2] if request.path.endswith("/values") else params.get("field", "")
        if name:
            found = sorted({str(row.get(name, "")) for row in labels} - ({""} if loki else set()))
        else:
            found = sorted({name for row in labels for name in row})
            found = [*found, "service_name"] if loki else ["_msg", "_stream", "_stream_id", "_time", *found]
        if loki:
            return Answer(200, json.dumps({"status": "success", **({"data": found} if rows else {})}).encode())
        return Answer(200, json.dumps({"values": [{"value": one, "hits": 1} for one in found]}).encode())

    def _rows(self, selector: str, filters: str, start: int, end: int) -> list[Row]:
        field = selector.removesuffix(":*")
        if field != selector:
            return [row for row in self._rows("", filters, start, end) if {**row.labels, **row.fields}.get(field)]
        matchers = _MATCHER.findall(selector)
        wanted = [(sign in ("|=", "~"), text) for sign, text in _FILTER.findall(filters)]
        return [
            row
            for row in self.rows
            if start <= row.ns < end
            and all((row.labels.get(name, "") == value) is (sign == "=") for name, sign, value in matchers)
            and all((text in row.text) is positive for positive, text in wanted)
        ]


def recorded_rows(kind: str) -> list[Row]:
    """The lines that were pushed to the real store."""
    rows = []
    for name in PUSHED[kind]:
        body = case(kind, name)["request"]["body"]
        rows += _loki_rows(body) if kind == "loki" else _json_rows(body, case(kind, name)["request"]["params"])
    return rows


def _loki_rows(body: str) -> list[Row]:
    return [
        Row(int(value[0]), value[1], stream["stream"], value[2] if len(value) > 2 else {})
        for stream in json.loads(body)["streams"]
        for value in stream["values"]
    ]


def _json_rows(body: str, params: Mapping[str, str]) -> list[Row]:
    names: Sequence[str] = params["_stream_fields"].split(",")
    rows = []
    for line in body.split("\n"):
        if line:
            row = json.loads(line)
            ns, text = ns_of(row.pop("time")), row.pop("line")
            labels = {name: row.pop(name) for name in names if name in row}
            rows.append(Row(ns, text, labels, {name: str(value) for name, value in row.items()}))
    return rows
