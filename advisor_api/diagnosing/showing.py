"""How is a verdict shown to a person on a terminal? Log text is hostile: nothing of it reaches the terminal raw."""

import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from detectors.attribution.calibration import in_words

WIDTH = 110
QUOTE_SHOWN = 300  # characters of a line
WORD_SHOWN = 200
PROOFS = 3
RIVALS = 3
LABEL = 15  # columns

_KINDS = {
    "crash": "Crash",
    "hang": "Hang",
    "straggler": "Slow",
    "nan": "No number",
    "no_checkpoint": "No checkpoint",
}
_ACTIONS = {
    "restart": "Restart on the same nodes",
    "restart_exclude": "Restart without {nodes}",
    "stop": "Stop it",
    "hold": "Wait",
    "ask": "Ask a person",
    "none": "Nothing",
}
# Colours, cursor movements and what turns the direction of text around; everything else that is no letter, too.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def safe(text: str, limit: int = WORD_SHOWN) -> str:
    """One line without control characters: they are written out as escapes."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(_escaped(one) if unicodedata.category(one) in _UNSAFE else one for one in cut)


def page_of(verdict: Mapping[str, Any], because: str, files: int, size: int) -> str:
    """The page: what happened, why, which node, the proof, what else, what to do, what is missing."""
    found = verdict["detection"]["kind"] != "none"
    parts = [("What happened", [_happened(verdict)])]
    if found:
        parts += [
            ("Why", [_why(verdict)]),
            ("Which node", list(_nodes(verdict))),
            ("Proof", list(_proof(verdict))),
            ("What else", list(_rivals(verdict)) or ["nothing else is as likely"]),
        ]
    elif verdict["evidence"]:
        parts.append(("Noticed", list(_proof(verdict))))
    parts += [
        ("What to do", [_action(verdict, because)]),
        ("Missing", [safe(one) for one in verdict["missing_evidence"]] or ["nothing"]),
        ("Read", [f"{files} file{'s' if files != 1 else ''}, {size / 1e6:.1f} MB, as one attempt"]),
    ]
    return "\n".join(line for label, lines in parts for line in _part(label, lines)) + "\n"


def _part(label: str, lines: Sequence[str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        begin = f"{label if number == 0 else '':{LABEL}}"
        yield from textwrap.wrap(
            line,
            WIDTH,
            initial_indent=begin,
            subsequent_indent=" " * (LABEL + 2),
            break_on_hyphens=False,
            break_long_words=False,
        ) or [begin.rstrip()]


def _happened(verdict: Mapping[str, Any]) -> str:
    detection, step = verdict["detection"], verdict["progress"]["last_step"]
    kind = _KINDS.get(detection["kind"], "Found")
    words = f"{kind}: {safe(verdict['outcome']['label'], QUOTE_SHOWN)}"
    if detection["kind"] == "none":
        words = "Nothing found: no line tells of a failure"
    if detection["event_time"]:
        words += f", {detection['event_time'][:19].replace('T', ' ')} by the log's clock"
    return words + (f"; last step {step}" if step is not None else "")


def _why(verdict: Mapping[str, Any]) -> str:
    cause = verdict["root_cause"]
    name = f" ({safe(cause['signature_id'])})" if cause["signature_id"] else ""
    sure = f"{cause['evidence_status']}, {100 * cause['confidence']:.0f} % sure"
    measured = in_words(cause["calibration"])
    return f"{verdict['outcome']['layer']}{name}, {sure}" + (f"; {measured}" if measured else "")


def _nodes(verdict: Mapping[str, Any]) -> Iterator[str]:
    blamed = [one for one in verdict["implicated"] if one["role"] != "victim"]
    for one in blamed[:8]:
        rank = f", rank {one['rank']}" if one["rank"] is not None else ""
        leave = ", may be left out" if one["excludable"] else ""
        yield f"{safe(one['host'])}: {one['role']}{rank}, {100 * one['confidence']:.0f} %{leave}"
    if len(blamed) > 8:
        yield f"and {len(blamed) - 8} more"
    if not blamed:
        yield "none is blamed"


def _proof(verdict: Mapping[str, Any]) -> Iterator[str]:
    """The lines of the likeliest cause first."""
    rows = sorted(verdict["evidence"], key=lambda one: "h1" not in one["supports"])
    for one in rows[:PROOFS]:
        place = one["line"] if one["line"] is not None else f"byte {one['offset']}"
        yield f"{safe(one['file'])}:{place}: {safe(one['quote'], QUOTE_SHOWN).strip()}"
    if not rows:
        yield "no line proves it"


def _rivals(verdict: Mapping[str, Any]) -> Iterator[str]:
    for one in verdict["hypotheses"][1 : 1 + RIVALS]:
        yield f"{one['layer']}, {100 * one['odds']:.0f} %"
    if verdict["hypotheses"]:
        yield f"the likeliest falls if {safe(verdict['hypotheses'][0]['would_change_if'])}"


def _action(verdict: Mapping[str, Any], because: str) -> str:
    advised = verdict["recommendation"]
    nodes = ", ".join(safe(node) for node in advised["exclude"])
    pause = f" after {advised['backoff_s']} s" if advised["backoff_s"] else ""
    return f"{_ACTIONS[advised['action']].format(nodes=nodes)}{pause}: {safe(because, QUOTE_SHOWN)}"


def _escaped(one: str) -> str:
    return "\\t" if one == "\t" else one.encode("unicode_escape", "backslashreplace").decode("ascii")
