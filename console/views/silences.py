"""How does a person have nobody told of something for a while, and end that?"""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from advisor_api.refusals import Refusal
from advisor_api.silence_models import Silence
from advisor_api.silencing import checked_silence, end_silence, silence
from console.answering import actor_of, status_of
from console.contexts.incidents import MAY_END_SILENCE, MAY_SILENCE
from console.incident_forms import PlainReasonForm, SilenceForm
from console.incident_page import incident_of
from console.incident_words import of_silence
from console.returning import way_back
from console.silence_list import covered_by
from console.views.asked import asked_of, page
from console.wake import push
from workloads.models import Cluster

NAMES = ("cluster", "fingerprint", "signature", "node", "partition")


@require_safe
@login_required
def silences(request: HttpRequest) -> HttpResponse:
    """What is silenced, and what was."""
    return page(request, "console/silences.html", ["silence_table"], asked_of(request))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required(MAY_SILENCE, raise_exception=True)
def new(request: HttpRequest) -> HttpResponse:
    """GET: the form. POST: what it covers; POST with `confirmed`: it holds (400 unusable, 409 others wrote)."""
    if request.method != "POST":
        return _form(request, SilenceForm(initial=_initial(request)))
    form = SilenceForm(request.POST)
    if not form.is_valid():
        return _form(request, form, 400)
    said, now = form.cleaned_data, timezone.now()
    cluster = Cluster.objects.filter(name=said["cluster"]).first()
    if cluster is None:
        return _form(request, form, 400, _("There is no cluster of that name."))
    asked: dict[str, Any] = {"owner": said["owner"], "reason": said["reason"], "until": form.ends_at(now)}
    try:
        if "confirmed" in request.POST:
            row = silence(cluster, form.named(), **asked, actor=actor_of(request), now=now)
            push()
            names = {"what": row.what, "cluster": cluster.name, "time": f"{row.until:%d %b %H:%M}"}
            messages.success(request, _("Nobody is told of %(what)s on %(cluster)s until %(time)s UTC.") % names)
            return redirect(way_back(request, reverse("silences")))
        would = checked_silence(cluster, form.named(), **asked, now=now)
    except Refusal as refusal:
        return _form(request, form, status_of(refusal), str(refusal))
    context = {
        "form": form,
        "row": would,
        "until": f"{would.until:%Y-%m-%dT%H:%M:%S}",
        "covered": covered_by(would),
        "effects": of_silence(),
        "now": now,
    }
    return render(request, "console/silence_confirm.html", context)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required(MAY_END_SILENCE, raise_exception=True)
def end(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """GET: what it would mean. POST: people are told again (400 unusable, 409 it is over already)."""
    row = Silence.objects.select_related("cluster").filter(uuid=uuid).first()
    if row is None:
        raise Http404(_("There is no such silence."))
    form, status, refusal = PlainReasonForm(request.POST if request.method == "POST" else None), 200, ""
    if request.method == "POST":
        try:
            if form.is_valid():
                end_silence(row, form.cleaned_data["reason"], actor_of(request), timezone.now())
                push()
                names = {"what": row.what, "cluster": row.cluster.name}
                messages.success(request, _("People are told of %(what)s on %(cluster)s again.") % names)
                return redirect(way_back(request, reverse("silences")))
            status = 400
        except Refusal as error:
            status, refusal = status_of(error), str(error)
    context = {"row": row, "form": form, "refusal": refusal, "now": timezone.now()}
    return render(request, "console/silence_end.html", context, status=status)


def _initial(request: HttpRequest) -> dict[str, str]:
    """What the address names, and of an incident its cluster and fingerprint."""
    named = {name: request.GET.get(name, "")[:255].replace("\0", "") for name in NAMES}
    try:
        incident = incident_of(UUID(request.GET.get("incident", "")))
    except ValueError:
        incident = None
    if incident is not None:
        named |= {"cluster": incident.cluster.name, "fingerprint": incident.fingerprint}
    return {**named, "owner": request.user.get_username(), "lasts": "2h"}


def _form(request: HttpRequest, form: SilenceForm, status: int = 200, refusal: str = "") -> HttpResponse:
    names = list(Cluster.objects.order_by("name").values_list("name", flat=True))
    context = {"form": form, "names": names, "refusal": refusal, "now": timezone.now()}
    return render(request, "console/silence.html", context, status=status)
