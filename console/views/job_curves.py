"""What does the address of a job's curves return? Their points as JSON, bounded, or 304 when they are the same."""

import json

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from console.asking import Asked, Scope, key_of, version_of
from console.contexts.job_picture import curves_in
from console.curve_picture import as_json, axis_for
from console.rendering import bodies
from console.views.asked import asked_of


@require_safe
def job_curves(request: HttpRequest, cluster: str, number: int, epoch: int) -> HttpResponse:
    """Step times and throughput of a job, of all its time or of a window. A stranger gets 401."""
    if not request.user.is_authenticated:
        return HttpResponse(_("Sign in again."), status=401, content_type="text/plain")
    asked = asked_of(request, cluster, number, epoch)
    key = (
        "curves.json",
        key_of(Scope.JOB, asked),
        version_of(Scope.JOB, asked),
        frozenset[str](),
        frozenset[str](),
        get_language() or "",
    )
    body = bodies.get(key, lambda: _written(asked))
    # stays English: headers
    headers = {"ETag": body.etag, "Cache-Control": "private, no-cache"}
    answer = HttpResponse(body.html, content_type="application/json", headers=headers)
    patch_vary_headers(answer, ["Cookie"])
    return get_conditional_response(request, etag=body.etag, response=answer) or answer


def _written(asked: Asked) -> str:
    attempts, curves, factor = curves_in(asked)
    axis = axis_for(attempts, asked.now, asked.window)
    return json.dumps(as_json(curves, axis, factor), separators=(",", ":"), allow_nan=False)
