"""What stands in a file of labelled log text? One JSON object a line, checked before anything is done.

Required: `snippet`. `id` names the line, else its number does. Without `expected` a text has no label: it is read
and shown, and part of no number. A label needs `kind`; what else it leaves out is not asked.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from detectors.catalogue.layer import Layer

FAULTS = ("crash", "hang", "straggler")
HEALTHY = ("none", "progress", "checkpoint")
ACTIONS = ("restart", "restart_exclude", "stop", "none")
NOTHING = "none"
NAME_LIMIT = 200
# The notes' own words for a label that the text alone does not prove.
_UNPROVEN = re.compile(r"does not prove|not (?:shown )?in the cut", re.IGNORECASE)


class BadCorpus(ValueError):
    """A file that cannot be scored; one sentence says what is wrong and in which line."""


@dataclass(frozen=True, slots=True)
class Label:
    """What is right to say of a text. `layer` is empty for healthy text; `unproven`: its own note says so."""

    kind: str
    layer: str = ""
    root_line: str | None = None
    nodes: tuple[str, ...] = ()
    action: str = ""
    unproven: bool = False

    @property
    def fault(self) -> bool:
        """Whether something is broken."""
        return self.kind in FAULTS


@dataclass(frozen=True, slots=True)
class Snippet:
    """One text. `origin` is empty where nobody says whether it is real or modelled."""

    name: str
    text: str
    origin: str
    label: Label | None


def read_corpus(path: Path) -> list[Snippet]:
    """Every text of a file, in its order; raises `BadCorpus`. Empty lines are passed over."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError as error:
        raise BadCorpus(f"{path.name} cannot be read: {error.strerror}.") from None
    found: list[Snippet] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        snippet = _snippet(line, number)
        if snippet.name in seen:
            raise BadCorpus(f"Line {number} has the same id and failure as line {seen[snippet.name]}.")
        seen[snippet.name] = number
        found.append(snippet)
    if not found:
        raise BadCorpus(f"{path.name} holds no text.")
    return found


def _snippet(line: str, number: int) -> Snippet:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadCorpus(f"Line {number} is no JSON: {str(error)[:100]}.") from None
    if not isinstance(told, dict):
        raise BadCorpus(f"Line {number} is no JSON object.")
    if not isinstance(told.get("snippet"), str):
        raise BadCorpus(f"Line {number} has no text as its 'snippet'.")
    name = " ".join(str(told[key]) for key in ("id", "failure") if told.get(key)) or f"line {number}"
    return Snippet(
        name=_writable(name[:NAME_LIMIT]),
        text=_writable(told["snippet"]),
        origin=_origin(told.get("text_origin")),
        label=_label(told.get("expected"), str(told.get("note") or ""), number),
    )


def _writable(text: str) -> str:
    """JSON may hold half a character, which no file takes: `?` stands for it."""
    return text.encode("utf-8", "replace").decode()


def _origin(told: Any) -> str:
    if not told:
        return ""
    return "modelled" if told == "modelled" else "real"


def _label(told: Any, note: str, number: int) -> Label | None:
    if told is None:
        return None
    if not isinstance(told, Mapping):
        raise BadCorpus(f"Line {number}: 'expected' is no JSON object.")
    kind = _one_of(told, "kind", (*FAULTS, *HEALTHY), number)
    layer = _one_of(told, "layer", (*(one.value for one in Layer), NOTHING, ""), number)
    root_line, nodes = told.get("root_line"), told.get("nodes") or []
    if kind == "":
        raise BadCorpus(f"Line {number}: the label has no 'kind'.")
    if root_line is not None and not isinstance(root_line, str):
        raise BadCorpus(f"Line {number}: 'root_line' is neither a text nor null.")
    if not isinstance(nodes, list) or not all(isinstance(node, str) for node in nodes):
        raise BadCorpus(f"Line {number}: 'nodes' is no list of names.")
    return Label(
        kind=kind,
        layer="" if kind in HEALTHY or layer == NOTHING else layer,
        root_line=None if root_line is None else _writable(root_line),
        nodes=tuple(map(_writable, nodes)),
        action=_one_of(told, "action", (*ACTIONS, ""), number),
        unproven=_UNPROVEN.search(note) is not None,
    )


def _one_of(told: Mapping[str, Any], key: str, words: tuple[str, ...], number: int) -> str:
    value = told.get(key)
    if value is None:
        return ""
    if not isinstance(value, str) or value not in words:
        known = ", ".join(word for word in words if word)
        raise BadCorpus(f"Line {number}: {key} {str(value)[:40]!r} is unknown; known are {known}.")
    return value
