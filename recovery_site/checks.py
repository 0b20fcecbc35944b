"""Is the site configured so that it may start? Numbered checks, one sentence each."""

import logging
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.core.exceptions import ImproperlyConfigured

from recovery_site.exposure import exposed
from recovery_site.oidc_settings import halves

log = logging.getLogger(__name__)


@register()
def environment_is_usable(**_kwargs: Any) -> list[CheckMessage]:
    """`rekindle.E001` onwards: one number per declared setting; `rekindle.E000` for an unknown name."""
    return [
        Error(
            mistake.sentence,
            hint="Every setting is listed in docs/settings.md.",
            id=f"rekindle.E{mistake.number:03d}",
        )
        for mistake in settings.REKINDLE_MISTAKES
    ]


@register()
def reached_safely(**_kwargs: Any) -> list[CheckMessage]:
    """`rekindle.E101` onwards, or `W…` where the site may start: how it is reached."""
    return [
        Error(sentence, hint=row.hint, id=f"rekindle.E{row.number}")
        if row.refused
        else Warning(sentence, hint=row.hint, id=f"rekindle.W{row.number}")
        for row, sentence in exposed(settings.REKINDLE)
    ]


@register()
def provider_is_whole(**_kwargs: Any) -> list[CheckMessage]:
    """`rekindle.E201` onwards: half a configuration of the sign-in through an OpenID provider."""
    return [
        Error(sentence, hint=row.hint, id=f"rekindle.E{row.number}") for row, sentence in halves(settings.REKINDLE)
    ]


def refuse_mistakes() -> None:
    """For a server that runs no checks by itself. Raises `ImproperlyConfigured` with all that keeps it back."""
    found = [*environment_is_usable(), *reached_safely(), *provider_is_whole()]
    for message in found:
        if not message.is_serious():
            log.warning("%s", message)
    if serious := [message for message in found if message.is_serious()]:
        raise ImproperlyConfigured("\n".join(str(message) for message in serious))
