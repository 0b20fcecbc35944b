"""How does a person answer several advices at once? Those that the page showed, as it showed them, and no other."""

import re

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from advisor_api.deciding_together import Answered, Shown, answer_all
from advisor_api.policy.advice_state import AdviceState
from advisor_api.refusals import Bad
from console.advice_lines import effect_sentence, open_advice
from console.answering import actor_of
from console.forms import AnswerForm
from console.returning import way_back
from console.views.approval import DECISIONS, you_did
from console.wake import push

SHOWN = re.compile(r"([0-9]{1,18}):([0-9]{1,9})")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required("advisor_api.approve_advice", raise_exception=True)
def decide_together(request: HttpRequest) -> HttpResponse:
    """GET: each with its effect. POST: one answer (400 unusable, 409 when some had moved: the others are done)."""
    form = AnswerForm(request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return _page(request, form)
    if not form.is_valid():
        return _page(request, form, 400)
    decision = form.cleaned_data["decision"]
    actor, reason = actor_of(request), form.cleaned_data["reason"]
    try:
        told = answer_all(_shown(request), DECISIONS[decision], reason=reason, actor=actor, now=timezone.now())
    except Bad as refusal:
        return _page(request, form, 400, (Answered("", str(refusal)),))
    push()
    moved = [one.label for one in told if not one.refusal]
    if moved:
        messages.success(request, you_did(decision, ", ".join(moved)))
    refused = tuple(one for one in told if one.refusal)
    if refused:
        return _page(request, form, 409, refused)
    return redirect(way_back(request, reverse("approvals")))


def _shown(request: HttpRequest) -> list[Shown]:
    """What was ticked: key and generation of each. Raises `Bad`."""
    found = []
    for text in request.POST.getlist("shown"):
        known = SHOWN.fullmatch(text)
        if known is None:
            raise Bad(_("The form does not say which advice was shown; open the page again."))
        found.append(Shown(int(known[1]), int(known[2])))
    return found


def _page(
    request: HttpRequest, form: AnswerForm, status: int = 200, refused: tuple[Answered, ...] = ()
) -> HttpResponse:
    now = timezone.now()
    lines = open_advice(now, state=AdviceState.AWAITING_APPROVAL)
    context = {
        "asked": [(line, effect_sentence(line)) for line in lines],
        "marks": ",".join(f"{line.advice.pk}:{line.advice.generation}" for line in lines),
        "gates": ",".join(line.gates for line in lines),
        "form": form,
        "refused": refused,
        "now": now,
    }
    return render(request, "console/approvals_together.html", context, status=status)
