"""Which front-end files of others are committed, and are they still what was fetched?"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

SOURCE_MAP = re.compile(rb"\s*(?://# sourceMappingURL=\S+|/\*# sourceMappingURL=\S+ \*/)\s*\Z")


@dataclass(frozen=True)
class Vendored:
    """One committed file: where it comes from, and its place below `static/vendor`."""

    package: str
    version: str
    licence: str
    inside: str
    here: str


def read_versions(folder: Path) -> list[Vendored]:
    """The lines of `VERSIONS`."""
    lines = (folder / "VERSIONS").read_text().splitlines()
    return [Vendored(*line.split()) for line in lines if line.strip() and not line.startswith("#")]


def read_sums(folder: Path) -> dict[str, str]:
    """SHA-256 by file, as listed in `SHA256SUMS` (the format of `sha256sum`)."""
    pairs = (line.split("  ", 1) for line in (folder / "SHA256SUMS").read_text().splitlines())
    return {name: digest for digest, name in pairs}


def sums(folder: Path) -> dict[str, str]:
    """SHA-256 of every committed file, in the order of their names."""
    own = {"VERSIONS", "SHA256SUMS"}
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in own)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def without_source_map(content: bytes) -> bytes:
    """The file without its last comment, which names a map that is not committed and would be asked for in vain."""
    return SOURCE_MAP.sub(b"\n", content)
