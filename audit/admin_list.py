"""How does a list of the admin stay quick, however many rows its table has?

Nothing is counted beyond `COUNTED`. Filters and words look at the newest `LOOKED_AT` rows; what is found by an
index is found at any age. Long columns that the list does not show are not read.
"""

from typing import TYPE_CHECKING, Any

from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import JSONField, Max, Model, QuerySet, TextField
from django.http import HttpRequest
from django.utils.functional import cached_property

if TYPE_CHECKING:
    Pages = Paginator[Any]
else:  # takes no type argument when it runs
    Pages = Paginator

COUNTED = 10_000
LOOKED_AT = 100_000


class BoundedPaginator(Pages):
    """Pages of the first `COUNTED` rows; `more` says that there are others."""

    @cached_property
    def count(self) -> int:
        """How many there are, `COUNTED` at most."""
        rows: Any = self.object_list
        found = int(rows.order_by()[: COUNTED + 1].count()) if hasattr(rows, "order_by") else len(rows)
        self.more = found > COUNTED
        return min(found, COUNTED)


class BoundedList(ChangeList):
    """The list of a long table. An order that the page does not offer is not sorted by."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> Any:
        """The rows that fit, without what is not shown of them."""
        rows = super().get_queryset(request, exclude_parameters)
        if self.has_active_filters and getattr(self.model_admin, "is_long", False):
            rows = rows.filter(pk__gt=newest_from(self.model))
        return rows.defer(*self._left_out())

    def get_ordering_field(self, field_name: Any) -> Any:
        """The column to sort by; none for one whose header sorts nothing."""
        if self.sortable_by is not None and field_name not in self.sortable_by:
            return None
        return super().get_ordering_field(field_name)

    def _left_out(self) -> list[str]:
        fields = self.model._meta.concrete_fields
        long = (field.name for field in fields if isinstance(field, JSONField | TextField))
        return [name for name in long if name not in self.list_display]


def newest_from(model: type[Model]) -> int:
    """The key after which the newest `LOOKED_AT` rows come."""
    newest = model._base_manager.aggregate(newest=Max("pk"))["newest"] or 0
    return int(newest) - LOOKED_AT


def newest_of(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Those of the rows that words are sought in."""
    return rows.filter(pk__gt=newest_from(rows.model))
