"""Which pages speak of nodes?"""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from advisor_api.node_standing import Standing
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
        request, "console/nodes.html", ["node_table"], asked, names=names, wanted=wanted, standings=list(Standing)
    )


@require_safe
@login_required
def node(request: HttpRequest, cluster: str, node: str) -> HttpResponse:
    """Everything about one node."""
    return page(request, "console/node.html", NODE, asked_of(request, cluster, node=node))
