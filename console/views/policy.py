"""Which policy holds for whom, and what would a draft have decided? Two pages; neither stores anything."""

import time
from typing import Any

from django.contrib.auth.decorators import login_required, permission_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from advisor_api.activating import find_place, find_version
from advisor_api.models import PolicyVersion
from advisor_api.policies import Place, place_of, policy_at
from advisor_api.policy.text import read
from advisor_api.policy.values import BadPolicy
from advisor_api.refusals import Bad, NotFound, Refusal
from advisor_api.replaying import Draft, Span, read_span
from console.policy_pages import tried, value_lines
from workloads.models import Cluster

NUMBER_LENGTH = 18  # digits that fit into a column
OFFERED = 50  # newest versions in the list
NAMES = ("cluster", "partition", "user")
SUCH_A_DRAFT = "format: rekindle-policy/1\nvalues:\n  max_requeues: 5"  # stays English: a format


@never_cache
@require_safe
@login_required
def effective(request: HttpRequest) -> HttpResponse:
    """The values that hold for a cluster, a partition of it and a user, each with the version that says it."""
    asked = {name: request.GET.get(name, "") for name in NAMES}
    context: dict[str, Any] = {"now": timezone.now(), "clusters": _clusters(), **asked}
    context["user_asked"] = context.pop("user")  # `user` is who asks
    status = 200
    try:
        find_place(asked["cluster"], asked["partition"], "")
        place = find_place(asked["cluster"], "", asked["user"])
        found = policy_at(place.cluster, asked["partition"], asked["user"], context["now"])
        context |= {"lines": value_lines(found), "layers": found.resolved.layers}
    except (Refusal, BadPolicy) as refusal:
        context["refusal"], status = str(refusal), 404 if isinstance(refusal, NotFound) else 400
    return render(request, "console/policy.html", context, status=status)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@permission_required("advisor_api.view_policyversion", raise_exception=True)
def replayed(request: HttpRequest) -> HttpResponse:
    """GET: the form, or a stored version (`?version=N`) tried. POST: a draft as YAML tried (400 unusable)."""
    asked = request.POST if request.method == "POST" else request.GET
    wanted = {name: asked.get(name, "") for name in ("version", "since", "on", "text")}
    context: dict[str, Any] = {"now": timezone.now(), "clusters": _clusters(), "versions": _versions(), **wanted}
    context["such_a_draft"] = SUCH_A_DRAFT
    status = 200
    try:
        draft = _draft(wanted)
        if draft is not None:
            cluster = find_place(wanted["on"], "", "").cluster
            span = Span(context["now"] - read_span(wanted["since"] or "7d"), context["now"], cluster)
            context |= {"draft": draft, "found": tried(draft, span, time.monotonic)}
    except (Refusal, BadPolicy) as refusal:
        context["refusal"], status = str(refusal), 404 if isinstance(refusal, NotFound) else 400
    return render(request, "console/policy_replay.html", context, status=status)


def _draft(wanted: dict[str, str]) -> Draft | None:
    number = wanted["version"]
    if wanted["text"].strip():
        if number:
            raise Bad(_("Choose a version or type a draft: one of the two."))
        said = read(wanted["text"].replace("\r\n", "\n"))
        return Draft(find_place(said.cluster, said.partition, said.user), dict(said.values))
    if not number:
        return None
    if not (number.isascii() and number.isdigit() and len(number) <= NUMBER_LENGTH):
        raise NotFound(_("There is no such policy version."))
    version = find_version(int(number))
    return Draft(place_of(version), version.values)


def _clusters() -> list[str]:
    return list(Cluster.objects.order_by("name").values_list("name", flat=True))


def _versions() -> list[tuple[int, Place, str]]:
    rows = PolicyVersion.objects.select_related("cluster")[:OFFERED]
    return [(row.pk, place_of(row), row.note) for row in rows]
