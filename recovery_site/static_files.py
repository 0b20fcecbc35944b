"""How are static files served where requests are answered by an event loop?"""

from collections.abc import Callable
from inspect import isawaitable
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # whitenoise has no types
    """whitenoise, which by itself knows threads alone: whatever waits behind it would keep one of them."""

    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any], **options: Any) -> None:
        super().__init__(get_response, **options)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Any:
        """The file, or whatever the site answers: a coroutine where the site is one."""
        return self._later(request) if iscoroutinefunction(self) else super().__call__(request)

    async def _later(self, request: HttpRequest) -> HttpResponseBase:
        answer = super().__call__(request)
        found: HttpResponseBase = await answer if isawaitable(answer) else answer
        return found
