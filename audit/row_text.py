"""What exactly is sealed of an event? Every column, as the database writes it.

The text comes from the database and not from Python's idea of a value: one changed byte changes it, also where both
mean the same (a blank in the payload, a time with other zeros). Version 1: a JSON array of the columns in the order
of `COLUMNS`, each a text or null.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence

from django.db import connection

from audit.models import AuditEvent

COLUMNS = tuple(sorted(str(field.column) for field in AuditEvent._meta.concrete_fields))
START = "0" * 64  # the digest before the first seal
GONE = "null"  # sealed in the place of an event that is not there any more
BATCH = 500


def texts_of(events: Sequence[int]) -> dict[int, str]:
    """The text of each event that is there, by its number. One query for each `BATCH`."""
    found: dict[int, str] = {}
    for start in range(0, len(events), BATCH):
        part = list(events[start : start + BATCH])
        places = ", ".join(["%s"] * len(part))
        found.update(_read(f"WHERE id IN ({places})", part))
    return found


def digest(before: str, cluster: str, seq: int, text: str) -> str:
    """The link of `text` at `seq`: SHA-256 over the link before, the place and the row, in hexadecimal."""
    sealed = json.dumps(["rekindle-seal-1", before, cluster, seq, text])
    return hashlib.sha256(sealed.encode()).hexdigest()


def _read(where: str, values: Sequence[int]) -> Iterator[tuple[int, str]]:
    kind = "TEXT" if connection.vendor == "sqlite" else "CHAR"
    quote = connection.ops.quote_name
    columns = ", ".join(f"CAST({quote(column)} AS {kind})" for column in COLUMNS)
    table = quote(AuditEvent._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, {columns} FROM {table} {where}", values)  # noqa: S608  # names of ours alone
        rows = cursor.fetchall()
    for number, *cells in rows:
        yield number, json.dumps(cells)
