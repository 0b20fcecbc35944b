"""How does a person hold the next step on a job? What it means, a reason, an end, a swap, an undo."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from advisor_api.pausing import active_pauses
from advisor_api.refusals import Refusal
from console.advice_lines import AdviceLine, advice_by_key
from console.answering import actor_of, status_of
from console.contexts.site import MAY_HOLD
from console.holding import hold_step, holding, over, what_holding_means, what_was_held
from console.next_steps import step_sentence
from console.node_forms import shown
from console.returning import way_back
from console.view_forms import HoldForm
from console.wake import push


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required(MAY_HOLD, raise_exception=True)
def hold(request: HttpRequest, advice: int) -> HttpResponse:
    """GET: what it would mean. POST: the job is paused (400 unusable, 409 when something has moved)."""
    now = timezone.now()
    line = advice_by_key(advice, now)
    if line is None:
        raise Http404(_("There is no such advice."))
    sent = request.POST if request.method == "POST" else None
    form = HoldForm(sent, advice_ends_at=line.advice.expires_at, now=now)
    if request.method != "POST":
        return _page(request, line, form)
    if not form.is_valid():
        return _page(request, line, form, 400)
    said, actor = form.cleaned_data, actor_of(request)
    try:
        row = hold_step(
            line.advice,
            said["generation"],
            reason=said["reason"],
            until=form.ends_at(now),
            actor=actor,
            now=now,
            seen=said["seen"],
        )
    except Refusal as refusal:
        line = advice_by_key(advice, now) or line
        return _page(request, line, form, status_of(refusal), str(refusal))
    push()
    back = reverse("pause-end", args=[line.job.cluster.name, row.pk])
    told = what_was_held(line, row.until)
    undo = format_html('<a class="alert-link" href="{}">{}</a>', back, _("Undo…"))  # stays English: markup
    messages.success(request, format_html("{} {}", told, undo))
    return redirect(way_back(request, reverse("overview")))


def _page(
    request: HttpRequest, line: AdviceLine, form: HoldForm, status: int = 200, refusal: str = ""
) -> HttpResponse:
    now = timezone.now()
    pauses = list(active_pauses(line.job.cluster, now).select_related("cluster").order_by("until"))
    context = {
        "line": line,
        "form": form,
        "refusal": refusal,
        "sentence": step_sentence(line),
        "effects": what_holding_means(line),
        "over": over(line.advice, now),
        "held_by": holding(line.advice, pauses),
        "seen_keys": shown(pause.pk for pause in pauses),
        "now": now,
    }
    return render(request, "console/hold.html", context, status=status)
