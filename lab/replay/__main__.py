"""`python -m lab.replay FILE…`: is every verdict in these files the one that follows from its own inputs?

This process has the files and nothing else: no database and no Django. Prints one object of JSON: how many there
were (`n`), and which differ, and where (`different`).
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from lab.replay.verdict import difference, read


def main(arguments: Sequence[str]) -> int:
    """Compute everything again; 0, also when something differs."""
    n, different = 0, []
    for line in _lines(arguments):
        n += 1
        kept = read(line)
        if found := difference(kept):
            different.append(f"{kept.name}: {found}")
    print(json.dumps({"n": n, "different": different}))
    return 0


def _lines(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        with Path(name).open() as file:
            yield from (line for line in file if line.strip())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
