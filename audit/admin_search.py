"""What does a search in the admin look for, and what may it cost?

`=field` of `search_fields` is sought exactly, by its index, in all rows. Any other field is sought for each word,
in the newest rows of a long table. No more than `HITS` rows are found.
"""

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from django.db.models import BigIntegerField, Field, IntegerField, Model, Q, QuerySet, UUIDField

from audit.admin_list import newest_of

HITS = 1000
TERM_LIMIT = 200  # characters
WORDS = 8


def search(rows: QuerySet[Any], term: str, fields: Iterable[str], exact: Iterable[Q], long: bool) -> QuerySet[Any]:
    """The rows that `term` may mean: each of `exact`, each `=field` of `fields`, and all words in the others."""
    term = term[:TERM_LIMIT].replace("\0", "").strip()
    fields = list(fields)
    found: set[int] = set()
    for meaning in (*exact, *_exactly(rows.model, term, fields)):
        found.update(rows.filter(meaning).order_by().values_list("pk", flat=True)[:HITS])
    worded = [name for name in fields if not name.startswith("=")]
    if worded:
        some = newest_of(rows) if long else rows
        for word in term.split()[:WORDS]:
            some = some.filter(Q.create([(f"{name}__icontains", word) for name in worded], connector=Q.OR))
        found.update(some.order_by("-pk").values_list("pk", flat=True)[:HITS])
    return rows.filter(pk__in=found)


def _exactly(model: type[Model], term: str, fields: Iterable[str]) -> Iterator[Q]:
    for name in fields:
        if name.startswith("=") and (value := _typed(_field(model, name[1:]), term)) is not None:
            yield Q(**{name[1:]: value})


def _field(model: Any, path: str) -> Any:
    field: Any = None
    for name in path.split("__"):
        field = model._meta.get_field(name)
        model = field.related_model
    return field


# stays English: a type
def _typed(field: "Field[Any, Any]", term: str) -> int | UUID | str | None:
    """The term as the field stores it; none when the field cannot hold it."""
    if isinstance(field, UUIDField):
        try:
            return UUID(term)
        except ValueError:
            return None
    if isinstance(field, BigIntegerField | IntegerField):
        return int(term) if term.isascii() and term.isdigit() and len(term) <= 18 else None
    return term
