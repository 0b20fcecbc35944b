"""Door to what a cluster's controller lists, where the scheduler is not asked from here (decisions 24)."""

from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.authentication import CONTROLLERS, READERS, Roles
from advisor_api.finding import one_cluster
from advisor_api.parsing import BoundedListing
from advisor_api.refusals import Bad, NotFound, Stale
from advisor_api.views.door import Door, clock
from advisor_api.wire import observation as wire
from advisor_api.wire.errors import answers
from schedulers.observation import BadObservation, read
from workloads.pushes import PushRefused, pushed_cluster, take, wanted


class ObservationOfCluster(Door):
    """The whole listing of a cluster, pushed."""

    parser_classes = (BoundedListing,)
    roles: ClassVar[dict[str, Roles]] = {"GET": READERS, "PUT": CONTROLLERS}

    @extend_schema(responses=answers({200: wire.Pushed}, 404), operation_id="getObservation")
    def get(self, request: Request, name: str) -> Response:
        """The last sequence, so that whoever pushes next begins above it; 404 where nothing is pushed."""
        try:
            cluster = pushed_cluster(one_cluster(self.caller, name))
        except PushRefused as error:
            raise NotFound(str(error)) from error
        return self.answer(wire.Pushed, {"cluster": cluster, "wanted": wanted(cluster)})

    @extend_schema(
        request={"application/json": wire.OBSERVATION},
        responses=answers({200: wire.Taken}, 404, 409, 413, 415),
        operation_id="pushObservation",
    )
    def put(self, request: Request, name: str) -> Response:
        """Observe what the scheduler lists, once by its sequence; it may be gzipped.

        409: an older sequence, a scheduler's time that did not move on or is far from now, or a cluster whose
        scheduler is asked from here.
        """
        cluster, now = one_cluster(self.caller, name), clock()
        try:
            taken = take(cluster, read(dict(request.data)), now)
        except BadObservation as error:
            raise Bad(f"{error}.") from error
        except PushRefused as error:
            raise Stale(str(error)) from error
        return self.answer(wire.Taken, taken)
