"""What does a request ask for, and may its person see it?"""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _

from advisor_api.node_standing import Standing
from audit.trail import newest_id
from console.asking import Asked
from console.job_wanted import read_wanted
from console.job_window import read_window
from console.panels import PANELS, place
from workloads.models import Cluster, Job, Node

QUERY_LIMIT = 1500  # characters of the filters of a list
SHAPING = frozenset().union(*(panel.permissions for panel in PANELS))
"""Permissions that change the look of some panel."""


def asked_of(
    request: HttpRequest, cluster: str = "", number: int | None = None, epoch: int | None = None, node: str = ""
) -> Asked:
    """What is asked for; 404 when there is no such cluster, job or node."""
    found = job = None
    if cluster:
        found = Cluster.objects.filter(name=cluster).first()
        if found is None:
            raise Http404(_("There is no cluster of that name."))
    if number is not None:
        job = Job.objects.filter(cluster=found, number=number, epoch=epoch or 0).first()
        if job is None:
            raise Http404(_("There is no job of that number on this cluster."))
    if node and not Node.objects.filter(cluster=found, name=node).exists():
        raise Http404(_("There is no node of that name on this cluster."))
    standing = request.GET.get("nodes", "")
    known = standing if standing in set(Standing) else ""
    query = request.GET.urlencode()
    bounded = query if len(query) <= QUERY_LIMIT else ""
    window = read_window(request.GET)
    return Asked(
        timezone.now(), rights_of(request), found, job, read_wanted(request.GET), known, node, bounded, window
    )


def rights_of(request: HttpRequest) -> frozenset[str]:
    """Which of the permissions that shape panels its person has; looked up once for a request."""
    known: frozenset[str] | None = getattr(request, "rights", None)
    if known is None:
        known = frozenset(name for name in SHAPING if request.user.has_perm(name))
        request.rights = known  # type: ignore[attr-defined]
    return known


def person_of(request: HttpRequest) -> User:
    """Who has signed in; a stranger may not pass."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def page(
    request: HttpRequest, template: str, panels: Iterable[str], asked: Asked, status: int = 200, **more: Any
) -> HttpResponse:
    """A whole page with its panels in it, and the last event id from before they were rendered."""
    last = newest_id()
    placed = place(panels, asked)
    topics = sorted({topic for one in placed for topic in one.topics})
    context = {
        "panels": placed,
        "live_topics": " ".join(topics),
        "live_since": last,
        "asked": asked,
        "now": asked.now,
    }
    return render(request, template, {**context, **more}, status=status)
