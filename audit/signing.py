"""Who vouches for the end of a chain, and for what was taken out of it?

An Ed25519 key that lies outside of the database. Whoever has the public half can check; whoever has the database
alone can change nothing unseen.
"""

import contextlib
import hashlib
import json
import os
import stat
import tempfile
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

RAW = 32  # bytes of either half of a key


class BadKey(ValueError):
    """A key that cannot be used; the message is a sentence."""


class Said(Protocol):
    """Something that can be signed."""

    @property
    def text(self) -> bytes:
        """What is signed; it begins with a word of its own for each kind."""


@dataclass(frozen=True)
class Ending:
    """What a checkpoint says: the chain of `cluster` ended at `seq` with `digest`."""

    cluster: str
    seq: int
    digest: str
    at: datetime

    @property
    def text(self) -> bytes:
        """What is signed."""
        at = self.at.astimezone(UTC).isoformat()
        return json.dumps(["rekindle-checkpoint-1", self.cluster, self.seq, self.digest, at]).encode()


@dataclass(frozen=True)
class Removal:
    """What a stone says: these seals of `cluster`, with their events, left the table for this file."""

    cluster: str
    first_seq: int
    last_seq: int
    before: str
    digest: str
    first_at: datetime
    last_at: datetime
    file: str
    size: int
    file_digest: str
    at: datetime

    @property
    def text(self) -> bytes:
        """What is signed: every field."""
        words = [v.astimezone(UTC).isoformat() if isinstance(v, datetime) else v for v in astuple(self)]
        return json.dumps(["rekindle-archive-1", *words]).encode()


def kept_key(path: Path) -> Ed25519PrivateKey:
    """The key in `path` (64 hexadecimal characters), made at the first call. Raises `BadKey` and `OSError`.

    Two processes at once agree on one key, and none of them reads half of it.
    """
    if not os.path.lexists(path):
        with tempfile.NamedTemporaryFile("w", dir=path.parent) as file:  # readable by its owner only
            file.write(Ed25519PrivateKey.generate().private_bytes_raw().hex() + "\n")
            file.flush()
            os.fsync(file.fileno())
            with contextlib.suppress(FileExistsError):  # somebody was first
                os.link(file.name, path)
    return _read(path)


def public_half(key: Ed25519PrivateKey) -> str:
    """64 hexadecimal characters, to be kept by whoever checks."""
    return key.public_key().public_bytes_raw().hex()


def key_id(public: str) -> str:
    """A short name of a key: the first 16 characters of its digest."""
    return hashlib.sha256(bytes.fromhex(public)).hexdigest()[:16]


def sign(key: Ed25519PrivateKey, said: Said) -> str:
    """128 hexadecimal characters."""
    return key.sign(said.text).hex()


def read_public(text: str) -> Ed25519PublicKey:
    """The public half of a key. Raises `BadKey`."""
    try:
        return Ed25519PublicKey.from_public_bytes(bytes.fromhex(text))
    except ValueError:
        raise BadKey("A public key is 64 hexadecimal characters.") from None


def signed_by(public: str, said: Said, signature: str) -> bool:
    """Whether the holder of the key said so. Raises `BadKey` for a public half that is none."""
    key = read_public(public)
    try:
        key.verify(bytes.fromhex(signature), said.text)
    except (InvalidSignature, ValueError):
        return False
    return True


def _read(path: Path) -> Ed25519PrivateKey:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor) as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o077:
            raise BadKey(f"{path} must be a file that its owner alone can read (mode 600).")
        text = file.read(4 * RAW).strip()
    try:
        return Ed25519PrivateKey.from_private_bytes(bytes.fromhex(text))
    except ValueError:
        raise BadKey(f"{path} must hold 64 hexadecimal characters.") from None
