"""How does a person switch the mode of a cluster? A form, a confirmation in words, a compare-and-swap."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from advisor_api.refusals import Refusal, Stale
from advisor_api.switching import switch_mode
from console.advice_lines import open_advice
from console.agreement import QUESTIONS, Match, agreement
from console.answering import actor_of
from console.asking import Asked
from console.cluster_rows import cluster_rows
from console.forms import ModeForm
from console.mode_words import MEANING, what_changes
from console.returning import way_back
from console.views.asked import asked_of
from console.wake import push
from workloads.mode import Mode

STALE = gettext_lazy(
    "The mode was changed by somebody else after this form was opened. Nothing was changed by you; look again."
)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required("workloads.switch_mode", raise_exception=True)
def switch(request: HttpRequest, cluster: str) -> HttpResponse:
    """GET: the form. POST: the confirmation; POST with `confirmed`: the switch (400 unusable, 409 stale)."""
    asked = asked_of(request, cluster)
    if request.method != "POST":
        return _form(request, asked, ModeForm())
    form = ModeForm(request.POST)
    if not form.is_valid():
        return _form(request, asked, form, 400)
    if form.cleaned_data["version_seen"] != asked.the_cluster.mode_version:
        return _form(request, asked, form, 409, str(STALE))
    if "confirmed" not in request.POST:
        return _confirmation(request, asked, form)
    return _switch(request, asked, form)


def _switch(request: HttpRequest, asked: Asked, form: ModeForm) -> HttpResponse:
    cluster, mode = asked.the_cluster, Mode(form.cleaned_data["mode"])
    actor = actor_of(request)
    try:
        switch_mode(cluster, mode, form.cleaned_data["version_seen"], form.cleaned_data["reason"], actor, asked.now)
    except Refusal as refusal:
        cluster.refresh_from_db()
        return _form(request, asked, form, 409 if isinstance(refusal, Stale) else 400, str(refusal))
    push()
    messages.success(
        request, _("%(cluster)s is in %(mode)s mode now.") % {"cluster": cluster.name, "mode": mode.value}
    )
    return redirect(way_back(request, reverse("cluster", args=[cluster.name])))


def _form(request: HttpRequest, asked: Asked, form: ModeForm, status: int = 200, refusal: str = "") -> HttpResponse:
    cluster = asked.the_cluster
    context = {
        "cluster": cluster,
        "mode": Mode(cluster.mode),
        "modes": list(MEANING.items()),
        "form": form,
        "refusal": refusal,
        "now": asked.now,
    }
    return render(request, "console/mode.html", context, status=status)


def _confirmation(request: HttpRequest, asked: Asked, form: ModeForm) -> HttpResponse:
    cluster, to = asked.the_cluster, Mode(form.cleaned_data["mode"])
    lines = open_advice(asked.now, cluster)
    running = cluster_rows(asked.now, cluster)[0].running
    context = {
        "cluster": cluster,
        "mode": Mode(cluster.mode),
        "to": to,
        "sentences": what_changes(cluster, to, running, lines),
        "lines": lines,
        "agreement": agreement(cluster, asked.now),
        "matches": list(Match),
        "questions": QUESTIONS,
        "form": form,
        "now": asked.now,
    }
    return render(request, "console/mode_confirm.html", context)
