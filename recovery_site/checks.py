"""Is the site configured so that it may start? Numbered checks, one sentence each."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


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
