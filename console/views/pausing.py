"""How does a person pause something, and let it go on again? What it means in words, a reason, an end, a swap."""

from datetime import UTC
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from advisor_api.ending import check_end
from advisor_api.models import Pause
from advisor_api.pausing import active_pauses, check_scope, end_pause, pause
from advisor_api.refusals import Refusal
from console.answering import actor_of, status_of
from console.asking import Asked
from console.contexts.nodes import MAY_EXCLUDE as MAY_PAUSE
from console.forms import ReasonForm
from console.hostile_text import visible
from console.node_forms import PauseForm, shown
from console.pause_words import PauseMeaning, meaning_of_pause, name_of
from console.returning import way_back
from console.views.asked import asked_of
from console.wake import push


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required(MAY_PAUSE, raise_exception=True)
def begin(request: HttpRequest, cluster: str) -> HttpResponse:
    """GET: the form. POST: what it would mean; POST with `confirmed`: the pause (400 unusable, 409 stale)."""
    asked = asked_of(request, cluster)
    if request.method != "POST":
        offered = {name: request.GET.get(name, "")[:128] for name in ("scope", "value", "reason")}
        return _form(request, asked, PauseForm(initial={**offered, "lasts": "2h"}))
    form = PauseForm(request.POST)
    if not form.is_valid():
        return _form(request, asked, form, 400)
    said = form.cleaned_data
    wanted = Pause(cluster=asked.the_cluster, until=form.ends_at(asked.now))
    wanted.scope, wanted.value, wanted.reason = said["scope"], said["value"], said["reason"]
    try:
        check_scope(asked.the_cluster, wanted.scope, wanted.value)
        check_end(wanted.until, asked.now)
        if "confirmed" not in request.POST:
            return _confirmation(request, asked, form, wanted)
        return _pause(request, asked, wanted, said["seen"])
    except Refusal as refusal:
        return _form(request, asked, form, status_of(refusal), str(refusal))


def _pause(request: HttpRequest, asked: Asked, wanted: Pause, seen: frozenset[int]) -> HttpResponse:
    row = pause(
        asked.the_cluster,
        wanted.scope,
        wanted.value,
        reason=wanted.reason,
        until=wanted.until,
        actor=actor_of(request),
        now=asked.now,
        seen=seen,
    )
    push()
    name = name_of(row.scope, row.value, asked.the_cluster.name)
    link = reverse("pause-end", args=[asked.the_cluster.name, row.pk])
    end = f"{row.until:%Y-%m-%d %H:%M}"
    said = _("Paused until %(end)s UTC: %(what)s.") % {"end": end, "what": visible(name, 300)}
    # stays English: markup
    messages.success(request, format_html('{} <a class="alert-link" href="{}">{}</a>', said, link, _("Undo…")))
    return redirect(way_back(request, reverse("cluster", args=[asked.the_cluster.name])))


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required(MAY_PAUSE, raise_exception=True)
def end(request: HttpRequest, cluster: str, pause: int) -> HttpResponse:
    """GET: what it would mean. POST: it goes on (400 without a reason, 409 when the pause has ended already)."""
    asked = asked_of(request, cluster)
    row = Pause.objects.select_related("cluster").filter(cluster=asked.the_cluster, pk=pause).first()
    if row is None:
        raise Http404(_("There is no such pause."))
    form = ReasonForm(request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return _end_page(request, asked, row, form)
    if not form.is_valid():
        return _end_page(request, asked, row, form, 400)
    again = {"scope": row.scope, "value": row.value, "reason": row.reason}
    try:
        end_pause(row, actor_of(request), asked.now, form.cleaned_data["reason"])
    except Refusal as refusal:
        return _end_page(request, asked, row, form, 409, str(refusal))
    push()
    name = visible(name_of(row.scope, row.value, asked.the_cluster.name), 300)
    link = f"{reverse('cluster-pause', args=[asked.the_cluster.name])}?{urlencode(again)}"
    said = _("No longer paused: %(what)s.") % {"what": name}
    # stays English: markup
    linked = format_html('{} <a class="alert-link" href="{}">{}</a>', said, link, _("Pause it again…"))
    messages.success(request, linked)
    return redirect(way_back(request, reverse("cluster", args=[asked.the_cluster.name])))


def _form(
    request: HttpRequest, asked: Asked, form: PauseForm, status: int = 200, refusal: str = ""
) -> HttpResponse:
    rows = list(active_pauses(asked.the_cluster, asked.now).order_by("until"))
    context: dict[str, Any] = {
        "asked": asked,
        "form": form,
        "refusal": refusal,
        "pauses": rows,
        "seen_keys": shown(row.pk for row in rows),
        "now": asked.now,
    }
    return render(request, "console/pause.html", context, status=status)


def _confirmation(request: HttpRequest, asked: Asked, form: PauseForm, wanted: Pause) -> HttpResponse:
    meaning: PauseMeaning = meaning_of_pause(asked.the_cluster, wanted, asked.now)
    context = {"asked": asked, "form": form, "wanted": wanted, "meaning": meaning, "now": asked.now}
    context["name"] = name_of(wanted.scope, wanted.value, asked.the_cluster.name)
    context["seen_keys"] = shown(form.cleaned_data["seen"])
    context["until"] = f"{wanted.until.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
    return render(request, "console/pause_confirm.html", context)


def _end_page(  # noqa: PLR0917  # what is shown, and how it came to that
    request: HttpRequest, asked: Asked, row: Pause, form: ReasonForm, status: int = 200, refusal: str = ""
) -> HttpResponse:
    name = name_of(row.scope, row.value, asked.the_cluster.name)
    over = row.until <= asked.now
    context = {"asked": asked, "row": row, "form": form, "refusal": refusal, "name": name, "over": over}
    return render(request, "console/pause_end.html", {**context, "now": asked.now}, status=status)
