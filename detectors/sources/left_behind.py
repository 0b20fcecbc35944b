"""What was not read of a log before it was rotated away? The rest of the old file, then those between, once each.

A program that holds its file open goes on in the renamed one: as long as the new file is missing or empty, the old
one is the log.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace

from detectors.catalogue.records import LINE_LIMIT
from detectors.sources.file_turn import PARTIAL_WAIT, Turn, lines_of, taken_over, written
from detectors.sources.lines import split
from detectors.sources.opening import Opened, real_roots
from detectors.sources.position import FilePosition
from detectors.sources.rotated import BROKEN, Rotated, beside, opened_rotated, siblings
from detectors.sources.source import Portion


def left_behind(turn: Turn, own: FilePosition, file: Opened | None) -> Portion | None:
    """What a rotated file still holds; `None` when nothing is left there and `file`, the log's own name, is next.

    `file`: the file that has the name now; `None` when there is none.
    """
    now = turn.now.timestamp()
    empty = file is None or file.status.st_size == 0
    if not empty and own.looked_ns and own.looked_ns == beside(turn.stream.name, now).settled_ns:
        return None
    found = siblings(turn.stream.name, now)
    for place in range(len(found) - 1, -1, -1):
        with suppress(*BROKEN), _opened(turn, found[place]) as old:
            if old is None or not old.continues(own):
                continue
            newer = found[place + 1 :]
            rest = _rest(turn, own, old, alone=empty and not newer)
            rest = rest or _between(turn, own, newer, empty=empty)
            return rest or (_rest(turn, own, old, alone=True) if empty and newer else None)
    return None


def left_before(turn: Turn, file: Opened | None) -> Portion | None:
    """The first file that was rotated since the attempt began, when nothing was read yet; `None`: none was."""
    started_at = turn.asked.started_at
    if started_at is None or (turn.before and file and turn.before.continues(file.descriptor, file.status)):
        return None
    found = siblings(turn.stream.name, turn.now.timestamp())
    empty = file is None or file.status.st_size == 0
    for path in found:
        with suppress(*BROKEN), _opened(turn, path) as old:
            if old is None or written(old.file.status) < started_at or not old.read(0, 1):
                continue
            if taken_over(turn.asked, old.file.status) or (file and old.begins_like(file)):
                return None
            start = turn.before.offset if turn.before and old.continues(turn.before) else 0
            return _portion(turn, old, old.mark(start), alone=empty and path == found[-1])
    return None


def _opened(turn: Turn, path: str) -> AbstractContextManager[Rotated | None]:
    return opened_rotated(path, real_roots(turn.asked.roots), turn.asked.owner, turn.unpacking)


def _rest(turn: Turn, own: FilePosition, old: Rotated, *, alone: bool) -> Portion | None:
    """What the file that was being read holds beyond the position; `None` when it is finished.

    `alone`: there is no other file yet, so whoever writes may still write to this one.
    """
    if taken_over(turn.asked, old.file.status):
        return None
    return _portion(turn, old, own, alone=alone)


def _between(turn: Turn, own: FilePosition, newer: Sequence[str], *, empty: bool) -> Portion | None:
    """The next one of the files that were rotated since, from its beginning."""
    for path in newer:
        with suppress(*BROKEN), _opened(turn, path) as next_one:
            if next_one is None or next_one.continues(own) or not next_one.read(0, 1):
                continue
            status = next_one.file.status
            if taken_over(turn.asked, status):
                return None
            if turn.asked.listed_at is None or turn.asked.listed_at <= written(status):
                return Portion(turn.stream, None, at_end=False)  # whose it is will be known at the next listing
            start = replace(own, offset=0, skipping=False, partial=False)
            return _portion(turn, next_one, start, alone=empty)
    return None


def _portion(turn: Turn, old: Rotated, start: FilePosition, *, alone: bool) -> Portion | None:
    budget = max(turn.budget, LINE_LIMIT + 1)  # one line at least: without any the file would pass for finished
    chunk = old.read(start.offset, budget)
    written_at = written(old.file.status)
    whole = len(chunk) < budget
    quiet = old.packed or not (turn.now - PARTIAL_WAIT < written_at <= turn.now)
    takes = whole and quiet and (not alone or old.packed or turn.asked.ended)
    found = split(chunk, start.offset, skipping=start.skipping, take_rest=takes)
    end = start.offset + found.used
    if end == start.offset and (turn.own is None or start == turn.own):
        if old.packed or (quiet and not alone):
            return None
        at_end = alone and not (turn.asked.ended and chunk)
        return Portion(turn.stream, None, at_end=at_end, written_at=written_at)
    position = replace(old.mark(end), skipping=found.skipping, cut_lines=start.cut_lines + found.cut)
    waits = turn.asked.ended and found.used < len(chunk)
    return Portion(
        stream=turn.stream,
        position=position.stored(),
        records=lines_of(turn, found.pieces, written_at),
        at_end=alone and whole and not found.more and not waits,
        written_at=written_at,
        cut=found.cut,
    )
