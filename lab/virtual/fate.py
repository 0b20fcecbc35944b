"""Who dies, and when? A part of the product is killed at a step that was chosen before, as by SIGKILL.

Parts are `site PLACE` (a worker or web process of the site), `controller NAME` and `watchdog NAME`. Steps are what
each of them does to the world: a statement, a commit, a request, a line of the journal, a command, a look.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SITE = "site "
CONTROLLER = "controller "
WATCHDOG = "watchdog "


class Killed(BaseException):
    """A part of the product dies at this moment: nothing of it may catch this."""

    def __init__(self, part: str) -> None:
        super().__init__(part)
        self.part = part


@dataclass
class Doom:
    """At the `left`-th step of these `kinds` from now on, `before` or `after` its effect, or with a `torn` line."""

    kinds: frozenset[str]
    left: int
    when: str


@dataclass
class Fate:
    """What is chosen, who acts, and who is dead."""

    dooms: dict[str, Doom] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)
    deaths: Counter[str] = field(default_factory=Counter)  # by part's first word, kind of step and when
    _acting: list[str] = field(default_factory=list)

    @property
    def part(self) -> str:
        """Who acts at the moment; empty: the lab itself."""
        return self._acting[-1] if self._acting else ""

    @contextmanager
    def acting(self, part: str) -> Iterator[None]:
        """What is done inside is done by this part."""
        self._acting.append(part)
        try:
            yield
        finally:
            self._acting.pop()

    @contextmanager
    def step(self, kind: str, tear: Callable[[], None] | None = None) -> Iterator[None]:
        """One step of whoever acts. Raises `Killed`: here and now, or because he is dead already.

        `tear` does half of it.
        """
        part = self.part
        if part in self.dead:
            raise Killed(part)  # what a dying program still tries, nobody sees
        when = self._chosen(part, kind)
        if when == "torn" and tear:
            tear()
        elif when == "torn":
            when = "before"
        if when and when != "after":
            self._kill(part, kind, when)
        yield
        if when == "after":
            self._kill(part, kind, when)

    def revive(self, part: str) -> None:
        """Another one takes its place."""
        self.dead.discard(part)

    def _chosen(self, part: str, kind: str) -> str:
        doom = self.dooms.get(part)
        if doom is None or kind not in doom.kinds:
            return ""
        doom.left -= 1
        if doom.left > 0:
            return ""
        del self.dooms[part]
        return doom.when

    def _kill(self, part: str, kind: str, when: str) -> None:
        self.dead.add(part)
        self.deaths[f"{part.split(maxsplit=1)[0]} {when} a {kind}"] += 1
        raise Killed(part)
