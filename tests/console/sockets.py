"""A browser's end of a socket, spoken to the ASGI application itself. (That of Channels imports a whole server.)"""

import asyncio
from typing import Any
from urllib.parse import quote

from asgiref.testing import ApplicationCommunicator

SOON = 60.0  # seconds that a test waits for a frame at most; one comes within a tenth, on a busy machine in seconds


class Socket(ApplicationCommunicator):
    """One socket at `path?query`."""

    def __init__(self, application: Any, path: str, query: str, headers: dict[str, str]) -> None:
        scope = {
            "type": "websocket",
            "path": quote(path),
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "subprotocols": [],
        }
        super().__init__(application, scope)

    async def connect(self) -> bool:
        """Ask; whether it was accepted."""
        await self.send_input({"type": "websocket.connect"})
        return (await self.receive_output(SOON))["type"] == "websocket.accept"

    async def say(self, text: str) -> None:
        """Send a text to the server."""
        await self.send_input({"type": "websocket.receive", "text": text})

    async def text(self) -> str:
        """The next text of the server."""
        answer = await self.receive_output(SOON)
        assert answer["type"] == "websocket.send", answer
        return str(answer["text"])

    async def close_code(self) -> int:
        """The code with which the server closes now."""
        answer = await self.receive_output(SOON)
        assert answer["type"] == "websocket.close", answer
        return int(answer["code"])

    async def silent(self, seconds: float) -> bool:
        """Whether nothing comes within that time."""
        return bool(await self.receive_nothing(seconds, interval=0.02))

    async def leave(self) -> None:
        """Close from the browser's side and wait for the application's end."""
        await self.send_input({"type": "websocket.disconnect", "code": 1000})
        await asyncio.wait_for(self.wait(SOON), SOON)
