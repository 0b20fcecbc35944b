"""Which pages are there to read?"""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from advisor_api.expiring import expiring
from console.views.asked import asked_of, page
from workloads.models import Job

OVERVIEW = ("at_a_glance", "coming_steps", "incidents_now", "clusters", "advice_now", "newest_events")
JOB = ("job_summary", "job_questions", "job_lanes", "job_curves", "job_recovery", "job_attempts", "job_events")
CLUSTER = ("cluster_health", "cluster_sources", "cluster_advice", "cluster_nodes")


@require_safe
@login_required
def overview(request: HttpRequest) -> HttpResponse:
    """All clusters at a glance."""
    asked = asked_of(request)
    ending = expiring(asked.now) if request.user.has_perm("advisor_api.view_apitoken") else ()
    return page(request, "console/overview.html", OVERVIEW, asked, ending=ending)


@require_safe
@login_required
def job(request: HttpRequest, cluster: str, number: int, epoch: int) -> HttpResponse:
    """Everything about one job."""
    return page(request, "console/job.html", JOB, asked_of(request, cluster, number, epoch))


@require_safe
@login_required
def newest_job(request: HttpRequest, cluster: str, number: int) -> HttpResponse:
    """The newest job of that number: numbers come round again."""
    found = Job.objects.filter(cluster__name=cluster, number=number).order_by("-epoch").first()
    if found is None:
        raise Http404(_("There is no job of that number on this cluster."))
    return redirect("job", cluster, number, found.epoch)


@require_safe
@login_required
def cluster(request: HttpRequest, cluster: str) -> HttpResponse:
    """One cluster: its health, its nodes, its mode."""
    return page(request, "console/cluster.html", CLUSTER, asked_of(request, cluster))


@require_safe
@login_required
def approvals(request: HttpRequest) -> HttpResponse:
    """Advice that waits for a person."""
    return page(request, "console/approvals.html", ["approvals"], asked_of(request))
