"""What does the address of a panel return? The panel and nothing else, or 304 when it is still the same."""

from collections.abc import Callable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.asking import Asked, Scope, version_of
from console.panels import panel_named
from console.rendering import Body
from console.views.asked import asked_of

NEEDS = {
    Scope.SITE: (False, False, False),
    Scope.JOBS: (False, False, False),
    Scope.LIST: (False, False, False),
    Scope.CLUSTER: (True, False, False),
    Scope.NODE: (True, False, True),
    Scope.JOB: (True, True, False),
}
"""Which of cluster, job and node the address of a panel names."""


VersionOf = Callable[[Scope, Asked], str]


@require_safe
def panel(request: HttpRequest, **named: Any) -> HttpResponse:
    """One panel. A stranger gets 401 and not a sign-in page, which htmx would put into the panel's place."""
    if not request.user.is_authenticated:
        return HttpResponse(_("Sign in again."), status=401, content_type="text/plain")
    body = body_of(request, version_of, **named)
    # stays English: a header
    answer = HttpResponse(body.html, headers={"ETag": body.etag, "Cache-Control": "private, no-cache"})
    patch_vary_headers(answer, ["Cookie"])
    return get_conditional_response(request, etag=body.etag, response=answer) or answer


def body_of(
    request: HttpRequest,
    version: VersionOf,
    name: str,
    *,
    cluster: str = "",
    number: int | None = None,
    epoch: int | None = None,
    node: str = "",
) -> Body:
    """The panel that an address names; 404 when there is none. `version` says how its version is found."""
    wanted = panel_named(name)
    if wanted is None or NEEDS[wanted.scope] != (bool(cluster), number is not None, bool(node)):
        raise Http404(_("There is no such panel."))
    asked = asked_of(request, cluster, number, epoch, node)
    return wanted.body(asked, version(wanted.scope, asked))
