"""Does one chain hold, link by link, over what stands in the table and what stands in files?"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from audit.keyring import FORGED, PROVED, STRANGE, Keyring, shown
from audit.models import AuditArchive, AuditCheckpoint
from audit.row_text import GONE, START, digest
from audit.signing import Ending, Removal


class Broken(Exception):
    """The first thing that is wrong; the message is a sentence without its dot."""


@dataclass(frozen=True)
class Link:
    """One seal with the text of its event's row; `None` when the event is not there."""

    seq: int
    event: int
    digest: str
    text: str | None
    sealed_at: datetime | None = None


@dataclass(frozen=True)
class Run:
    """Checkpoints one after the other that were signed by the same key and are worth the same (`audit.keyring`)."""

    key: str
    worth: str
    first_seq: int
    last_seq: int
    number: int = 1


class Walk:
    """One way along a chain, from its first seal or from where a stone ends.

    `signed`: the stored checkpoints by seal. `keys`: an empty ring proves nothing. `runs`: whose word was met.
    `doubts`: stones that may be a thief's, and whose files were not read.
    """

    def __init__(
        self,
        cluster: str,
        keys: Keyring,
        signed: Mapping[int, AuditCheckpoint],
        seq: int = 0,
        link: str = START,
    ) -> None:
        self._cluster = cluster
        self._keys = keys
        self._signed = dict(signed)
        self._kept: set[int] = set()
        self.runs: list[Run] = []
        self.doubts: list[str] = []
        self.link = link
        self.seq = seq
        self.proved = 0
        self.proved_at: datetime | None = None

    def expect(self, row: AuditCheckpoint) -> None:
        """A checkpoint from elsewhere: the stored one, if there is one, must be the same."""
        stored = self._signed.setdefault(row.seq, row)
        if (stored.digest, stored.signature, stored.key_id) != (row.digest, row.signature, row.key_id):
            raise Broken(f"checkpoint {row.seq} is another one than the one that was kept outside")
        self._kept.add(row.seq)

    def follow(self, links: Iterable[Link]) -> None:
        """The next seals."""
        for link in links:
            if link.seq != self.seq + 1:
                raise Broken(f"seal {self.seq + 1} is missing: after {self.seq} comes {link.seq}")
            self._step(link)
            if (checkpoint := self._signed.pop(link.seq, None)) is not None:
                self.witness(checkpoint)

    def witness(self, row: AuditCheckpoint) -> None:
        """A checkpoint that speaks of the seal that was met last."""
        if (row.cluster, row.seq, row.digest) != (self._cluster, self.seq, self.link):
            raise Broken(f"the chain was written anew: its digest at checkpoint {row.seq} is another one")
        if not self._keys.keys:
            return
        ending = Ending(self._cluster, row.seq, row.digest, row.at)
        worth = self._keys.worth(row.key_id, ending, row.signature, kept=row.seq in self._kept)
        if worth == FORGED:
            raise Broken(f"checkpoint {row.seq} was not signed by the key {shown(row.key_id)}, which it names")
        self._met(row, worth)
        if worth == PROVED:
            self.proved, self.proved_at = row.seq, row.at

    def _met(self, row: AuditCheckpoint, worth: str) -> None:
        last = self.runs[-1] if self.runs else None
        if last is not None and (last.key, last.worth) == (row.key_id, worth):
            self.runs[-1] = replace(last, last_seq=row.seq, number=last.number + (row.seq != last.last_seq))
        else:
            self.runs.append(Run(row.key_id, worth, row.seq, row.seq))

    def meet(self, stone: AuditArchive, *, is_read: bool = False) -> None:
        """A stone must begin where the walk stands, and be signed.

        `is_read`: its file is followed next, so that it hides nothing even if a key's thief put it.
        """
        if stone.first_seq != self.seq + 1 or stone.last_seq < stone.first_seq:
            raise Broken(f"seal {self.seq + 1} is missing: after {self.seq} stands the stone of {_span(stone)}")
        if stone.before != self.link:
            raise Broken(f"the stone of {_span(stone)} does not go on from seal {self.seq}")
        if not self._keys.keys:
            return
        worth, name = self._keys.worth(stone.key_id, removal_of(stone), stone.signature), shown(stone.key_id)
        if worth == FORGED:
            raise Broken(f"the stone of {_span(stone)} was not signed by the key {name}, which it names")
        if worth == STRANGE:
            raise Broken(f"the stone of {_span(stone)} was signed by the key {name}, which was not given")
        if worth != PROVED and not is_read:
            self.doubts.append(f"the stone of {_span(stone)} was signed by the key {name}, which came to its end")

    def over(self, stone: AuditArchive) -> None:
        """Past what the stone stands for, without looking at it. Its last seal has a checkpoint in the table."""
        self.seq, self.link = stone.last_seq, stone.digest
        witness = self._signed.get(stone.last_seq)
        self._signed = {seq: row for seq, row in self._signed.items() if seq > stone.last_seq}
        if witness is None:
            raise Broken(f"checkpoint {stone.last_seq}, the witness of the stone of {_span(stone)}, is missing")
        self.witness(witness)

    def through(self, stone: AuditArchive) -> None:
        """After the file's links: they must have led to where the stone says."""
        if (self.seq, self.link) != (stone.last_seq, stone.digest):
            raise Broken(f"{stone.file} ends at seal {self.seq}, and its stone says {stone.last_seq}")

    def ended(self, least: int = 0) -> None:
        """After the last seal no checkpoint may be left. `least`: the table says that it went so far."""
        if self._signed:
            first = min(self._signed)
            raise Broken(
                f"the chain ends at seal {self.seq}, and checkpoint {first} of "
                f"{self._signed[first].at:%Y-%m-%d %H:%M:%S} UTC says that it went on: seals are missing"
            )
        if self.seq < least:
            raise Broken(f"the chain ends at seal {self.seq}, and was {least} long: seals are missing")

    def _step(self, link: Link) -> None:
        if link.text is None:
            gone = digest(self.link, self._cluster, link.seq, GONE) == link.digest
            when = "before it was sealed" if gone else "since it was sealed"
            raise Broken(f"event {link.event} (seal {link.seq}) has been removed {when}")
        if digest(self.link, self._cluster, link.seq, link.text) != link.digest:
            raise Broken(f"event {link.event} or its seal {link.seq} was changed")
        self.link, self.seq = link.digest, link.seq


def removal_of(stone: AuditArchive) -> Removal:
    """What the stone says, as it is signed."""
    return Removal(
        stone.cluster,
        stone.first_seq,
        stone.last_seq,
        stone.before,
        stone.digest,
        stone.first_at,
        stone.last_at,
        stone.file,
        stone.size,
        stone.file_digest,
        stone.at,
    )


def _span(stone: AuditArchive) -> str:
    return f"seals {stone.first_seq} to {stone.last_seq}"
