"""How does the admin show rows that are added and never changed, and how does it end them?

What ends, replaces or takes back a row is asked for twice: the second time with what will happen in words, and with
a reason for the trail.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from advisor_api.refusals import Refusal
from audit.actor_kind import ActorKind
from audit.read_only import AdminPage, ReadOnlyAdmin
from audit.trail import Actor

AT_ONCE = 50
"""Rows that one confirmation may speak of: what nobody reads is not confirmed."""
REASON_LIMIT = 500


@dataclass(frozen=True)
class Question:
    """What is asked before an action: a title, what will happen, and the word on the button."""

    title: Promise
    effect: Promise
    label: Promise


class ReasonForm(forms.Form):
    """Why."""

    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=REASON_LIMIT,
        widget=forms.TextInput(attrs={"size": 80, "autocomplete": "off"}),
        help_text=gettext_lazy("Goes into the trail with your name."),
        error_messages={"required": gettext_lazy("Say why: the trail keeps it.")},
    )


class InsertOnlyAdmin(ReadOnlyAdmin):
    """Rows may be added, never changed or deleted.

    `row_acts`: the names of actions that the page of a row offers too, each of which asks by `confirmed`.
    """

    actions: Any = None
    row_acts: tuple[str, ...] = ()

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whoever has the model's permission to add."""
        return bool(request.user.has_perm(f"{self.opts.app_label}.add_{self.opts.model_name}"))

    def get_urls(self) -> list[URLPattern]:
        """An address for each action on one row."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_act"
        own = path("<int:number>/act/<slug:act>/", self.admin_site.admin_view(self.ask), name=name)
        return [own, *super().get_urls()]

    def ask(self, request: HttpRequest, number: int, act: str) -> HttpResponse:
        """The question of an action on one row. GET only: it is answered to the list (403, 404)."""
        found = self.get_actions(request).get(act) if act in self.row_acts else None
        if found is None or request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        rows: QuerySet[Any] = (
            self.get_queryset(request).filter(pk=number) if number < 2**63 else self.model.objects.none()
        )
        if not rows.exists():
            raise Http404(_("There is no such row."))
        act_on: Any = found[0]
        answer: HttpResponse = act_on(self, request, rows)
        return answer

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **more: Any
    ) -> HttpResponse:
        """With the actions that this row still allows."""
        row = more.get("obj")
        context |= {"show_save_and_add_another": False, "show_save_and_continue": False}
        if row is not None:
            allowed: dict[str, Any] = dict(self.get_actions(request))
            context["row_actions"] = [
                {"label": allowed[act][2], "address": self._address(row, act)}
                for act in self.row_acts
                if act in allowed and self.still_allows(row, act)
            ]
        return super().render_change_form(request, context, *args, **more)

    def still_allows(self, row: Any, act: str) -> bool:
        """Whether an action on this row would have an effect."""
        return True

    def confirmed(
        self,
        request: HttpRequest,
        queryset: QuerySet[Any],
        question: Question,
        act: Callable[[Any, str], str],
    ) -> HttpResponse | None:
        """Ask, or do `act` on every row with the reason that was given, and show what it says."""
        rows = few(self, request, queryset)
        if not rows:
            return None
        sent = request.method == "POST" and "confirmed" in request.POST
        form = ReasonForm(request.POST if sent else None)
        if sent and form.is_valid():
            reason = form.cleaned_data["reason"]
            self.each(request, rows, lambda row: act(row, reason))
            return None
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": question.title,
            "effect": question.effect,
            "label": question.label,
            "rows": rows,
            "lines": [self.called(row) for row in rows],
            "action": request.POST.get("action") or request.path.rstrip("/").rsplit("/", 1)[-1],
            "form": form,
        }
        return TemplateResponse(request, "admin/confirm.html", context, status=400 if sent else 200)

    def called(self, row: Any) -> str:
        """One row in the words of a confirmation."""
        return str(row)

    def each(self, request: HttpRequest, rows: Any, act: Callable[[Any], str]) -> None:
        """Do `act` on every row and show what it says; what is refused is shown as well and stops nothing."""
        for row in few(self, request, rows):
            try:
                self.message_user(request, act(row), messages.WARNING)
            except Refusal as refusal:
                self.message_user(request, str(refusal), messages.ERROR)

    def _address(self, row: Any, act: str) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_act", args=[row.pk, act])


def few(page: AdminPage, request: HttpRequest, rows: Any) -> list[Any]:
    """The rows, when they are few enough to be acted on at once; else none, and a sentence."""
    found = list(rows[: AT_ONCE + 1])
    if len(found) > AT_ONCE:
        said = _("Choose at most %(most)s at once. Nothing was done.") % {"most": AT_ONCE}
        page.message_user(request, said, messages.ERROR)
        return []
    return found


def actor_of(request: HttpRequest) -> Actor:
    """The person at the admin."""
    return Actor(ActorKind.PERSON, request.user.get_username())
