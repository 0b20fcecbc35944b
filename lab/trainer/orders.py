"""What shall break, where and when? The schedule: a JSON list of orders, each `{"kind", where, when, …}`.

Where: one of `rank`, `ranks`, `host`, `"all": true`. When: `attempt` (0 if it is not there; null: in every one)
and `step` (0: before the ranks meet), or `after`: so many steps after the start of the attempt. The further words
depend on the kind and stand in `KINDS`. What concerns saving (`slow_files`, `no_save`, a `sigkill` when `saving`)
is for rank 0, which saves.
"""

import json
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.dialects.dialect import PHASES
from lab.texts.texts import TEXTS

NUMBER, WHOLE, STRING, STRINGS = "a number", "a whole number", "a string", "a list of strings"
_LONG = {"seconds": NUMBER}
_SLOW = {"factor": NUMBER, "growth": NUMBER, "every": WHOLE, "until": WHOLE}

KINDS: dict[str, dict[str, str]] = {
    "raise": {"error": STRING, "message": STRING},
    "import_error": {"module": STRING},
    "bad_argument": {"words": STRINGS},
    "shape_mismatch": {},
    "corrupt_checkpoint": {"quiet": "true or false"},
    "disk_full": {},
    "read_only": {},
    "sigkill": {"when": STRING},
    "sigterm": {},
    "sigsegv": {},
    "sigabrt": {},
    "sigstop": {},
    "hold_gil": _LONG,
    "sleep": _LONG,
    "spin": {"lines": STRINGS, "seconds": NUMBER},
    "stuck_loader": {},
    "memory": {"mebibytes": WHOLE, "ends": STRING},
    "shm_full": {},
    "port_in_use": {},
    "slow": _SLOW,
    "slow_files": {"seconds": NUMBER, "until": WHOLE},
    "nan": {"until": WHOLE},
    "data_error": {"position": WHOLE},
    "text": {"text": STRING, "ends": STRING, "pace": NUMBER, "code": WHOLE},
    "pause": {"phase": STRING, "seconds": NUMBER},
    "lines": {"lines": STRINGS},
    "exit": {"code": WHOLE},
    "ecc": {},
    "no_save": {"until": WHOLE},
    "requeue_self": {},
}
"""Each kind and the words it takes beside where and when."""

LASTING = frozenset({"slow", "slow_files", "nan", "no_save"})
"""Kinds that go on until their step `until`, or for ever."""

CHOICES: dict[tuple[str, str], tuple[str, ...]] = {
    ("text", "text"): tuple(TEXTS),
    ("text", "ends"): ("failed", "hang", "goes_on"),
    ("memory", "ends"): ("failed", "killed", "outside"),
    ("pause", "phase"): PHASES,
    ("sigkill", "when"): ("step", "saving"),
}
_NEEDED = {"text": "text", "lines": "lines"}
_OLD_NAMES = {"stop": "sigstop"}
_WHERE = {"rank": WHOLE, "ranks": "a list of whole numbers", "host": STRING, "all": "true"}
_WHEN = {"attempt": "a whole number or null", "step": WHOLE, "after": WHOLE}


LINES = (
    "what can break (--faults): a JSON list of orders, e.g.",
    """  '[{"kind": "sigkill", "rank": 2, "step": 12}]'""",
    """  '[{"kind": "text", "text": "ecc", "rank": 1, "step": 8, "attempt": null}]'""",
    'where: one of "rank": N, "ranks": [N, …], "host": NAME, "all": true',
    'when: "step": N, or "after": N steps after the start; "attempt": N, 0 if it is not there, null for every one',
    "kinds, and the words that they take beside where and when:",
)


def orders_told() -> str:
    """The end of the help: everything that an order can say."""
    kinds = []
    for kind, words in KINDS.items():
        takes = ", ".join(f"{word}: {_one_of(kind, word) or what}" for word, what in words.items())
        kinds.append(f"  {kind:<19} {takes}".rstrip())
    texts = textwrap.fill(", ".join(sorted(TEXTS)), 96, initial_indent="  ", subsequent_indent="  ")
    return "\n".join((*LINES, *kinds, "texts of the kind 'text':", texts))


def _one_of(kind: str, word: str) -> str:
    choices = CHOICES.get((kind, word), ())
    return "" if word == "text" else " | ".join(choices)


class BadOrder(ValueError):
    """One sentence: which order is wrong, and why."""


@dataclass(frozen=True, slots=True)
class Order:
    """One order. `step` counts from the beginning of the training unless `relative`; `words` are the kind's own."""

    kind: str
    attempt: int | None
    step: int
    relative: bool = False
    ranks: tuple[int, ...] = ()
    host: str = ""
    everywhere: bool = False
    words: Mapping[str, Any] = field(default_factory=dict)

    def concerns(self, rank: int, host: str, attempt: int) -> bool:
        """Whether this rank, on this host and in this attempt, is meant."""
        here = self.everywhere or rank in self.ranks or (bool(self.host) and host == self.host)
        return here and self.attempt in (None, attempt)

    def due(self, step: int, started: int) -> bool:
        """Whether it is to be carried out in this step; `started`: the step that the attempt resumed from."""
        begin = self.step + (started if self.relative else 0)
        if self.kind in LASTING:
            until = self.words.get("until")
            return begin <= step and (until is None or step <= until)
        return step == begin


def parse(text: str) -> tuple[Order, ...]:
    """The orders in a JSON text. `BadOrder` for the first thing that is wrong."""
    try:
        orders = json.loads(text)
    except ValueError as error:
        raise BadOrder(f"The orders are no JSON: {error}.") from None
    if not isinstance(orders, list):
        raise BadOrder("The orders must be a list.")
    return tuple(_order(order, f"Order {number}") for number, order in enumerate(orders, 1))


def _order(told: Any, name: str) -> Order:
    if not isinstance(told, dict):
        raise BadOrder(f"{name} must be an object.")
    kind = _OLD_NAMES.get(str(told.get("kind")), told.get("kind"))
    if not isinstance(kind, str) or kind not in KINDS:
        raise BadOrder(f"{name}: 'kind' must be one of {', '.join(sorted(KINDS))}.")
    name = f"{name} ({kind})"
    known = {"kind": STRING, **_WHERE, **_WHEN, **KINDS[kind]}
    for word, value in told.items():
        _check(word, value, known, kind, name)
    where = [word for word in _WHERE if word in told]
    if len(where) != 1:
        raise BadOrder(f"{name} needs exactly one of 'rank', 'ranks', 'host' and 'all'.")
    if "after" in told and "step" in told:
        raise BadOrder(f"{name} takes 'step' or 'after', not both.")
    if (needed := _NEEDED.get(kind)) and needed not in told:
        raise BadOrder(f"{name} needs '{needed}'.")
    return Order(
        kind=kind,
        attempt=told.get("attempt", 0),
        step=int(next((told[word] for word in ("position", "after", "step") if word in told), 0)),
        relative="after" in told,
        ranks=tuple(told.get("ranks", [told["rank"]] if "rank" in told else [])),
        host=told.get("host", ""),
        everywhere="all" in told,
        words={word: told[word] for word in KINDS[kind] if word in told},
    )


def _check(word: str, value: Any, known: Mapping[str, str], kind: str, name: str) -> None:
    if word not in known:
        raise BadOrder(f"{name}: '{word}' is not known.")
    if not _FITS[known[word]](value):
        raise BadOrder(f"{name}: '{word}' must be {known[word]}.")
    choices = CHOICES.get((kind, word))
    if choices is not None and value not in choices:
        raise BadOrder(f"{name}: '{word}' must be one of {', '.join(choices)}.")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _is_list(value: Any, of: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and bool(value) and all(of(one) for one in value)


def _is_string(value: Any) -> bool:
    return isinstance(value, str)


_FITS: dict[str, Callable[[Any], bool]] = {
    NUMBER: _is_number,
    WHOLE: _is_whole,
    STRING: _is_string,
    STRINGS: lambda value: _is_list(value, _is_string),
    "a list of whole numbers": lambda value: _is_list(value, _is_whole),
    "a whole number or null": lambda value: value is None or _is_whole(value),
    "true": lambda value: value is True,
    "true or false": lambda value: isinstance(value, bool),
}
