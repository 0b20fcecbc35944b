"""Does every change of state write its event, in its own transaction, on the same subject?

Temporary triggers of the test's own connection note each row that is inserted into a table of `MOVES`, each of its
columns of state that changes, and each event of the trail. When the transaction is about to end, what moved in it
is held against the events in it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import connection
from django.db.models import Model

from audit.models import AuditEvent
from tests.audit.moves import MOVES, SAYS, Move

NOTED = "noted_moves"


@dataclass
class Seen:
    """`moves`: names of `MOVES` that took place. `silent`: sentences about those without a fitting event."""

    moves: set[str] = field(default_factory=set)
    silent: list[str] = field(default_factory=list)


@contextmanager
def watching(seen: Seen) -> Iterator[None]:
    """Note everything that moves inside. Needs a test that commits (`transaction=True`), and SQLite."""
    names = _begin()
    commit = connection.commit

    def look_and_commit() -> None:
        _look(seen)
        commit()

    def look_after(execute: Any, *call: Any) -> Any:
        result = execute(*call)
        if not connection.in_atomic_block and NOTED not in str(call[0]):
            _look(seen)
        return result

    try:
        with pytest.MonkeyPatch.context() as patch, connection.execute_wrapper(look_after):
            patch.setattr(connection, "commit", look_and_commit)
            yield
    finally:
        with connection.cursor() as cursor:
            for name in names:
                cursor.execute(f"DROP TRIGGER {name}")
            cursor.execute(f"DROP TABLE {NOTED}")


def _begin() -> list[str]:
    names = []
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMP TABLE {NOTED} (move INTEGER, name TEXT, row INTEGER, said TEXT)")
        wanted = [(number, move, name) for number, move in enumerate(MOVES) for name in move.names]
        for place, (number, move, name) in enumerate(wanted):
            column = name.partition(".")[2]
            changed = f"OF {column}" if column else ""
            when = f"WHEN OLD.{column} IS NOT NEW.{column}" if column else ""
            when += f" AND NOT ({move.unless})" if column and move.unless else ""
            said = "''" if not column else f"{_text('OLD', column)} || ' -> ' || {_text('NEW', column)}"
            names.append(f"{NOTED}_{place}")
            on = f"AFTER {'UPDATE' if column else 'INSERT'} {changed} ON main.{move.model._meta.db_table} {when}"
            _trigger(cursor, names[-1], on, f"{number}, '{name}', NEW.id, {said}")
        names.append(f"{NOTED}_event")
        _trigger(cursor, names[-1], f"AFTER INSERT ON main.{AuditEvent._meta.db_table}", "NULL, '', NEW.id, ''")
    return names


def _trigger(cursor: Any, name: str, on: str, values: str) -> None:
    body = f"INSERT INTO {NOTED} VALUES ({values})"  # noqa: S608  # names of ours
    cursor.execute(f"CREATE TEMP TRIGGER {name} {on} BEGIN {body}; END")


def _text(which: str, column: str) -> str:
    return f"ifnull({which}.{column}, 'nothing')"


def _look(seen: Seen) -> None:
    """Hold what moved in the transaction that is open against its events, and forget it."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT move, name, row, said FROM {NOTED}")  # noqa: S608  # a name of ours
        noted = cursor.fetchall()
        if not noted:
            return
        cursor.execute(f"DELETE FROM {NOTED}")  # noqa: S608  # a name of ours
    events = list(AuditEvent.objects.filter(pk__in=[row for move, _, row, _ in noted if move is None]))
    for number, name, key, said in noted:
        if number is None:
            continue
        move = MOVES[number]
        row = move.model._default_manager.filter(pk=key).first()
        if row is None:
            continue  # deleted again in the same transaction
        seen.moves.add(name)
        if not any(_speaks(event, move, row) for event in events):
            heard = ", ".join(event.type for event in events) or "nothing"
            seen.silent.append(f"{name} of {row} ({said}) with {heard}")


def _speaks(event: AuditEvent, move: Move, row: Model) -> bool:
    wanted = move.says(row)
    return event.type in {one.value for one in move.types} and all(
        str(value) in event.sentence if column == SAYS else getattr(event, column) == value
        for column, value in wanted.items()
    )
