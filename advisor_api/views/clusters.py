"""Doors to clusters: their gates, and the switch of their mode."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.authentication import ADMINS, READERS, Roles
from advisor_api.cluster_view import seen_clusters
from advisor_api.finding import clusters_of, one_cluster
from advisor_api.switching import switch_mode
from advisor_api.views.door import Door, clock
from advisor_api.wire import clusters as wire
from advisor_api.wire.errors import answers
from workloads.mode import Mode


class Clusters(Door):
    """The clusters that the caller may see."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(responses=answers({200: wire.ClustersAnswer}), operation_id="listClusters")
    def get(self, request: Request) -> Response:
        """All of them, by name."""
        found = seen_clusters(clusters_of(self.caller, self.cluster_name), clock())
        return self.answer(wire.ClustersAnswer, {"clusters": found, "count": len(found), "nextPageToken": ""})


class OneCluster(Door):
    """One cluster."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS, "PATCH": ADMINS}

    @extend_schema(responses=answers({200: wire.Cluster}, 404), operation_id="getCluster")
    def get(self, request: Request, name: str) -> Response:
        """Mode, gates, pauses, lease, and how well its scheduler and logs are seen."""
        return self.answer(wire.Cluster, seen_clusters([one_cluster(self.caller, name)], clock())[0])

    @extend_schema(
        request=wire.ModeChange, responses=answers({200: wire.Cluster}, 404, 409, 413), operation_id="switchMode"
    )
    def patch(self, request: Request, name: str) -> Response:
        """Switch the mode; needs a reason and the version of the mode that was seen."""
        sent, now = self.sent(wire.ModeChange), clock()
        cluster = one_cluster(self.caller, name)
        mode = Mode.read(sent["mode"])
        switch_mode(cluster, mode, sent["modeVersion"], sent["reason"], self.caller.actor, now)
        return self.answer(wire.Cluster, seen_clusters([cluster], now)[0])
