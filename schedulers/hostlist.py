"""Which nodes does `gpu[01-03,07]-ib[0-1]` name, and how are many nodes written shortly?"""

import re
from collections.abc import Iterable, Iterator
from itertools import product

LARGEST = 65536  # names; more nodes than that were never in one cluster
NOTHING = frozenset({"", "(null)", "None assigned", "n/a", "N/A"})
NAME_LONGEST = 253  # characters of one name
NODE_NAME = re.compile(rf"[A-Za-z0-9_][A-Za-z0-9_.-]{{0,{NAME_LONGEST - 1}}}\Z")
LONGEST = 1 << 20  # characters of one expression

_SIGN = re.compile(r"[\[\],]")
_PART = re.compile(r"([^\[\],\s]*)(?:\[([^\[\]]*)\])?")
_SPAN = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?\Z", re.ASCII)


def expand(text: str, largest: int = LARGEST) -> tuple[str, ...]:
    """The names in their written order, duplicates kept; `()` for Slurm's words for nothing.

    Raises `ValueError` with a sentence for anything that is no list of nodes or names more than `largest`.
    """
    if (text := text.strip()) in NOTHING:
        return ()
    if len(text) > LONGEST:
        raise ValueError(f"A list of nodes has {len(text)} characters, more than {LONGEST}.")
    names: list[str] = []
    for word in _words(text):
        _expand_word(word, names, largest)
    return tuple(names)


def collapse(names: Iterable[str]) -> str:
    """Written with brackets on the number each name ends with, as `n[8-9],n[10-12]`; sorted, duplicates dropped.

    Only numbers of equal width share a bracket, so that nothing depends on how zeros are padded.
    """
    groups: dict[tuple[str, int], list[int]] = {}
    for name in sorted(set(names)):
        if not is_node_name(name):
            raise ValueError(f"'{name[:80]}' is no name of a node.")
        found = re.fullmatch(r"(.*?)(\d{1,18})", name, re.ASCII)
        head, digits = found.groups() if found else (name, "")
        groups.setdefault((head, len(digits)), []).extend([int(digits)] if digits else [])
    return ",".join(head + _brackets(sorted(numbers), width) for (head, width), numbers in sorted(groups.items()))


def places(numbers: Iterable[int]) -> str:
    """`[4-9,12]`, or `4`: how the tasks of one array are named behind its number."""
    return _brackets(sorted(set(numbers)), 1)


def is_node_name(name: str) -> bool:
    """Whether `name` may become an argument: letters, digits, `_`, `.` and `-`, no option, at most 253."""
    return NODE_NAME.match(name) is not None


def _words(text: str) -> Iterator[str]:
    """Split at commas outside brackets."""
    depth = 0
    start = 0
    for found in _SIGN.finditer(text):
        sign = found[0]
        if sign == ",":
            if not depth:
                yield text[start : found.start()]
                start = found.end()
            continue
        depth += 1 if sign == "[" else -1
        if depth not in (0, 1):
            raise ValueError(f"The list of nodes '{text[:80]}' has brackets that do not match.")
    if depth:
        raise ValueError(f"The list of nodes '{text[:80]}' has brackets that do not match.")
    yield text[start:]


def _expand_word(word: str, names: list[str], largest: int) -> None:
    """Append every name of one word such as `gpu[01-03]-ib[0-1]`, the last bracket turning fastest."""
    choices: list[list[str]] = []
    total = 1
    place = 0
    while place < len(word):
        found = _PART.match(word, place)
        # Each part gives a name at least one character.
        if found is None or found.end() == place or len(choices) == NAME_LONGEST:
            raise ValueError(f"'{word[:80]}' is no list of nodes.")
        head, inside = found.groups()
        room = (largest - len(names)) // total
        choices.append([head] if inside is None else [head + digits for digits in _numbers(inside, word, room)])
        total *= len(choices[-1])
        place = found.end()
    if len(names) + total > largest:
        raise ValueError(f"'{word[:80]}' brings the list of nodes above the limit of {largest}.")
    for parts in product(*choices):
        name = "".join(parts)
        if not is_node_name(name):
            raise ValueError(f"'{name[:80]}' is no name of a node.")
        names.append(name)


def _numbers(inside: str, word: str, room: int) -> list[str]:
    """The digits that `01-03,07` stands for, padded as its first number is."""
    digits: list[str] = []
    for span in inside.split(","):
        found = _SPAN.match(span)
        if found is None:
            raise ValueError(f"'[{inside[:80]}]' in '{word[:80]}' is no list of numbers.")
        first, last = found[1], found[2] or found[1]
        count = int(last) - int(first) + 1
        if count < 1:
            raise ValueError(f"'{span}' in '{word[:80]}' runs backwards.")
        if len(digits) + count > room:
            raise ValueError(f"'{word[:80]}' brings the list of nodes above the limit.")
        digits += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return digits


def _brackets(numbers: list[int], width: int) -> str:
    """`[01-03,07]`, or the bare number when there is one, or nothing."""
    spans: list[tuple[int, int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1] = (spans[-1][0], number)
        else:
            spans.append((number, number))
    if len(numbers) < 2:
        return "".join(str(number).zfill(width) for number in numbers)
    return "[" + ",".join(_span(first, last, width) for first, last in spans) + "]"


def _span(first: int, last: int, width: int) -> str:
    low, high = str(first).zfill(width), str(last).zfill(width)
    return low if first == last else f"{low}-{high}"
