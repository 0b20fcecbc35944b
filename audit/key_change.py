"""How does another key go on signing the trail, with nothing lost that was signed before?

The key of the site lies in a file; beside it, in a file with the ending `.old`, lie the public halves of those that
signed earlier, and until when. A change is told in the trail by an event that both keys sign, as far as both are
there. Whatever interrupts it: either the old key goes on, and the next try makes another new one, or the new one
signs and the old one is known.
"""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.db import transaction

from audit.event_type import EventType
from audit.key_word import ACTION, KeyChange
from audit.keyring import Keyring, KnownKey, keys_in, of_publics
from audit.level import Level
from audit.settling import settle
from audit.signing import kept_key, key_id, public_half, sign
from audit.trail import Actor, Entry, Subject, record

OVERLAP = timedelta(minutes=5)  # in which the other hosts of the site get the new key
OLD, NEXT, LOCK = ".old", ".next", ".lock"


class Refused(Exception):
    """No key was changed; the message is a sentence."""


def site_keys(path: Path) -> Keyring:
    """The key of the site, made if it is not there, and those that signed earlier. Raises `BadKey`, `OSError`."""
    return _with_old(path, public_half(kept_key(path)))


def rotate(path: Path, actor: Actor, now: datetime, leaked_at: datetime | None = None) -> KeyChange:
    """Make a new key that signs from now on. `leaked_at`: since then somebody else may have the old one.

    Raises `Refused`, `BadKey` and `OSError`.
    """
    _check_moment(leaked_at, now)
    with _alone(path):
        if not os.path.lexists(path):
            raise Refused(f"{path} is not there: say audit_key lost, if it is lost.")
        old, coming = kept_key(path), _beside(path, NEXT)
        with contextlib.suppress(FileNotFoundError):  # of a try that was interrupted: who knows who read it since
            coming.unlink()
        new = kept_key(coming)
        change = KeyChange(public_half(old), public_half(new), leaked_at, now)
        _remember(path, KnownKey(change.old, leaked_at, leaked=leaked_at is not None))
        _tell(change, old, new, actor)
        coming.replace(path)
        settle(path.parent)
        if leaked_at is None:
            _remember(path, KnownKey(change.old, now + OVERLAP))
    return change


def declare_leaked(path: Path, which: str, leaked_at: datetime, actor: Actor, now: datetime) -> KeyChange:
    """Say of a key that signed earlier that somebody else may have it since then. `which`: its id or public half.

    Raises `Refused`, `BadKey` and `OSError`.
    """
    _check_moment(leaked_at, now)
    with _alone(path):
        key = kept_key(path)
        known = _with_old(path, public_half(key)).keys
        asked = which.lower()
        found = next((one for name, one in known.items() if asked in {name, one.public}), None)
        if found is None:
            raise Refused(f"No key {which[:64]!r} has signed here: audit_key show lists them.")
        if found.public == public_half(key):
            raise Refused("This key signs now: say audit_key rotate --leaked-since TIME.")
        change = KeyChange(found.public, public_half(key), leaked_at, now)
        _remember(path, KnownKey(found.public, leaked_at, leaked=True))
        _tell(change, None, key, actor)
    return change


def declare_lost(path: Path, public: str, actor: Actor, now: datetime) -> KeyChange:
    """Say that the key that signed before is gone; the one in the file, made if there is none, follows it.

    Raises `Refused`, `BadKey` and `OSError`.
    """
    [gone] = of_publics(public).keys.values()
    with _alone(path):
        key = kept_key(path)
        if gone.public == public_half(key):
            raise Refused("This key is not lost: it signs now.")
        change = KeyChange(gone.public, public_half(key), None, now)
        _remember(path, KnownKey(gone.public, now))
        _tell(change, None, key, actor)
    return change


def _with_old(path: Path, public: str) -> Keyring:
    return of_publics(public).with_keys(keys_in(_beside(path, OLD)))


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _check_moment(leaked_at: datetime | None, now: datetime) -> None:
    if leaked_at is not None and leaked_at > now:
        raise Refused("No key leaks in the future: name the earliest moment at which somebody may have had it.")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One change at a time, by the account whose key it is: another one's files the site could not read."""
    if os.path.lexists(path) and path.lstat().st_uid != os.geteuid():
        raise Refused(f"{path} belongs to another account: run this as that one.")
    descriptor = os.open(_beside(path, LOCK), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Refused("Somebody else changes the key at this moment.") from None
        yield


def _remember(path: Path, key: KnownKey) -> None:
    """Add a line to the keys that signed earlier. The file is the former one or the whole new one at any moment."""
    old = _beside(path, OLD)
    keys_in(old)  # what cannot be read is not written over
    text = old.read_text() if old.exists() else ""
    lines = [*text.splitlines(), key.line]
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write("".join(line + "\n" for line in lines))
        file.flush()
        os.fsync(file.fileno())
    Path(file.name).replace(old)
    settle(path.parent)


def _tell(change: KeyChange, old: Ed25519PrivateKey | None, new: Ed25519PrivateKey, actor: Actor) -> None:
    word = "goes on for" if old is None else "follows"
    since = change.leaked_at
    leaked = f", which may be somebody else's since {since:%Y-%m-%d %H:%M:%S} UTC" if since else ""
    entry = Entry(
        EventType.CONFIGURATION,
        Subject(cluster=""),
        actor,
        f"The key {key_id(change.new)} {word} {key_id(change.old)}{leaked}, and signs the trail.",
        level=Level.WARNING,
        action=ACTION,
        payload={
            **change.words,
            "signed_by_old": sign(old, change) if old is not None else "",
            "signed_by_new": sign(new, change),
        },
    )
    with transaction.atomic():
        record([entry], change.at)
