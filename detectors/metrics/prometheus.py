"""How is Prometheus asked for metrics, and what do its answers mean?

Observed: values are text and may be `NaN` or `+Inf`; an error is JSON with a status that is not `success`, or plain
text; series of a failed scrape end at once, but those with time stamps of their own are answered for 5 minutes.
"""

import json
import math
from collections.abc import Iterator
from typing import Any

from detectors.metrics.source import Sample
from detectors.stores.store import Answer, Request, StoreTrouble, refused

NAME = "__name__"
LABELS = 64  # of one series; more are no exporter's


class Prometheus:
    """`GET /api/v1/query`."""

    name = "prometheus"
    title = "Prometheus"

    def request(self, query: str) -> Request:
        """As of the server's own now; it gives up by itself before we do."""
        return Request("/api/v1/query", {"query": query, "timeout": "8s"})

    def samples(self, answer: Answer) -> Iterator[Sample]:
        """All samples, or a trouble: one that cannot be read spoils all, and half an answer is none (trap 3)."""
        told = _object(answer)
        if answer.status != 200 or told.get("status") != "success":
            said = told.get("error")
            raise (
                StoreTrouble(f"Prometheus answered {answer.status}: {_short(said)}")
                if said
                else refused(self.title, answer)
            )
        if told.get("warnings") or told.get("isPartial"):
            raise StoreTrouble(f"Prometheus answered in part only: {_short(told.get('warnings') or 'isPartial')}")
        try:
            given = told["data"]
            if given["resultType"] != "vector":
                raise ValueError(given["resultType"])
            for row in given["result"]:
                if (sample := _sample(row)) is not None:
                    yield sample
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise _strange() from None


def _object(answer: Answer) -> dict[str, Any]:
    try:
        told = json.loads(answer.body)
    except (ValueError, RecursionError):
        raise (_strange() if answer.status == 200 else refused("Prometheus", answer)) from None
    if not isinstance(told, dict):
        raise _strange()
    return told


def _sample(row: dict[str, Any]) -> Sample | None:
    labels, (at, text) = row["metric"], row["value"]
    if not isinstance(text, str) or isinstance(at, str) or len(labels) > LABELS:
        raise ValueError("a sample of another form")
    value = float(text)
    if not math.isfinite(value):
        return None
    return Sample(labels.get(NAME, ""), labels, value, float(at))


def _strange() -> StoreTrouble:
    return StoreTrouble("the answer cannot be understood: is this the address of a Prometheus?")


def _short(told: object) -> str:
    return " ".join(str(told)[:300].split())
