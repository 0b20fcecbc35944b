"""What does the console say where it has nothing to show: no such thing, no right to it, an old form, or a fault?

Each page says what it is and what to do. Those of a fault stand without the database: who is signed in is not
asked for.
"""

import sys
from dataclasses import dataclass, field

from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

RETRY_SECONDS = 10


@dataclass(frozen=True)
class Way:
    """Where to look instead: an address by its name, and how the link reads."""

    name: str
    words: str | Promise = field(compare=False)


JOBS, LOGS = Way("jobs", _("Look for it among all jobs")), Way("job", _("Go to the job"))
INCIDENTS, NODES = Way("incidents", _("See all incidents")), Way("nodes", _("Look for it among all nodes"))
CLUSTERS, APPROVALS = Way("clusters", _("See all clusters")), Way("approvals", _("See what waits for approval"))
WAYS = (
    ("log-copy", _("This copy of a log is not there"), LOGS),
    ("job-log", _("This log is not there"), LOGS),
    ("newest-job", _("There is no such job"), JOBS),
    ("job", _("There is no such job"), JOBS),
    ("incident", _("There is no such incident"), INCIDENTS),
    ("node-", _("There is no such node"), NODES),
    ("node", _("There is no such node"), NODES),
    ("exclusion", _("There is no such exclusion"), NODES),
    ("cluster", _("There is no such cluster"), CLUSTERS),
    ("pause", _("There is no such pause"), CLUSTERS),
    ("approval", _("There is no such advice"), APPROVALS),
    ("step", _("There is no such advice"), APPROVALS),
    ("notification", _("There is no such message"), Way("notifications", _("See all messages"))),
    ("audit", _("There is no such event"), Way("audit", _("Search the trail"))),
    ("silence", _("There is no such silence"), Way("silences", _("See all silences"))),
    ("view", _("There is no such view"), Way("views", _("See your views"))),
)
"""By the beginning of the name of an address, the first that fits: what is not there, and where to look."""


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404: what is not there, and where to look for it."""
    match = request.resolver_match
    name = (match.url_name or "") if match else ""
    title, way = next(
        ((title, way) for begins, title, way in WAYS if name.startswith(begins)), (_("Nothing is here"), None)
    )
    said = exception.args[0] if isinstance(exception, Http404) and exception.args else ""
    context = {
        "title": str(title),
        "said": said if isinstance(said, str) else "",
        "to": _address(way, dict(match.kwargs) if match else {}) if way else "",
        "words": str(way.words) if way else "",
        "now": timezone.now(),
    }
    return render(request, "404.html", context, status=404)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403: who may do it, and whom to ask."""
    return render(request, "403.html", {"now": timezone.now()}, status=403)


def broken(request: HttpRequest) -> HttpResponse:
    """503 while the database is away, else 500; with the moment at which the site's own log says more."""
    away = isinstance(sys.exc_info()[1], OperationalError | InterfaceError)
    context = {"away": away, "path": request.path[:200], "at": timezone.now()}
    answer = render(None, "500.html", context, status=503 if away else 500)
    if away:
        answer["Retry-After"] = str(RETRY_SECONDS)
    return answer


def _address(way: Way, named: dict[str, object]) -> str:
    if way is LOGS:
        return reverse("job", args=[named["cluster"], named["number"], named["epoch"]])
    asked = {JOBS: named.get("number"), NODES: named.get("node")}.get(way)
    more = {"q": str(asked)[:64]} if asked is not None else {}
    if way is JOBS:
        more["state"] = "every"
    return reverse(way.name) + (f"?{urlencode(more)}" if more else "")
