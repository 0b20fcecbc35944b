"""Which policies were there, and in what do two of them differ? Read only; the admin is where they are edited."""

import time
from datetime import datetime
from typing import Any

from django.contrib.auth.decorators import login_required, permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from advisor_api.activating import find_version
from advisor_api.models import PolicyVersion
from advisor_api.policies import place_of
from advisor_api.policy.comparing import differences
from advisor_api.refusals import NotFound, Refusal
from advisor_api.replaying import Span, read_span
from console.policy_versions import DECISIONS_SHOWN, effect, versions
from workloads.models import Cluster

NUMBER_LENGTH = 18  # digits that fit into a column
MAY_SEE = "advisor_api.view_policyversion"


@never_cache
@require_safe
@login_required
@permission_required(MAY_SEE, raise_exception=True)
def listed(request: HttpRequest) -> HttpResponse:
    """Every version, newest first, with who let it hold, when and why."""
    cluster, before = request.GET.get("cluster", "")[:64], request.GET.get("before", "")
    names = list(Cluster.objects.order_by("name").values_list("name", flat=True))
    found = versions(cluster if cluster in names else "", _number(before))
    context = {"found": found, "names": names, "cluster": cluster, "now": timezone.now()}
    return render(request, "console/policy_versions.html", context)


@never_cache
@require_safe
@login_required
@permission_required(MAY_SEE, raise_exception=True)
def compared(request: HttpRequest) -> HttpResponse:
    """`?a=3&b=5`: the values that differ; with `effect` what each would have decided (400: that is no span)."""
    first, second = _found(request.GET.get("a", "")), _found(request.GET.get("b", ""))
    now = timezone.now()
    context: dict[str, Any] = {
        "first": first,
        "second": second,
        "places": (place_of(first), place_of(second)),
        "differences": differences(first.values, second.values),
        "since": request.GET.get("since", "7d"),
        "shown": DECISIONS_SHOWN,
        "now": now,
    }
    status = 200
    try:
        if "effect" in request.GET:
            context["effect"] = _effect(first, second, context["since"], now)
    except Refusal as refusal:
        context["refusal"], status = str(refusal), 400
    return render(request, "console/policy_compare.html", context, status=status)


def _effect(first: PolicyVersion, second: PolicyVersion, since: str, now: datetime) -> Any:
    span = read_span(since)
    return effect(first, second, lambda one: Span(now - span, now, one.cluster), time.monotonic)


def _found(number: str) -> PolicyVersion:
    pk = _number(number)
    try:
        if pk is not None:
            return find_version(pk)
    except NotFound:
        pass
    raise Http404(_("There is no such policy."))


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) <= NUMBER_LENGTH else None
