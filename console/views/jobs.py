"""The list of jobs: read, and taken away as a table."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_safe

from advisor_api.pseudonyms import Pseudonyms
from advisor_api.streaming import streamed
from console.job_export import job_lines
from console.job_wanted import Shown, Wanted, chips, read_wanted
from console.saved_views import default_of, named, views_for
from console.views.asked import asked_of, page, person_of
from workloads.models import Cluster
from workloads.wish import Wish

MORE = ("partition", "user", "node", "pattern", "wish", "kind", "attempts", "since", "until")


@require_safe
@login_required
def jobs(request: HttpRequest) -> HttpResponse:
    """The list of jobs, filtered by the address, which is always written in the same way."""
    asked = asked_of(request)
    wanted = asked.wanted
    person = person_of(request)
    views = list(views_for(person))
    if not request.GET and (default := default_of(person, views)):
        return redirect(reverse("jobs") + default)
    address = wanted.address(after=wanted.after)
    if request.GET and not wanted.mistake and f"?{request.GET.urlencode()}" != address:
        return redirect(reverse("jobs") + address)
    clusters = list(Cluster.objects.values_list("name", "scheduler_kind"))
    return page(
        request,
        "console/jobs.html",
        ["job_table"],
        asked,
        names=[name for name, _ in clusters],
        kinds=sorted({kind for _, kind in clusters}),
        shown=list(Shown),
        wishes=list(Wish),
        chips=list(chips(wanted)),
        more_open=any(getattr(wanted, name) for name in MORE),
        views=views,
        view=named(views, wanted.address()),
        here=wanted.address(),
    )


@require_safe
@login_required
def export(request: HttpRequest) -> StreamingHttpResponse:
    """All jobs that the address asks for, as CSV; with `people=pseudonyms` nobody's name is in it."""
    wanted: Wanted = read_wanted(request.GET)
    now = timezone.now()
    person = Pseudonyms(()).of if request.GET.get("people") == "pseudonyms" else str
    name = f"jobs-{now:%Y%m%dT%H%M%SZ}.csv"
    # stays English: a kind of content
    return streamed(request, job_lines(wanted, now, person), name, "text/csv; charset=utf-8")
