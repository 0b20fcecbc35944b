"""What do all detectors find in the lines of some streams? A watcher's turns, over what was written long ago."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from detectors.attribution.ending import NEVER
from detectors.catalogue.hang import SIGNATURE as SILENCE
from detectors.catalogue.records import Context, Finding, Outcome, Progress, Record
from detectors.catalogue.turning import FORMAT, READER, turn
from detectors.diagnosing.accounting import Told
from detectors.diagnosing.asking import BEGINNING, MOVES, REPEATED, REPETITIONS
from detectors.diagnosing.merging import Merger, Placed
from schedulers.states import FINAL, LIVE, JobState
from workloads.limits import effective_limits

A_TURN = 20_000  # lines
A_TURN_BYTES = 8 << 20  # characters
SPEAKERS_KEPT = 20_000
_NO_DIGITS = str.maketrans("", "", "0123456789")


@dataclass
class Found:
    """What was found. `ended`: keys of findings that later lines refuted. `until`: the newest moment known,
    `last_line_at` the newest that a line shows.

    `numbers`: line numbers of what is quoted, by stream and offset. `passed_over`: repetitions not counted.
    `streams`: how many texts were read side by side.
    """

    findings: dict[str, Finding] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    progress: Progress = field(default_factory=Progress)
    ranks: dict[int, str] = field(default_factory=dict)
    witnesses: dict[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    numbers: dict[tuple[str, int], int] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    until: datetime = NEVER
    last_line_at: datetime | None = None
    passed_over: int = 0
    streams: int = 0

    def take(self, outcome: Outcome, numbers: Mapping[tuple[str, int], int]) -> None:
        """What one turn gave."""
        for finding in outcome.findings:
            self.findings[finding.key] = finding
            self.ended.discard(finding.key)
            for line in finding.evidence:
                place = (line.stream, line.offset)
                if place in numbers:
                    self.numbers[place] = numbers[place]
        self.ended |= set(outcome.ended)
        self.progress = outcome.progress
        self.ranks = dict(outcome.rank_hosts)
        self.witnesses |= outcome.witnesses


def fold(merger: Merger, told: Told, named: Sequence[str]) -> Found:
    """All turns over what the merger reads. `named`: hosts that the names of files tell."""
    found = Found(hosts=tuple(dict.fromkeys(named)))
    # Without the scheduler's list nobody knows in which order the ranks lie on the hosts.
    states: Mapping[str, Mapping[str, Any]] = (
        {} if told.nodes else {READER: {"places": {"block": "refuted"}, "v": FORMAT}}
    )
    base = _context(told)
    for batch in _batches(_once(merger.rows(told.started_at or NEVER, told.until), found)):
        hosts = told.nodes or tuple(dict.fromkeys((*named, *merger.hosts)))
        records = [_record(placed) for placed in batch]
        numbers = {(stream.name, row.offset): row.number for _at, _place, stream, row in batch}
        outcome = turn(states, records, replace(base, nodes=hosts), records[-1].read_at)
        states = outcome.states
        found.take(outcome, numbers)
        found.hosts, found.until = hosts, max(found.until, records[-1].read_at)
    found.passed_over += merger.passed_over
    found.last_line_at, found.streams = merger.newest_at, merger.many
    found.until = max(filter(None, (found.until, told.until)))
    return _to_the_end(found, states, replace(base, nodes=found.hosts), told)


def _context(told: Told) -> Context:
    return Context(
        state=JobState.RUNNING,
        nodes=(),
        started_at=told.started_at,
        ended_at=None,
        exit_code=None,
        exit_signal=None,
        reason=told.reason,
        limits=effective_limits({}),
    )


def _to_the_end(found: Found, states: Mapping[str, Mapping[str, Any]], context: Context, told: Told) -> Found:
    """The silence up to the newest moment that is known, and then the end that the scheduler shows."""
    if told.state is None or told.state in LIVE | FINAL:
        outcome = turn(states, (), replace(context, last_read_at=found.until), found.until)
        states = outcome.states
        found.take(replace(outcome, findings=tuple(f for f in outcome.findings if _proved(f))), {})
    if told.state in FINAL:
        ended = replace(
            context,
            state=told.state,
            ended_at=told.ended_at,
            exit_code=told.exit_code,
            exit_signal=told.exit_signal,
            last_read_at=found.until,
        )
        found.take(turn(states, (), ended, found.until), {})
    return found


def _proved(finding: Finding) -> bool:
    """A silence is one only where the line of the last step says when it was written."""
    return finding.signature != SILENCE or any(line.at is not None for line in finding.evidence)


def _record(placed: Placed) -> Record:
    at, _place, stream, row = placed
    return Record(stream.name, row.offset, row.text, at, stream.host, stream.rank)


def _once(rows: Iterable[Placed], found: Found) -> Iterable[Placed]:
    """Without what a speaker repeats while nothing moves: a cascade of a million lines says the same a few times.

    A line is a repetition when its beginning is the same and the rest differs in numbers alone. The first ones say
    all that is kept of a symptom; only its count is then a lower bound.
    """
    seen: dict[tuple[int, str, str], int] = {}
    for placed in rows:
        row = placed[3]
        if row.sort == MOVES or len(seen) > SPEAKERS_KEPT:
            seen.clear()
        elif row.sort == REPEATED:
            key = (placed[1], row.text[:BEGINNING], row.text.translate(_NO_DIGITS))
            seen[key] = seen.get(key, 0) + 1
            if seen[key] > REPETITIONS:
                found.passed_over += 1
                continue
        yield placed


def _batches(rows: Iterable[Placed]) -> Iterable[list[Placed]]:
    batch: list[Placed] = []
    size = 0
    for placed in rows:
        batch.append(placed)
        size += len(placed[3].text)
        if len(batch) >= A_TURN or size >= A_TURN_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
