"""How is a store asked over the network? One GET with a time limit and a limit of bytes; nothing is followed.

An answer is only one when its last byte arrived: a store that is stopped or runs out of time breaks off behind a
status 200 (observed).
"""

import http.client
import ssl
import time
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from detectors.stores.store import Answer, Request, StoreTrouble, TooMuch

BODY_LIMIT = 64 << 20  # bytes of one answer
CHUNK = 256 << 10


def ask(address: str, request: Request, authorization: str, authorities: Path | None, seconds: float) -> Answer:
    """The answer to one request. Raises `StoreTrouble`.

    `authorization` is a whole header value or empty; `authorities` a PEM file of those whose signature counts
    instead of the system's.
    """
    parts = urlsplit(address)
    until = time.monotonic() + seconds
    headers = {"Accept-Encoding": "identity", "Connection": "close", "User-Agent": "rekindle", **request.headers}
    if authorization:
        headers["Authorization"] = authorization
    target = f"{parts.path.rstrip('/')}{request.path}?{urlencode(request.params)}"
    try:
        connection = connection_to(parts.scheme, parts.hostname or "", parts.port, authorities, seconds)
        try:
            connection.request("GET", target, headers=headers)
            response = connection.getresponse()
            return Answer(response.status, _body(response, connection, until))
        finally:
            connection.close()
    except TimeoutError:
        raise StoreTrouble(f"no answer from {parts.netloc} within {seconds:g} s") from None
    except ssl.SSLError as error:
        raise StoreTrouble(f"{parts.netloc}: TLS failed: {error.reason or error}"[:300]) from None
    except http.client.HTTPException as error:
        raise StoreTrouble(f"{parts.netloc} broke off its answer ({type(error).__name__})") from None
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or type(error).__name__
        raise StoreTrouble(f"{parts.netloc} cannot be reached: {said}"[:300]) from None


def connection_to(
    scheme: str, host: str, port: int | None, authorities: Path | None, seconds: float
) -> http.client.HTTPConnection:
    """Not open yet. `authorities`: those of its certificate, else the system's."""
    if scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=seconds)
    context = ssl.create_default_context(cafile=str(authorities) if authorities else None)
    return http.client.HTTPSConnection(host, port, timeout=seconds, context=context)


def _body(response: http.client.HTTPResponse, connection: http.client.HTTPConnection, until: float) -> bytes:
    taken = bytearray()
    while True:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        if connection.sock is not None:
            connection.sock.settimeout(left)
        chunk = response.read1(CHUNK)
        if not chunk:
            break
        taken += chunk
        if len(taken) > BODY_LIMIT:
            raise TooMuch(f"the answer has more than {BODY_LIMIT >> 20} MB")
    if response.length:  # less came than the length that was announced
        raise http.client.IncompleteRead(b"", response.length)
    return bytes(taken)
