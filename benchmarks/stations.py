"""When was each station of one recovery reached, and how long do the ways between them take?

Two clocks' readings of one machine are compared: what the product stored (`receivedAt` of the trail's events, the
start of the task that stored them), and what stands outside it (`log_eye`, the controller's acknowledged release).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import quantiles
from typing import Any

MILLION = 1_000_000
ENDED = re.compile(r"\b(?:failed|node_fail|ended)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Way:
    """One row of the table: from a station to a later one; `part` rows are already counted in the row above."""

    start: str
    end: str
    words: str
    part: bool = False


CRASH = (
    Way("zero", "anomaly", "line written → anomaly stored"),
    Way("anomaly", "verdict", "anomaly stored → verdict stored"),
    Way("anomaly", "end", "of it: until the listing showed the job's end", part=True),
    Way("verdict", "advice", "verdict stored → advice stored"),
    Way("advice", "released", "advice stored → release acknowledged"),
    Way("advice", "held", "of it: until the requeue-hold was seen", part=True),
    Way("released", "runs", "release acknowledged → the new attempt's first line"),
    Way("runs", "beyond", "first line → a step beyond the last one"),
    Way("zero", "released", "**line written → release acknowledged**"),
    Way("zero", "beyond", "**line written → training progress resumed**"),
    Way("beyond", "told", "progress resumed → the product says so"),
)
HANG = (
    Way("zero", "anomaly", "last step written → anomaly stored"),
    *(way for way in CRASH[1:-3] if way.end != "end"),
    Way("zero", "released", "**last step written → release acknowledged**"),
    Way("zero", "beyond", "**last step written → training progress resumed**"),
    CRASH[-1],
)


def stations(trail: Sequence[Mapping[str, Any]], seen: Mapping[str, float], kind: str) -> dict[str, float]:
    """Seconds since 1970 of each station that was reached. `seen` has `zero`, `runs` and `beyond` from outside.

    `anomaly` is the first one of `kind`; `verdict` and `advice` are those that were acted on.
    """
    found = dict(seen)
    for event in trail:
        if "advice" in found and event["eventType"] == "verdict":
            continue  # on what came later, such as the end that our own requeue made
        name, first = _station(event, kind)
        if name and not (first and name in found):
            found[name] = _stored_at(event) if name not in {"held", "released"} else _happened_at(event)
    return found


def _station(event: Mapping[str, Any], kind: str) -> tuple[str, bool]:
    """Which station an event is, and whether the first event of its sort counts (else the last)."""
    type_, payload = event["eventType"], event["payload"]
    if type_ == "anomaly":
        return ("anomaly" if payload.get("kind") == kind and not payload.get("refuted") else ""), True
    if type_ == "attempt_state" and event["attemptIndex"] == 0 and ENDED.search(event["sentence"]):
        return "end", True
    if type_ in {"verdict", "advice"}:
        return (type_ if event["attemptIndex"] == 0 else ""), type_ == "advice"
    if type_ == "action":
        names = {"SLURM_REQUEUE_HOLD": "held", "SLURM_RELEASE": "released"}
        return next((name for word, name in names.items() if word in event["action"].upper()), ""), True
    return ("told" if type_ == "progress_resumed" else ""), True


def _stored_at(event: Mapping[str, Any]) -> float:
    return datetime.fromisoformat(event["receivedAt"]).timestamp()


def _happened_at(event: Mapping[str, Any]) -> float:
    return int(event["eventProducedAt"]) / MILLION


def table(ways: Sequence[Way], recoveries: Sequence[Mapping[str, float]]) -> str:
    """Markdown: p50, p95, smallest and largest of each way in seconds, over the recoveries that went it."""
    lines = ["| from → to | n | p50 s | p95 s | min | max |", "|---|--:|--:|--:|--:|--:|"]
    for way in ways:
        took = [one[way.end] - one[way.start] for one in recoveries if way.start in one and way.end in one]
        words = f"&nbsp;&nbsp;*{way.words}*" if way.part else way.words
        if not took:
            lines.append(f"| {words} | 0 | | | | |")
            continue
        numbers = (percentile(took, 50), percentile(took, 95), min(took), max(took))
        lines.append(f"| {words} | {len(took)} | " + " | ".join(f"{number:.2f}" for number in numbers) + " |")
    return "\n".join(lines)


def percentile(values: Sequence[float], percent: int) -> float:
    """By linear interpolation between the values (inclusive): with 20 values p95 lies between the two largest."""
    if len(values) == 1:
        return values[0]
    return quantiles(values, n=100, method="inclusive")[percent - 1]
