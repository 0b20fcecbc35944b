"""How does a person say yes or no to one advice? The effect in words, a reason, a compare-and-swap."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from advisor_api.approving import approve, reject
from advisor_api.refusals import Refusal
from console.advice_lines import AdviceLine, advice_by_key, effect_sentence
from console.answering import actor_of, status_of
from console.forms import DecisionForm
from console.returning import way_back
from console.wake import push

DECISIONS = {"approve": approve, "reject": reject}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required("advisor_api.approve_advice", raise_exception=True)
def decide(request: HttpRequest, advice: int) -> HttpResponse:
    """GET: what would be done. POST: yes or no (400 unusable, 409 when it has moved or comes too late)."""
    now = timezone.now()
    line = advice_by_key(advice, now)
    if line is None:
        raise Http404(_("There is no such advice."))
    form = DecisionForm(request.POST if request.method == "POST" else None)
    if request.method != "POST":
        return _page(request, line, form)
    if not form.is_valid():
        return _page(request, line, form, 400)
    actor, decision = actor_of(request), form.cleaned_data["decision"]
    act = DECISIONS[decision]
    try:
        act(line.advice, form.cleaned_data["generation"], form.cleaned_data["reason"], actor, now)
    except Refusal as refusal:
        line = advice_by_key(advice, now) or line
        return _page(request, line, form, status_of(refusal), str(refusal))
    push()
    messages.success(request, you_did(decision, line.advice.attempt.label))
    return redirect(way_back(request, reverse("approvals")))


def you_did(decision: str, attempts: str) -> str:
    """What a person is told afterwards. `attempts`: their labels."""
    approved, rejected = (
        _("You approved the advice on %(attempts)s."),
        _("You rejected the advice on %(attempts)s."),
    )
    return (approved if decision == "approve" else rejected) % {"attempts": attempts}


def _page(
    request: HttpRequest, line: AdviceLine, form: DecisionForm, status: int = 200, refusal: str = ""
) -> HttpResponse:
    context = {
        "line": line,
        "form": form,
        "refusal": refusal,
        "effect": effect_sentence(line),
        "now": timezone.now(),
    }
    return render(request, "console/approval.html", context, status=status)
