"""What does the credential that a cluster names say? A file of the site's own user, which nobody else may read."""

import base64
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from detectors.stores.store import StoreTrouble

LONGEST = 8192  # bytes of a credential
SHORTEST = 16  # characters of a secret that signs, or of an address


@dataclass(frozen=True)
class Credential:
    """A whole Authorization header, and the PEM file of the authorities that the store's certificate must be of."""

    authorization: str = field(default="", repr=False)
    authorities: Path | None = None


@dataclass(frozen=True)
class Secret:
    """What a credential keeps that is no header, and the authorities as of any credential."""

    value: str = field(repr=False)
    authorities: Path | None = None


def read_credential(folder: Path, name: str) -> Credential:
    """`basic USER:PASSWORD` or `bearer TOKEN` in the file `name`; `NAME.ca.pem` beside it, when there is one.

    Raises `StoreTrouble`. A name of a credential alone may stand for its authorities: then the file says `none`.
    """
    if not name:
        return Credential()
    kind, value, found = _said(folder, name)
    if kind == "none" and not value:
        return Credential("", found)
    if kind == "bearer" and value and value.isascii():
        return Credential(f"Bearer {value}", found)
    if kind == "basic" and ":" in value:
        return Credential(f"Basic {base64.b64encode(value.encode()).decode()}", found)
    raise StoreTrouble(f"the credential {name} must be 'basic USER:PASSWORD', 'bearer TOKEN' or 'none'")


def read_secret(folder: Path, name: str, kind: str) -> Secret:
    """What stands behind the word `kind` in the file `name`: `secret TEXT` signs, `address URL` is where to send.

    Raises `StoreTrouble`.
    """
    found, value, authorities = _said(folder, name)
    if found != kind or len(value) < SHORTEST:
        raise StoreTrouble(f"the credential {name} must be '{kind} …' with at least {SHORTEST} characters")
    return Secret(value, authorities)


def _said(folder: Path, name: str) -> tuple[str, str, Path | None]:
    """The first word, the rest of the line, and the authorities beside it."""
    kind, _, value = _content(folder / name, name).strip().partition(" ")
    authorities = folder / f"{name}.ca.pem"
    if any(ord(char) < 32 for char in value.strip()):
        raise StoreTrouble(f"the credential {name} must be one line")
    return kind, value.strip(), authorities if authorities.is_file() else None


def _content(path: Path, name: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or "no such name"
        raise StoreTrouble(f"the credential {name} cannot be read: {said}") from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid not in {0, os.geteuid()} or status.st_mode & 0o077:
            raise StoreTrouble(f"the credential {name} could be read by others: it must be a file with mode 600")
        try:
            return file.read(LONGEST).decode()
        except (OSError, UnicodeDecodeError):
            raise StoreTrouble(f"the credential {name} is no text") from None
