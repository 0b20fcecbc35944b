"""How does Slurm write a list of nodes? `n[01-03,05],x1` and back.

Written anew rather than taken from `schedulers`: a mistake shared by both sides would never be seen.
"""

import re
from collections.abc import Iterable, Sequence

MOST_NODES = 65536


def expand(text: str) -> list[str]:
    """Node names of a list, in its order; raises `ValueError` for one that cannot be read or is too long."""
    names: list[str] = []
    for part in re.findall(r"(?:\[[^\[\]]*\]|[^,\[\]])+", text):
        names += _expand_part(part)
        if len(names) > MOST_NODES:
            raise ValueError(f"more than {MOST_NODES} nodes")
    if text.count("[") != text.count("]"):
        raise ValueError("unbalanced brackets")
    return names


def _expand_part(part: str) -> list[str]:
    names = [""]
    for fixed, ranges in re.findall(r"([^\[\]]+)|\[([^\[\]]*)\]", part):
        endings = [fixed] if fixed else [name for span in ranges.split(",") for name in _numbers(span)]
        if len(names) * len(endings) > MOST_NODES:
            raise ValueError(f"more than {MOST_NODES} nodes")
        names = [name + ending for name in names for ending in endings]
    return names


def _numbers(span: str) -> list[str]:
    first, dash, last = span.partition("-")
    if not re.fullmatch(r"[0-9]{1,9}", first) or (dash and not re.fullmatch(r"[0-9]{1,9}", last)):
        raise ValueError(f"'{span[:40]}' is no range of numbers")
    low, high = int(first), int(last or first)
    if high < low or high - low >= MOST_NODES:
        raise ValueError(f"'{span[:40]}' is no range of numbers")
    return [f"{number:0{len(first)}d}" for number in range(low, high + 1)]


def fold(names: Sequence[str]) -> str:
    """The list Slurm would print: equal beginnings folded, numbers in order."""
    padded = {(beginning, len(digits)) for beginning, digits in map(_split, names) if digits.startswith("0")}
    groups: dict[tuple[str, int], set[int]] = {}
    plain: dict[str, None] = {}
    for name in names:
        beginning, digits = _split(name)
        if digits:
            width = len(digits) if (beginning, len(digits)) in padded else 1
            groups.setdefault((beginning, width), set()).add(int(digits))
        else:
            plain[name] = None
    folded = []
    for (beginning, width), numbers in groups.items():
        text = spans(numbers, width)
        folded.append(f"{beginning}{text}" if len(numbers) == 1 else f"{beginning}[{text}]")
    return ",".join([*folded, *plain])


def spans(numbers: Iterable[int], width: int = 1) -> str:
    """`0-7,9`: numbers in order, neighbours joined, each filled with zeros up to `width` digits."""
    ends: list[list[int]] = []
    for number in sorted(numbers):
        if ends and ends[-1][1] == number - 1:
            ends[-1][1] = number
        else:
            ends.append([number, number])
    return ",".join(f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in ends)


def _split(name: str) -> tuple[str, str]:
    digits = re.search(r"[0-9]{0,9}\Z", name)
    number = digits[0] if digits else ""
    return name.removesuffix(number) if number else name, number
