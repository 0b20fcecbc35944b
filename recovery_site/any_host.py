"""Who asks a process by its address, and not by the site's name? Whoever watches it: probes and scrapers.

They know the address of one process (`http://127.0.0.1:8001/readyz`, or a pod's), which no `REKINDLE_ALLOWED_HOSTS`
lists. What these paths answer holds no link and nothing of the Host header.
"""

from django.http import HttpRequest, HttpResponsePermanentRedirect
from django.middleware.common import CommonMiddleware

PROBES = frozenset({"/healthz", "/readyz", "/metrics"})


class SiteHost(CommonMiddleware):
    """Django's own, which refuses a request for another host; a probe may name any."""

    def process_request(self, request: HttpRequest) -> HttpResponsePermanentRedirect | None:
        """Nothing, or a redirect. Raises `DisallowedHost`."""
        return None if request.path_info in PROBES else super().process_request(request)
