"""How often may one caller ask? Bounds that no honest client meets, so that a broken one harms nobody else.

They are counted in each server process by itself: several processes allow as many times more, and none of them
needs a store that may fail. Whoever is over them is told when to come back.
"""

import time
from typing import Any

from django.conf import settings
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from advisor_api.authentication import caller_of


class CallerRate(SimpleRateThrottle):
    """`REKINDLE_API_PER_MINUTE` requests of one token, of one job with its key, or of one person."""

    scope = "caller"
    timer = staticmethod(time.monotonic)  # a clock that goes back must keep nobody out

    def get_rate(self) -> str:
        """As the environment says."""
        return f"{settings.REKINDLE['REKINDLE_API_PER_MINUTE']}/min"

    def get_cache_key(self, request: Request, view: Any) -> str:
        """By token, so that a controller and a dashboard of one cluster do not count as one."""
        caller = caller_of(request)
        key = f"token-{caller.token.pk}" if caller.token else f"person-{request.user.pk}"
        if caller.job is not None:
            key = f"job-{caller.job.cluster.pk}-{caller.job.number}"  # one wild job keeps no other one out
        return self.cache_format % {"scope": self.scope, "ident": key}
