"""How does a long text leave the site in pieces, under WSGI as under ASGI?"""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

CHUNK = 64 * 1024  # characters sent at once


def streamed(
    request: HttpRequest,
    lines: Iterator[str],
    name: str,
    content_type: str,
    headers: Mapping[str, str] | None = None,
) -> StreamingHttpResponse:
    """The lines as a file of that name, with further headers; only one piece of it is in memory."""
    content: Any = _chunks(lines)
    if isinstance(request, ASGIRequest):  # which would collect all of them first
        content = _one_after_the_other(content)
    # stays English: the name of a file
    sent_as = f'attachment; filename="{name}"'
    return StreamingHttpResponse(
        content,
        content_type=content_type,
        headers={"Content-Disposition": sent_as, "X-Accel-Buffering": "no", **(headers or {})},
    )


def _chunks(lines: Iterator[str]) -> Iterator[bytes]:
    kept: list[str] = []
    length = 0
    for line in lines:
        kept.append(line)
        length += len(line)
        if length >= CHUNK:
            yield "".join(kept).encode()
            kept, length = [], 0
    yield "".join(kept).encode()


async def _one_after_the_other(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    take = sync_to_async(lambda: next(chunks, None))
    while (chunk := await take()) is not None:
        yield chunk
