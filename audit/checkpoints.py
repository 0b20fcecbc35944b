"""When is the end of a chain signed, and where else is it written down?"""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import transaction
from django.db.models import F, Q

from audit.models import AuditChain, AuditCheckpoint
from audit.signing import Ending, key_id, public_half, sign

EVERY = timedelta(minutes=1)
SEALS = 10_000  # after so many, earlier


def sign_due(key_of: Callable[[], Ed25519PrivateKey], now: datetime) -> list[AuditCheckpoint]:
    """Sign each chain that has grown, a minute after its last checkpoint or 10,000 seals later. One query if none.

    `key_of` is called only when there is something to sign.
    """
    old = Q(checkpoint_at=None) | Q(checkpoint_at__lte=now - EVERY) | Q(checkpoint_seq__lte=F("seq") - SEALS)
    due = list(AuditChain.objects.filter(old, seq__gt=F("checkpoint_seq")))
    key = key_of() if due else None
    return [row for chain in due if key is not None and (row := _sign(chain, key, now)) is not None]


def _sign(chain: AuditChain, key: Ed25519PrivateKey, now: datetime) -> AuditCheckpoint | None:
    ending = Ending(chain.cluster, chain.seq, chain.digest, now)
    with transaction.atomic():
        same = AuditChain.objects.filter(cluster=chain.cluster, checkpoint_seq=chain.checkpoint_seq)
        if not same.update(checkpoint_seq=chain.seq, checkpoint_at=now):
            return None  # somebody else signs
        return AuditCheckpoint.objects.create(
            cluster=ending.cluster,
            seq=ending.seq,
            digest=ending.digest,
            at=now,
            key_id=key_id(public_half(key)),
            signature=sign(key, ending),
        )


def line_of(row: AuditCheckpoint) -> str:
    """A checkpoint as one JSON line, the form in which it is kept outside of the database."""
    return json.dumps(
        {
            "cluster": row.cluster,
            "seq": row.seq,
            "digest": row.digest,
            "at": row.at.astimezone(UTC).isoformat(),
            "keyId": row.key_id,
            "signature": row.signature,
        }
    )


def read_line(line: str) -> AuditCheckpoint:
    """The checkpoint of a line, not stored. Raises `ValueError` with a sentence."""
    try:
        told = json.loads(line)
        return AuditCheckpoint(
            cluster=str(told["cluster"]),
            seq=int(told["seq"]),
            digest=str(told["digest"]),
            at=datetime.fromisoformat(told["at"]),
            key_id=str(told["keyId"]),
            signature=str(told["signature"]),
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("is no checkpoint") from None


def append(path: Path, rows: list[AuditCheckpoint]) -> None:
    """Add the checkpoints to a file, on the disk when this returns. Raises `OSError`; never follows a link."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, 0o600), "w") as file:
        file.write("".join(line_of(row) + "\n" for row in rows))
        file.flush()
        os.fsync(file.fileno())
