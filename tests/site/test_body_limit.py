"""What becomes of a body without end?"""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from recovery_site.asgi import application
from recovery_site.body_limit import BodyLimit

MOST = 4 * 1024 * 1024
CHUNK = b"x" * 65536


def scope(path: str) -> dict[str, Any]:
    headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }


def ask(called: Any, bodies: Iterator[bytes], path: str = "/v1/jobs") -> tuple[list[Any], int]:
    """What the application sends for a body in pieces, and how many of them it took."""
    sent: list[Any] = []
    taken = 0

    async def receive() -> dict[str, Any]:
        nonlocal taken
        body = next(bodies, None)
        taken += body is not None
        return {"type": "http.request", "body": body or b"", "more_body": body is not None}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(called(scope(path), receive, send))
    return sent, taken


def endless() -> Iterator[bytes]:
    while True:
        yield CHUNK


@pytest.mark.parametrize("path", ["/v1/jobs", "/sign-in", "/nothing/here"])
def test_a_stranger_can_send_four_megabytes_and_no_more(path: str) -> None:
    sent, taken = ask(application, endless(), path)
    assert [message.get("status") for message in sent] == [413, None]
    assert taken == MOST // len(CHUNK) + 1


def test_what_fits_reaches_the_application_whole() -> None:
    got = b""

    async def echo(_scope: Any, receive: Any, send: Any) -> None:
        nonlocal got
        while (message := await receive())["more_body"]:
            got += message["body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})

    sent, _taken = ask(BodyLimit(echo, 100), iter([b"a" * 60, b"b" * 40]))
    assert got == b"a" * 60 + b"b" * 40
    assert [message["status"] for message in sent] == [200]


def test_an_application_that_goes_on_says_nothing_behind_the_refusal() -> None:
    async def stubborn(_scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["type"] == "http.request":
            pass
        assert (await receive())["type"] == "http.disconnect"
        await send({"type": "http.response.start", "status": 200, "headers": []})

    sent, _taken = ask(BodyLimit(stubborn, 100), iter([b"a" * 101]))
    assert [message.get("status") for message in sent] == [413, None]
