"""Which parts of a log's lines are secrets? As `audit.masking` says, with every byte staying where it was."""

import re
from collections.abc import Iterator
from functools import partial

from audit.masking import MASK, RULES, may_hold

_MASKED = re.compile(r"([\"']?)(?:\[masked\**\]?|\*+)\1")
_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----")
_KEY_ENDS = "PRIVATE KEY-----"


def masked_in_place(line: str) -> str:
    """As `masked`, with as many bytes as before: what is counted in bytes of the log stays where it was."""
    if not may_hold(line):
        return line
    for pattern, instead in RULES:
        line = pattern.sub(partial(_as_long, instead), line)
    return line


def masked_copy(text: str) -> str:
    """As `masked_in_place`, of many lines; a private key to its end."""
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
    inside = False
    for line in text.splitlines(keepends=True):
        bare = line.rstrip("\r\n")
        ends = inside and _KEY_ENDS in bare
        inside = not ends and (inside or _KEY_BEGINS.search(bare) is not None)
        hidden = inside or ends
        body = masked_in_place(bare)
        if hidden and body == bare:
            body = "*" * len(bare.encode("utf-8", "surrogatepass"))
        yield body + line[len(bare) :]
