"""Which cases does a command line mean?"""

import difflib
import textwrap
from collections.abc import Callable, Iterable, Sequence

from lab.cases.case import Case, Sort

SIMULATED, SLURM = "simulated", "slurm"


class BadChoice(ValueError):
    """Names of cases that cannot be put on there; one sentence says which."""


def places(case: Case) -> tuple[str, ...]:
    """Where the case can be put on."""
    scripts = {SIMULATED: case.simulated, SLURM: case.slurm}
    return tuple(place for place, script in scripts.items() if script is not None)


def choose(cases: Sequence[Case], words: Iterable[str], where: str) -> list[Case]:
    """The cases that `words` name, in the order of the list, each once. Raises `BadChoice`.

    Words are names of cases, or, of those that can be put on there, `all`, `short` (the reduced run of CI),
    `representative` (20 faults and 10 traps for a real Slurm), `faults`, `traps`.
    """
    known = {case.name: case for case in cases}
    chosen: set[str] = set()
    for word in words:
        if word in GROUPS:
            chosen |= {case.name for case in cases if where in places(case) and GROUPS[word](case, where)}
        elif word not in known:
            near = difflib.get_close_matches(word[:60], [*known, *GROUPS], 1, 0.7)
            meant = f"; is '{near[0]}' meant?" if near else "; ./run lab --list names them."
            raise BadChoice(f"There is no case '{word[:60]}'{meant}")
        elif where not in places(known[word]):
            there = " and ".join(f"'--on {place}'" for place in places(known[word])) or "nothing"
            raise BadChoice(f"The case '{word}' can only be put on with {there}.")
        else:
            chosen.add(word)
    if not chosen:
        raise BadChoice(f"--faults means no case that can be put on with '--on {where}'.")
    return [case for case in cases if case.name in chosen]


GROUPS: dict[str, Callable[[Case, str], bool]] = {
    "all": lambda case, where: True,
    "short": lambda case, where: where in case.short,
    "representative": lambda case, where: case.representative,
    "faults": lambda case, where: case.sort is Sort.FAULT,
    "traps": lambda case, where: case.sort is Sort.TRAP,
}


def listing(cases: Sequence[Case], columns: int = 0) -> str:
    """Each case: fault or trap, name, where it can be put on, and what it does.

    A case is one line, or, with a number of columns, as many as it needs with what it does below itself.
    """
    width = max((len(case.name) for case in cases), default=0)
    heads = [f"{case.sort:<5}  {case.name:<{width}}  {'+'.join(places(case)):<15}  " for case in cases]
    lines = [f"{head}{case.says}" for head, case in zip(heads, cases, strict=True)]
    if not columns:
        return "\n".join(lines)
    wide = max(columns, len(heads[0]) + 20 if heads else 0)
    return "\n".join(
        textwrap.fill(line, wide, subsequent_indent=" " * len(head), break_on_hyphens=False)
        for line, head in zip(lines, heads, strict=True)
    )
