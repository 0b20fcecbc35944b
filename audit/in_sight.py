"""Which clusters may whoever asks not see? Said once for a request, and kept to by every query that it makes.

A cluster may be for some groups of people alone (`workloads.seen_by`). What is not in sight is not there: models
whose rows belong to a cluster have `InSight` as their manager, and lists, counts, searches and single rows leave
the others out. Where nobody asked (tasks, commands, tokens of the API, sockets), everything is in sight.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from django.db import models
from django.utils.translation import gettext_lazy


@dataclass(frozen=True)
class Hidden:
    """Clusters that are not seen: their keys, and their names for rows that have no foreign key.

    A cluster that was removed has left its trail, and is a name without a key: what holds for all clusters does not
    hold for it.
    """

    keys: frozenset[int] = frozenset()
    names: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.names)


NOTHING = Hidden()
FOR_WHO_SEES_ALL = gettext_lazy(
    "What holds for all clusters is set by whoever sees all of them, and you do not. Choose a cluster."
)
_hidden: ContextVar[Callable[[], Hidden]] = ContextVar("hidden", default=lambda: NOTHING)
M = TypeVar("M", bound=models.Model)


def hidden_now() -> Hidden:
    """What is not seen by whoever asks."""
    return _hidden.get()()


@contextmanager
def without(hidden: Callable[[], Hidden]) -> Iterator[None]:
    """Within, no query finds a row of these clusters; the first query that must know which asks for them, once."""
    token = _hidden.set(cache(hidden))
    try:
        yield
    finally:
        _hidden.reset(token)


def in_full_sight() -> AbstractContextManager[None]:
    """Within, nothing is hidden: for what a whole process keeps, and for writing a row that was found in sight.

    A condition on another table would make of a compare-and-swap a look and a write, and lock rows of that table.
    """
    return without(lambda: NOTHING)


def in_full_sight_from_now() -> None:
    """Until the request ends nothing is hidden: whoever asks has shown a token, and is bounded by its clusters."""
    _hidden.set(lambda: NOTHING)


class InSight(models.Manager[M]):
    """Rows of the clusters that are seen, or of none. `cluster_at` of the model is the path there."""

    def get_queryset(self) -> models.QuerySet[M]:
        """No condition is added where nothing is hidden."""
        rows, hidden = super().get_queryset(), hidden_now()
        path: Any = getattr(self.model, "cluster_at")  # noqa: B009  # each model says its own
        return rows.exclude(**{f"{path}__in": hidden.keys}) if hidden else rows


class InSightOfAll(InSight[M]):
    """Rows of several clusters: those that speak of seen ones alone, and of some."""

    def get_queryset(self) -> models.QuerySet[M]:
        """What speaks of no cluster any more may have spoken of a hidden one."""
        rows = super().get_queryset()
        path: Any = getattr(self.model, "cluster_at")  # noqa: B009  # each model says its own
        return rows.exclude(**{path: None}) if hidden_now() else rows


class InSightByName(models.Manager[M]):
    """The same for rows with the name of a cluster.

    Those with none speak of the whole site, and are not for whoever does not see all of it.
    """

    def get_queryset(self) -> models.QuerySet[M]:
        """No condition is added where nothing is hidden."""
        rows, hidden = super().get_queryset(), hidden_now()
        path: str = getattr(self.model, "cluster_at", "cluster")
        return rows.exclude(**{f"{path}__in": [*hidden.names, *[""] * bool(hidden.keys)]}) if hidden else rows
