"""How does the admin show stored JSON that is only read there? One value on each line, unless it is short."""

import json
from collections.abc import Callable
from typing import Any

from django.contrib.admin.helpers import AdminForm
from django.db.models import JSONField, Model

SHORT = 80  # characters that are read at a glance


def lay_out(page: AdminForm) -> None:
    """Let a page of one row show each of its JSON columns that nobody changes there in lines."""
    fields = page.form._meta.model._meta.concrete_fields
    read: Any = page.readonly_fields
    shown = {one.name: _column(one, page) for one in fields if isinstance(one, JSONField) and one.name in read}
    if shown:
        page.fieldsets = [
            (title, {**options, "fields": [_replaced(name, shown) for name in options["fields"]]})
            for title, options in page.fieldsets
        ]
        both: Any = [*read, *shown.values()]
        page.readonly_fields = both


def _column(field: "JSONField[Any, Any]", page: Any) -> Callable[[Model], str]:  # stays English: a type
    def column(row: Model) -> str:
        value = field.value_from_object(row)
        if value in field.empty_values:
            return str(page.model_admin.get_empty_value_display())
        line = json.dumps(value, ensure_ascii=False, default=str)
        return line if len(line) <= SHORT else json.dumps(value, ensure_ascii=False, default=str, indent=2)

    column.__name__ = field.name  # the page finds its help and its look by it
    column.short_description = field.verbose_name  # type: ignore[attr-defined]  # as the admin asks for it
    return column


def _replaced(name: Any, shown: dict[str, Callable[[Model], str]]) -> Any:
    """A line of the page: one column, or several beside each other."""
    if isinstance(name, list | tuple):
        return [shown.get(one, one) for one in name]
    return shown.get(name, name)
