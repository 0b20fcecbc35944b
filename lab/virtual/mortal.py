"""How does a worker of the site die in one process? Its statements and commits are steps; its transaction dies.

Whatever a dying worker's own clean-up tries is refused by `Fate.step`, as the database refuses a connection that is
gone; only rolling back is left, which the database does by itself.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, cast

from django.db import connection

from lab.virtual.fate import SITE, Fate, Killed

WRITES = ("INSERT", "UPDATE", "DELETE")
OF_THE_DATABASE = ("ROLLBACK", "RELEASE SAVEPOINT")


def forget_the_dead() -> None:
    """The next worker has another connection: what was begun right before a death, unknown to Django, is over."""
    mine = cast(Any, connection)
    mine.run_on_commit.clear()
    if getattr(mine.connection, "in_transaction", False) and not mine.in_atomic_block:
        mine._rollback()


class MortalDatabase:
    """The connection of this process, on which the site's parts may die. Use as a context."""

    def __init__(self, fate: Fate) -> None:
        self._fate = fate
        self._connection = cast(Any, connection)  # its private way to the database is what is taken hold of
        self._commit: Callable[[], None] = self._connection._commit

    def __enter__(self) -> Self:
        connection.execute_wrappers.append(self._execute)
        self._connection._commit = self._commit_or_die
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        connection.execute_wrappers.remove(self._execute)
        del self._connection._commit

    def revive(self, part: str) -> None:
        """Another worker: it knows nothing of what the dead one was about, and has a connection of its own."""
        self._fate.revive(part)
        forget_the_dead()

    def _execute(
        self, execute: Callable[..., Any], sql: str, parameters: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        part = self._fate.part
        if not part.startswith(SITE) or (part in self._fate.dead and sql.startswith(OF_THE_DATABASE)):
            return execute(sql, parameters, many, context)
        with self._fate.step("write" if sql.startswith(WRITES) else "statement"):
            return execute(sql, parameters, many, context)

    def _commit_or_die(self) -> None:
        if not self._fate.part.startswith(SITE):
            self._commit()
            return
        done = False
        try:
            with self._fate.step("commit"):
                self._commit()
                done = True
        except Killed:
            if not done:
                self._connection._rollback()
            raise
