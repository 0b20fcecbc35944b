"""How does the admin show rows: those that nobody may change there, and those that some may?"""

import hashlib
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import ShowFacets
from django.contrib.admin.utils import flatten_fieldsets, unquote
from django.contrib.admin.widgets import AdminSplitDateTime, RelatedFieldWidgetWrapper
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.admin_json import lay_out
from audit.admin_list import BoundedList, BoundedPaginator
from audit.admin_search import search

if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
else:  # takes no type argument when it runs
    Base = admin.ModelAdmin

SEEN = "_seen"  # in a form: what the person saw, as `AdminPage.seen_of` says it
STALE = gettext_lazy("Nothing was saved: somebody has changed it since you looked. This is what holds now.")
ASKED = frozenset({"exact", "isnull", "gte", "lt"})
"""What an address may ask of a column that has a filter. Of others nothing: it would be a way to guess them."""


class AdminPage(Base):
    """A list that stays quick, a page that says where else its row is spoken of, no deleting.

    `is_long`: filters and words look at the newest rows only. What `sortable_by` leaves out is not sorted by.
    """

    is_long = False
    list_per_page = 50
    paginator = BoundedPaginator
    show_facets = ShowFacets.NEVER  # each counts the table
    show_full_result_count = False  # counting a long table costs more than the page
    view_on_site = False

    def get_changelist(self, request: HttpRequest, **options: Any) -> type[BoundedList]:
        """The list with bounds."""
        return BoundedList

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody: rows are evidence, or others rest on them."""
        return False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Only what a filter of the page asks."""
        asked: Any = self.get_list_filter(request) if request is not None else self.list_filter
        paths = [one if isinstance(one, str) else one[0] for one in asked if isinstance(one, str | tuple | list)]
        own = {str(getattr(one, "parameter_name", "")) for one in asked}
        if lookup in own:
            return True
        for path in (*paths, *filter(None, [self.date_hierarchy])):
            rest = lookup.removeprefix(path)
            if lookup == path or (rest != lookup and rest.startswith("__") and _harmless(rest[2:])):
                return True
        return False

    def meanings(self, term: str) -> Iterable[Q]:
        """What else a search term may mean, each to be found by an index."""
        return ()

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[Any], search_term: str) -> Any:
        """The rows that a term may mean."""
        if not search_term.strip():
            return queryset, False
        fields = self.get_search_fields(request)
        return search(queryset, search_term, fields, self.meanings(search_term.strip()), self.is_long), False

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """The field. Of a moment, both of its inputs say what they are; others are added on their own pages."""
        made = super().formfield_for_dbfield(db_field, request, **options)
        if made is not None and isinstance(made.widget, RelatedFieldWidgetWrapper):
            made.widget = made.widget.widget
        if made is not None and isinstance(made.widget, AdminSplitDateTime):
            day, time = made.widget.widgets
            day.attrs["aria-label"] = _("%(column)s: date") % {"column": made.label}
            time.attrs["aria-label"] = _("%(column)s: time in UTC") % {"column": made.label}
        return made

    def response_action(self, request: HttpRequest, queryset: QuerySet[Any], *places: Any) -> Any:
        """What was chosen, without what can be no key."""
        chosen = request.POST.getlist(ACTION_CHECKBOX_NAME)
        post = request.POST.copy()
        post.setlist(
            ACTION_CHECKBOX_NAME, [one for one in chosen if one.isascii() and one.isdigit() and len(one) < 19]
        )
        request.POST = post  # type: ignore[assignment]  # still a QueryDict
        return super().response_action(request, queryset, *places)

    def trail_of(self, obj: Any) -> dict[str, str]:
        """The query of the console's trail that finds what it says of this row; empty: nothing does."""
        return {}

    def console_of(self, obj: Any) -> str:
        """The address of the row's page in the console, or nothing."""
        return ""

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **more: Any
    ) -> HttpResponse:
        """With the links, and with what the person sees, so that a stale page can be refused."""
        row = more.get("obj")
        if row is not None:
            context |= self._elsewhere(row) | {"never_changed": not self.has_add_permission(request)}
            if self.has_change_permission(request, row):
                context |= {"seen": request.POST.get(SEEN) or self.seen_of(request, row), "never_changed": False}
            lay_out(context["adminform"])
        answer: HttpResponse = super().render_change_form(request, context, *args, **more)
        return answer

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        """What was done here, with the way to what the trail says."""
        row = self.get_object(request, unquote(object_id))
        return super().history_view(
            request, object_id, {**(extra_context or {}), **(self._elsewhere(row) if row else {})}
        )

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """Refuse a form that was filled in over something else than what is stored now."""
        if request.method != "POST" or object_id is None or SEEN not in request.POST:
            return super().changeform_view(request, object_id, form_url, extra_context)
        with transaction.atomic():
            rows: QuerySet[Any] = self.get_queryset(request)
            row = self.get_object(request, unquote(object_id))
            if row is not None and self.has_change_permission(request, row):
                rows.model._default_manager.select_for_update().filter(pk=row.pk).order_by().values("pk").first()
                row.refresh_from_db()
                if self.seen_of(request, row) != request.POST[SEEN]:
                    self.message_user(request, STALE, messages.ERROR)
                    return HttpResponseRedirect(request.get_full_path())
            return super().changeform_view(request, object_id, form_url, extra_context)

    def seen_of(self, request: HttpRequest, row: Any) -> str:
        """A mark of all that the form of this row can change."""
        read_only = set(self.get_readonly_fields(request, row))
        names = {field.name: field for field in (*self.opts.concrete_fields, *self.opts.many_to_many)}
        said = {}
        for name in flatten_fieldsets(self.get_fieldsets(request, row)):
            field = names.get(str(name))
            if field is not None and name not in read_only:
                many = field in self.opts.many_to_many
                said[name] = (
                    sorted(getattr(row, name).values_list("pk", flat=True))
                    if many
                    else str(field.value_from_object(row))
                )
        return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()

    def _elsewhere(self, row: Any) -> dict[str, Any]:
        asked = self.trail_of(row)
        trail = f"{reverse('audit')}?{urlencode(asked)}" if asked else ""
        try:
            console = self.console_of(row)
        except NoReverseMatch:  # a name that no address can hold
            console = ""
        return {"trail_address": trail, "console_address": console}


class ReadOnlyAdmin(AdminPage):
    """A list and a page for each row; no adding, no changing, no deleting, whoever asks."""

    actions = None
    is_long = True
    sortable_by: ClassVar[Any] = ()  # a long table is sorted by its key alone

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nobody."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Nobody."""
        return False


def _harmless(rest: str) -> bool:
    """Whether what follows a filter's column asks no more than a filter does: `id__exact`, `isnull`, `gte`."""
    parts = rest.split("__")
    return parts[-1] in ASKED and all(part in {"id", "pk", "year", "month", "day"} for part in parts[:-1])
