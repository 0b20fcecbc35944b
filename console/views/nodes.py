"""Which pages speak of nodes?"""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from advisor_api.node_standing import Standing
from advisor_api.streaming import streamed
from console.node_export import node_lines
from console.node_list import read_nodes_wanted
from console.views.asked import asked_of, page
from workloads.models import Cluster

NODE = ("node_standing", "node_exclusions", "node_history", "node_events")


@require_safe
@login_required
def nodes(request: HttpRequest) -> HttpResponse:
    """The nodes of all clusters, filtered by the address."""
    asked, wanted = asked_of(request), read_nodes_wanted(request.GET)
    names = list(Cluster.objects.order_by("name").values_list("name", flat=True))
    return page(
        request,
        "console/nodes.html",
        ["node_table"],
        asked,
        names=names,
        wanted=wanted,
        standings=list(Standing),
        here=wanted.address(),
    )


@require_safe
@login_required
def export(request: HttpRequest) -> StreamingHttpResponse:
    """All nodes that the address asks for, as CSV."""
    now = timezone.now()
    name = f"nodes-{now:%Y%m%dT%H%M%SZ}.csv"
    # stays English: a kind of content
    return streamed(request, node_lines(read_nodes_wanted(request.GET), now), name, "text/csv; charset=utf-8")


@require_safe
@login_required
def node(request: HttpRequest, cluster: str, node: str) -> HttpResponse:
    """Everything about one node."""
    return page(request, "console/node.html", NODE, asked_of(request, cluster, node=node))
