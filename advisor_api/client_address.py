"""From where does somebody ask?"""

from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """The address of whoever asks; from the proxy's header only when a proxy of ours sets it."""
    peer = str(request.META.get("REMOTE_ADDR", ""))
    forwarded = str(request.META.get("HTTP_X_FORWARDED_FOR", ""))
    if settings.REKINDLE["REKINDLE_TRUSTED_PROXY"] and forwarded:
        peer = forwarded.rpartition(",")[2].strip()  # the last one is what our own proxy saw
    try:
        return str(ip_address(peer))
    except ValueError:
        return "unknown"
