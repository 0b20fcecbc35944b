"""Which parts of a log's lines are secrets? As `audit.masking` says, with every byte staying where it was."""

import re
from collections.abc import Iterator, Set
from functools import partial

from audit.masking import MASK, RULES, may_hold
from audit.private_keys import KEY_MARK, end_of_key, key_lines

_MASKED = re.compile(r"([\"']?)(?:\[masked\**\]?|\*+)\1")


def masked_in_place(line: str) -> str:
    """As `masked`, with as many bytes as before: what is counted in bytes of the log stays where it was."""
    if not may_hold(line):
        return line
    if "\n" in line and "PRIVATE KEY-----" in line:
        return masked_copy(line)
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
    hidden: Set[int] = key_lines(bare) if "PRIVATE KEY-----" in text else frozenset[int]()
    for at, (line, words) in enumerate(zip(lines, bare, strict=True)):
        marks = list(KEY_MARK.finditer(words)) if at in hidden else []
        gone = 0  # characters that are of a key begun on a line before
        if at in hidden and not (marks and marks[0][1] == "BEGIN"):
            gone = end_of_key(words) if marks else len(words)
        stars = "*" * len(words[:gone].encode("utf-8", "surrogatepass"))
        yield stars + masked_in_place(words[gone:]) + line[len(words) :]
