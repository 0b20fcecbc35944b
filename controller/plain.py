"""How does text from outside get onto one safe line, and what is worth a line in the log?"""

import json
import re
import sys
from collections.abc import Callable, Collection, Hashable
from datetime import datetime

CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
LINE_LIMIT = 400  # characters of outside text in one sentence
LONGEST_LINE = 2000


def one_line(text: str, limit: int = LINE_LIMIT) -> str:
    """`text` without control characters and direction marks, cut to `limit` characters."""
    return CONTROL.sub("\ufffd", text[:limit]) + ("…" if len(text) > limit else "")


class Voice:
    """Speaks to the log: `say` always, `once` only when the sentence about that topic changes."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._last: dict[Hashable, str] = {}

    def say(self, sentence: str) -> None:
        """One line."""
        self._write(one_line(sentence, LONGEST_LINE))

    def once(self, topic: Hashable, sentence: str) -> None:
        """One line, unless it was the last one about this topic; an empty one only ends the topic."""
        if self._last.get(topic, "") == sentence:
            return
        self._last[topic] = sentence
        if sentence:
            self.say(sentence)

    def forget_all_but(self, keys: Collection[tuple[str, int] | tuple[int, str]]) -> None:
        """Forget topics that begin with another key; those that are words stay."""
        self._last = {t: last for t, last in self._last.items() if not isinstance(t, tuple) or t[:2] in keys}


def log_to(program: str, cluster: str, now: Callable[[], datetime], *, as_json: bool) -> Callable[[str], None]:
    """Where a voice of a program writes: a line with its time, or one JSON object a line."""

    def write(line: str) -> None:
        at = f"{now():%Y-%m-%dT%H:%M:%SZ}"
        if as_json:
            write_line(json.dumps({"at": at, "program": program, "cluster": cluster, "message": line}))
        else:
            write_line(f"{at} {program} {cluster}: {line}")

    return write


def write_line(line: str) -> None:
    """One line to stderr. A closed stderr is no reason to stop."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        return
