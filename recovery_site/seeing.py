"""Within a request nothing is found of the clusters that its person does not see."""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from functools import cache
from typing import Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse

from audit.in_sight import Hidden, without
from workloads.seen_by import hidden_from

Ask = Callable[[], Hidden]


class Seeing:
    """A middleware behind the one that says who has signed in.

    Under ASGI it takes no thread: a question that waits for new advice would else keep one.
    """

    sync_capable = async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        self._get_response = get_response
        self._waits = iscoroutinefunction(get_response)
        if self._waits:
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        """Answer, and leave what is streamed later as blind as the rest."""
        if self._waits:
            return self._later(request)
        hidden = _of(request)
        with without(hidden):
            return _blind(self._get_response(request), hidden)

    async def _later(self, request: HttpRequest) -> HttpResponseBase:
        hidden = _of(request)
        with without(hidden):
            return _blind(await self._get_response(request), hidden)


def _of(request: HttpRequest) -> Ask:
    return cache(lambda: hidden_from(request.user))


def _blind(response: HttpResponseBase, hidden: Ask) -> HttpResponseBase:
    if isinstance(response, StreamingHttpResponse):
        pieces: Any = response.streaming_content
        response.streaming_content = _each_later(pieces, hidden) if response.is_async else _each(pieces, hidden)
    return response


def _each(pieces: Iterable[bytes], hidden: Ask) -> Iterator[bytes]:
    """The same pieces, each made in the sight of the request."""
    coming = iter(pieces)
    while True:
        with without(hidden):
            piece = next(coming, None)
        if piece is None:
            return
        yield piece


async def _each_later(pieces: AsyncIterable[bytes], hidden: Ask) -> AsyncIterator[bytes]:
    coming = aiter(pieces)
    while True:
        with without(hidden):
            piece = await anext(coming, None)
        if piece is None:
            return
        yield piece
