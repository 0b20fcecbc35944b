"""How does somebody go to the provider and come back?"""

from datetime import timedelta

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from mozilla_django_oidc.views import OIDCAuthenticationCallbackView, OIDCAuthenticationRequestView

from advisor_api.client_address import client_address
from console.forms import SignInForm
from console.models import SignInTry
from console.provider.authentication import NOT_PROVED
from console.provider.configured import configured, library_setting, provider_name
from console.provider.refusal import NotLetIn
from console.signing_in import TooManyTries, begin_try, provider_did_not, provider_vouched

STALE = _("This way back from the provider was used already, or began in another browser. Begin again.")
REFUSED = _("The provider did not sign you in. Begin again, or sign in with a password.")


class _Away(OIDCAuthenticationRequestView):  # type: ignore[misc]  # the library has no types
    """The library's way there: state, nonce and PKCE are kept in the session."""

    get_settings = staticmethod(library_setting)


class _Back(OIDCAuthenticationCallbackView):  # type: ignore[misc]  # the library has no types
    """The library's way back, with a session that ends by itself."""

    get_settings = staticmethod(library_setting)
    row: SignInTry | None = None

    def login_success(self) -> HttpResponse:
        """Written into the trail first, as a sign-in by password is."""
        now = timezone.now()
        provider_vouched(self.user, self.row, client_address(self.request), now)
        answer: HttpResponse = super().login_success()
        self.request.session.set_expiry(now + timedelta(hours=configured("SESSION_HOURS")))
        return answer

    def login_failure(self) -> HttpResponse:
        """Never to a page that does not say so."""
        raise NotLetIn(NOT_PROVED)


@never_cache
@require_GET
def begin(request: HttpRequest) -> HttpResponseBase:
    """302 to the provider; 404 where there is none, 403 with a sentence where it does not answer."""
    if not provider_name():
        raise Http404
    if request.user.is_authenticated:
        return redirect(settings.LOGIN_REDIRECT_URL)
    try:
        return _Away.as_view()(request)  # type: ignore[no-any-return]
    except NotLetIn as error:
        return _refused(request, str(error))


@never_cache
@require_GET
def callback(request: HttpRequest) -> HttpResponseBase:
    """302 into the console; 403 with a sentence, 429 after too many tries. Nobody is ever signed out by it."""
    if not provider_name():
        raise Http404
    now, address = timezone.now(), client_address(request)
    state = request.GET.get("state", "")
    states = request.session.get("oidc_states")
    if not isinstance(states, dict) or state not in states:
        return _refused(request, STALE)
    if "error" in request.GET:  # the library would sign out whoever follows such a link
        del states[state]
        request.session.modified = True
        return _refused(request, REFUSED)
    try:
        row = begin_try(f"provider {state}", address, now)
    except TooManyTries:
        return _refused(request, _("Too many tries. Wait some minutes and try again."), 429)
    try:
        return _Back.as_view(row=row)(request)  # type: ignore[no-any-return]
    except NotLetIn as error:
        provider_did_not(error.who, address, now)
        return _refused(request, str(error))
    except SuspiciousOperation:  # the same state twice at the same moment
        return _refused(request, STALE)


def _refused(request: HttpRequest, sentence: str | Promise, status: int = 403) -> HttpResponse:
    form = SignInForm(request, now=timezone.now())
    context = {"form": form, "next": "", "provider": provider_name(), "refusal": sentence}
    return render(request, "console/sign_in.html", context, status=status)
