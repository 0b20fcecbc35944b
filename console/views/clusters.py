"""Which clusters are there? A list, filtered by the address."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.cluster_list import KINDS, read_clusters_wanted
from console.views.asked import asked_of, page
from workloads.mode import Mode


@require_safe
@login_required
def clusters(request: HttpRequest) -> HttpResponse:
    """All clusters, each with how it stands."""
    wanted = read_clusters_wanted(request.GET)
    asked = asked_of(request)
    return page(
        request, "console/clusters.html", ["cluster_table"], asked, wanted=wanted, kinds=KINDS, modes=list(Mode)
    )
