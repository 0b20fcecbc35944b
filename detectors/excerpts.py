"""Which log text is kept, because a requeue will truncate the file? (decisions 7)"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from detectors.catalogue.masking import masked_copy
from detectors.catalogue.records import Evidence
from detectors.catalogue.texts import text_of
from detectors.gathering import StreamNews
from detectors.models import Excerpt
from detectors.turned import Turned

LINES = 100  # before and after evidence
REACH = 65_536  # bytes looked at on either side for those lines
END = 262_144  # bytes of the end of a stream
END_OF_ATTEMPT = 2_097_152  # bytes kept of all ends of one attempt
EVIDENCE_KEPT = 20  # excerpts around evidence of one attempt
EVIDENCE_PER_TURN = 5
WHY_EVIDENCE, WHY_END = "evidence", "end"


@dataclass(frozen=True)
class Cut:
    """Text cut out of a stream, without secrets. `row` is the stored excerpt that it replaces."""

    stream: str
    offset: int
    text: str
    why: str
    row: int | None = None


def cut_excerpts(turned: Turned, now: datetime) -> tuple[Cut, ...]:
    """What one turn adds: text around new evidence, and the ends when the attempt is read to its end."""
    new = turned.new_findings
    closing = turned.finished(now)
    if not new and not closing:
        return ()
    kept = list(Excerpt.objects.filter(attempt=turned.attempt).only("stream", "offset", "why", "text"))
    streams = {news.stream.name: news for news in turned.news.readable}
    evidence = [line for finding in new for line in finding.evidence[:1]]
    cuts = list(_around_evidence(turned, evidence, streams, kept))
    if closing:
        cuts += _again(turned, streams, kept)
        cuts += _ends(turned, kept)
    return tuple(cuts)


def _around_evidence(
    turned: Turned, evidence: Sequence[Evidence], streams: dict[str, StreamNews], kept: Sequence[Excerpt]
) -> Iterable[Cut]:
    places = [(e.stream, e.offset, e.offset + len(e.text)) for e in kept if e.why == WHY_EVIDENCE]
    room = min(EVIDENCE_KEPT - len(places), EVIDENCE_PER_TURN)
    for line in evidence:
        inside = any(line.stream == stream and start <= line.offset < end for stream, start, end in places)
        if room <= 0 or inside or line.stream not in streams:
            continue
        cut = _lines_around(turned, streams[line.stream], line.offset)
        if cut.text:
            room -= 1
            places.append((cut.stream, cut.offset, cut.offset + len(cut.text)))
            yield cut


def _again(turned: Turned, streams: dict[str, StreamNews], kept: Sequence[Excerpt]) -> Iterable[Cut]:
    """The lines after evidence that were not written yet when it was found."""
    for excerpt in kept:
        news = streams.get(excerpt.stream)
        if excerpt.why != WHY_EVIDENCE or news is None:
            continue
        content = _content(turned, news, excerpt.offset, excerpt.offset + 2 * REACH)
        longer = masked_copy(text_of(b"".join(content.splitlines(keepends=True)[: 2 * LINES + 1])))
        if len(longer) > len(excerpt.text):
            yield Cut(excerpt.stream, excerpt.offset, longer, WHY_EVIDENCE, excerpt.pk)


def _ends(turned: Turned, kept: Sequence[Excerpt]) -> Iterable[Cut]:
    """The end of each stream while there is room: the job's common output first, then ranks in order."""
    known = {excerpt.stream: excerpt.pk for excerpt in kept if excerpt.why == WHY_END}
    left = END_OF_ATTEMPT
    order = sorted(
        turned.news.readable,
        key=lambda news: (news.stream.rank is not None, news.stream.rank or 0, news.stream.name),
    )
    for news in order:
        size = min(END, left)
        offset = int(news.position.get("offset", 0))
        start = max(offset - size, 0)
        text = masked_copy(text_of(_content(turned, news, start, offset))) if size > 0 else ""
        left -= len(text)
        if text:
            yield Cut(news.stream.name, start, text, WHY_END, known.get(news.stream.name))


def _lines_around(turned: Turned, news: StreamNews, offset: int) -> Cut:
    before = _content(turned, news, max(offset - REACH, 0), offset).splitlines(keepends=True)[-LINES:]
    after = _content(turned, news, offset, offset + REACH).splitlines(keepends=True)[: LINES + 1]
    start = offset - sum(len(line) for line in before)
    return Cut(news.stream.name, start, masked_copy(text_of(b"".join([*before, *after]))), WHY_EVIDENCE)


def _content(turned: Turned, news: StreamNews, start: int, end: int) -> bytes:
    return news.source.around(turned.news.asked, news.stream, news.position, start, end)
