"""How are many rows changed at once, each to values of its own?

One statement with a value for each key (`CASE id WHEN … THEN …`), put together here: Django's `bulk_update` builds
the same from a thousand objects, which takes ten times as long as the database needs for it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connections, models, router

ROWS = 100  # in one statement: the database looks through all keys for each of them


def change_each(
    model: type[models.Model],
    changes: Mapping[int, Mapping[str, Any]],
    expected: Mapping[int, Any] | None = None,
    by: str = "",
) -> int:
    """Set the fields of each row, `changes` being by primary key; how many rows were found.

    With `expected` only rows are found whose column `by` still holds the value given there: a compare-and-swap of
    each row. Rows with the same fields share a statement. Inside the caller's transaction.
    """
    alike: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for key, values in changes.items():
        if values:
            alike[tuple(values)].append(key)
    found = 0
    for names, keys in alike.items():
        for start in range(0, len(keys), ROWS):
            some = keys[start : start + ROWS]
            columns = {name: [changes[key][name] for key in some] for name in names}
            condition = (by, [expected[key] for key in some]) if expected is not None else None
            found += _change(model, some, columns, condition)
    return found


def _change(
    model: type[models.Model],
    keys: Sequence[int],
    columns: Mapping[str, Sequence[Any]],
    condition: tuple[str, Sequence[Any]] | None,
) -> int:
    connection = connections[router.db_for_write(model)]
    quote = connection.ops.quote_name
    fields = {field.name: field for field in model._meta.concrete_fields}
    parameters: list[Any] = []

    def cases(name: str, values: Iterable[Any]) -> str:
        field = fields[name]
        for key, value in zip(keys, values, strict=True):
            parameters.extend((key, field.get_db_prep_save(value, connection)))
        return f"{quote(str(field.column))} = CASE {quote('id')}{' WHEN %s THEN %s' * len(keys)} END"

    def assigned(name: str, values: Sequence[Any]) -> str:
        if any(value is not values[0] for value in values):
            return cases(name, values)
        field = fields[name]  # the same for all of them, as the time of the change is
        parameters.append(field.get_db_prep_save(values[0], connection))
        return f"{quote(str(field.column))} = %s"

    sets = ", ".join(assigned(name, values) for name, values in columns.items())
    parameters.extend(keys)
    places = ", ".join(["%s"] * len(keys))
    # Names of the model's own table and columns; every value is a parameter.
    sql = f"UPDATE {quote(model._meta.db_table)} SET {sets} WHERE {quote('id')} IN ({places})"  # noqa: S608
    if condition is not None:
        sql += f" AND {cases(*condition)}"
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        return int(cursor.rowcount)
