"""Of two errors that Python prints as a chain, which one is the cause?

`During handling of …` and `… was the direct cause of …` join the error before them to the next one of the same
speaker. A look-up that failed before an error that says more is what the program had expected (a cache without the
key, an optional module): it is put aside. And where a disk, a network or a GPU failed first, what the program makes
of it says nothing of the program.
"""

import re
from collections.abc import Iterable

from detectors.catalogue.entries import Signature
from detectors.catalogue.layer import Layer
from detectors.catalogue.readings import Reading

LINK = "py.chained"
SPEAKERS_KEPT = 64

_OWN = (Layer.APPLICATION, Layer.USER)
_LOOKED_UP = re.compile(
    r"\b(?:KeyError|IndexError|LookupError|AttributeError|TypeError|StopIteration|ImportError|ModuleNotFoundError"
    r"|queue\.Empty|EOFError|FileExistsError)\b"
)
_REMOTE = ("data.remote", "hf.hub_net", "hf.hub_limit", "net.names")  # somebody else did not answer


class Chains:
    """The last error of each speaker, and whether the next one belongs to it; JSON as its state."""

    def __init__(self, state: Iterable[Iterable[str | bool]]) -> None:
        self._last: dict[str, tuple[str, bool]] = {
            str(speaker): (str(key), bool(linked)) for speaker, key, linked in state
        }

    def state(self) -> list[list[str | bool]]:
        """As JSON."""
        return [[speaker, *told] for speaker, told in self._last.items()]

    def link(self, reading: Reading) -> None:
        """A line that joins the error before it to the next one."""
        speaker = _speaker(reading)
        if speaker in self._last:
            self._last[speaker] = (self._last[speaker][0], True)

    def follow(self, reading: Reading, key: str) -> str | None:
        """One more error of a speaker, with its finding's key; the key of the one that it is chained to."""
        speaker = _speaker(reading)
        before = self._last.pop(speaker, None)
        if len(self._last) >= SPEAKERS_KEPT:
            del self._last[next(iter(self._last))]
        self._last[speaker] = (key, False)
        return before[0] if before is not None and before[1] and before[0] != key else None


def joins(reading: Reading) -> bool:
    """Whether the line joins two errors."""
    return reading.fault is not None and reading.fault.signature.id == LINK


def put_aside(first: Signature, text: str, second: Signature) -> str:
    """Which of two chained causes is none: `first`, whose line is `text`, `second`, or neither (empty)."""
    own = second.id.startswith("py.") or second.layer in _OWN
    if own and (first.layer not in (*_OWN, Layer.DATA, Layer.UNKNOWN) or first.id in _REMOTE):
        return "second"
    told = not second.id.startswith("py.") or second.layer not in _OWN
    return "first" if told and first.id.startswith("py.") and _LOOKED_UP.search(text) else ""


def _speaker(reading: Reading) -> str:
    return f"{reading.record.stream}|{reading.speaker.rank}"
