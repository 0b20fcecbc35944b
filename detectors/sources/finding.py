"""Which files does a pattern mean? Bounded, and never outside the log roots.

A job's owner writes patterns: a search that began at `/` with six wildcards would walk the whole machine.
"""

import fnmatch
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from detectors.sources.rotated import base_of, has_siblings
from workloads.log_paths import LogPattern

FILES_LIMIT = 4096  # of one attempt
ENTRIES_LIMIT = 20_000  # of folders looked at for one pattern
_ESCAPED = re.compile(r"\[([*?[])\]")
_WILD = re.compile(r"(?<!\[)\*")


@dataclass
class _Looking:
    """How many folder entries may still be looked at."""

    left: int = ENTRIES_LIMIT


def plain(glob: str) -> str:
    """A pattern as an operator would write it: without the escapes."""
    return _ESCAPED.sub(r"\1", glob)


def paths_of(pattern: LogPattern, roots: Sequence[str]) -> list[str]:
    """Existing paths that the pattern's glob matches, sorted, at most `FILES_LIMIT`."""
    if not pattern.wild:
        path = plain(pattern.glob)
        # One that lies outside is left to the opening, which refuses it whether it exists or not.
        there = os.path.lexists(path) or not below(path, roots)
        return [path] if there or has_siblings(path) else []  # renamed, and its program may write on
    parts = pattern.glob.split("/")
    first_wild = next((place for place, part in enumerate(parts) if _WILD.search(part)), len(parts))
    start = plain("/".join(parts[:first_wild])) or "/"
    found: list[str] = []
    for path in _walk(start, parts[first_wild:], roots, _Looking()):
        found.append(path)
        if len(found) >= FILES_LIMIT:
            break
    return sorted(found)


def below(path: str, roots: Sequence[str]) -> bool:
    """Whether the real path is a root or lies below one."""
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError):
        return False
    return any(real == root or real.startswith(root.rstrip("/") + "/") for root in roots)


def _walk(folder: str, parts: Sequence[str], roots: Sequence[str], looking: _Looking) -> Iterator[str]:
    if not parts:
        if os.path.lexists(folder) or has_siblings(folder):
            yield folder
        return
    # Parts without a wildcard in one step: a path may have thousands, and a search nests as deep as its steps.
    wild = next((place for place, part in enumerate(parts) if _WILD.search(part)), len(parts))
    if wild:
        yield from _walk(os.path.join(folder, *map(plain, parts[:wild])), parts[wild:], roots, looking)
        return
    part, rest = parts[0], parts[1:]
    if not below(folder, roots):
        return
    for name in _matching(part, folder, looking, last=not rest):
        if rest:
            yield from _walk(os.path.join(folder, name), rest, roots, looking)
        else:
            yield os.path.join(folder, name)


def _matching(part: str, folder: str, looking: _Looking, *, last: bool) -> list[str]:
    """Names that match; of a file also where only what a rotation made of it is there."""
    matches = re.compile(fnmatch.translate(part)).match
    names = _names(folder, looking)
    found = [name for name in names if matches(name)]
    if last:
        known = set(found)
        bases = {base for name in names if name not in known and (base := base_of(name)) and matches(base)}
        found += sorted(bases - known)
    return found


def _names(folder: str, looking: _Looking) -> list[str]:
    names = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                looking.left -= 1
                if looking.left < 0:
                    break
                names.append(entry.name)
    except OSError:
        return []
    return sorted(names)
