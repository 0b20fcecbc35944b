"""Where was a person before a form, with which filters, and may the answer lead back there?

The address comes from the form (`back`), from the address of its page, or from the browser (`Referer`, which within
one site has the filters in it). None of them is trusted: only a page of this console that shows something is gone
back to, and only by its path and query on this very site.
"""

from urllib.parse import unquote, urlsplit

from django.http import HttpRequest
from django.urls import Resolver404, resolve
from django.utils.http import url_has_allowed_host_and_scheme

FIELD = "back"
LENGTH = 2000  # characters of an address
PAGES = frozenset(
    {
        "overview",
        "jobs",
        "job",
        "incidents",
        "incident",
        "silences",
        "approvals",
        "nodes",
        "node",
        "clusters",
        "cluster",
        "audit",
        "audit-event",
        "notifications",
        "notification",
    }
)
"""Pages that show something; a form, a panel or a download is no place to go back to."""


def way_back(request: HttpRequest, otherwise: str) -> str:
    """Path and query of the page where the person was; `otherwise` when that is not known or not allowed."""
    sent = (request.POST.get(FIELD), request.GET.get(FIELD), request.headers.get("referer"))
    said = (_allowed(request, text) for text in sent if text)
    return next(filter(None, said), otherwise)


def listed_at(request: HttpRequest, name: str, otherwise: str) -> str:
    """The same when the person came from the page of that name: a list, with its filters."""
    address = _allowed(request, request.headers.get("referer", ""))
    return address if address and _name_of(address) == name else otherwise


def _allowed(request: HttpRequest, text: str) -> str:
    if len(text) > LENGTH or not text.isprintable() or "\\" in text:
        return ""
    if not url_has_allowed_host_and_scheme(text, {request.get_host()}, require_https=request.is_secure()):
        return ""
    parts = urlsplit(text)
    steps = unquote(parts.path).split("/")
    if not parts.path.startswith("/") or parts.path.startswith("//") or {".", ".."} & set(steps):
        return ""  # with such steps a browser goes elsewhere than the address seems to lead
    address = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return address if _name_of(address) in PAGES else ""


def _name_of(address: str) -> str:
    try:
        return resolve(unquote(urlsplit(address).path)).url_name or ""
    except Resolver404:
        return ""
