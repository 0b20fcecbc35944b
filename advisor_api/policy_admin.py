"""How does an administrator add, compare, activate, export and import policies?"""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from advisor_api.activating import (
    activate,
    add_version,
    as_text,
    find_place,
    find_version,
    standing,
    withdraw_policy,
)
from advisor_api.insert_only import InsertOnlyAdmin, actor_of
from advisor_api.models import PolicyActivation, PolicyVersion
from advisor_api.policies import in_force, place_of
from advisor_api.policy.comparing import differences
from advisor_api.policy.text import PolicyText, write
from advisor_api.policy_forms import ActivationForm, ImportForm, PolicyForm
from advisor_api.refusals import NotFound, Refusal, Stale
from audit.read_only import ReadOnlyAdmin

ACTIVATE = "advisor_api.activate_policy"
FOLDER = "admin/advisor_api/policyversion"
COMPARED = "admin:advisor_api_policyversion_compare"
SHOWN = "admin:advisor_api_policyversion_change"
HISTORY = 50  # activations of a place that its page shows


@admin.register(PolicyVersion)
class PolicyVersionAdmin(InsertOnlyAdmin):
    """Policies: a version is added, then activated with a reason; any may become active again."""

    form = PolicyForm
    fields = ("cluster", "partition", "user", "values", "note")
    list_display = ("id", "place", "active", "note", "created_at", "created_by")
    list_filter = ("cluster",)
    list_select_related = ("cluster",)
    search_fields = ("=id", "partition", "user", "note", "created_by")
    search_help_text = gettext_lazy("Its number; words of the partition, the user, the note or of who made it.")
    is_long = False
    actions = ("compare_two",)

    @admin.display(description=gettext_lazy("for"))
    def place(self, row: PolicyVersion) -> str:
        """For whom it speaks."""
        return str(place_of(row))

    @admin.display(boolean=True, description=gettext_lazy("Active"))
    def active(self, row: PolicyVersion) -> bool:
        """Whether it holds at its place."""
        return bool(getattr(row, "holds", False))

    def get_queryset(self, request: HttpRequest) -> QuerySet[PolicyVersion]:
        """Each with whether it holds."""
        rows: QuerySet[PolicyVersion] = super().get_queryset(request)
        return rows.annotate(holds=Exists(in_force().filter(version=OuterRef("pk"))))

    def trail_of(self, obj: PolicyVersion) -> dict[str, str]:
        """What was set at the same place."""
        return {"cluster": obj.cluster.name if obj.cluster else "(site)", "type": "configuration"}

    def console_of(self, obj: PolicyVersion) -> str:
        """Where versions are compared."""
        return reverse("policy-versions")

    def get_urls(self) -> list[URLPattern]:
        """Pages of our own before those of every admin."""
        wrap, name = self.admin_site.admin_view, "advisor_api_policyversion"
        own = [
            path("compare/", wrap(self.compare), name=f"{name}_compare"),
            path("import/", wrap(self.read_in), name=f"{name}_import"),
            path("<int:number>/activate/", wrap(self.activate), name=f"{name}_activate"),
            path("<int:number>/withdraw/", wrap(self.withdraw), name=f"{name}_withdraw"),
            path("<int:number>/export/", wrap(self.export), name=f"{name}_export"),
        ]
        return [*own, *super().get_urls()]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """A new version begins empty, or as a copy of the one that `?from=` names."""
        number = request.GET.get("from", "")
        found = _version(number) if number.isascii() and number.isdigit() and len(number) < 19 else None
        if found is None:
            return {"values": {}}
        return {name: getattr(found, name) for name in ("cluster", "partition", "user", "values", "note")}

    def save_model(self, request: HttpRequest, obj: PolicyVersion, form: Any, change: bool) -> None:
        """Store it with its event."""
        made = add_version(place_of(obj), obj.values, obj.note, actor=actor_of(request), now=timezone.now())
        obj.pk, obj.created_at, obj.created_by = made.pk, made.created_at, made.created_by

    def response_add(self, request: HttpRequest, obj: PolicyVersion, post_url_continue: Any = None) -> HttpResponse:
        """On to its page, where it is activated."""
        named = {"number": obj.pk, "place": place_of(obj)}
        messages.success(request, _("Policy %(number)s of %(place)s was added. It is not active yet.") % named)
        return HttpResponseRedirect(reverse(SHOWN, args=[obj.pk]))

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **more: Any
    ) -> HttpResponse:
        """With what it would change, and what held at its place."""
        version: PolicyVersion | None = more.get("obj")
        if version is not None:
            place = place_of(version)
            _number, holds = standing(place)
            history = PolicyActivation.objects.filter(place=place.key).select_related("version")
            context |= {
                "policy_place": place,
                "holds": holds,
                "differences": differences(holds.values if holds else {}, version.values),
                "history": history.order_by("-number")[:HISTORY],
                "may_activate": request.user.has_perm(ACTIVATE),
            }
        answer: HttpResponse = super().render_change_form(request, context, *args, **more)
        return answer

    @admin.action(description=gettext_lazy("Compare the two selected"), permissions=["view"])
    def compare_two(self, request: HttpRequest, queryset: QuerySet[PolicyVersion]) -> HttpResponse | None:
        """On to the page that compares them."""
        chosen = list(queryset.order_by("pk").values_list("pk", flat=True)[:3])
        if len(chosen) != 2:
            self.message_user(request, _("Choose exactly two policies to compare."), messages.ERROR)
            return None
        return HttpResponseRedirect(f"{reverse(COMPARED)}?a={chosen[0]}&b={chosen[1]}")

    def compare(self, request: HttpRequest) -> HttpResponse:
        """Two versions side by side: the values that differ, with what they mean."""
        self._allowed(request, self.has_view_permission(request))
        first, second = (_found(request.GET.get(name, "")) for name in ("a", "b"))
        context = {"first": first, "second": second, "differences": differences(first.values, second.values)}
        title = _("Policies %(one)s and %(other)s") % {"one": first.pk, "other": second.pk}
        return self._page(request, "compare", title, context)

    def export(self, request: HttpRequest, number: int) -> HttpResponse:
        """The version as YAML, as a file."""
        self._allowed(request, self.has_view_permission(request))
        version = _found(str(number))
        answer = HttpResponse(write(as_text(version)), content_type="application/yaml")
        answer["Content-Disposition"] = (
            f'attachment; filename="policy-{version.pk}.yaml"'  # stays English: a header
        )
        return answer

    def read_in(self, request: HttpRequest) -> HttpResponse:
        """A version from YAML. GET: the form; POST: the version, or what is wrong with the text."""
        self._allowed(request, self.has_add_permission(request))
        sent = request.method == "POST"
        form = ImportForm(request.POST if sent else None, request.FILES if sent else None)
        if sent and form.is_valid():
            text: PolicyText = form.cleaned_data["policy"]
            try:
                place = find_place(text.cluster, text.partition, text.user)
                made = add_version(place, text.values, text.note, actor=actor_of(request), now=timezone.now())
                return self.response_add(request, made)
            except Refusal as refusal:
                form.add_error(None, str(refusal))
        return self._page(request, "import", _("Import a policy"), {"form": form})

    def activate(self, request: HttpRequest, number: int) -> HttpResponse:
        """GET: what would change, and the form. POST: it holds (400 unusable, 409 somebody was first)."""
        return self._switch(request, _found(str(number)), withdraws=False)

    def withdraw(self, request: HttpRequest, number: int) -> HttpResponse:
        """The same for saying nothing any more at the place of this version."""
        return self._switch(request, _found(str(number)), withdraws=True)

    def _switch(self, request: HttpRequest, version: PolicyVersion, *, withdraws: bool) -> HttpResponse:
        self._allowed(request, request.user.has_perm(ACTIVATE))
        place, status = place_of(version), 200
        form = ActivationForm(request.POST if request.method == "POST" else None)
        if request.method == "POST":
            status = 400
            if form.is_valid():
                seen, reason = form.cleaned_data["number_seen"], form.cleaned_data["reason"]
                actor, now = actor_of(request), timezone.now()
                try:
                    if withdraws:
                        withdraw_policy(place, seen, reason, actor=actor, now=now)
                    else:
                        activate(version, seen, reason, actor=actor, now=now)
                    done = _("Policy %(number)s of %(place)s is active now.")
                    if withdraws:
                        done = _("Policy %(number)s of %(place)s is withdrawn.")
                    messages.success(request, done % {"number": version.pk, "place": place})
                    return HttpResponseRedirect(reverse(SHOWN, args=[version.pk]))
                except Refusal as refusal:
                    form.add_error(None, str(refusal))
                    status = 409 if isinstance(refusal, Stale) else 400
        return self._form_of_switch(request, version, form, withdraws=withdraws, status=status)

    def _form_of_switch(
        self, request: HttpRequest, version: PolicyVersion, form: ActivationForm, *, withdraws: bool, status: int
    ) -> HttpResponse:
        place = place_of(version)
        number, holds = standing(place)
        after = {} if withdraws else version.values
        context = {
            "version": version,
            "place": place,
            "holds": holds,
            "number_seen": number,
            "withdraws": withdraws,
            "differences": differences(holds.values if holds else {}, after),
            "form": form,
        }
        title = _("Withdraw the policy of %(place)s") if withdraws else _("Activate policy %(number)s of %(place)s")
        named = {"number": version.pk, "place": place}
        return self._page(request, "activate", title % named, context, status)

    def _page(
        self, request: HttpRequest, name: str, title: str, context: dict[str, Any], status: int = 200
    ) -> HttpResponse:
        whole = {**self.admin_site.each_context(request), "opts": self.opts, "title": title, **context}
        return render(request, f"{FOLDER}/{name}.html", whole, status=status)

    @staticmethod
    def _allowed(request: HttpRequest, allowed: bool) -> None:
        if not allowed:
            raise PermissionDenied


@admin.register(PolicyActivation)
class PolicyActivationAdmin(ReadOnlyAdmin):
    """Who activated which policy, when and why."""

    list_display = ("activated_at", "where", "version", "reason", "activated_by", "number")
    list_filter = ("cluster",)
    list_select_related = ("cluster", "version__cluster")
    search_fields = ("place", "reason", "activated_by")
    search_help_text = gettext_lazy("Words of the place, of the reason, or who did it.")
    date_hierarchy = "activated_at"
    is_long = False

    def trail_of(self, obj: PolicyActivation) -> dict[str, str]:
        """What was set at the same place."""
        return {"cluster": obj.cluster.name if obj.cluster else "(site)", "type": "configuration"}

    def console_of(self, obj: PolicyActivation) -> str:
        """Where the effective policy stands."""
        return reverse("policy-versions")

    @admin.display(description=gettext_lazy("for"))
    def where(self, row: PolicyActivation) -> str:
        """The place; of a withdrawn one, by its key."""
        return str(place_of(row.version)) if row.version else row.place


def _version(number: str) -> PolicyVersion | None:
    try:
        return find_version(int(number))
    except (NotFound, ValueError):
        return None


def _found(number: str) -> PolicyVersion:
    usable = number.isascii() and number.isdigit() and len(number) < 19
    found = _version(number) if usable else None
    if found is None:
        raise Http404(_("There is no such policy."))
    return found
