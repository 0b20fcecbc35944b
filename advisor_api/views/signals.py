"""The door to a look at a cluster's sources."""

import time
from typing import ClassVar

from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response

from advisor_api.authentication import READERS, Roles
from advisor_api.finding import one_cluster
from advisor_api.refusals import NotFound
from advisor_api.views.door import Door, clock
from advisor_api.wire import signals as wire
from advisor_api.wire.errors import answers
from detectors.signal_keeping import Busy
from detectors.signal_looking import NoSuchJob, Wanted, kept_report


class TooBusy(exceptions.APIException):
    """Too many looks at once."""

    status_code = 503
    default_detail = "Other clusters are looked at right now; ask again."


class SignalsOfCluster(Door):
    """Whether a cluster's sources give the detectors what they need."""

    roles: ClassVar[dict[str, Roles]] = {"GET": READERS}

    @extend_schema(
        parameters=[wire.SignalsQuery],
        responses=answers({200: wire.SignalsAnswer}, 404, 503),
        operation_id="getSignals",
    )
    def get(self, request: Request, name: str) -> Response:
        """Looks now, within bounds; an answer is at most ten seconds old. Stores nothing."""
        asked, cluster = self.asked(wire.SignalsQuery), one_cluster(self.caller, name)
        try:
            report = kept_report(cluster, Wanted(asked.get("job"), asked["attempts"]), clock(), time.monotonic)
        except NoSuchJob as error:
            raise NotFound(str(error)) from None
        except Busy as error:
            raise TooBusy(str(error)) from None
        return self.answer(wire.SignalsAnswer, report)
