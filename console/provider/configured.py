"""Which provider is configured, where are its doors, and what does the library ask for?

The library reads Django settings; here it gets them from the site's own, so that nothing is looked up before
somebody signs in: a provider that is away must not keep the site from starting.
"""

import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from console.provider.client_secret import SecretNotUsable, client_secret
from console.provider.refusal import NotLetIn

log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 10.0  # of each question to the provider
LARGEST_DOCUMENT = 1 << 20  # bytes; discovery documents have some thousands
AWAY = gettext_lazy("The provider does not answer as it should. Try again, or sign in with a password.")


@dataclass(frozen=True)
class Doors:
    """Addresses of the provider. `userinfo` may be empty. `basic`: the secret goes into a header, not the form."""

    authorize: str
    token: str
    userinfo: str
    jwks: str
    basic: bool


def configured(name: str) -> Any:
    """The value of `REKINDLE_OIDC_<name>`."""
    return settings.REKINDLE[f"REKINDLE_OIDC_{name}"]


def provider_name() -> str:
    """What the sign-in page calls the provider; empty where there is none."""
    return str(configured("NAME") or _("single sign-on")) if configured("ISSUER") else ""


_discovered: dict[str, Doors] = {}  # by issuer, for the life of the process; keys are fetched at each sign-in


def doors() -> Doors:
    """As set, or as the provider's discovery document says. Raises `NotLetIn`."""
    if configured("TOKEN_URL"):
        return Doors(
            authorize=configured("AUTHORIZE_URL"),
            token=configured("TOKEN_URL"),
            userinfo=configured("USERINFO_URL"),
            jwks=configured("JWKS_URL"),
            basic=True,  # what the standard says where nothing else is said
        )
    issuer = configured("ISSUER")
    if issuer not in _discovered:
        try:
            _discovered[issuer] = _read(_document(issuer), issuer)
        except (
            requests.RequestException,
            urllib3.exceptions.HTTPError,
            ValueError,
            TypeError,
            RecursionError,
        ) as error:
            log.warning("the OpenID provider's discovery document cannot be used: %s", error)
            raise NotLetIn(AWAY) from None
    return _discovered[issuer]


def forget_doors() -> None:
    """Ask the provider again at the next sign-in."""
    _discovered.clear()


def _document(issuer: str) -> Any:
    address = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
    with requests.get(address, timeout=TIMEOUT_SECONDS, allow_redirects=False, stream=True) as answer:
        if answer.status_code != 200:
            raise ValueError(f"status {answer.status_code}")
        raw = answer.raw.read(LARGEST_DOCUMENT + 1, decode_content=True)
    if len(raw) > LARGEST_DOCUMENT:
        raise ValueError("it is too large")
    return json.loads(raw)


def _read(document: Any, issuer: str) -> Doors:
    """Raises `ValueError` with what is wrong. Another issuer's document is no document of ours."""
    if not isinstance(document, dict) or document.get("issuer") != issuer:
        raise ValueError("it names another issuer than REKINDLE_OIDC_ISSUER")
    names = ("authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri")
    found = [document.get(name) or "" for name in names]
    secure = urlsplit(issuer).scheme
    for name, place in zip(names, found, strict=True):
        if not place and name == "userinfo_endpoint":
            continue
        if not isinstance(place, str) or urlsplit(place).scheme not in {"https", secure}:
            raise ValueError(f"its {name} is no usable address")
    methods = document.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    authorize, token, userinfo, jwks = found
    return Doors(authorize, token, userinfo, jwks, basic="client_secret_post" not in methods)


def _secret() -> str:
    try:
        return client_secret(Path(configured("CLIENT_SECRET_FILE")))
    except SecretNotUsable as error:
        log.error("the file of REKINDLE_OIDC_CLIENT_SECRET_FILE cannot be used: %s", error)
        raise NotLetIn(
            _("The site cannot read its own secret for the provider. Sign in with a password.")
        ) from None


ANSWERS: dict[str, Callable[[], Any]] = {
    "OIDC_OP_AUTHORIZATION_ENDPOINT": lambda: doors().authorize,
    "OIDC_OP_TOKEN_ENDPOINT": lambda: doors().token,
    "OIDC_OP_USER_ENDPOINT": lambda: doors().userinfo,
    "OIDC_OP_JWKS_ENDPOINT": lambda: doors().jwks,
    "OIDC_TOKEN_USE_BASIC_AUTH": lambda: doors().basic,
    "OIDC_RP_CLIENT_ID": lambda: configured("CLIENT_ID"),
    "OIDC_RP_CLIENT_SECRET": _secret,
    "OIDC_RP_SIGN_ALGO": lambda: configured("ALGORITHM"),
    "OIDC_RP_SCOPES": lambda: configured("SCOPES"),
    "OIDC_USE_PKCE": lambda: True,
    "OIDC_USE_NONCE": lambda: True,
    "OIDC_TIMEOUT": lambda: TIMEOUT_SECONDS,
    "OIDC_AUTHENTICATION_CALLBACK_URL": lambda: "oidc-callback",
    "LOGIN_REDIRECT_URL": lambda: settings.LOGIN_REDIRECT_URL,
}


def library_setting(name: str, *default: Any) -> Any:
    """What the library asks for: ours, or its own default; no Django setting slips in. Raises `NotLetIn`."""
    if name in ANSWERS:
        return ANSWERS[name]()
    if default:
        return default[0]
    raise ImproperlyConfigured(f"{name} is not known")  # stays English: for developers
