"""How does somebody come in and go out?"""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.views import LoginView
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from advisor_api.client_address import client_address
from console.forms import SignInForm
from console.provider.configured import provider_name
from console.sign_in_links import LinkNotUsable, look_at_link, use_link
from console.signing_in import signed_out

BACKEND = "django.contrib.auth.backends.ModelBackend"


class SignIn(LoginView):
    """User name and password. GET 200; POST 302 when right, 200 with a sentence when wrong or throttled."""

    template_name = "console/sign_in.html"
    authentication_form = SignInForm
    redirect_authenticated_user = True

    def get_form_kwargs(self) -> dict[str, Any]:
        """The form counts tries by the clock of this door."""
        return {**super().get_form_kwargs(), "now": timezone.now()}

    @property
    def extra_context(self) -> dict[str, Any]:  # type: ignore[override]  # by the settings of the moment
        """Names the provider, where there is one."""
        return {"provider": provider_name()}


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def once(request: HttpRequest, token: str) -> HttpResponse:
    """A one-time link: shown by GET, used by POST, so that nothing that only looks at links can use it up."""
    now = timezone.now()
    try:
        if request.method != "POST":
            return render(request, "console/sign_in_once.html", {"person": look_at_link(token, now)})
        user = use_link(token, client_address(request), now)
    except LinkNotUsable:
        return render(request, "console/sign_in_once.html", {"person": None}, status=410)
    login(request, user, BACKEND)
    return redirect(settings.LOGIN_REDIRECT_URL)


@require_safe
def admin_sign_in(request: HttpRequest) -> HttpResponse:
    """The admin's own sign-in, which counts no tries and leaves no trail, is this one instead (403: not staff)."""
    if request.user.is_authenticated and not request.user.is_staff:
        raise PermissionDenied
    return redirect(f"{reverse('sign-in')}?{urlencode({'next': request.GET.get('next', reverse('admin:index'))})}")


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """Out, by POST only: a link in a log line must not sign anybody out."""
    if request.user.is_authenticated:
        signed_out(request.user, client_address(request), timezone.now())
    logout(request)
    return redirect(settings.LOGOUT_REDIRECT_URL)
