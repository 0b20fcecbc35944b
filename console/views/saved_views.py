"""How does a person keep, change and delete views of the list of jobs?"""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from advisor_api.refusals import Refusal
from console.answering import status_of
from console.job_wanted import chips, read_wanted
from console.models import SavedView
from console.saved_views import change, forget, keep, views_for, views_seen_by
from console.view_forms import ChangeForm, ViewForm
from console.views.asked import person_of

SHARE = "console.share_view"


@require_safe
@login_required
def views(request: HttpRequest) -> HttpResponse:
    """The person's own views, and what others share."""
    found = list(views_for(person_of(request)))
    own = [view for view in found if view.owner_id == request.user.pk]
    others = [view for view in found if view.owner_id != request.user.pk]
    return render(request, "console/views.html", {"own": own, "others": others, "may_share": _may_share(request)})


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new(request: HttpRequest) -> HttpResponse:
    """GET: a name for the filters of the address. POST: it is kept (400 unusable)."""
    may_share = _may_share(request)
    if request.method != "POST":
        form = ViewForm(may_share=may_share, initial={"query": f"?{request.GET.urlencode()}"})
        return _page(request, form)
    form = ViewForm(request.POST, may_share=may_share)
    if not form.is_valid():
        return _page(request, form, 400)
    try:
        view = keep(person_of(request), form.wish(), timezone.now())
    except Refusal as refusal:
        return _page(request, form, 400, str(refusal))
    messages.success(request, _("The view %(name)s is kept.") % {"name": view.name})
    return redirect(reverse("jobs") + view.query)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def change_one(request: HttpRequest, view: int) -> HttpResponse:
    """GET: what can be changed. POST: it is (400 unusable, 409 when somebody was first)."""
    found = views_seen_by(person_of(request)).filter(pk=view).first()
    if found is None or not _may_change(request, found):
        raise Http404(_("There is no such view of yours."))
    may_share = _may_share(request) or found.shared
    if request.method != "POST":
        return _page(request, ChangeForm(may_share=may_share, initial=_initial(found)), view=found)
    form = ChangeForm(request.POST, may_share=may_share)
    if not form.is_valid():
        return _page(request, form, 400, view=found)
    said, now = form.cleaned_data, timezone.now()
    try:
        if said["deed"] == "delete":
            forget(found, person_of(request), said["revision"], now)
            messages.success(request, _("The view %(name)s is deleted.") % {"name": found.name})
        else:
            change(found, person_of(request), form.wish(), said["revision"], now)
            messages.success(request, _("The view %(name)s is changed.") % {"name": found.name})
    except Refusal as refusal:
        return _page(request, form, status_of(refusal), str(refusal), view=found)
    return redirect("views")


def _initial(view: SavedView) -> dict[str, Any]:
    return {
        "name": view.name,
        "query": view.query,
        "shared": view.shared,
        "default": view.is_default,
        "revision": view.revision,
    }


def _may_share(request: HttpRequest) -> bool:
    return request.user.has_perm(SHARE)


def _may_change(request: HttpRequest, view: SavedView) -> bool:
    """The owner; and who may share may also mend what is shared."""
    return view.owner_id == request.user.pk or (view.shared and _may_share(request))


def _page(  # the form again
    request: HttpRequest, form: ViewForm, status: int = 200, refusal: str = "", view: SavedView | None = None
) -> HttpResponse:
    asked = read_wanted(QueryDict(str(form["query"].value() or "").removeprefix("?")))
    context = {
        "form": form,
        "refusal": refusal or asked.mistake,
        "view": view,
        "chips": list(chips(asked)),
        "mine": view is None or view.owner_id == request.user.pk,
        "may_share": "shared" in form.fields,
        "back": reverse("views") if view else reverse("jobs") + asked.address(),
    }
    return render(request, "console/view.html", context, status=status)
