"""How is a long list handed out in pages?

A page token is opaque, signed, and bound to the list and the filters that it came from: with another query it is
refused (400). It holds the key of the last row, so that rows that come in between move nothing.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.core import signing
from django.db.models import Q, QuerySet

from advisor_api.refusals import Bad

MOST = 250
USUAL = 100
SALT = "advisor_api.page"
TOKEN_LIMIT = 1024
OFFSET_LIMIT = 1_000_000  # rows that a numbered page may skip: the database walks over each of them

Row = TypeVar("Row")


@dataclass(frozen=True)
class Page(Generic[Row]):
    """One page of rows. `next_token` is `""` at the end."""

    rows: Sequence[Row]
    next_token: str


@dataclass(frozen=True)
class Place:
    """Where a page begins: after a key (from a token), or at an offset; at the start when both are empty."""

    after: Sequence[Any] | None = None
    offset: int = 0


def binding(name: str, filters: Mapping[str, Any]) -> str:
    """What a token is bound to: the list's name and every filter, whatever their order."""
    text = json.dumps([name, sorted((key, str(value)) for key, value in filters.items())])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def read_token(token: str, bound_to: str) -> Place:
    """Where the token's page begins. Raises `Bad` for a forged one and for one of another query."""
    if not token:
        return Place()
    try:
        stored = signing.loads(token[: TOKEN_LIMIT + 1], salt=SALT)
    except signing.BadSignature:
        raise Bad("The page token is not one of ours.") from None
    if stored.get("of") != bound_to:
        raise Bad("The page token belongs to another query.")
    return Place(after=stored["after"])


def page_of(
    rows: QuerySet[Any, Row],
    place: Place,
    limit: int,
    *,
    bound_to: str,
    keys: Sequence[str] = ("pk",),
    descending: bool = False,
    numbers_first: bool = False,
) -> Page[Row]:
    """The page at `place`, ordered by `keys`, which together must be unique and are columns or annotations.

    `numbers_first`: of a long table with an index that holds filter and keys. The database then looks for the
    numbers alone, which it does in that index from the place on; asked for whole rows, MariaDB walks over all that
    lie before the place.
    """
    sign = "-" if descending else ""
    ordered = rows.order_by(*(f"{sign}{key}" for key in keys))
    if place.after is not None:
        ordered = ordered.filter(beyond(keys, place.after, "lt" if descending else "gt"))
    here = ordered[place.offset : place.offset + limit + 1]
    if numbers_first:
        here = ordered.filter(pk__in=list(here.values_list("pk", flat=True)))
    found = list(here)
    more = len(found) > limit
    found = found[:limit]
    return Page(found, _token(found[-1], keys, bound_to) if more else "")


def beyond(keys: Sequence[str], after: Sequence[Any], comparison: str) -> Q:
    """Lexicographically beyond `after`. The bound of the first key is said alone too: it is a range of an index."""
    further, equal = Q(), Q()
    for key, value in zip(keys, after, strict=True):
        further |= equal & Q(**{f"{key}__{comparison}": value})
        equal &= Q(**{key: value})
    return Q(**{f"{keys[0]}__{comparison}e": after[0]}) & further


def _token(row: Any, keys: Sequence[str], bound_to: str) -> str:
    values = [row[key] if isinstance(row, dict) else getattr(row, key) for key in keys]
    after = [value.isoformat() if isinstance(value, datetime) else value for value in values]
    return signing.dumps({"of": bound_to, "after": after}, salt=SALT, compress=True)


def numbered(page_number: int | None, offset: str, limit: int) -> Place:
    """The place of a one-based page number, or of a decimal zero-based offset. Raises `Bad`."""
    skip = (page_number - 1) * limit if page_number is not None else int(offset[:12])
    if skip > OFFSET_LIMIT:
        raise Bad(f"At most {OFFSET_LIMIT} rows can be skipped; follow nextPageToken instead.")
    return Place(offset=skip)
