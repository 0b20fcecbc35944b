"""What has changed of the panels of a page? One request for all of them.

`/panels?of=<address of a panel>&of=…` with the tags of what the page shows in `If-None-Match`. The answer names the
panels that look different now: `{"<address>": {"etag": "…", "html": "…"}}`; 304 when none does. A panel whose job,
cluster or node is gone comes back empty (`{}`), and what is shown of it stays.
"""

import copy
import json
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.urls import Resolver404, resolve
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.http import parse_etags
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from audit.in_sight import Hidden, hidden_now, without
from console.asking import Asked, Scope, key_of, version_of
from console.rights import MARK, mark_of
from console.views import sharing
from console.views.asked import person_of, rights_of
from console.views.panel import VersionOf, body_of, panel

PANELS_AT_MOST = 16
ADDRESS_AT_MOST = 2000  # characters
KNOWN_AT_MOST = 2000  # of all tags


@require_safe
def panels_together(request: HttpRequest) -> HttpResponse:
    """The panels that differ from what the page shows; 401 for a stranger, 400 for what is no panel of ours."""
    if not request.user.is_authenticated:
        return HttpResponse(_("Sign in again."), status=401, content_type="text/plain")
    addresses = request.GET.getlist("of")
    if not 1 <= len(addresses) <= PANELS_AT_MOST or max(map(len, addresses)) > ADDRESS_AT_MOST:
        return HttpResponse(
            _("Ask for 1 to %(most)s panels.") % {"most": PANELS_AT_MOST}, status=400, content_type="text/plain"
        )
    now = timezone.now().timestamp()
    earliest = _earliest(request.GET.get("after", ""), now)
    known = request.headers.get("If-None-Match", "")[:KNOWN_AT_MOST]
    request.rights, hidden, mark = _rights(request, now)  # type: ignore[attr-defined]
    key = "\n".join(addresses), known, rights_of(request), hidden.names, get_language() or ""
    try:
        with without(lambda: hidden):
            said = sharing.answers.get(key, earliest, now, lambda: _changed(request, addresses, known, earliest))
    except (ValueError, Resolver404):
        return HttpResponse(_("One of these is no panel."), status=400, content_type="text/plain")
    answer = HttpResponse(said, content_type="application/json") if said else HttpResponse(status=304)
    answer.headers["Cache-Control"] = "private, no-cache"  # stays English: a header
    answer.headers["Rekindle-Rights"] = mark  # stays English: a header
    patch_vary_headers(answer, ["Cookie"])
    return answer


def _changed(request: HttpRequest, addresses: Sequence[str], known: str, earliest: float) -> str:
    """The panels that differ from the known tags, as JSON; empty when none does."""
    version = _versions(earliest)
    tags = set(parse_etags(known))
    changed: dict[str, dict[str, str]] = {}
    for address in addresses:
        one, named = _asked_for(request, address)
        try:
            body = body_of(one, version, **named)
        except Http404:
            changed[address] = {}
            continue
        if body.etag not in tags:
            changed[address] = {"etag": body.etag, "html": body.html}
    return json.dumps(changed) if changed else ""


def _earliest(after: str, now: float) -> float:
    """When a look must have begun to see what a frame of the moment `after` told of; now, when it is no moment."""
    asked_after = float(after) if re.fullmatch(r"\d{1,12}(\.\d{1,6})?", after) else now
    return max(asked_after + sharing.SKEW_SECONDS, now - sharing.VERSION_SECONDS)


def _versions(earliest: float) -> VersionOf:
    """How a version is found: once for a scope, or by a look of another request that began at `earliest`."""
    now = timezone.now().timestamp()
    mine: dict[sharing.VersionKey, str] = {}

    def version(scope: Scope, asked: Asked) -> str:
        key = scope, key_of(scope, asked), hidden_now().names
        if key not in mine:
            mine[key] = sharing.versions.get(key, earliest, now, lambda: version_of(scope, asked))
        return mine[key]

    return version


def _rights(request: HttpRequest, now: float) -> tuple[frozenset[str], Hidden, str]:
    """What this person's panels depend on, looked up every few seconds; at once for a mark that is new."""
    person = person_of(request)
    mark = request.GET.get("rights", "")
    key = person.pk, person.password, mark if MARK.fullmatch(mark) else ""
    return sharing.rights.get(key, now - sharing.RIGHTS_SECONDS, now, lambda: _looked_up(request))


def _looked_up(request: HttpRequest) -> tuple[frozenset[str], Hidden, str]:
    return rights_of(request), hidden_now(), mark_of(person_of(request))


def _asked_for(request: HttpRequest, address: str) -> tuple[HttpRequest, dict[str, Any]]:
    """The request as it would have come for that one panel, and what its address names; refuses anything else."""
    parts = urlsplit(address)
    match = resolve(parts.path)
    if parts.netloc or match.func is not panel:
        raise ValueError("the address of something else")
    one = copy.copy(request)
    one.GET = QueryDict(parts.query)
    return one, match.kwargs
