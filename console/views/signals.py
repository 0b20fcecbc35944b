"""What do a cluster's sources give the detectors? A page at once, and the report when it is there.

A look may take seconds: the page shows that it goes on, and fetches the report by itself; `?whole=1` waits for it.
"""

import time

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from console.asking import Asked
from console.views.asked import asked_of
from detectors.signal_keeping import Busy
from detectors.signal_looking import NoSuchJob, Wanted, kept_report
from detectors.signals.report import Report

NUMBER_LENGTH = 18  # digits that fit into a column


@never_cache
@require_safe
@login_required
def signals(request: HttpRequest, cluster: str) -> HttpResponse:
    """The page, with the report in it when it is asked for as a whole."""
    asked, job = asked_of(request, cluster), _job(request)
    whole = "?whole=1" + ("" if job is None else f"&job={job}")
    context = {"asked": asked, "now": asked.now, "job": job, "whole": whole}
    if "whole" in request.GET:
        context |= _found(asked, job)
    return render(request, "console/signals.html", context)


@never_cache
@require_safe
def report(request: HttpRequest, cluster: str) -> HttpResponse:
    """The report alone. A stranger gets 401, as from a panel."""
    if not request.user.is_authenticated:
        return HttpResponse(_("Sign in again."), status=401, content_type="text/plain")
    asked = asked_of(request, cluster)
    context = {"asked": asked, "now": asked.now, **_found(asked, _job(request))}
    return render(request, "console/signals_report.html", context)


def _job(request: HttpRequest) -> int | None:
    text = request.GET.get("job", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= NUMBER_LENGTH else None


def _found(asked: Asked, job: int | None) -> dict[str, Report | str]:
    """The report, or why there is none."""
    try:
        return {"report": kept_report(asked.the_cluster, Wanted(job), asked.now, time.monotonic)}
    except (NoSuchJob, Busy) as error:
        return {"why_not": str(error)}
