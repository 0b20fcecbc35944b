"""Doors to nodes and what happened on them."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.authentication import READERS, Roles
from advisor_api.node_view import excluded_nodes, seen_node
from advisor_api.paging import page_of, read_token
from advisor_api.views.door import Door, clock
from advisor_api.views.jobs import bound
from advisor_api.wire import nodes as wire
from advisor_api.wire.errors import answers
from advisor_api.wire.jobs import PageQuery
from workloads.models import Node


class Nodes(Door):
    """The nodes of a cluster."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(parameters=[PageQuery], responses=answers({200: wire.NodesAnswer}), operation_id="listNodes")
    def get(self, request: Request) -> Response:
        """By name."""
        asked, cluster = self.asked(PageQuery), self.cluster()
        of = bound("nodes", cluster.name, {})
        rows = Node.objects.filter(cluster=cluster)
        page = page_of(rows, read_token(asked["page"], of), asked["limit"], bound_to=of, keys=("name",))
        content = {"nodes": page.rows, "count": len(page.rows), "nextPageToken": page.next_token}
        form = wire.NodesAnswer(content, context={"excluded": excluded_nodes(cluster, clock())})
        return Response(form.data)


class OneNode(Door):
    """One node."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(responses=answers({200: wire.NodeAnswer}, 404), operation_id="getNode")
    def get(self, request: Request, name: str) -> Response:
        """The node with its attempts, incidents and exclusions."""
        cluster = self.cluster()
        form = wire.NodeAnswer(seen_node(cluster, name), context={"excluded": excluded_nodes(cluster, clock())})
        return Response(form.data)
