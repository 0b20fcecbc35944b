"""Does the provider's answer prove who somebody is?

The library runs the flow: it changes the code (with the PKCE verifier) into a token, picks the provider's key,
verifies the signature, and compares the nonce. What it leaves open is closed here: issuer, audience, times,
required claims, the subject of what is read besides, and that nobody is found by mail.
"""

import logging
from typing import Any

import jwt
import requests
from django.contrib.auth import get_user_model
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from mozilla_django_oidc.auth import OIDCAuthenticationBackend

from console.provider.configured import AWAY, configured, library_setting
from console.provider.people import Vouched, groups_in, let_in
from console.provider.refusal import NotLetIn

log = logging.getLogger(__name__)

WRONG_ANSWERS = (
    *(SuspiciousOperation, jwt.PyJWTError),
    *(LookupError, TypeError, ValueError, AttributeError, RecursionError),  # what it sends has another shape
)
LEEWAY_SECONDS = 30  # by which the provider's clock and ours may differ
REQUIRED = ["iss", "sub", "aud", "exp", "iat"]  # of each ID token, by the standard
LONGEST_SUBJECT = 255  # by the standard
NOT_PROVED = _("The provider's answer does not prove who you are. Begin again, or sign in with a password.")


class ByProvider(OIDCAuthenticationBackend):  # type: ignore[misc]  # the library has no types
    """Lets in whom the provider vouches for. Does nothing for passwords."""

    get_settings = staticmethod(library_setting)

    def __init__(self) -> None:
        # Django makes one of these for each question about rights: the library's own would ask the provider.
        self.UserModel = get_user_model()

    def authenticate(self, request: HttpRequest, *, nonce: str, code_verifier: str) -> User | None:
        """The account of whoever came back from the provider. Raises `NotLetIn`, never anything of the library."""
        if not configured("ISSUER") or not nonce or not code_verifier:
            return None
        try:
            super().__init__()
            user: User | None = super().authenticate(request, nonce=nonce, code_verifier=code_verifier)
        except requests.RequestException as error:  # its text may hold what the provider answered
            log.warning("the OpenID provider does not answer as it should: %s", type(error).__name__)
            raise NotLetIn(AWAY) from None
        except WRONG_ANSWERS as error:
            log.warning("an answer of the OpenID provider was refused: %s: %.200s", type(error).__name__, error)
            raise NotLetIn(NOT_PROVED) from None
        return user

    def get_user(self, user_id: int) -> User | None:
        """Nobody whose account was closed; the library would not look."""
        found: User | None = ModelBackend.get_user(self, user_id)
        return found

    def _verify_jws(self, payload: str, key: Any) -> dict[str, Any]:
        """Signature, by the one algorithm that is configured; issuer, audience and times. Raises `PyJWTError`."""
        claims: dict[str, Any] = jwt.decode(
            payload,
            key,
            algorithms=[self.OIDC_RP_SIGN_ALGO],
            audience=self.OIDC_RP_CLIENT_ID,
            issuer=configured("ISSUER"),
            leeway=LEEWAY_SECONDS,
            options={"require": REQUIRED},
        )
        several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if (several or "azp" in claims) and claims.get("azp") != self.OIDC_RP_CLIENT_ID:
            raise SuspiciousOperation("the token was made for another client")  # stays English: for the log
        if not claims["sub"] or len(claims["sub"]) > LONGEST_SUBJECT:
            raise SuspiciousOperation("the token names no subject")  # stays English: for the log
        return claims

    def get_or_create_user(self, access_token: str, id_token: str, payload: dict[str, Any]) -> User:
        """By issuer and subject. Groups are in the token, or else asked for."""
        claim = configured("GROUPS_CLAIM")
        claims = payload
        if claim not in payload and self.OIDC_OP_USER_ENDPOINT:
            claims = self.get_userinfo(access_token, id_token, payload)
            if claims.get("sub") != payload["sub"]:
                log.warning("an answer of the OpenID provider was refused: it speaks of another subject")
                raise NotLetIn(NOT_PROVED)
        called = claims.get("preferred_username")
        vouched = Vouched(
            issuer=payload["iss"],
            subject=payload["sub"],
            groups=groups_in(claims.get(claim)),
            called=called if isinstance(called, str) else "",
        )
        return let_in(vouched, configured("GROUPS"), configured("SITE_GROUPS"), timezone.now())
