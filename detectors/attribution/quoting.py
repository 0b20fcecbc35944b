"""Which lines does a verdict quote, and where does each come from?"""

from datetime import datetime
from typing import Any

from detectors.attribution.candidates import Candidate
from detectors.attribution.facts import Facts, Quote, Symptom
from detectors.attribution.naming import PROOFS
from detectors.attribution.standing import DUMPS, LINES, RAS
from detectors.attribution.told import METRICS, STREAM
from detectors.catalogue.health import BASIS

MOST_QUOTES = 40


class Quotes:
    """The evidence of a verdict, each quote with its id; the likeliest cause's come first."""

    def __init__(self, order: tuple[Candidate, ...], facts: Facts) -> None:
        self.rows: list[dict[str, Any]] = []
        self.lines: list[Quote] = []  # of the rows, in their order
        self._ids: dict[tuple[str, int, str], str] = {}
        first = [candidate.symptom for candidate in order]
        for symptom in (*first, *facts.symptoms, *facts.health):
            self._add(symptom)

    def of(self, symptom: Symptom) -> tuple[str, ...]:
        """Ids of the quotes of a symptom that are listed."""
        keys = ((quote.stream, quote.offset, symptom.signature) for quote in symptom.evidence)
        return tuple(self._ids[key] for key in keys if key in self._ids)

    def _add(self, symptom: Symptom) -> None:
        for quote in symptom.evidence:
            key = (quote.stream, quote.offset, symptom.signature)
            if key in self._ids or len(self.rows) >= MOST_QUOTES:
                continue
            self._ids[key] = f"e{len(self.rows) + 1}"
            self.lines.append(quote)
            self.rows.append(
                {
                    "id": self._ids[key],
                    "source": _source(symptom, quote.stream),
                    "host": quote.host,
                    "rank": quote.rank,
                    "file": quote.stream,
                    "offset": quote.offset,
                    "event_time": _time(quote.at),
                    "quote": quote.line,
                    "signature_id": symptom.signature,
                }
            )


def _source(symptom: Symptom, stream: str) -> str:
    if symptom.basis == BASIS and stream.startswith(METRICS):
        return "metric"
    if symptom.basis == BASIS:
        return "scheduler" if stream.startswith(STREAM) else "health_event"
    beginnings = ((("xid.", "sxid", "kernel."), "kernel"), (PROOFS[DUMPS], DUMPS), (PROOFS[RAS], RAS))
    return next((name for some, name in beginnings if symptom.signature.startswith(some)), LINES)


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
