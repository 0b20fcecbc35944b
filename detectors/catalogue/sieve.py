"""Which lines of a long text may say anything at all? The others are never split, decoded or matched."""

from collections.abc import Iterable

import re2

from detectors.catalogue.linear import options
from detectors.catalogue.literals import literals, shortest

ALWAYS = (b"\r", b"\x1b", b" stdout P ", b" stderr P ")
"""Lines whose text is not what stands there: carriage returns, colours, and parts of a line."""
MEMORY = 32 << 20  # bytes that the automaton may take; a fraction is used


class Sieve:
    """One pass over a text of many lines, by the texts of which every match of a pattern holds one (`literals`).

    What it finds may still say nothing; what it leaves out says nothing.
    """

    def __init__(self, patterns: Iterable[str]) -> None:
        wanted = set(ALWAYS)
        self._search = None
        for pattern in patterns:
            texts = literals(pattern)
            if texts is None:
                return  # a pattern that may match anything: every line must be looked at
            wanted |= texts
        chosen = options()
        chosen.max_mem = MEMORY
        self._search = re2.compile(b"|".join(re2.escape(text) for text in shortest(wanted)), chosen).search

    def find(self, raw: bytes, start: int) -> int:
        """Where the next line that may say something does so, from byte `start` on; -1 when there is none."""
        if self._search is None:
            return start if start < len(raw) else -1
        found = self._search(raw, start)
        return -1 if found is None else found.start()
