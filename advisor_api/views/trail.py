"""Doors to the whole trail of a cluster: a page by any filter, or all of it in lines."""

from typing import ClassVar

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.authentication import READERS, Roles
from advisor_api.paging import binding, page_of, read_token
from advisor_api.pseudonyms import pseudonyms_for
from advisor_api.streaming import streamed
from advisor_api.trail_export import FORMATS
from advisor_api.trail_search import archived_before, order_of, search
from advisor_api.views.door import Door, clock
from advisor_api.wire import trail
from advisor_api.wire.errors import answers

PAGING = {"cursor", "limit"}
ARCHIVED = "X-Rekindle-Archived-Before"


class Trail(Door):
    """The trail of one cluster."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(
        parameters=[trail.TrailQuery], responses=answers({200: trail.TrailAnswer}, 404), operation_id="searchTrail"
    )
    def get(self, request: Request) -> Response:
        """Events by job, attempt, node, user, pattern, action, actor, type, level and time."""
        asked, cluster = self.asked(trail.TrailQuery), self.cluster()
        kept = {name: value for name, value in asked.items() if name not in PAGING}
        of = binding("trail", {**kept, "cluster": cluster.name})
        filters = trail.filters_of(asked)
        page = page_of(
            search(cluster.name, filters),
            read_token(asked["cursor"], of),
            asked["limit"],
            bound_to=of,
            keys=order_of(filters),
            descending=asked["sortBy"].endswith(":desc"),
            numbers_first=True,
        )
        content = {"items": page.rows, "cursor": page.next_token, "archivedBefore": archived_before(cluster.name)}
        return self.answer(trail.TrailAnswer, content)


class TrailExport(Door):
    """The trail of one cluster as a file."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(
        parameters=[trail.ExportQuery],
        responses=answers(
            {(200, "application/x-ndjson"): OpenApiTypes.STR, (200, "text/csv"): OpenApiTypes.STR}, 404
        ),
        operation_id="exportTrail",
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """All events that fit, oldest first, as JSON Lines or CSV.

        Where older ones are in the archive, the header `X-Rekindle-Archived-Before` says up to when.
        """
        asked, cluster, now = self.asked(trail.ExportQuery), self.cluster(), clock()
        rows = search(cluster.name, trail.filters_of(asked)).filter(at__lt=now)
        content_type, lines_of = FORMATS[asked["fileFormat"]]
        lines = lines_of(rows, pseudonyms_for(cluster.name) if asked["pseudonyms"] else None)
        headers = {} if (archived := archived_before(cluster.name)) is None else {ARCHIVED: archived.isoformat()}
        name = f"{cluster.name}-trail-{now:%Y%m%dT%H%M%SZ}.{asked['fileFormat']}"
        return streamed(request._request, lines, name, content_type, headers)
