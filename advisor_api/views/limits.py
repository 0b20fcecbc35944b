"""Doors to what people keep from happening: exclusions of nodes, and pauses."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.authentication import OPERATORS, READERS, Roles
from advisor_api.excluding import exclude, find_exclusion, lift
from advisor_api.finding import clusters_of
from advisor_api.gathering import active_exclusions
from advisor_api.models import Exclusion, Pause
from advisor_api.paging import page_of, read_token
from advisor_api.pausing import active_pauses, end_pause, find_pause, pause
from advisor_api.views.door import Door, clock
from advisor_api.views.jobs import bound
from advisor_api.wire import clusters as wire
from advisor_api.wire.errors import answers


class Exclusions(Door):
    """Nodes that new attempts should not use."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS, "POST": OPERATORS}

    @extend_schema(
        parameters=[wire.ActiveQuery],
        responses=answers({200: wire.ExclusionsAnswer}),
        operation_id="listExclusions",
    )
    def get(self, request: Request) -> Response:
        """Newest first."""
        asked, cluster = self.asked(wire.ActiveQuery), self.cluster()
        of = bound("exclusions", cluster.name, asked)
        rows: QuerySet[Exclusion] = Exclusion.objects.filter(cluster=cluster)
        rows = active_exclusions(cluster, clock()) if asked["onlyActive"] else rows
        place = read_token(asked["page"], of)
        page = page_of(rows.select_related("cluster"), place, asked["limit"], bound_to=of, descending=True)
        content = {"exclusions": page.rows, "count": len(page.rows), "nextPageToken": page.next_token}
        return self.answer(wire.ExclusionsAnswer, content)

    @extend_schema(
        request=wire.ExclusionRequest,
        responses=answers({201: wire.ExclusionAnswer}, 404, 413),
        operation_id="excludeNode",
    )
    def post(self, request: Request) -> Response:
        """Exclude a node until a time at most seven days away."""
        sent, actor = self.sent(wire.ExclusionRequest), self.caller.actor
        row = exclude(
            self.cluster(), sent["node"], reason=sent["reason"], until=sent["until"], actor=actor, now=clock()
        )
        return self.answer(wire.ExclusionAnswer, {"exclusion": row}, 201)


class OneExclusion(Door):
    """One exclusion."""

    roles: ClassVar[dict[str, Roles]] = {"DELETE": OPERATORS}

    @extend_schema(responses=answers({200: wire.ExclusionAnswer}, 404, 409), operation_id="liftExclusion")
    def delete(self, request: Request, number: int) -> Response:
        """End it before its time; it stays in the history."""
        row = find_exclusion(clusters_of(self.caller, self.cluster_name), number)
        return self.answer(wire.ExclusionAnswer, {"exclusion": lift(row, self.caller.actor, clock())})


class Pauses(Door):
    """What is left alone for a while."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS, "POST": OPERATORS}

    @extend_schema(
        parameters=[wire.ActiveQuery], responses=answers({200: wire.PausesAnswer}), operation_id="listPauses"
    )
    def get(self, request: Request) -> Response:
        """Newest first."""
        asked, cluster = self.asked(wire.ActiveQuery), self.cluster()
        of = bound("pauses", cluster.name, asked)
        rows: QuerySet[Pause] = Pause.objects.filter(cluster=cluster)
        rows = active_pauses(cluster, clock()) if asked["onlyActive"] else rows
        place = read_token(asked["page"], of)
        page = page_of(rows.select_related("cluster"), place, asked["limit"], bound_to=of, descending=True)
        content = {"pauses": page.rows, "count": len(page.rows), "nextPageToken": page.next_token}
        return self.answer(wire.PausesAnswer, content)

    @extend_schema(
        request=wire.PauseRequest, responses=answers({201: wire.PauseAnswer}, 404, 413), operation_id="pause"
    )
    def post(self, request: Request) -> Response:
        """Pause a job, a user, a partition or the cluster until a time at most seven days away."""
        sent, actor = self.sent(wire.PauseRequest), self.caller.actor
        scope, value = sent["scope"], sent["value"]
        row = pause(
            self.cluster(), scope, value, reason=sent["reason"], until=sent["until"], actor=actor, now=clock()
        )
        return self.answer(wire.PauseAnswer, {"pause": row}, 201)


class OnePause(Door):
    """One pause."""

    roles: ClassVar[dict[str, Roles]] = {"DELETE": OPERATORS}

    @extend_schema(responses=answers({200: wire.PauseAnswer}, 404, 409), operation_id="endPause")
    def delete(self, request: Request, number: int) -> Response:
        """End it now; it stays in the history."""
        row = find_pause(clusters_of(self.caller, self.cluster_name), number)
        return self.answer(wire.PauseAnswer, {"pause": end_pause(row, self.caller.actor, clock())})
