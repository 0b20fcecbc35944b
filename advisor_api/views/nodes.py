"""Doors to nodes and what happened on them."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.authentication import READERS, Roles
from advisor_api.node_view import excluded_nodes, seen_node
from advisor_api.paging import page_of, read_token
from advisor_api.standing_view import counted, nodes_in, standings
from advisor_api.views.door import Door, clock
from advisor_api.views.jobs import bound
from advisor_api.wire import nodes as wire
from advisor_api.wire.errors import answers


class Nodes(Door):
    """The nodes of a cluster."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(
        parameters=[wire.NodesQuery], responses=answers({200: wire.NodesAnswer}), operation_id="listNodes"
    )
    def get(self, request: Request) -> Response:
        """By name; all of them, or those that stand in one field."""
        asked, cluster, now = self.asked(wire.NodesQuery), self.cluster(), clock()
        wanted, found = asked["standing"], standings(cluster, now)
        of = bound("nodes", cluster.name, {"standing": wanted} if wanted else {})
        rows = nodes_in(cluster, found, wanted)
        page = page_of(rows, read_token(asked["page"], of), asked["limit"], bound_to=of, keys=("name",))
        content = {"nodes": page.rows, "count": len(page.rows), "nextPageToken": page.next_token}
        counts = {standing.value: number for standing, number in counted(found).items()}
        context = {"excluded": excluded_nodes(cluster, now), "standings": found}
        return Response(wire.NodesAnswer({**content, "standings": counts}, context=context).data)


class OneNode(Door):
    """One node."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(responses=answers({200: wire.NodeAnswer}, 404), operation_id="getNode")
    def get(self, request: Request, name: str) -> Response:
        """The node with its attempts, incidents and exclusions."""
        cluster, now = self.cluster(), clock()
        context = {"excluded": excluded_nodes(cluster, now), "standings": standings(cluster, now)}
        return Response(wire.NodeAnswer(seen_node(cluster, name), context=context).data)
