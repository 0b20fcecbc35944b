"""A provider that runs, and a site that is told of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from console.provider.configured import forget_doors
from recovery_site.environment import read_environment
from tests.console.provider.op import CLIENT, SECRET, Provider

GROUPS = "staff=viewer; cn=ops,ou=groups=operator; admins=admin"


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    made.start()
    yield made
    made.end()


@pytest.fixture
def configured(provider: Provider, settings: object, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The variables of a site that knows the provider by discovery; change them before anything is asked."""
    secret = tmp_path / "secret"
    secret.touch(mode=0o600)
    secret.write_text(f"{SECRET}\n")
    variables = {
        "REKINDLE_OIDC_ISSUER": provider.issuer,
        "REKINDLE_OIDC_NAME": "the example login",
        "REKINDLE_OIDC_CLIENT_ID": CLIENT,
        "REKINDLE_OIDC_CLIENT_SECRET_FILE": str(secret),
        "REKINDLE_OIDC_GROUPS": GROUPS,
    }
    forget_doors()
    use(settings, variables)
    settings.AUTHENTICATION_BACKENDS = [
        "django.contrib.auth.backends.ModelBackend",
        "console.provider.authentication.ByProvider",
    ]
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    yield variables
    forget_doors()


def use(settings: object, variables: dict[str, str]) -> None:
    values, mistakes = read_environment(variables)
    assert mistakes == []
    ours = {name: value for name, value in values.items() if name.startswith("REKINDLE_OIDC_")}
    settings.REKINDLE = {**settings.REKINDLE, **ours}
