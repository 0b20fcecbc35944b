"""How many wrong tokens may come from one address? A right one is never counted, nor refused for its neighbours."""

import time
from typing import Any

from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from advisor_api.client_address import client_address


class WrongTokenRate(SimpleRateThrottle):
    """Wrong tokens of one address, counted in each server process."""

    rate = "60/min"
    timer = staticmethod(time.monotonic)  # a clock that goes back must keep nobody out

    def get_cache_key(self, request: Request, view: Any) -> str:
        """By the address of the peer."""
        return self.cache_format % {"scope": "wrong-token", "ident": client_address(request)}


def count_wrong_token(request: Request) -> None:
    """Raises `Throttled` when there were too many from this address in the last minute."""
    rate = WrongTokenRate()
    if not rate.allow_request(request, None):  # type: ignore[arg-type]  # the same for every view
        raise Throttled(rate.wait(), "Too many wrong tokens came from this address.")
