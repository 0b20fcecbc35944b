"""What does the credential that a cluster names say? A file of the site's own user, which nobody else may read."""

import base64
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from detectors.stores.store import StoreTrouble

LONGEST = 8192  # bytes of a credential


@dataclass(frozen=True)
class Credential:
    """A whole Authorization header, and the PEM file of the authorities that the store's certificate must be of."""

    authorization: str = field(default="", repr=False)
    authorities: Path | None = None


def read_credential(folder: Path, name: str) -> Credential:
    """`basic USER:PASSWORD` or `bearer TOKEN` in the file `name`; `NAME.ca.pem` beside it, when there is one.

    Raises `StoreTrouble`. A name of a credential alone may stand for its authorities: then the file says `none`.
    """
    if not name:
        return Credential()
    path = folder / name
    kind, _, value = _content(path, name).strip().partition(" ")
    value = value.strip()
    authorities = folder / f"{name}.ca.pem"
    found = authorities if authorities.is_file() else None
    if any(ord(char) < 32 for char in value):
        raise StoreTrouble(f"the credential {name} must be one line")
    if kind == "none" and not value:
        return Credential("", found)
    if kind == "bearer" and value and value.isascii():
        return Credential(f"Bearer {value}", found)
    if kind == "basic" and ":" in value:
        return Credential(f"Basic {base64.b64encode(value.encode()).decode()}", found)
    raise StoreTrouble(f"the credential {name} must be 'basic USER:PASSWORD', 'bearer TOKEN' or 'none'")


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
