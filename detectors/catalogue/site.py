"""Which signatures may a site add to the catalogue, and what is the catalogue with them?

The same checks hold as for the shipped ones, and some more: nobody here reviewed them, and no test runs them.
"""

import hashlib
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from detectors.catalogue import entries
from detectors.catalogue.catalogue import Catalogue
from detectors.catalogue.entries import SITE, CatalogueError, Signature
from detectors.catalogue.records import LINE_LIMIT
from detectors.catalogue.role import Role

PREFIX = "site."
"""How the id of a site's signature begins: no later release can ship one of the same name."""
KINDS = ("crash", "hang", "straggler", "early_warning")
ROLES = (Role.ROOT, Role.CANDIDATE, Role.SECONDARY, Role.CONFIRM)
ACTIONS = (
    "none",
    "restart",
    "restart_exclude",
    "restart_then_exclude",
    "restart_then_stop",
    "stop",
    "exclude_one_or_stop",
)
"""Those whose meaning does not hang on the words of a shipped signature."""
MOST = 200  # signatures of one site: every one is looked for in every line
COUNTER_EXAMPLES = 20
LONGEST_WORDS = 300  # characters of what an operator reads
_HEALTHY = frozenset({"progress", "checkpoint", "phase", "benign"})


def site_signature(row: Mapping[str, Any], shipped: Catalogue) -> Signature:
    """A signature of a site. `row`: as in a catalogue file, of kind `early_warning`, too.

    Raises `CatalogueError` with the sentence that says what is wrong.
    """
    name = str(row.get("id", ""))
    _check_name(name, shipped)
    beginning = f"The signature '{name[:80]}'"
    _check_words(row, beginning)
    _check_lines(row, beginning)
    made = entries.signature(_as_shipped(row), where="this site", group=SITE)
    if same := next((one.id for one in shipped.signatures if one.pattern == made.pattern), ""):
        raise CatalogueError(f"{beginning} has the pattern of '{same}', which Rekindle knows already.")
    for line in made.must_not:
        if entries.has(made, line):
            raise CatalogueError(f"{beginning} matches its counter-example '{line[:120]}'.")
    for healthy in shipped.signatures:
        if healthy.kind in _HEALTHY and entries.has(made, healthy.example):
            raise CatalogueError(
                f"{beginning} matches a line of healthy jobs ('{healthy.id}'): '{healthy.example.strip()[:120]}'."
            )
    return made


def extended(shipped: Catalogue, added: Sequence[Signature], retired: Sequence[Signature] = ()) -> Catalogue:
    """The catalogue with a site's own signatures, and a version of its own.

    `retired`: those that are no longer matched, or not here; memories may still name them.
    """
    if not added and not retired:
        return shipped
    version = shipped.version
    if added:
        content = json.dumps([asdict(one) for one in sorted(added, key=lambda one: one.id)], sort_keys=True)
        version = hashlib.sha256(f"{version}\0{content}".encode("utf-8", "replace")).hexdigest()
    named = {one.id: one for one in (*retired, *added)}
    return replace(
        shipped,
        signatures=(*shipped.signatures, *added),
        derived=(*shipped.derived, *retired),
        version=version,
        _by_id={**shipped._by_id, **named},
    )


def hostile_lines(made: Signature) -> Iterator[str]:
    """Lines of 16 KB that are as hard as possible for the pattern: its example repeated, cut, drawn out, and its
    characters in disorder, which fills the memory of an automaton with states.
    """
    example = made.example
    dice = random.Random(len(example))  # noqa: S311  # the same lines each time, and no secret
    disorder = "".join(dice.choices(example, k=LINE_LIMIT))
    yield disorder
    for share in (4, 2, 1):
        yield (example[: len(example) // share - (share == 1)] + disorder)[:LINE_LIMIT]
    for start, filler in (
        ("", "a"),
        ("", "1 "),
        ("", example),
        ("", example[: len(example) // 2] or "a"),
        ("", example[: -len(example) // 4] or "a"),
        (example[: len(example) // 2], "a"),
        (example[:-1], "1"),
        (example[:-1], " "),
        (example[:-1], example[-1:]),
    ):
        room = LINE_LIMIT - len(start)
        yield (start + filler * (room // max(1, len(filler)) + 1))[:LINE_LIMIT]


def _check_name(name: str, shipped: Catalogue) -> None:
    if not name.startswith(PREFIX) or name == PREFIX:
        raise CatalogueError(f"The id '{name[:80]}' does not begin with '{PREFIX}', as those of a site do.")
    if shipped.knows(name):
        raise CatalogueError(f"The id '{name[:80]}' is that of a signature that Rekindle knows already.")


def _check_words(row: Mapping[str, Any], beginning: str) -> None:
    for what, allowed in (("kind", KINDS), ("role", ROLES), ("action", ACTIONS)):
        if row.get(what) not in allowed:
            raise CatalogueError(
                f"{beginning} has the {what} '{str(row.get(what))[:40]}', which a site's cannot have."
            )
    if len(str(row.get("says", ""))) > LONGEST_WORDS:
        raise CatalogueError(f"{beginning} has more than {LONGEST_WORDS} characters for the operator.")


def _check_lines(row: Mapping[str, Any], beginning: str) -> None:
    lines = [str(row.get("example", "")), *row.get("must_not", ())]
    if len(lines) > COUNTER_EXAMPLES + 1:
        raise CatalogueError(f"{beginning} has more than {COUNTER_EXAMPLES} counter-examples.")
    for line in lines:
        if len(line) > LINE_LIMIT or "\n" in line:
            raise CatalogueError(
                f"{beginning} has an example that is not one line of at most {LINE_LIMIT} characters."
            )
    for text in (*lines, str(row.get("pattern", "")), str(row.get("unless", ""))):
        if "\0" in text:
            raise CatalogueError(f"{beginning} holds a NUL, which no line that is read can hold.")


def _as_shipped(row: Mapping[str, Any]) -> dict[str, Any]:
    """A warning is a crash that proves none yet, as in the files."""
    if row["kind"] != "early_warning":
        return dict(row)
    return {**row, "kind": "crash", "symptom": "early_warning"}
