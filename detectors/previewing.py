"""What would a signature have matched in the evidence that is stored, and in a text that somebody uploads?

Everything is bounded, the newest first; what a match would have come to is told by the detectors' own reader with
the catalogue as it would be.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from detectors.catalogue import linear
from detectors.catalogue.catalogue import Catalogue
from detectors.catalogue.cleaning import clean, is_plain
from detectors.catalogue.detector import QUOTE_LIMIT
from detectors.catalogue.entries import Signature
from detectors.catalogue.readings import Reader
from detectors.catalogue.records import Context, Record
from detectors.catalogue.site import hostile_lines
from detectors.catalogue.texts import text_of
from detectors.models import Anomaly, Excerpt
from detectors.sources.lines import split
from schedulers.states import JobState
from workloads.limits import effective_limits
from workloads.models import Attempt, Cluster

UPLOAD_LIMIT = 2 * 1024 * 1024  # bytes of an uploaded text
STORED_LIMIT = 32 * 1024 * 1024  # characters of stored copies that are searched
EXCERPTS, ANOMALIES = 1000, 2000  # stored copies and symptoms that are searched
SHOWN = 50  # matches shown of either
TOGETHER = 20  # stored copies in memory at a time
SLOWEST = 0.010  # seconds on a hostile line of 16 KB (attribution reference, section 10.2)
AROUND = 160  # characters shown before a match


@dataclass(frozen=True)
class Matched:
    """One line that the pattern matches: `before`, `found` and `after` are its text.

    `counts`: whether it would be a symptom; `fate` says as what, or why not. `attempt` and `excerpt` (key of the
    copy that holds the line) are missing in an uploaded text.
    """

    before: str
    found: str
    after: str
    fate: str
    counts: bool
    offset: int
    stream: str = ""
    at: datetime | None = None
    attempt: Attempt | None = None
    excerpt: int | None = None

    @property
    def completed(self) -> bool:
        """Whether its attempt ended well, so that the symptom would have been a false one."""
        return self.attempt is not None and self.attempt.state == JobState.COMPLETED.value


@dataclass(frozen=True)
class Searched:
    """What one search gave. `lines`: how many were searched; `complete`: whether that is all there is.

    `shown` are the first of `matched` lines; `counted` of them would be symptoms. `attempts` had one that counts,
    and `false_attempts` of these completed, with `false_lines` lines.
    """

    lines: int
    complete: bool
    shown: tuple[Matched, ...]
    matched: int
    counted: int
    attempts: int
    false_lines: int
    false_attempts: int
    since: datetime | None = None


def slowest_seconds(made: Signature) -> float:
    """Processor time on the worst of some hostile lines, the fastest of three runs: the machine may be busy."""
    patterns = [linear.Exact(pattern) for pattern in (made.pattern, made.unless) if pattern]
    worst = 0.0
    for line in hostile_lines(made):
        raw = linear.encoded(line)
        worst = max(worst, min(_run(patterns, raw) for _ in range(3)))
    return worst


def search_stored(made: Signature, known: Catalogue, cluster: Cluster | None) -> Searched:
    """The stored copies and evidence of a cluster (default: all), the newest first. `known`: with the signature."""
    tally = _Tally(_Look(made, known))
    copies, at_end = _excerpts(cluster)
    size, complete, since = 0, at_end, None
    for excerpt in copies:
        if size >= STORED_LIMIT:
            complete = False
            break
        size += len(excerpt.text)
        since = excerpt.kept_at
        tally.add_text(excerpt)
    symptoms = list(_anomalies(cluster))
    for anomaly in symptoms:
        tally.add_evidence(anomaly)
    if symptoms and (since is None or symptoms[-1].detected_at < since):
        since = symptoms[-1].detected_at
    return tally.result(complete and len(symptoms) < ANOMALIES, since)


def search_text(made: Signature, known: Catalogue, content: bytes) -> Searched:
    """Every line of an uploaded text, cut to `UPLOAD_LIMIT`."""
    tally = _Tally(_Look(made, known))
    rest, start, skipping = content[:UPLOAD_LIMIT], 0, False
    lines: list[tuple[int, str]] = []
    while rest:
        portion = split(rest, start, skipping=skipping, take_rest=True)
        lines += [(offset, text_of(line)) for offset, line in portion.lines]
        rest, start, skipping = rest[portion.used :], start + portion.used, portion.skipping
        if not portion.used:
            break
    tally.add_lines(lines, _Origin())
    return tally.result(len(content) <= UPLOAD_LIMIT, None)


@dataclass(frozen=True)
class _Origin:
    """Where lines come from."""

    stream: str = ""
    at: datetime | None = None
    attempt: Attempt | None = None
    excerpt: int | None = None


class _Look:
    """The pattern alone finds the lines; the reader then says what becomes of them."""

    def __init__(self, made: Signature, known: Catalogue) -> None:
        self.made, self._known = made, known
        self._pattern = linear.Exact(made.pattern)
        self._unless = linear.Exact(made.unless) if made.unless else None

    def at(self, line: str) -> tuple[str, str, str] | None:
        """The text before the match, the match, and what follows; `None` without one."""
        raw = linear.encoded(line if is_plain(line) else clean(line).text)
        found = self._pattern.search(raw)
        if found is None or (self._unless is not None and self._unless.search(raw) is not None):
            return None
        before, inner, after = (
            part.decode("utf-8", "replace")
            for part in (raw[: found.start], raw[found.start : found.end], raw[found.end :])
        )
        if len(before) > AROUND:
            before = f"…{before[-AROUND:]}"
        return before, inner[:QUOTE_LIMIT], after[: QUOTE_LIMIT - min(len(inner), QUOTE_LIMIT)]

    def fates(self, lines: Sequence[tuple[int, str]], origin: _Origin) -> dict[int, tuple[str, bool]]:
        """By offset: as what a line would count, or what is stronger; nothing for lines that say nothing."""
        at = origin.at or _LONG_AGO
        reader = Reader({}, _context(origin.attempt, self._known))
        fates: dict[int, tuple[str, bool]] = {}
        for reading in reader.read([Record(origin.stream, offset, line, at) for offset, line in lines]):
            if reading.fault is None:
                continue
            name = reading.fault.signature.id
            if name != self.made.id:
                fates[reading.record.offset] = _("'%(name)s' is stronger on this line") % {"name": name}, False
            elif reading.fault.role is not self.made.role:
                made = _("a look-alike makes it: %(role)s") % {"role": _(reading.fault.role.label)}
                fates[reading.record.offset] = made, False
            else:
                fates[reading.record.offset] = _(reading.fault.role.label), True
        return fates


class _Tally:
    def __init__(self, look: _Look) -> None:
        self._look = look
        self._lines = self._matched = self._counted = self._false = 0
        self._shown: list[Matched] = []
        self._attempts: dict[int, bool] = {}
        self._quoted: set[tuple[int, str, str]] = set()
        self._places: set[tuple[int, str, int]] = set()

    def add_text(self, excerpt: Excerpt) -> None:
        """Every line of a stored copy."""
        lines: list[tuple[int, str]] = []
        offset = excerpt.offset
        for line in excerpt.text.removesuffix("\n").split("\n"):
            lines.append((offset, line))
            offset += len(line.encode("utf-8", "surrogatepass")) + 1
        self.add_lines(lines, _Origin(excerpt.stream, excerpt.kept_at, excerpt.attempt, excerpt.pk))

    def add_evidence(self, anomaly: Anomaly) -> None:
        """The quoted lines of a symptom that no copy has shown."""
        for quote in anomaly.evidence:
            stream, offset, line = str(quote.get("stream")), quote.get("offset"), str(quote.get("line"))
            if (anomaly.attempt_id, stream, line[:QUOTE_LIMIT]) in self._quoted:
                continue
            where = offset if isinstance(offset, int) else 0
            self.add_lines([(where, line)], _Origin(stream, anomaly.detected_at, anomaly.attempt))

    def add_lines(self, lines: Sequence[tuple[int, str]], origin: _Origin) -> None:
        """Some lines that stand one after the other."""
        self._lines += len(lines)
        found = [(offset, line, parts) for offset, line in lines if (parts := self._look.at(line)) is not None]
        if not found:
            return
        fates = self._look.fates(lines, origin)
        for offset, line, (before, inner, after) in found:
            if origin.attempt is not None:
                place = (origin.attempt.pk, origin.stream, offset)
                if place in self._places:  # copies around evidence and of the end may overlap
                    continue
                self._places.add(place)
                self._quoted.add((origin.attempt.pk, origin.stream, line[:QUOTE_LIMIT]))
            fate, counts = fates.get(
                offset, (_("hidden: a look-alike of a fault, or a line of Rekindle itself"), False)
            )
            whence = (origin.stream, origin.at, origin.attempt, origin.excerpt)
            self._count(Matched(before, inner, after, fate, counts, offset, *whence))

    def _count(self, line: Matched) -> None:
        self._matched += 1
        self._counted += line.counts
        if line.counts and line.attempt is not None:
            self._attempts[line.attempt.pk] = line.completed
            self._false += line.completed
        if len(self._shown) < SHOWN:
            self._shown.append(line)

    def result(self, complete: bool, since: datetime | None) -> Searched:
        """What was found."""
        return Searched(
            lines=self._lines,
            complete=complete,
            shown=tuple(self._shown),
            matched=self._matched,
            counted=self._counted,
            attempts=len(self._attempts),
            false_lines=self._false,
            false_attempts=sum(self._attempts.values()),
            since=since,
        )


_LONG_AGO = datetime.fromisoformat("2000-01-01T00:00:00+00:00")


def _excerpts(cluster: Cluster | None) -> tuple[Iterator[Excerpt], bool]:
    """The newest stored copies, a few in memory at a time, and whether these are all."""
    rows = Excerpt.objects.filter(**_only(cluster))
    keys = list(rows.order_by("-pk").values_list("pk", flat=True)[: EXCERPTS + 1])

    def some() -> Iterator[Excerpt]:
        for start in range(0, len(keys[:EXCERPTS]), TOGETHER):
            found = Excerpt.objects.filter(pk__in=keys[:EXCERPTS][start : start + TOGETHER])
            yield from found.select_related("attempt__job__cluster").order_by("-pk")

    return some(), len(keys) <= EXCERPTS


def _anomalies(cluster: Cluster | None) -> QuerySet[Anomaly]:
    rows = Anomaly.objects.filter(**_only(cluster)).select_related("attempt__job__cluster")
    return rows.order_by("-pk")[:ANOMALIES]


def _only(cluster: Cluster | None) -> dict[str, Cluster]:
    return {} if cluster is None else {"attempt__job__cluster": cluster}


def _context(attempt: Attempt | None, known: Catalogue) -> Context:
    return Context(
        state=JobState.RUNNING,
        nodes=tuple(attempt.nodes) if attempt else (),
        started_at=None,
        ended_at=None,
        exit_code=None,
        exit_signal=None,
        reason="",
        limits=effective_limits({}),
        known=known,
    )


def _run(patterns: Sequence[linear.Exact], raw: bytes) -> float:
    start = time.thread_time()
    for pattern in patterns:
        pattern.search(raw)
    return time.thread_time() - start
