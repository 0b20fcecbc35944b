"""Is the trail as it was written? Which is the first thing that is not, and what is proved of the rest?

A chain alone is *consistent*: whoever can write seals can write all of them anew. A checkpoint whose signature
holds *proves* everything up to it, as long as the key was out of reach.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from django.db.models import Exists, OuterRef

from audit.models import AuditCheckpoint, AuditEvent, AuditSeal, AuditUnsealed
from audit.row_text import BATCH, GONE, START, digest, texts_of
from audit.signing import Ending, signed_by


@dataclass(frozen=True)
class ChainReport:
    """What is known of one chain. `problem` is a sentence about the first thing that is wrong, or `""`."""

    cluster: str
    seals: int
    proved_seq: int = 0
    proved_at: datetime | None = None
    problem: str = ""


class _Broken(Exception):
    """The first thing that is wrong."""


def chains() -> list[str]:
    """The clusters that have a chain, or events that should be in one."""
    sealed = set(AuditSeal.objects.order_by().values_list("cluster", flat=True).distinct())
    signed = set(AuditCheckpoint.objects.order_by().values_list("cluster", flat=True).distinct())
    return sorted(sealed | signed)


def verify(cluster: str, public_key: str, outside: Sequence[AuditCheckpoint] = ()) -> ChainReport:
    """Follow one chain from its first seal. `outside`: checkpoints that were kept elsewhere, of any cluster.

    `public_key`: 64 hexadecimal characters, or `""`: then nothing can be proved. Memory does not grow with the
    chain. Raises `BadKey`.
    """
    stored = AuditCheckpoint.objects.filter(cluster=cluster)
    signed = {row.seq: row for row in stored}
    walk = _Walk(cluster, public_key, signed)
    try:
        for row in (each for each in outside if each.cluster == cluster):
            walk.expect(row)
        for part in _parts(cluster):
            walk.follow(part)
        walk.ended()
    except _Broken as broken:
        return ChainReport(cluster, walk.seq, walk.proved, walk.proved_at, str(broken))
    return ChainReport(cluster, walk.seq, walk.proved, walk.proved_at)


def slipped_in() -> Iterator[int]:
    """Events that no seal covers and that do not wait for one: the trigger did not see them come."""
    sealed = AuditSeal.objects.filter(event=OuterRef("pk"))
    waiting = AuditUnsealed.objects.filter(event=OuterRef("pk"))
    rows = AuditEvent.objects.filter(~Exists(sealed), ~Exists(waiting)).order_by("pk")
    yield from rows.values_list("pk", flat=True).iterator()


def _parts(cluster: str) -> Iterator[list[AuditSeal]]:
    rows = AuditSeal.objects.filter(cluster=cluster).order_by("seq").iterator(BATCH)
    while part := list(islice(rows, BATCH)):
        yield part


class _Walk:
    """One way along a chain."""

    def __init__(self, cluster: str, public_key: str, signed: Mapping[int, AuditCheckpoint]) -> None:
        self._cluster = cluster
        self._public_key = public_key
        self._signed = dict(signed)
        self._last_signed = max(self._signed, default=0)
        self._link = START
        self.seq = 0
        self.proved = 0
        self.proved_at: datetime | None = None

    def expect(self, row: AuditCheckpoint) -> None:
        """A checkpoint from elsewhere: the stored one, if there is one, must be the same."""
        stored = self._signed.setdefault(row.seq, row)
        if (stored.digest, stored.signature) != (row.digest, row.signature):
            raise _Broken(f"checkpoint {row.seq} is another one than the one that was kept outside")
        self._last_signed = max(self._last_signed, row.seq)

    def follow(self, part: Sequence[AuditSeal]) -> None:
        """The next seals."""
        texts = texts_of([seal.event for seal in part])
        for seal in part:
            if seal.seq != self.seq + 1:
                raise _Broken(f"seal {self.seq + 1} is missing: after {self.seq} comes {seal.seq}")
            self._link_of(seal, texts.get(seal.event))
            self._link, self.seq = seal.digest, seal.seq
            if (checkpoint := self._signed.pop(seal.seq, None)) is not None:
                self._check(checkpoint)

    def ended(self) -> None:
        """After the last seal no checkpoint may be left."""
        if self._signed:
            first = min(self._signed)
            raise _Broken(
                f"the chain ends at seal {self.seq}, and checkpoint {first} of "
                f"{self._signed[first].at:%Y-%m-%d %H:%M:%S} UTC says that it went on: seals are missing"
            )

    def _link_of(self, seal: AuditSeal, text: str | None) -> None:
        if text is None:
            gone = digest(self._link, self._cluster, seal.seq, GONE) == seal.digest
            when = "before it was sealed" if gone else "since it was sealed"
            raise _Broken(f"event {seal.event} (seal {seal.seq}) has been removed {when}")
        if digest(self._link, self._cluster, seal.seq, text) != seal.digest:
            raise _Broken(f"event {seal.event} or its seal {seal.seq} was changed")

    def _check(self, row: AuditCheckpoint) -> None:
        if row.digest != self._link:
            raise _Broken(f"the chain was written anew: its digest at checkpoint {row.seq} is another one")
        if not self._public_key:
            return
        if not signed_by(self._public_key, Ending(self._cluster, row.seq, row.digest, row.at), row.signature):
            raise _Broken(f"checkpoint {row.seq} was not signed by this key")
        self.proved, self.proved_at = row.seq, row.at
