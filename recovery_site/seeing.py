"""Within a request nothing is found of the clusters that its person does not see."""

from collections.abc import Callable, Iterable, Iterator
from contextvars import Context, copy_context
from typing import Any

from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse

from audit.in_sight import without
from workloads.seen_by import hidden_from


class Seeing:
    """A middleware behind the one that says who has signed in."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer, and leave what is streamed later as blind as the rest."""
        with without(lambda: hidden_from(request.user)):
            response = self._get_response(request)
            if isinstance(response, StreamingHttpResponse) and not response.is_async:
                lines: Iterable[Any] = response.streaming_content  # type: ignore[assignment]  # it is not async
                response.streaming_content = _within(copy_context(), iter(lines))
            return response


def _within(context: Context, lines: Iterator[Any]) -> Iterator[Any]:
    """The same lines, each made in the context of the request."""
    end = object()
    while (line := context.run(next, lines, end)) is not end:
        yield line
