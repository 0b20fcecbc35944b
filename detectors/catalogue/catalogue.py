"""What do we know about the lines of a job? The catalogue: signatures, look-alikes, precedence, versions.

Entries are files beside this module: `signatures/*.json` (what a line proves), `tables/*.json` (look-alikes, who
speaks, precedence, error codes of the GPU driver, ends). To add a signature is to add one entry.
"""

import functools
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from detectors.catalogue import entries
from detectors.catalogue.entries import CatalogueError, Signature

SIGNATURES = "signatures"
TABLES = "tables"


@dataclass(frozen=True, slots=True)
class Lookalike:
    """A line that looks like a fault and is none. `mode` says what it does to the other matches of its line.

    `veto`, `count`: roots and candidates are dropped. `gate`, `demote`: they become secondary. `state`: every fault
    is dropped. `tag`: the fault counts and is marked as injected. `table`: left to the table of GPU error codes.
    `unless`: it does not hold where this is found. `scope` `span`: only what lies inside the look-alike's own words
    is meant, and no traceback lifts it. `uptime_below_seconds`: it holds only on a kernel line younger than this
    since boot.
    """

    id: str
    mode: str
    says: str
    pattern: str
    example: str
    unless: str = ""
    scope: str = "line"
    uptime_below_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Locator:
    """Where a line says who speaks or when."""

    id: str
    says: str
    pattern: str
    example: str


@dataclass(frozen=True)
class Catalogue:
    """Everything known. `version` is the SHA-256 over the content; stored states and verdicts name it."""

    signatures: tuple[Signature, ...]
    derived: tuple[Signature, ...]
    lookalikes: tuple[Lookalike, ...]
    locators: tuple[Locator, ...]
    precedence: tuple[tuple[str, str], ...]
    version: str
    _by_id: Mapping[str, Signature] = field(repr=False, default_factory=dict)

    def signature(self, name: str) -> Signature:
        """The signature of a finding, also one that no pattern finds (`xid.79`). Raises `CatalogueError`."""
        found = self._by_id.get(name)
        if found is None:
            raise CatalogueError(f"No signature is called '{name[:80]}'.")
        return found

    def knows(self, name: str) -> bool:
        """Whether a signature has this name."""
        return name in self._by_id


MODES = frozenset({"veto", "gate", "demote", "count", "state", "tag", "table"})


@functools.cache
def catalogue() -> Catalogue:
    """The catalogue of this version, read once per process. Its tests prove that its patterns are safe."""
    return build({name: _read(name) for name in _names()}, proved=True)


def build(files: Mapping[str, str], proved: bool = False) -> Catalogue:
    """A catalogue from the text of its files by name. Raises `CatalogueError` with a sentence.

    `proved`: its patterns and examples were tried before, and are not tried again: that takes most of the time.
    """
    read = {name: _parsed(name, text) for name, text in files.items()}
    signatures = tuple(_signatures(read, proved))
    derived = tuple(_derived(read))
    by_id = _unique([*signatures, *derived])
    _same_pattern_twice(signatures)
    return Catalogue(
        signatures=signatures,
        derived=derived,
        lookalikes=tuple(_lookalike(row, proved) for row in read[f"{TABLES}/lookalikes.json"]),
        locators=tuple(Locator(**row) for row in read[f"{TABLES}/locators.json"]),
        precedence=tuple(_pairs(read[f"{TABLES}/precedence.json"], by_id)),
        version=_version(files),
        _by_id=by_id,
    )


@functools.cache
def table(name: str) -> Any:
    """The content of `tables/NAME.json`."""
    path = f"{TABLES}/{name}.json"
    return _parsed(path, _read(path))


def _names() -> list[str]:
    home = resources.files(__package__)
    return sorted(
        f"{folder}/{entry.name}"
        for folder in (SIGNATURES, TABLES)
        for entry in home.joinpath(folder).iterdir()
        if entry.name.endswith(".json")
    )


def _read(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _parsed(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise CatalogueError(f"{name} is no JSON: {error}.") from error


def _version(files: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{files[name]}\0".encode())
    return digest.hexdigest()


def _signatures(read: Mapping[str, Any], proved: bool) -> Iterator[Signature]:
    for name, content in read.items():
        if name.startswith(f"{SIGNATURES}/"):
            for row in content["signatures"]:
                yield entries.signature(row, where=name, group=content["group"], proved=proved)


def _derived(read: Mapping[str, Any]) -> Iterator[Signature]:
    """Signatures that a closer look at a match gives, or that come from something else than a line."""
    for row in read[f"{TABLES}/derived.json"]:
        yield entries.derived(row, where="derived.json")
    for row in read[f"{TABLES}/xid.json"]["codes"]:
        for code in row["codes"]:
            yield entries.gpu_code(code, row)


def _unique(signatures: Iterable[Signature]) -> dict[str, Signature]:
    found: dict[str, Signature] = {}
    for signature in signatures:
        if signature.id in found:
            raise CatalogueError(f"Two signatures are called '{signature.id}'.")
        found[signature.id] = signature
    return found


def _same_pattern_twice(signatures: Iterable[Signature]) -> None:
    owner: dict[str, str] = {}
    for signature in signatures:
        first = owner.setdefault(signature.pattern, signature.id)
        if first != signature.id:
            raise CatalogueError(f"The signatures '{first}' and '{signature.id}' have the same pattern.")


def _lookalike(row: Mapping[str, Any], proved: bool) -> Lookalike:
    made = Lookalike(**row)
    if made.mode not in MODES:
        raise CatalogueError(f"The look-alike '{made.id}' has the unknown mode '{made.mode}'.")
    if proved:
        return made
    entries.check_pattern(made.pattern, f"The pattern of the look-alike '{made.id}'")
    if made.unless:
        entries.check_pattern(made.unless, f"The 'unless' of the look-alike '{made.id}'")
    return made


def _pairs(rows: Iterable[list[str]], by_id: Mapping[str, Signature]) -> Iterator[tuple[str, str]]:
    for winner, loser in rows:
        for name in (winner, loser):
            if not name.endswith("*") and name not in by_id:
                raise CatalogueError(f"The precedence names '{name}', which is no signature.")
        yield winner, loser
