"""What do the scripts of the pages say, in the person's language? Django's own catalogue, kept for some minutes."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe
from django.views.i18n import JavaScriptCatalog

KEPT_SECONDS = 300  # a new translation is seen after that

_catalogue = JavaScriptCatalog.as_view(packages=["console"])


@require_safe
@cache_control(private=True, max_age=KEPT_SECONDS)
def texts(request: HttpRequest) -> HttpResponseBase:
    """The script that defines `gettext`, `ngettext` and `interpolate`; without a translation they say English."""
    return _catalogue(request)
