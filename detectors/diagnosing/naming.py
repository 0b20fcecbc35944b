"""Which node and which rank does the name of a file tell? By a pattern with the % fields of sbatch and srun."""

import re2

from schedulers.hostlist import is_node_name

_SHAPES = {"N": "([A-Za-z0-9][A-Za-z0-9.-]*)", "t": "([0-9]{1,7})"}
LONGEST = 1024


class BadPattern(ValueError):
    """A pattern that cannot be used; one sentence says why."""


class NameReader:
    """Reads names by one pattern: `%N` is the node, `%t` the rank, any other field and `*` stand for anything.

    The pattern describes the end of a path, from the beginning of a folder's or file's name on.
    """

    def __init__(self, pattern: str) -> None:
        """Raises `BadPattern`."""
        if len(pattern) > LONGEST:
            raise BadPattern(f"The pattern has more than {LONGEST} characters.")
        self._fields: list[str] = []
        expression, at = [], 0
        while at < len(pattern):
            character = pattern[at]
            if character == "%" and at + 1 < len(pattern):
                at += 1
                while pattern[at].isdigit() and at + 1 < len(pattern):
                    at += 1
                expression.append(self._field(pattern[at]))
            else:
                expression.append("[^/]*" if character == "*" else re2.escape(character))
            at += 1
        if not self._fields:
            raise BadPattern("The pattern names neither a node (%N) nor a rank (%t).")
        self._expression = re2.compile(rf"(?:^|/){''.join(expression)}$")

    def read(self, path: str) -> tuple[str | None, int | None]:
        """Node and rank, `None` where the name does not tell."""
        found = self._expression.search(path)
        words = dict(zip(self._fields, found.groups(), strict=True)) if found is not None else {}
        host, rank = words.get("N"), words.get("t")
        return host if host and is_node_name(host) else None, int(rank) if rank is not None else None

    def _field(self, letter: str) -> str:
        if letter in self._fields or letter not in _SHAPES:
            return "%" if letter == "%" else "[^/]*"
        self._fields.append(letter)
        return _SHAPES[letter]
