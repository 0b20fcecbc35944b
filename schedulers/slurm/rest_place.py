"""Where does a slurmrestd listen, and as whom is it asked?"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlsplit

VERSIONS = ("v0.0.38",)  # of its API, those that were tried on a real slurmrestd
LONGEST_PATH = 107  # bytes, of a unix socket


@dataclass(frozen=True)
class RestPlace:
    """Where slurmrestd listens and as whom it is asked.

    `address`: `unix:/path`, `http://host:port` or `https://host:port`. `user` and `token` (of `scontrol token`,
    read anew for each question, may raise `ValueError`) belong to rest_auth/jwt; without them a unix socket's own
    rights count (rest_auth/local). `authorities`: a file of certificates to trust instead of the machine's.
    """

    address: str
    version: str = VERSIONS[0]
    user: str = ""
    token: Callable[[], str] | None = None
    authorities: str = ""

    def __post_init__(self) -> None:
        """Raise `ValueError` with a sentence for what is no such place."""
        if self.version not in VERSIONS:
            raise ValueError(f"the API {self.version[:20]!r} was never tried; known are {', '.join(VERSIONS)}")
        read_place(self.address)

    def __str__(self) -> str:
        return f"slurmrestd at {self.address}"


def read_place(address: str) -> tuple[str, str, int]:
    """Scheme, host or path, and port of an address. Raises `ValueError` with a sentence."""
    usable = address.isascii() and address.isprintable() and not set(address) & set(" %\\")
    if usable and address.startswith("unix:/") and len(address) - len("unix:") <= LONGEST_PATH:
        return "unix", address.removeprefix("unix:"), 0
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port or 0
        plain = address == f"{parts.scheme}://{parts.netloc}" and "@" not in parts.netloc
    except ValueError:
        host, port, plain = "", 0, False
    if not usable or not plain or not host or not port or parts.scheme not in {"http", "https"}:
        raise ValueError("must be unix:/path/of/a/socket, http://host:port or https://host:port")
    return parts.scheme, host, port


class Questions(Protocol):
    """A way to ask slurmrestd."""

    def ask(self, path: str, seconds: float) -> tuple[dict[str, Any], int]:
        """The object that it answers to `/slurm/VERSION/path` and its bytes; raises `Unreachable`, `Garbled`."""
