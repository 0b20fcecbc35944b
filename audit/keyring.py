"""Which keys may have signed the trail, and what is the word of each worth?

A key is followed by another one, by plan or because somebody else had it. What was signed by one that is known and
was not given away is proved for ever. A key that leaked can still sign, and can date back what it signs: its word
counts only where a copy was kept out of reach before.
"""

import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from audit.signing import BadKey, Ending, Removal, key_id, read_public, signed_by

PROVED, LATE, LEAKED, DATED, STRANGE, FORGED = "proved", "late", "leaked", "dated", "strange", "forged"
LARGEST = 1 << 20  # bytes of a file of keys; a line has about a hundred
_LINE = re.compile(r"([0-9A-Fa-f]{64})(?:\s+(until|leaked)\s+(\S+))?")


@dataclass(frozen=True)
class KnownKey:
    """A public half. What it signed at `ended_at` or later proves nothing; `leaked`: somebody else had it then."""

    public: str
    ended_at: datetime | None = None
    leaked: bool = False

    @property
    def id(self) -> str:
        """As checkpoints and stones name it."""
        return key_id(self.public)

    @property
    def line(self) -> str:
        """As it stands in a file of keys."""
        word = "leaked" if self.leaked else "until"
        return f"{self.public} {word} {self.ended_at.astimezone(UTC).isoformat()}" if self.ended_at else self.public


@dataclass(frozen=True)
class Keyring:
    """Keys by their id. An empty one proves nothing, and doubts nothing."""

    keys: Mapping[str, KnownKey] = field(default_factory=dict)

    def with_keys(self, more: Iterable[KnownKey]) -> "Keyring":
        """Of a key that is named several times the worst holds: leaked, and the earliest end."""
        keys = dict(self.keys)
        for one in more:
            keys[one.id] = _worse(keys.get(one.id, one), one)
        return Keyring(keys)

    def worth(self, named: str, said: Ending | Removal, signature: str, *, kept: bool = False) -> str:
        """What the word of the key `named` is worth. `kept`: this very word was kept where the key's thief is not.

        `PROVED`; `LATE` and `LEAKED`: signed after the key's end, by its own date; `DATED`: by its own date before
        it leaked, and nothing but that date says so; `STRANGE`: the key is not known; `FORGED`: it did not sign.
        """
        key = self.keys.get(named)
        if key is None:
            return STRANGE
        if not signed_by(key.public, said, signature):
            return FORGED
        if key.ended_at is None:
            return PROVED
        if said.at >= key.ended_at:
            return LEAKED if key.leaked else LATE
        return DATED if key.leaked and not kept else PROVED

    def sound(self) -> list[str]:
        """The ids of keys that nobody else had."""
        return [one.id for one in self.keys.values() if not one.leaked]


def of_publics(*publics: str) -> Keyring:
    """Keys without an end. Raises `BadKey` for what is none."""
    return Keyring().with_keys(_known(public) for public in publics)


def read_keys(text: str) -> list[KnownKey]:
    """One key a line: `HEX`, `HEX until TIME` or `HEX leaked TIME`; `#` begins a remark. Raises `BadKey`."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        said = line.partition("#")[0].strip()
        if not said:
            continue
        match = _LINE.fullmatch(said)
        if match is None:
            raise BadKey(f"line {number} is no key: HEX, HEX until TIME or HEX leaked TIME.")
        public, word, at = match.groups()
        try:
            found.append(_known(public, read_moment(at) if at else None, leaked=word == "leaked"))
        except BadKey as error:
            raise BadKey(f"line {number}: {error}") from None
    return found


def keys_in(path: Path) -> list[KnownKey]:
    """The keys in a file that its owner alone may write; none if it is not there. Raises `BadKey` and `OSError`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_mode & 0o022:
            raise BadKey(f"{path} must be a file that its owner alone can write (mode 600 or 644).")
        raw = file.read(LARGEST + 1)
    if len(raw) > LARGEST:
        raise BadKey(f"{path} is larger than {LARGEST} bytes.")
    try:
        return read_keys(raw.decode())
    except UnicodeDecodeError:
        raise BadKey(f"{path} is no text.") from None
    except BadKey as error:
        raise BadKey(f"{path}, {error}") from None


def read_moment(text: str) -> datetime:
    """A moment with its offset. Raises `BadKey`."""
    try:
        at = datetime.fromisoformat(text)
        if at.tzinfo is not None:
            return at.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise BadKey(f"{text[:40]!r} is no time with an offset, such as 2026-11-30T12:00:00+00:00.")


def shown(key: str) -> str:
    """The id of a key as a row or a file has it: whoever has the database may have written it."""
    return key if key.isalnum() and key.isascii() else ascii(key)


def _known(public: str, ended_at: datetime | None = None, *, leaked: bool = False) -> KnownKey:
    return KnownKey(read_public(public).public_bytes_raw().hex(), ended_at, leaked)


def _worse(one: KnownKey, other: KnownKey) -> KnownKey:
    ends = [each.ended_at for each in (one, other) if each.ended_at is not None]
    return KnownKey(one.public, min(ends) if ends else None, one.leaked or other.leaked)
