"""What is new in the files that an attempt writes to?

Reads at most a budget of bytes from one file in one turn, and nothing that is not proved to be this attempt's:
after a requeue the next attempt truncates the same file or goes on in it (observed), and a job's owner may point
anywhere.
"""

import os
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from detectors.sources.file_turn import PARTIAL_WAIT, Turn, lines_of, taken_over, written
from detectors.sources.finding import FILES_LIMIT, paths_of, plain
from detectors.sources.left_behind import left_before, left_behind
from detectors.sources.lines import split
from detectors.sources.opening import NotThere, Opened, Unreadable, opened, real_roots
from detectors.sources.position import FilePosition, mark
from detectors.sources.rotated import beside
from detectors.sources.source import Asked, Found, Known, Portion, Position, Stream
from workloads.log_paths import hints_of

NO_ROOTS = "the cluster has no log roots: set the folders below which job logs may be read"
STALE = "nothing was written to it since the attempt started"
TAKEN_OVER = "the next attempt writes to it already"
STALE_BEFORE_START = timedelta(seconds=60)  # clocks of file server and scheduler differ
ATTRIBUTES_CACHED = 60.0  # seconds for which a shared file system may tell an old length (NFS: acregmax)


@dataclass(frozen=True)
class _Place:
    """Where reading goes on in an open file. `closed`: the rest is another attempt's. `doubt`: nobody knows."""

    offset: int = 0
    skipping: bool = False
    cut_lines: int = 0
    closed: bool = False
    doubt: bool = False
    trouble: str = ""


class FileSource:
    """Files on a file system that the site can see."""

    name = "files"

    def find(self, asked: Asked) -> Found:
        """Existing files of the attempt's patterns, each once, in the order of the patterns."""
        tried = tuple(plain(pattern.glob) for pattern in asked.patterns)
        if not asked.roots:
            return Found((), tried, NO_ROOTS)
        roots = _roots(asked)
        streams: dict[str, Stream] = {}
        for pattern in asked.patterns:
            for path, hints in hints_of(pattern, paths_of(pattern, roots), asked.nodes).items():
                if len(streams) < FILES_LIMIT:
                    streams.setdefault(path, Stream(path, hints.host, hints.rank))
        return Found(tuple(streams.values()), tried)

    def read(self, asked: Asked, stream: Stream, known: Known, budget: int, now: datetime) -> Portion:
        """The new complete lines of one file; a file that cannot be read gives its trouble and nothing else."""
        own, before = FilePosition.read(known.own), FilePosition.read(known.before)
        turn = Turn(asked, stream, own, before, budget, now)
        if own and (own.closed or _at_rest(turn, own)):
            return Portion(stream, None)
        try:
            with opened(stream.name, _roots(asked), asked.owner) as file:
                return _read(turn, file)
        except NotThere as error:
            rest = left_behind(turn, own, None) if own else left_before(turn, None)
            return rest or Portion(stream, None, trouble=str(error))
        except Unreadable as error:
            return Portion(stream, None, trouble=str(error))
        except OSError as error:
            return Portion(stream, None, trouble=error.strerror or "it cannot be read")

    def around(self, asked: Asked, stream: Stream, position: Position, start: int, end: int) -> bytes:
        """Bytes `start` to `end` of the file; none when it is no longer what was read."""
        own = FilePosition.read(position)
        try:
            with opened(stream.name, _roots(asked), asked.owner) as file:
                if own is None or not own.continues(file.descriptor, file.status):
                    return b""
                start = max(start, 0)
                return os.pread(file.descriptor, max(min(end, own.offset) - start, 0), start)
        except (Unreadable, OSError):
            return b""


def _roots(asked: Asked) -> tuple[str, ...]:
    return real_roots(asked.roots) if asked.real_roots is None else asked.real_roots


def _read(turn: Turn, file: Opened) -> Portion:
    own = turn.own
    if own and not own.continues(file.descriptor, file.status):
        rest = left_behind(turn, own, file)
        if rest is not None:
            return rest
    if own is None and (rest := left_before(turn, file)) is not None:
        return rest
    place = _place_in_known(turn, own, file) if own else _first_place(turn, file)
    if place.closed or place.doubt or place.trouble:
        return _set_aside(turn, file, place)
    return _portion(turn, file, place)


def _at_rest(turn: Turn, own: FilePosition) -> bool:
    """Whether nobody wrote since the last read and nothing waits: told without opening the file."""
    try:
        status = os.stat(turn.stream.name)
    except (OSError, ValueError):
        return False
    waits = own.partial and not turn.asked.ended
    return own.unchanged(status) and (own.offset == status.st_size or waits)


def _place_in_known(turn: Turn, own: FilePosition, file: Opened) -> _Place:
    """Where to go on in a file that was read before."""
    asked = turn.asked
    if own.continues(file.descriptor, file.status):
        grown = file.status.st_size > own.offset
        return _Place(own.offset, own.skipping, own.cut_lines, closed=grown and taken_over(asked, file.status))
    if taken_over(asked, file.status):
        return _Place(closed=True)
    if own.rewritten_at is None or (
        own.may_be_behind(file.descriptor, file.status)
        and turn.now.timestamp() < own.rewritten_at + ATTRIBUTES_CACHED
    ):
        return _Place(doubt=True)
    if asked.listed_at is None or asked.listed_at.timestamp() <= own.rewritten_at:
        return _Place(doubt=True)
    return _Place(cut_lines=own.cut_lines)  # truncated or replaced by the job itself


def _first_place(turn: Turn, file: Opened) -> _Place:
    """Where to begin in a file never read for this attempt: an earlier one may have written its beginning."""
    status, before, started_at = file.status, turn.before, turn.asked.started_at
    if taken_over(turn.asked, file.status):
        return _Place(trouble=TAKEN_OVER)
    if before is not None and before.continues(file.descriptor, status):
        if before.unchanged(status):
            return _Place(trouble=STALE)
        # As long as before but written anew: the same text once more, from its first byte on.
        return _Place() if status.st_size == before.size else _Place(min(before.size, status.st_size))
    if started_at is not None and written(status) < started_at - STALE_BEFORE_START:
        return _Place(trouble=STALE)
    return _Place()


def _set_aside(turn: Turn, file: Opened, place: _Place) -> Portion:
    """Nothing is read: it is not ours, or nobody knows yet whose it is."""
    own, written_at = turn.own, written(file.status)
    if own is None or place.trouble:
        return Portion(turn.stream, None, trouble=place.trouble)
    if place.closed:
        return Portion(turn.stream, replace(own, closed=True).stored(), written_at=written_at)
    since = turn.now.timestamp() if own.rewritten_at is None else own.rewritten_at
    noted = replace(own, rewritten_at=since, looked_ns=beside(turn.stream.name, turn.now.timestamp()).settled_ns)
    return Portion(turn.stream, noted.stored() if noted != own else None, at_end=False, written_at=written_at)


def _portion(turn: Turn, file: Opened, place: _Place) -> Portion:
    chunk = os.pread(file.descriptor, turn.budget, place.offset)
    written_at = written(file.status)
    size = max(file.status.st_size, 0)
    to_the_end = place.offset + len(chunk) >= size or not chunk
    if to_the_end:  # what another machine has written shows as zeros until it arrives here
        chunk = chunk.rstrip(b"\0")
    settled = turn.asked.ended and not timedelta(0) <= turn.now - written_at < PARTIAL_WAIT
    found = split(chunk, place.offset, skipping=place.skipping, take_rest=to_the_end and settled)
    end = place.offset + found.used
    goes_on = turn.own is not None and place.offset == turn.own.offset
    there = not end or os.pread(file.descriptor, 1, end - 1)
    if not there or (goes_on and turn.own and not turn.own.continues(file.descriptor, file.status)):
        return Portion(turn.stream, None, at_end=False)  # truncated while it was read: the next turn sees it
    partial = to_the_end and not found.more and end < size
    position = replace(
        mark(file.descriptor, file.status, end),
        skipping=found.skipping,
        cut_lines=place.cut_lines + found.cut,
        partial=partial,
    )
    return Portion(
        stream=turn.stream,
        # Without a complete line there is no place yet, and nothing by which the file would be known again.
        position=position.stored() if end and position != turn.own else None,
        records=lines_of(turn, found.pieces, written_at),
        at_end=end >= size or (partial and not turn.asked.ended),
        written_at=written_at,
        cut=found.cut,
        empty=not end,
    )
