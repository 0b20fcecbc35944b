"""Is an entry of the catalogue well made? Signatures from JSON, and the sentence that says what is wrong."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from detectors.catalogue import linear
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role

KINDS = frozenset({"crash", "hang", "straggler", "progress", "checkpoint", "benign", "phase"})
FAULTS = frozenset({"crash", "hang", "straggler"})
ACTIONS = frozenset(
    {
        "none",
        "restart",
        "restart_exclude",
        "restart_then_exclude",  # restart first; exclude on repeat or with a second witness
        "restart_then_stop",  # restart first; stop when it dies the same way
        "stop",
        "exclude_one_or_stop",  # on one host its environment: exclude it; on all hosts the job's: stop
        "by_code",  # the exit code, signal or error code in the line decides
        "by_inner_text",  # the message inside decides
    }
)
NAMES = frozenset({"host", "rank", "local_rank", "gpu", "nic", "peer", "step", "file", "pid"})
MOMENTS = frozenset(
    {
        "saving",  # the program waits for the checkpoint that it writes
        "scheduled",  # the checkpoint is written in the background, training goes on
        "saved",
        "loading",
        "loaded",
        "evaluating",
        "evaluated",
        "setup",
        "ready",
        "restarting",
        "ended",
    }
)
SITE = "site"
"""Group of the signatures that a site has added itself."""
SYMPTOMS = frozenset({"crash", "early_warning", "nan", "none"})
LONGEST_PATTERN = 2000  # characters; the longest of ours has 600
_NAME = re.compile(r"[a-z][a-z0-9_]*(?:\.[a-z0-9_]+)*\Z")


class CatalogueError(ValueError):
    """An entry cannot be used. The message is one sentence that says what is wrong and where."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A catalogued message shape with its meaning.

    A line has it when `pattern` is found and `unless` is not; `pattern` is empty where something else than a line
    tells (a state, a closer look at another match). `says` is what an operator reads, `names` what the line names.
    `quick`: once the line is known to have it, Python's own engine catches the words, many times faster; a test
    proves that no hostile line makes it slow.
    `needs`: a literal of every match, for a pattern without one of three characters.
    `action` is a suggestion, the policy decides. `confidence`: 0 to 1, from the reference's tables, not measured.
    `symptom` replaces the kind of the anomaly: `crash` where the line may explain a hang and proves none,
    `early_warning` where it only announces trouble, `nan` where single lines prove nothing, `none` for a mere fact.
    `moments`: pairs of what a line tells about checkpoints and phases, and the word that must stand in it; the
    first that fits holds. `outranks`: a site's own that is stronger than everything else on its line.
    """

    id: str
    kind: str
    layer: Layer
    role: Role
    action: str
    confidence: float
    says: str
    pattern: str = ""
    quick: bool = False
    needs: str = ""
    unless: str = ""
    names: tuple[str, ...] = ()
    symptom: str = ""
    moments: tuple[tuple[str, str], ...] = ()
    example: str = ""
    must_not: tuple[str, ...] = ()
    group: str = ""
    outranks: bool = False

    @property
    def is_fault(self) -> bool:
        """Whether a line with it is a symptom of something."""
        return self.kind in FAULTS and self.role is not Role.NONE

    @property
    def anomaly_kind(self) -> AnomalyKind:
        """The kind of anomaly that it makes."""
        if self.symptom in ("crash", "early_warning", "nan"):
            return AnomalyKind(self.symptom)
        return AnomalyKind(self.kind) if self.kind in FAULTS else AnomalyKind.EARLY_WARNING


def signature(row: Mapping[str, Any], where: str, group: str = "", proved: bool = False) -> Signature:
    """A signature that lines are matched against. `proved`: it was tried before. Raises `CatalogueError`."""
    made = _make(row, where, group)
    if proved:
        return made
    name = f"The signature '{made.id}' of {where}"
    check_pattern(made.pattern, f"{name} has a pattern that")
    if made.unless:
        check_pattern(made.unless, f"{name} has an 'unless' that")
    if made.needs not in made.example or not (made.needs or linear.has_literal(made.pattern)):
        raise CatalogueError(
            f"{name} holds no literal of three characters, so every line would be searched for it."
        )
    if not has(made, made.example):
        raise CatalogueError(f"{name} does not match its own example.")
    if made.role in (Role.ROOT, Role.CANDIDATE) and not made.must_not:
        raise CatalogueError(f"{name} is a cause and lacks a line that it must not match.")
    return made


def derived(row: Mapping[str, Any], where: str) -> Signature:
    """A signature without a pattern. Raises `CatalogueError`."""
    return _make(row, where, "derived")


def gpu_code(code: int, row: Mapping[str, Any]) -> Signature:
    """The signature `xid.CODE` of one error code of the GPU driver."""
    return Signature(
        id=f"xid.{code}",
        kind="crash",
        layer=Layer(row["layer"]),
        role=Role(row["role"]),
        action=row["action"],
        confidence=row["confidence"],
        says=f"GPU error XID {code}: {row['says']}",
        names=("gpu", "host"),
        group="derived",
    )


def has(made: Signature, line: str) -> bool:
    """Whether the line has the signature, look-alikes and precedence left aside."""
    text = linear.encoded(line)
    if linear.Exact(made.pattern).search(text) is None:
        return False
    return not made.unless or linear.Exact(made.unless).search(text) is None


def check_pattern(pattern: str, beginning: str) -> None:
    """Raise `CatalogueError` with a sentence that starts with `beginning` unless the pattern is safe."""
    if not pattern or len(pattern) > LONGEST_PATTERN:
        raise CatalogueError(f"{beginning} has {len(pattern)} characters; 1 to {LONGEST_PATTERN} are allowed.")
    try:
        exact = linear.Exact(pattern)
    except linear.UnsafePattern as error:
        raise CatalogueError(f"{beginning} {error}") from error
    if exact.search(b"") is not None:
        raise CatalogueError(f"{beginning} is found in an empty line, so in every line.")


def _make(row: Mapping[str, Any], where: str, group: str) -> Signature:
    name = str(row.get("id", ""))
    if not _NAME.match(name) or len(name) > 64:
        raise CatalogueError(f"{where} holds a signature whose id '{name[:80]}' is no name in small letters.")
    try:
        made = Signature(
            **{
                **row,
                "layer": Layer(row["layer"]),
                "role": Role(row["role"]),
                "names": tuple(row.get("names", ())),
                "must_not": tuple(row.get("must_not", ())),
                "moments": tuple((what, word) for what, word in row.get("moments", ())),
                "group": group,
            }
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CatalogueError(f"The signature '{name}' of {where} is incomplete or wrong: {error}.") from error
    _check_words(made, f"The signature '{name}' of {where}")
    return made


def _check_words(made: Signature, beginning: str) -> None:
    for what, given, allowed in (
        ("kind", {made.kind}, KINDS),
        ("action", {made.action}, ACTIONS),
        ("name", set(made.names), NAMES),
        ("symptom", {made.symptom} - {""}, SYMPTOMS),
        ("moment", {moment for moment, _ in made.moments}, MOMENTS),
    ):
        if unknown := given - allowed:
            raise CatalogueError(f"{beginning} has the unknown {what} '{sorted(unknown)[0]}'.")
    if not 0 < made.confidence <= 1 or not made.says:
        raise CatalogueError(f"{beginning} needs a confidence above 0 up to 1, and words for the operator.")
