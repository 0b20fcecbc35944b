"""Which parts of a log's lines are secrets? As `audit.masking` says, with every byte staying where it was."""

import re
from collections.abc import Iterator, Sequence, Set
from functools import partial

from audit.masking import MASK, RULES, may_hold

_MASKED = re.compile(r"([\"']?)(?:\[masked\**\]?|\*+)\1")
_KEY_MARK = re.compile(r"-----(BEGIN|END) [A-Z ]{0,40}PRIVATE KEY-----")
_KEY_LINE = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/=]{16,}$|^[A-Za-z0-9+/=]+$")  # a host may stand before it


def masked_in_place(line: str) -> str:
    """As `masked`, with as many bytes as before: what is counted in bytes of the log stays where it was."""
    if not may_hold(line):
        return line
    for pattern, instead in RULES:
        line = pattern.sub(partial(_as_long, instead), line)
    return line


def masked_copy(text: str) -> str:
    """As `masked_in_place`, of many lines; a private key to its end, also one that began before them."""
    return "".join(_masked_lines(text))


def _as_long(instead: str, found: re.Match[str]) -> str:
    """`instead`, with a mask that is as long as what it hides."""
    told = found.expand(instead)
    before, _, after = told.rpartition(MASK)
    if _MASKED.fullmatch(found[0], len(before), len(found[0]) - len(after)):
        return found[0]
    room = len(found[0].encode("utf-8", "surrogatepass")) - len(told.encode("utf-8", "surrogatepass")) + len(MASK)
    mask = f"{MASK[:-1]}{'*' * (room - len(MASK))}]" if room >= len(MASK) else "*" * room
    return f"{before}{mask}{after}"


def _masked_lines(text: str) -> Iterator[str]:
    lines = text.splitlines(keepends=True)
    bare = [line.rstrip("\r\n") for line in lines]
    hidden: Set[int] = _of_keys(bare) if "PRIVATE KEY-----" in text else frozenset[int]()
    for at, (line, words) in enumerate(zip(lines, bare, strict=True)):
        body = masked_in_place(words)
        if at in hidden and body == words:
            body = "*" * len(words.encode("utf-8", "surrogatepass"))
        yield body + line[len(words) :]


def _of_keys(lines: Sequence[str]) -> set[int]:
    """Which lines belong to a private key. One that has no end goes on to the last line."""
    found: set[int] = set()
    inside = False
    for at, line in enumerate(lines):
        marks = [mark[1] for mark in _KEY_MARK.finditer(line)]
        if inside or "BEGIN" in marks:
            found.add(at)
        elif marks:  # the end of a key that began before the first line
            before = at - 1
            while before >= 0 and before not in found and _KEY_LINE.search(lines[before]):
                found.add(before)
                before -= 1
        inside = marks[-1] == "BEGIN" if marks else inside
    return found
