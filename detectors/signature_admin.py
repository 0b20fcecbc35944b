"""How does an administrator add, change and disable a signature of the site? Not without having seen a preview."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from audit.actor_kind import ActorKind
from audit.read_only import ReadOnlyAdmin
from audit.trail import Actor
from detectors.admin_forms import SiteSignatureForm
from detectors.models import SiteSignature
from detectors.previewing import SLOWEST, search_stored, search_text
from detectors.site_catalogues import newest_versions, site_catalogues
from detectors.site_signatures import Refused, catalogue_with, disable, keep

BODY_CLASSES = "app-detectors model-sitesignature change-form"  # stays English: classes of Django's style
FIELDSETS = (
    (gettext_lazy("What it is"), ("name", "cluster", "says")),
    (gettext_lazy("Which lines have it"), ("pattern", "unless", "example", "must_not")),
    (gettext_lazy("What it means"), ("kind", "layer", "role", "action", "confidence", "names", "outranks")),
    (gettext_lazy("Try it"), ("upload", "note")),
)


@admin.register(SiteSignature)
class SiteSignatureAdmin(ReadOnlyAdmin):
    """The newest version of each signature; every change is a new version."""

    list_display = ("name", "where", "state", "says", "kind", "created_at", "created_by")
    list_filter = ("enabled", "kind", "cluster")
    list_select_related = ("cluster",)
    search_fields = ("name", "says", "pattern")
    search_help_text = gettext_lazy("Words of its id, of what it says, or of its pattern.")
    is_long = False
    actions: Any = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[SiteSignature]:
        """One row for each signature."""
        return newest_versions().order_by("name")

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Whoever may add signatures."""
        return bool(request.user.has_perm("detectors.add_sitesignature"))

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Whoever may change and disable them."""
        return bool(request.user.has_perm("detectors.change_sitesignature"))

    @admin.display(description=gettext_lazy("cluster"))
    def where(self, row: SiteSignature) -> str:
        """All, or one."""
        return row.cluster.name if row.cluster else _("all")

    @admin.display(description=gettext_lazy("state"))
    def state(self, row: SiteSignature) -> str:
        """Whether lines are matched with it."""
        if row.name in site_catalogues().refused:
            return _("left out: no longer usable")
        return _("in use") if row.enabled else _("disabled")

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """The form: look first, then save."""
        if not (self.has_view_permission(request) or self.has_add_permission(request)):
            raise PermissionDenied  # also where there is no such signature
        current = self._current(request, object_id)
        self._check_allowed(request, current)
        if request.method == "POST" and "_disable" in request.POST and current is not None:
            return self._disabled(request, current)
        form = SiteSignatureForm(request.POST or None, request.FILES or None, before=current)
        shown: dict[str, Any] = {}
        if request.method == "POST" and form.is_valid():
            if "_save" in request.POST and form.is_sealed(request.POST.get("seal", ""), _name_of(request)):
                return self._saved(request, form, current)
            shown = _preview(form, request)
            shown["unseen"] = "_save" in request.POST
        return self._page(request, current, form, shown)

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> Any:
        """The versions stand on the page itself."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        return HttpResponseRedirect(reverse("admin:detectors_sitesignature_change", args=[object_id]))

    def _current(self, request: HttpRequest, object_id: str | None) -> SiteSignature | None:
        """The newest version of the signature that the address names a version of."""
        if object_id is None:
            return None
        if not object_id.isascii() or not object_id.isdigit() or len(object_id) > 18:
            raise Http404
        asked = SiteSignature.objects.filter(pk=object_id).first()
        newest = asked and SiteSignature.objects.filter(name=asked.name).select_related("cluster").first()
        if newest is None:
            raise Http404
        return newest

    def _check_allowed(self, request: HttpRequest, current: SiteSignature | None) -> None:
        allowed = self.has_change_permission(request) if current else self.has_add_permission(request)
        looks = current is not None and request.method in ("GET", "HEAD") and self.has_view_permission(request)
        if not (allowed or looks):
            raise PermissionDenied

    def _page(
        self, request: HttpRequest, current: SiteSignature | None, form: SiteSignatureForm, shown: dict[str, Any]
    ) -> HttpResponse:
        name = current.name if current else ""
        context = {
            **self.admin_site.each_context(request),
            "title": _("Signature %(name)s") % {"name": name} if current else _("Add a signature of this site"),
            "opts": self.opts,
            "body_classes": BODY_CLASSES,
            "form": form,
            "fieldsets": [(title, [form[field] for field in fields]) for title, fields in FIELDSETS],
            "current": current,
            "versions": SiteSignature.objects.filter(name=name)[:50] if current else (),
            "left_out": site_catalogues().refused.get(name, ""),
            "may_save": self.has_change_permission(request) if current else self.has_add_permission(request),
            **shown,
        }
        return TemplateResponse(request, "admin/detectors/sitesignature/change_form.html", context)

    def _saved(self, request: HttpRequest, form: SiteSignatureForm, current: SiteSignature | None) -> HttpResponse:
        row = form.save(commit=False)
        try:
            kept = keep(row, current, _actor(request), timezone.now())
        except Refused as refused:
            form.add_error(None, str(refused))
            return self._page(request, current, form, {})
        said = _("'%(name)s' is in use from each worker's next turn on.") % {"name": kept.name}
        self.message_user(request, said, messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:detectors_sitesignature_changelist"))

    def _disabled(self, request: HttpRequest, current: SiteSignature) -> HttpResponse:
        try:
            disable(current, request.POST.get("why", ""), _actor(request), timezone.now())
            self.message_user(request, _("'%(name)s' is disabled.") % {"name": current.name}, messages.SUCCESS)
        except Refused as refused:
            self.message_user(request, str(refused), messages.ERROR)
        return HttpResponseRedirect(reverse("admin:detectors_sitesignature_change", args=[current.pk]))


def _preview(form: SiteSignatureForm, request: HttpRequest) -> dict[str, Any]:
    """What the signature of a valid form would have matched, and the seal that lets it be saved."""
    made = form.made
    if made is None:
        return {}
    row = form.save(commit=False)
    known = catalogue_with(row, made)
    upload = form.cleaned_data["upload"]
    return {
        "stored": search_stored(made, known, row.cluster),
        "uploaded": search_text(made, known, upload.read()) if upload else None,
        "upload_name": upload.name if upload else "",
        "slowest_ms": form.slowest_seconds * 1000,
        "allowed_ms": SLOWEST * 1000,
        "seal": form.seal(_name_of(request)),
    }


def _name_of(request: HttpRequest) -> str:
    return request.user.get_username()


def _actor(request: HttpRequest) -> Actor:
    return Actor(ActorKind.PERSON, _name_of(request))
