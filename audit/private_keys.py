"""Which lines of a text belong to a private key?

A key is bounded: a program that merely names `-----BEGIN … PRIVATE KEY-----` hides nothing that follows. Of a text
that lies wholly inside a key, without either mark, nothing is known: pictures are base64 too, so it stays.
"""

import re
from collections.abc import Sequence

KEY_MARK = re.compile(r"-----(BEGIN|END) [A-Z ]{0,40}PRIVATE KEY-----")
LONGEST = 300  # lines: a key of 16384 bits in lines of 64 characters has some 200
_BASE64 = re.compile(r"[A-Za-z0-9+/=]{1,4096}")  # mostly 64, 70 or 76 characters; some write all of it in one line
_LABELLED = re.compile(  # 2026-11-30 06:52 n03: MII…; neither a word nor a digest
    r"[^\r\n]{0,80}[\s:|>\]](?=[a-z0-9+/]{0,76}[A-Z])(?=[A-Z0-9+/]{0,76}[a-z])[A-Za-z0-9+/=]{16,76}"
)
_HEADING = re.compile(r"(?:Proc-Type|DEK-Info): [^\r\n]{1,80}")
_ON_ITS_LINE = re.compile(r"\s{0,9}(?:[A-Za-z0-9+/=]{16,4096})?\s{0,9}")


def key_lines(lines: Sequence[str]) -> set[int]:
    """The places of the lines that belong to a private key, those of its marks too. `lines` have no line ends.

    From its first mark to the first line that cannot be of a key, at most `LONGEST`; and from its last mark back,
    for keys that began before the text. Linear in the text.
    """
    found: set[int] = set()
    label, left = "", 0  # what stands before the first mark, and how many lines may still belong to it
    for at, line in enumerate(lines):
        marks = list(KEY_MARK.finditer(line))
        if marks:
            found.add(at)
            if marks[0][1] == "END":
                _back_from(at, lines, marks[0].start(), found)
            begun = marks[-1][1] == "BEGIN" and _ON_ITS_LINE.fullmatch(line, marks[-1].end())
            label, left = line[: marks[-1].start()], LONGEST if begun else 0
        elif left and (_of_a_key(line, label) or _after_heading(at, lines, label)):
            found.add(at)
            left -= 1
        else:
            left = 0
    return found


def end_of_key(line: str) -> int:
    """Where a key that began on a line before ends: behind the last of the marks that end one.

    0 where words stand before the first: they are of no key, and the rules take the marks alone.
    """
    end = 0
    before = line[: line.find("-----END ")].strip()
    if before and not _of_a_key(before, ""):
        return end
    for mark in KEY_MARK.finditer(line):
        if mark[1] == "BEGIN":
            break
        end = mark.end()
    return end


def _of_a_key(line: str, label: str) -> bool:
    bare = line.removeprefix(label).rstrip()
    return bool(_BASE64.fullmatch(bare) or _HEADING.fullmatch(bare) or _LABELLED.fullmatch(bare))


def _after_heading(at: int, lines: Sequence[str], label: str) -> bool:
    """Whether it is the empty line between the headings of a key and its body."""
    heading = _HEADING.fullmatch(lines[at - 1].removeprefix(label).rstrip())
    return heading is not None and not lines[at].removeprefix(label).strip()


def _back_from(at: int, lines: Sequence[str], start: int, found: set[int]) -> None:
    label = lines[at][:start]
    for before in range(at - 1, max(at - 1 - LONGEST, -1), -1):
        if before in found or not _of_a_key(lines[before], label):
            return
        found.add(before)
