"""Is the trail as it was written? Which is the first thing that is not, and what is proved of the rest?

A chain alone is *consistent*: whoever can write seals can write all of them anew. A checkpoint or a stone whose
signature holds *proves* everything up to it, as long as the key was out of reach (`audit.keyring`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from pathlib import Path

from django.db.models import Exists, OuterRef

from audit import archive_file
from audit.keyring import STRANGE, Keyring
from audit.models import AuditArchive, AuditChain, AuditCheckpoint, AuditEvent, AuditSeal, AuditUnsealed
from audit.row_text import BATCH, START, texts_of
from audit.walking import Broken, Link, Run, Walk

TRIES = 3


@dataclass(frozen=True)
class ChainReport:
    """What is known of one chain. `problem` is a sentence about the first thing that is wrong, or `""`.

    `archived`: up to this seal stones stand in the place of the seals; `was_read`: their files were followed, too.
    `runs`: which key signed which checkpoints, and what that is worth. `doubts`: stones that a key's thief may have
    put, and whose files were not read.
    """

    cluster: str
    seals: int
    proved_seq: int = 0
    proved_at: datetime | None = None
    problem: str = ""
    archived: int = 0
    was_read: bool = False
    runs: tuple[Run, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def strange(self) -> tuple[Run, ...]:
        """Checkpoints of keys that are not known."""
        return tuple(run for run in self.runs if run.worth == STRANGE)


def chains() -> list[str]:
    """The clusters that have a chain, had one, or have anything that speaks of one."""
    names: set[str] = set()
    for model in (AuditSeal, AuditCheckpoint, AuditArchive, AuditChain):
        names.update(model._default_manager.order_by().values_list("cluster", flat=True).distinct())
    return sorted(names)


def verify(
    cluster: str, keys: Keyring, outside: Sequence[AuditCheckpoint] = (), archive: Path | None = None
) -> ChainReport:
    """Follow one chain from its first seal. `outside`: checkpoints that were kept elsewhere, of any cluster.

    `keys`: those that may have signed; without any nothing can be proved. `archive`: the folder of the files that
    stones name; without it their content is not looked at. Memory does not grow with the chain.
    """
    for _again in range(TRIES):
        stones = list(AuditArchive.objects.filter(cluster=cluster).order_by("first_seq"))
        report = _verify(cluster, keys, outside, archive, stones)
        if not report.problem or AuditArchive.objects.filter(cluster=cluster).count() == len(stones):
            break  # else a part was archived in the meantime, and is no gap
    return report


def _verify(
    cluster: str,
    keys: Keyring,
    outside: Sequence[AuditCheckpoint],
    archive: Path | None,
    stones: Sequence[AuditArchive],
) -> ChainReport:
    least = AuditChain.objects.filter(cluster=cluster).values_list("seq", flat=True).first() or 0
    walk = Walk(cluster, keys, {row.seq: row for row in AuditCheckpoint.objects.filter(cluster=cluster)})
    problem = ""
    try:
        for row in (each for each in outside if each.cluster == cluster):
            walk.expect(row)
        for stone in stones:
            walk.meet(stone, is_read=archive is not None)
            if archive is None:
                walk.over(stone)
            else:
                follow_file(walk, stone, archive)
        _nothing_below(cluster, walk.seq)
        for part in links_of(cluster, walk.seq):
            walk.follow(part)
        walk.ended(least)
        if archive is not None:
            _nothing_more(cluster, stones, archive)
    except Broken as broken:
        problem = str(broken)
    archived = stones[-1].last_seq if stones else 0
    return ChainReport(
        cluster,
        walk.seq,
        walk.proved,
        walk.proved_at,
        problem,
        archived,
        archive is not None,
        tuple(walk.runs),
        tuple(walk.doubts),
    )


def slipped_in() -> Iterator[int]:
    """Events that no seal covers and that do not wait for one: the trigger did not see them come."""
    sealed = AuditSeal.objects.filter(event=OuterRef("pk"))
    waiting = AuditUnsealed.objects.filter(event=OuterRef("pk"))
    rows = AuditEvent.objects.filter(~Exists(sealed), ~Exists(waiting)).order_by("pk")
    yield from rows.values_list("pk", flat=True).iterator()


def follow_file(walk: Walk, stone: AuditArchive, archive: Path) -> None:
    """The links of an archived part; the first record that is wrong, then whether it is the very file."""
    path = archive / Path(stone.file).name
    for found in archive_file.read(path, stone.cluster, stone.first_seq, stone.before):
        if isinstance(found, AuditCheckpoint):
            walk.witness(found)
        else:
            walk.follow([found])
    walk.through(stone)
    if archive_file.digest_of(path) != (stone.size, stone.file_digest):
        raise Broken(f"{path.name} is another file than the one that was archived, though its records hold")


def _nothing_more(cluster: str, stones: Sequence[AuditArchive], archive: Path) -> None:
    """A file that no stone names is of a run that was interrupted: all that is in it still stands in the table."""
    named = {stone.file for stone in stones}
    ends = {0: START, **{stone.last_seq: stone.digest for stone in stones}}
    for whose, first, name in archive_file.names_in(archive):
        if whose != cluster or name in named:
            continue
        before = ends.get(first - 1) or _digest_at(cluster, first - 1)
        links = (one for one in archive_file.read(archive / name, cluster, first, before) if isinstance(one, Link))
        last = max(((one.seq, one.digest) for one in links), default=(first, ""))
        if (ends.get(last[0]) or _digest_at(cluster, last[0])) != last[1]:
            raise Broken(f"{name} holds seals {first} to {last[0]}, and neither the table nor a stone knows them")


def _digest_at(cluster: str, seq: int) -> str:
    return AuditSeal.objects.filter(cluster=cluster, seq=seq).values_list("digest", flat=True).first() or ""


def links_of(cluster: str, after: int, last: int | None = None) -> Iterator[list[Link]]:
    """The seals that stand in the table, with the texts of their events, in parts of bounded size."""
    seals = AuditSeal.objects.filter(cluster=cluster, seq__gt=after).order_by("seq")
    rows = (seals if last is None else seals.filter(seq__lte=last)).iterator(BATCH)
    while part := list(islice(rows, BATCH)):
        texts = texts_of([seal.event for seal in part])
        yield [Link(one.seq, one.event, one.digest, texts.get(one.event), one.sealed_at) for one in part]


def _nothing_below(cluster: str, seq: int) -> None:
    back = AuditSeal.objects.filter(cluster=cluster, seq__lte=seq).order_by("seq").first()
    if back is not None:
        raise Broken(f"seal {back.seq} (event {back.event}) was put back under a stone: it is no part of the chain")
