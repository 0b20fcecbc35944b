"""Where does a traceback end, and where in the program did it break?

A traceback is one event: its class is its last line, its place the deepest frame outside installed packages; the
file of the deepest frame of all says who gave up. Ranks print into one stream at the same time, so one traceback
per speaker can be open, also from one read to the next.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

OPEN_AT_ONCE = 64  # speakers
LONGEST = 1000  # lines; deep recursion is cut by Python itself below that

_HEAD = re.compile(r"(?P<indent>[ \t]{0,200})(?:[|+] ?){0,8}Traceback \(most recent call last\)", re.ASCII)
_FRAME = re.compile(r"\s*File \"(?P<path>[^\"]{1,1000})\", line \d{1,9}, in (?P<function>\S{1,200})")
_INSTALLED = re.compile(r"(?:site|dist)-packages/|/lib(?:64)?/python\d|<frozen |^<string>$")
_PACKAGE = re.compile(
    r"(?:(?:site|dist)-packages|/lib(?:64)?/python\d[\d.]{0,4}(?:/(?:site|dist)-packages)?)/(?P<path>[\w.\-/]{1,200})\Z",
    re.ASCII,
)
_END = re.compile(r"(?P<name>[A-Za-z_][\w.]{0,200})(?:: |:?\Z)", re.ASCII)  # `KeyError: 'x'`, `queue.Empty`
_LEVELS = frozenset({"CRITICAL", "DEBUG", "ERROR", "FATAL", "INFO", "NOTE", "NOTICE", "TRACE", "WARN", "WARNING"})
_NOISE = "Exception ignored in: "


@dataclass(slots=True)
class _Open:
    indent: int
    lines: int = 0
    place: str = ""
    inner: str = ""
    ignored: bool = False  # noise of an interpreter that ends: up to the next blank line nothing counts


@dataclass(frozen=True, slots=True)
class Closed:
    """The line ends a traceback. `place` is `file.py:function`; `ignored`: it is noise of an interpreter's end.

    `inner`: the file of the deepest frame within the installed packages, e.g. `datasets/builder.py`; empty where
    that frame is the program's own.
    """

    place: str
    ignored: bool
    inner: str = ""


class Tracebacks:
    """The open tracebacks of one attempt: a fold over lines, JSON as its state.

    While `open` (by speaker) holds any, every line must be looked at.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        rows = dict(state.get("open", {}))
        self.open = {
            str(k): _Open(int(v[0]), int(v[1]), str(v[2]), str(v[4]) if len(v) > 4 else "", bool(v[3]))
            for k, v in rows.items()
        }

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {"open": {k: [v.indent, v.lines, v.place, v.ignored, v.inner] for k, v in self.open.items()}}

    @property
    def waiting(self) -> int:
        """How many that say something wait for their last line."""
        return sum(not one.ignored for one in self.open.values())

    def see(self, speaker: str, text: str) -> Closed | None:
        """One line of a speaker. Gives `Closed` when the line is the last one of a traceback."""
        current = self.open.get(speaker)
        if (found := _HEAD.match(text)) is not None:
            self._begin(speaker, len(found["indent"]), current is not None and current.ignored)
            return None
        if text.startswith(_NOISE):
            self._begin(speaker, 0, True)
            return None
        return None if current is None else self._go_on(speaker, current, text)

    def _begin(self, speaker: str, indent: int, ignored: bool) -> None:
        if speaker not in self.open and len(self.open) >= OPEN_AT_ONCE:
            del self.open[next(iter(self.open))]
        self.open[speaker] = _Open(indent, ignored=ignored)

    def _go_on(self, speaker: str, current: _Open, text: str) -> Closed | None:
        current.lines += 1
        stripped = text.lstrip()
        if not stripped or current.lines > LONGEST:
            if current.ignored or current.lines > LONGEST:
                del self.open[speaker]
            return None
        if (frame := _FRAME.match(text)) is not None:
            package = _PACKAGE.search(frame["path"])
            current.inner = package["path"] if package is not None else ""
            if _INSTALLED.search(frame["path"]) is None:
                current.place = f"{frame['path'].rsplit('/', 1)[-1][:80]}:{frame['function'][:80]}"
            return None
        if len(text) - len(stripped) > current.indent or not _names_a_class(stripped):
            return None  # a line of the program's text, or of somebody else who prints into the same stream
        del self.open[speaker]
        return Closed(current.place, current.ignored, current.inner)


def _names_a_class(text: str) -> bool:
    """Whether a line begins with the name of an exception, and not with who else prints: `srun: error:`, `INFO:`.

    Python prints its own without a module (`KeyError`), all others with it (`socket.timeout`).
    """
    found = _END.match(text)
    if found is None or found["name"] in _LEVELS:
        return False
    return "." in found["name"] or found["name"][0].isupper()
