"""How much may a stranger send before anybody asks who it is?

Django writes the whole body of a request to a temporary file before the first line of ours runs, so a body without
end filled the disk, signed in or not (observed). Behind nginx its `client_max_body_size` is the same limit.
"""

import json
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Any, Receive, Send], Coroutine[Any, Any, None]]

TOO_LARGE = json.dumps({"code": 8, "message": "The body is too large.", "details": []}).encode()


class BodyLimit:
    """An ASGI application in front of another one: a request of more than `most` bytes is answered 413."""

    def __init__(self, application: Application, most: int) -> None:
        self._application = application
        self._most = most

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Hand everything through, until the body is too long: then the application sees the client leave."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            before, size = size, size + len(message.get("body", b""))
            if size <= self._most:
                return message
            if before <= self._most:
                await _refuse(send)
            return {"type": "http.disconnect"}

        async def passed(message: Message) -> None:
            if size <= self._most:
                await send(message)

        await self._application(scope, counted, passed)


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": TOO_LARGE})
