"""How does the old part of a chain leave the table, with nothing lost and the rest still proved?

The part is followed link by link while it is written to a file, the file is closed and read back from the disk, and
only then one transaction puts the signed stone, tells the trail, and removes the rows. Whatever interrupts that
leaves either everything in the table (and perhaps a file that no stone names, which the next run writes anew) or
everything in the file. Nothing is archived of a chain that does not hold, and nothing beyond its last signature.
"""

import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import IntegrityError, transaction

from audit import archive_file
from audit.archive_file import ENDING, Head, name_of, stem_of
from audit.event_type import EventType
from audit.keyring import LATE, LEAKED, STRANGE, Keyring
from audit.models import AuditArchive, AuditCheckpoint, AuditEvent, AuditSeal
from audit.row_text import BATCH, START
from audit.settling import settle
from audit.signing import Ending, key_id, public_half, sign
from audit.trail import Actor, Entry, Subject, record
from audit.verifying import follow_file, links_of
from audit.walking import Broken, Link, Walk, removal_of

AT_ONCE = 25_000  # seals in one file and one transaction, unless two checkpoints lie further apart
LOCK = ".archive-lock"
UNDER_WAY, PART = ".trail-", ".part"  # of a file that is being written


class Refused(Exception):
    """Nothing was archived; the message is a sentence."""


@dataclass(frozen=True)
class Archive:
    """Where to, by whose key, and in whose name. `keys`: those that may have signed what is there, this one too."""

    folder: Path
    key: Ed25519PrivateKey
    actor: Actor
    keys: Keyring


@dataclass(frozen=True)
class _Part:
    """Which seals are archived: from where on, up to which checkpoint."""

    cluster: str
    first_seq: int
    before: str
    end: AuditCheckpoint

    @property
    def name(self) -> str:
        """Of its file."""
        return name_of(self.cluster, self.first_seq, self.end.seq)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """One run at a time in a folder; what a killed one had half written goes. Raises `Refused`."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Refused(f"{folder} cannot be written: {error.strerror}.") from None
    with os.fdopen(descriptor):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refused(f"Another run archives into {folder}.") from None
        for left in folder.glob(f"{UNDER_WAY}*{PART}"):
            left.unlink()
        yield


def archive_next(
    cluster: str, archive: Archive, until: datetime, clock: Callable[[], datetime]
) -> AuditArchive | None:
    """Archive the next part of a chain whose signature is not younger than `until`; `None` when there is none.

    Raises `Refused`, and `OSError` when the disk does. Call it inside of `alone` and outside of a transaction.
    """
    part = _next_part(cluster, archive, until)
    if part is None:
        return None
    events, stone = _written(part, archive, clock())
    try:
        with transaction.atomic():
            _move(stone, events, archive.actor)
    except IntegrityError:
        raise Refused(
            f"Another run archived seal {part.first_seq} of {_called(cluster)} at the same time."
        ) from None
    return stone


def _next_part(cluster: str, archive: Archive, until: datetime) -> _Part | None:
    first, before = 1, START
    stone = AuditArchive.objects.filter(cluster=cluster).order_by("-first_seq").first()
    if stone is not None:
        _check_last(stone, archive)
        first, before = stone.last_seq + 1, stone.digest
    signed = AuditCheckpoint.objects.filter(cluster=cluster, seq__gte=first, at__lte=until).order_by("seq")
    near = {row.seq: row for row in signed.filter(seq__lt=first + AT_ONCE) if _may_end(row, archive.keys)}
    end = _begun(cluster, first, archive.folder, near) or (near[max(near)] if near else None)
    end = end or next((row for row in signed.iterator() if _may_end(row, archive.keys)), None)
    if end is None:
        _say_why(cluster, first, until)
        return None
    return _Part(cluster, first, before, end)


def _may_end(row: AuditCheckpoint, keys: Keyring) -> bool:
    """Whether a part may end here: a key that has come to its end proves no time. Forged ones are met later."""
    return keys.worth(row.key_id, Ending(row.cluster, row.seq, row.digest, row.at), row.signature) not in {
        LATE,
        LEAKED,
    }


def _check_last(stone: AuditArchive, archive: Archive) -> None:
    """A stone that a thief of the key may have put is believed when its file holds. Raises `Refused`."""
    walk = Walk(stone.cluster, archive.keys, {}, stone.first_seq - 1, stone.before)
    try:
        walk.meet(stone)
        if walk.doubts:
            follow_file(walk, stone, archive.folder)
    except Broken as broken:
        raise Refused(f"The chain of {_called(stone.cluster)} does not hold: {broken}.") from None


def _begun(cluster: str, first: int, folder: Path, ends: dict[int, AuditCheckpoint]) -> AuditCheckpoint | None:
    """Where a run that was interrupted wanted to end: its file is written anew, under the same name."""
    stem = stem_of(cluster, first)
    found = [
        path.name.removeprefix(stem).removesuffix(ENDING) for path in folder.iterdir() if path.name.startswith(stem)
    ]
    return next((ends[int(one)] for one in found if one.isdecimal() and int(one) in ends), None)


def _say_why(cluster: str, first: int, until: datetime) -> None:
    """Nothing to do is no mistake; what is old and has no signature is one."""
    oldest = AuditEvent.objects.filter(cluster=cluster, at__lt=until).order_by("at", "pk").first()
    if oldest is None:
        return
    seal = AuditSeal.objects.filter(event=oldest.pk).first()
    if seal is None:
        raise Refused(
            f"Event {oldest.pk} of {_called(cluster)} is old enough and not sealed: is the beat running? If it "
            "does not wait for its seal, verify_audit says so."
        )
    if not AuditCheckpoint.objects.filter(cluster=cluster, seq__gte=seal.seq).exists():
        raise Refused(
            f"Seal {seal.seq} of {_called(cluster)} is old enough and no signature covers it: can the key be read?"
        )


def _written(part: _Part, archive: Archive, now: datetime) -> tuple[list[int], AuditArchive]:
    """The numbers of the events in the file, which is on the disk and was read back; and its stone."""
    public, path = public_half(archive.key), archive.folder / part.name
    signed = AuditCheckpoint.objects.filter(cluster=part.cluster, seq__gte=part.first_seq, seq__lte=part.end.seq)
    checkpoints = {row.seq: row for row in signed}
    walk = Walk(part.cluster, archive.keys, checkpoints, part.first_seq - 1, part.before)
    events: list[int] = []
    try:
        with tempfile.NamedTemporaryFile("wb", dir=archive.folder, prefix=UNDER_WAY, suffix=PART) as file:
            head = Head(part.cluster, part.first_seq, part.end.seq, part.before)
            first_at, last_at = archive_file.write(file, head, _followed(walk, part, events), checkpoints)
            walk.ended(part.end.seq)
            _check_known(walk)
            file.flush()
            os.fchmod(file.fileno(), 0o400)
            os.fsync(file.fileno())
            _put(Path(file.name), path)
        settle(archive.folder)
        size, digest = archive_file.digest_of(path)
        stone = AuditArchive(
            cluster=part.cluster,
            first_seq=part.first_seq,
            last_seq=part.end.seq,
            before=part.before,
            digest=walk.link,
            first_at=first_at,
            last_at=last_at,
            file=part.name,
            size=size,
            file_digest=digest,
            at=now,
            key_id=key_id(public),
        )
        stone.signature = sign(archive.key, removal_of(stone))
        follow_file(Walk(part.cluster, archive.keys, {}, part.first_seq - 1, part.before), stone, archive.folder)
    except Broken as broken:
        raise Refused(f"The chain of {_called(part.cluster)} does not hold: {broken}. See verify_audit.") from None
    return events, stone


def _check_known(walk: Walk) -> None:
    for run in walk.runs:
        if run.worth == STRANGE:
            raise Broken(f"checkpoint {run.first_seq} was signed by a key that the site does not know")


def _put(written: Path, path: Path) -> None:
    """Under its name; what a run that was interrupted left there is the same, byte by byte. Raises `Refused`."""
    try:
        os.link(written, path)
    except FileExistsError:
        if archive_file.digest_of(written) != archive_file.digest_of(path):
            raise Refused(f"{path} is there already and holds something else: each site has a folder.") from None


def _followed(walk: Walk, part: _Part, events: list[int]) -> Iterator[Link]:
    for links in links_of(part.cluster, part.first_seq - 1, part.end.seq):
        walk.follow(links)  # all of them hold before one is written
        events += [link.event for link in links]
        yield from links


def _move(stone: AuditArchive, events: list[int], actor: Actor) -> None:
    """The stone, its event and the removal: all of it or nothing. The stone first: without it nothing may go."""
    stone.save(force_insert=True)
    record([_told(stone, actor)], stone.at)
    gone = 0
    for start in range(0, len(events), BATCH):
        gone += AuditEvent.objects.filter(pk__in=events[start : start + BATCH]).delete()[0]
    under = {"cluster": stone.cluster, "seq__gte": stone.first_seq}
    seals = AuditSeal.objects.filter(**under, seq__lte=stone.last_seq).delete()[0]
    AuditCheckpoint.objects.filter(**under, seq__lt=stone.last_seq).delete()
    if not gone == seals == len(events):
        raise Refused(
            f"Of {len(events)} events and their seals, {gone} and {seals} were there: somebody else removes them."
        )


def _told(stone: AuditArchive, actor: Actor) -> Entry:
    return Entry(
        EventType.ARCHIVED,
        Subject(stone.cluster),
        actor,
        f"Events {stone.first_seq} to {stone.last_seq} of {_called(stone.cluster)}, of {stone.first_at:%Y-%m-%d} "
        f"to {stone.last_at:%Y-%m-%d}, are in {stone.file} and no longer in the table.",
        payload={
            "firstSeq": stone.first_seq,
            "lastSeq": stone.last_seq,
            "digest": stone.digest,
            "file": stone.file,
            "size": stone.size,
            "sha256": stone.file_digest,
        },
    )


def _called(cluster: str) -> str:
    return cluster or "the site"
