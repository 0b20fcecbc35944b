"""Which of the records say something, who says it and when? From records to readings, one pass over a line."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from detectors.catalogue import matching, stamps
from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.cleaning import (
    NOTHING,
    SHAPE_LIMIT,
    Cleaned,
    Said,
    clean,
    is_own,
    is_plain,
    said_by,
    wrapped,
)
from detectors.catalogue.digits import SHAPE
from detectors.catalogue.hits import NOTHING as NO_MATCH
from detectors.catalogue.hits import Hit
from detectors.catalogue.linear import encoded
from detectors.catalogue.locating import Places, Speaker, numbers, without_port
from detectors.catalogue.looking import ADDRESS, RANK_MAP
from detectors.catalogue.noticed import Noticed
from detectors.catalogue.numerals import whole
from detectors.catalogue.records import LINE_LIMIT, Context, Record
from detectors.catalogue.refining import by_package
from detectors.catalogue.texts import Text, pieces_of
from detectors.catalogue.tracebacks import Closed, Tracebacks

LABEL_LIMIT = 64  # characters from the start of a line within which a host's label ends
CLOSE = 3  # lines one after the other that say something, of which a cascade is told
UNASKED = 16  # lines that are then taken without the sieve
PARTIALS_AT_ONCE = 64  # streams with an unfinished line of a container runtime

_EXCEPTION = re.compile(r"\s{0,64}[A-Za-z_][\w.]{0,200}(?:: |:?$)")
_RANK_FIELD = re.compile(r"rank=(\d{1,7})", re.ASCII)
_RANK_WORDS = ("rank", "ranks", "r", "tasks", "task")
_HOST_WORDS = ("host", "hosts", "node", "nodes", "h")


class Reading(NamedTuple):
    """A record that says something.

    `text` is the line without its wrapping, `at` the line's own plausible stamp. `place` is where in the program a
    traceback that ends with this line broke. `hosts` and `ranks`: what the line is about (what it names, else its
    speaker), limited to the attempt's nodes. `peer`: the host whose connection to the speaker broke, where known.
    """

    record: Record
    text: str
    fault: Hit | None
    others: tuple[Hit, ...]
    speaker: Speaker
    at: datetime | None
    place: str = ""
    hosts: tuple[str, ...] = ()
    ranks: tuple[int, ...] = ()
    peer: str = ""

    @property
    def moment(self) -> datetime:
        """When it was written: the line's own stamp, else the time of the read."""
        return self.at or self.record.read_at


class _Line(NamedTuple):
    """A line without its wrapping. `shape` (`digits.SHAPE`): `None` where it is not known."""

    text: str
    said: Said
    raw: bytes
    shape: bytes | None


class Reader:
    """Turns records into readings: a fold, JSON as its state."""

    def __init__(self, state: Mapping[str, Any], context: Context) -> None:
        self.places = Places(dict(state.get("places", {})), context.nodes)
        self._zones = stamps.Zones(dict(state.get("zones", {})))
        self._tracebacks = Tracebacks(dict(state.get("tracebacks", {})))
        self._blocks: dict[str, str] = {str(k): str(v) for k, v in dict(state.get("blocks", {})).items()}
        self._partials: dict[str, str] = {str(k): str(v) for k, v in dict(state.get("partials", {})).items()}
        self.noticed = Noticed(dict(state.get("noticed", {})))
        self._matcher = matching.matcher(context.known)

    def state(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "places": self.places.state(),
            "zones": self._zones.state(),
            "tracebacks": self._tracebacks.state(),
            "blocks": self._blocks,
            "partials": self._partials,
            "noticed": self.noticed.state(),
        }

    def read(self, records: Sequence[Record]) -> list[Reading]:
        """The readings of `records`, in their order. Most lines of a text are not even split off."""
        candidates, tracebacks = self._matcher.candidates, self._tracebacks.open
        readings: list[Reading] = []
        for record, raw in self._telling(records):
            line = self._line(record, raw)
            if line is None:
                continue
            found = candidates(line.raw)
            if (found or tracebacks) and (reading := self._look(record, line, found)) is not None:
                readings.append(reading)
        self.noticed.left_open(self._tracebacks.waiting)
        return readings

    def _line(self, record: Record, raw: bytes) -> "_Line | None":
        """The line without its wrapping; `None` while its end is missing."""
        line = record.line
        end = line.find(": ", 1, LABEL_LIMIT)
        labelled = end > 0 and line[:end] in self.places.labels
        if not labelled and not self._partials and len(raw) <= SHAPE_LIMIT and raw.isascii():
            shape = raw.translate(SHAPE)
            cut = wrapped(shape)
            if cut > 0:
                return _Line(line[cut:], said_by(line[:cut]), raw[cut:], shape[cut:])
            if cut == 0:
                return _Line(line, NOTHING, raw, shape)
        if not labelled and not self._partials and is_plain(line):
            return _Line(line, NOTHING, raw, None)
        cleaned = self._whole(record.stream, self._labelled(line, end) if labelled else clean(line))
        return None if cleaned is None else _Line(cleaned.text, cleaned.said, encoded(cleaned.text), None)

    def _telling(self, records: Sequence[Record]) -> Iterator[tuple[Record, bytes]]:
        """The records without lines of texts that cannot say anything, and each as it is matched."""
        for piece in pieces_of(records):
            if isinstance(piece, Text):
                yield from self._sifted(piece)
            else:
                yield piece, encoded(piece.line)

    def _sifted(self, text: Text) -> Iterator[tuple[Record, bytes]]:
        """Every line while a traceback or a line in parts is open, else those that the sieve finds.

        Where it finds one line after the other, the next ones are taken without it: it only saves work.
        """
        raw, find, at = text.raw, self._matcher.sieve.find, 0
        close = unasked = 0
        while at <= len(raw):
            if unasked > 0:
                unasked -= 1
            elif not self._tracebacks.open and not self._partials:
                found = find(raw, at)
                if found < 0:
                    return
                start = raw.rfind(b"\n", at, found) + 1 or at
                close = close + 1 if start == at else 0
                unasked = UNASKED if close >= CLOSE else 0
                at = start
            end = raw.find(b"\n", at)
            end = end if end >= 0 else len(raw)
            record, line = text.record(at, end), raw[at:end]
            yield record, line if line.isascii() and b"\0" not in line else encoded(record.line)
            at = end + 1

    def _labelled(self, line: str, end: int) -> Cleaned:
        """A line that `pdsh`, `mpirun` or a program has labelled with its host."""
        inner = clean(line[end + 2 :])
        return replace(inner, said=replace(inner.said, host=self.places.labels[line[:end]]))

    def _whole(self, stream: str, cleaned: Cleaned) -> Cleaned | None:
        """The line joined with the parts before it; `None` while its end is missing."""
        begun = self._partials.pop(stream, "")
        if cleaned.partial and len(self._partials) < PARTIALS_AT_ONCE:
            self._partials[stream] = (begun + cleaned.text)[:LINE_LIMIT]
            return None
        if not begun:
            return cleaned
        again = clean(begun + cleaned.text)
        return Cleaned(again.text, again.said if again.said != NOTHING else cleaned.said)

    def _look(self, record: Record, line: "_Line", found: Sequence[int]) -> Reading | None:
        """A closer look at one line that the patterns or an open traceback ask for."""
        text, said, raw, _shape = line
        closed = self._tracebacks.see(f"{record.stream}|{said.label}", text) if self._needs(raw, found) else None
        match = self._matcher.match(raw, found, closing=closed is not None and not closed.ignored)
        if (match is NO_MATCH and closed is None) or is_own(text, self._matcher.names):
            return None
        if match.marks and match.marks & {RANK_MAP, ADDRESS}:
            self.places.learn_map(text)
        if match.vetoed:
            self.noticed.veto(match.vetoed)
        for hit in match.others:
            if hit.signature.kind == "progress":
                self.noticed.step_told(hit.signature.id)
        fault = match.fault
        if closed is not None:
            fault = None if closed.ignored else _raised_in(closed, fault or self._unnamed(text, raw))
        if fault is None and not match.others:
            return None
        if fault is not None and fault.signature.id.startswith("elastic.block_"):
            self._block(f"{record.stream}|{said.label}", fault)
        return self._reading(record, line, fault, match.others, closed)

    def _unnamed(self, text: str, raw: bytes) -> Hit | None:
        """The last line of a traceback that no signature knows is still an error of the program."""
        if _EXCEPTION.match(text) is None:
            return None
        signature = catalogue().signature("py.exception")
        return Hit(signature, {}, 0, len(raw), signature.role)

    def _block(self, key: str, fault: Hit) -> None:
        """A launcher's report names a host, then the rank that failed on it."""
        if fault.signature.id == "elastic.block_host":
            self._blocks[key] = self.places.node(fault.words["host"]) or ""
            if len(self._blocks) > PARTIALS_AT_ONCE:
                del self._blocks[next(iter(self._blocks))]
        elif fault.signature.id == "elastic.block_rank" and (host := self._blocks.get(key)):
            rank = whole(fault.words["rank"])
            if rank is not None:
                self.places.learn(rank, host)

    def _needs(self, raw: bytes, found: Sequence[int]) -> bool:
        return bool(self._tracebacks.open) or (bool(found) and (b"Traceback" in raw or b"Exception ignored" in raw))

    def _reading(
        self, record: Record, line: "_Line", fault: Hit | None, others: tuple[Hit, ...], closed: Closed | None
    ) -> Reading:
        text, said, _raw, shape = line
        speaker = self.places.speaker(text, said, record, shape) if fault is not None else _teller(said, record)
        stamp = None if said.at is not None else stamps.parse(text, record.read_at, shape)
        at = self._zones.place(stamp, record.read_at) if stamp is not None else said.at
        hosts, ranks = self._about(fault, speaker) if fault is not None else ((), ())
        place = closed.place if closed is not None else ""
        peer = self._peer(fault) if fault is not None and "peer" in fault.signature.names else ""
        return Reading(record, text, fault, others, speaker, at, place, hosts, ranks, peer)

    def _hosts(self, word: str) -> list[str]:
        """Nodes by a name or an expression, else the one with that address."""
        known = self.places.host_at(word)
        return self.places.named(word) or ([known] if known else [])

    def _peer(self, fault: Hit) -> str:
        return self.places.host_at(without_port(fault.words.get("peer") or "")) or ""

    def _about(self, fault: Hit, speaker: Speaker) -> tuple[tuple[str, ...], tuple[int, ...]]:
        """Hosts and ranks that a symptom is about; the map of ranks learns from lines that name both."""
        signature, words = fault.signature, fault.words
        ranks: list[int] = []
        hosts: list[str] = []
        if "rank" in signature.names:
            ranks = [n for word in _RANK_WORDS if word in words for n in numbers(_number_part(words[word]))]
        if "host" in signature.names:
            hosts = [node for word in _HOST_WORDS if word in words for node in self._hosts(words[word])]
        if ranks and hosts and signature.id.startswith("slurm.task"):
            self.places.learn_tasks(ranks, hosts)
        if not ranks and speaker.rank is not None:
            ranks = [speaker.rank]
        if not hosts and ranks and "rank" in signature.names:
            hosts = [host for rank in ranks if (host := self.places.host_of(rank)) is not None]
        if not hosts and speaker.host is not None and _speaks_of_itself(fault):
            hosts = [speaker.host]
        return tuple(dict.fromkeys(hosts)), tuple(dict.fromkeys(ranks))


def _raised_in(closed: Closed, fault: Hit | None) -> Hit | None:
    """The last line of a traceback, seen with the innermost of its frames."""
    if fault is None or (name := by_package(fault.signature.id, closed.inner)) == fault.signature.id:
        return fault
    signature = catalogue().signature(name)
    return fault._replace(signature=signature, role=signature.role)


_NOBODY = Speaker()


def _teller(said: Said, record: Record) -> Speaker:
    """Who tells a step or a checkpoint, from the wrapping and the stream alone: nobody is suspected for it."""
    if said is NOTHING and record.host is None and record.rank is None:
        return _NOBODY
    rank = said.rank if said.rank is not None else said.task if said.task is not None else record.rank
    return Speaker(record.host, rank, said.local_rank)


def _number_part(word: str) -> str:
    """`/job:jax_worker/replica:0/task:7` names task 7, `StragglerId(rank=5, …)` rank 5; others hold only ranks."""
    if "rank=" in word:
        return ",".join(_RANK_FIELD.findall(word))
    return word.rsplit("task:", 1)[-1]


def _speaks_of_itself(fault: Hit) -> bool:
    """Whether the speaker of the line is where it happened: not so where the line is the scheduler's own."""
    return "host" in fault.signature.names or "rank" in fault.signature.names
