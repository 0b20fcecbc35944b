"""Which lines prove a verdict, and where is the copy of the log that shows them?

Bodies are stored JSON of a room below, made at some time by some version: whatever is missing or of another
shape is left out here, never an error on a page.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from console.log_key import log_key
from detectors.attribution.action import VerdictAction
from detectors.attribution.calibration import in_words
from detectors.attribution.evidence_status import EvidenceStatus
from detectors.attribution.told import EVENTS, STREAM
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.models import Anomaly, Excerpt, Verdict

QUOTES_SHOWN = 12
RIVALS_SHOWN = 6


@dataclass(frozen=True)
class Quote:
    """One line of evidence. `offset` in bytes; `excerpt` is the stored copy that holds it, if one was kept.

    `key` is what addresses call its log; empty where it stands in none.
    """

    stream: str
    offset: int | None
    line: str
    at: str = ""
    host: str = ""
    rank: str = ""
    excerpt: int | None = None
    key: str = ""


@dataclass(frozen=True)
class Rival:
    """Another explanation, with its odds, and what would make it the better one."""

    layer: str
    odds: float | None
    would_change_if: str


@dataclass(frozen=True)
class Judgement:
    """A verdict as the page shows it. `measured`: how often verdicts are right that claim as much, in words."""

    verdict: Verdict
    kind: AnomalyKind
    layer: Layer
    status: EvidenceStatus
    action: VerdictAction
    culprits: tuple[str, ...]
    quotes: tuple[Quote, ...]
    rivals: tuple[Rival, ...]
    missing: tuple[str, ...]
    measured: str = ""


def judgement_of(verdict: Verdict, anomalies: Iterable[Anomaly], excerpts: Sequence[Excerpt]) -> Judgement:
    """What the page shows of a verdict; without evidence of its own, that of the anomalies stands in."""
    body = verdict.body if isinstance(verdict.body, Mapping) else {}
    cause = body.get("root_cause")
    quotes = quotes_from(body.get("evidence"), excerpts)
    if not quotes:
        quotes = tuple(quote for anomaly in anomalies for quote in quotes_from(anomaly.evidence, excerpts))
    implicated = [item for item in _list(verdict.implicated) if isinstance(item, Mapping)]
    culprits = (str(item["host"]) for item in implicated if item.get("host") and item.get("role") != "victim")
    return Judgement(
        verdict,
        AnomalyKind(verdict.kind),
        Layer(verdict.layer),
        EvidenceStatus(verdict.evidence_status),
        VerdictAction(verdict.action),
        tuple(dict.fromkeys(culprits)),
        quotes[:QUOTES_SHOWN],
        _rivals(body.get("hypotheses")),
        tuple(str(text) for text in _list(body.get("missing_evidence"))[:RIVALS_SHOWN]),
        in_words(cause.get("calibration") if isinstance(cause, Mapping) else None),
    )


def quotes_from(stored: Any, excerpts: Sequence[Excerpt]) -> tuple[Quote, ...]:
    """Lines out of stored evidence: of an anomaly (`stream`, `line`) or of a verdict (`file`, `quote`)."""
    found = []
    for item in _list(stored)[:QUOTES_SHOWN]:
        if not isinstance(item, Mapping):
            continue
        line = item.get("quote") or item.get("line")
        if not isinstance(line, str):
            continue
        stream = str(item.get("stream") or item.get("file") or "")
        in_a_log = not stream.startswith((EVENTS, STREAM))  # what others told stands in no file
        offset = item.get("offset") if in_a_log and isinstance(item.get("offset"), int) else None
        found.append(
            Quote(
                stream,
                offset,
                line,
                str(item.get("at") or item.get("event_time") or ""),
                str(item.get("host") or ""),
                "" if item.get("rank") is None else str(item["rank"]),
                _excerpt_with(stream, offset, excerpts),
                "" if offset is None else log_key(stream),
            )
        )
    return tuple(found)


def _excerpt_with(stream: str, offset: int | None, excerpts: Sequence[Excerpt]) -> int | None:
    """The copy of that stream that begins nearest before the offset: its text is not loaded to look inside."""
    fitting = [e for e in excerpts if e.stream == stream and offset is not None and e.offset <= offset]
    return max(fitting, key=lambda e: e.offset).pk if fitting else None


def _rivals(stored: Any) -> tuple[Rival, ...]:
    items = [item for item in _list(stored) if isinstance(item, Mapping)]
    return tuple(
        Rival(
            str(item.get("layer") or item.get("id") or "?"),
            float(item["odds"]) if isinstance(item.get("odds"), int | float) else None,
            str(item.get("would_change_if") or ""),
        )
        for item in items[:RIVALS_SHOWN]
    )


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []
