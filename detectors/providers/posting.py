"""How is a provider asked over the network? One POST with a time limit for all of it; nothing is followed.

As with log stores an answer is only one when its last byte arrived. The time limit holds for the whole exchange,
however slowly an answer drips: the connection is cut when it is over.
"""

import contextlib
import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from detectors.providers.provider import NoAnswer, NothingYet
from detectors.providers.told import shown
from detectors.stores.http import connection_to

BODY_LIMIT = 256 << 10  # bytes of one answer
ANSWERED = frozenset({200, 204})
ACCEPTED = frozenset({200, 201, 202, 204})
"""Of whoever is only told something, and answers nothing."""
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
USER_AGENT = "rekindle"


def post(
    address: str,
    body: bytes,
    authorization: str,
    authorities: Path | None,
    seconds: float,
    *,
    taken: frozenset[int] = ANSWERED,
    key: str = "",
    more: Mapping[str, str] | None = None,
) -> bytes:
    """The body of the answer, empty for one without content. Raises `NoAnswer`, or `NothingYet` when it may pass.

    `authorization` is a whole header value or empty; `authorities` a PEM file of those whose signature counts
    instead of the system's. `taken`: the statuses of an answer; `key` is sent as `Idempotency-Key`, and
    `more` are headers as they are.
    """
    parts = urlsplit(address)
    headers = {
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Connection": "close",
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        **({"Authorization": authorization} if authorization else {}),
        **({"Idempotency-Key": key} if key else {}),
        **(more or {}),
    }
    cut = threading.Event()
    try:
        connection = connection_to(parts.scheme, parts.hostname or "", parts.port, authorities, seconds)
        timer = threading.Timer(seconds, _cut, (connection, cut))
        timer.daemon = True
        timer.start()
        try:
            connection.connect()
            if cut.is_set():  # while it was being made there was nothing to cut
                raise TimeoutError
            connection.request("POST", parts.path or "/", body=body, headers=headers)
            answer = _answer(connection, taken)
        finally:
            timer.cancel()
            connection.close()
        if cut.is_set():  # an answer without a length would look whole
            raise TimeoutError
        return answer
    except NoAnswer:
        raise
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise _trouble(error, parts.netloc, seconds, late=cut.is_set()) from None


def _cut(connection: http.client.HTTPConnection, cut: threading.Event) -> None:
    """Whoever waits for a byte of this connection wakes up."""
    cut.set()
    open_one = connection.sock
    if open_one is not None:
        with contextlib.suppress(OSError):
            open_one.shutdown(socket.SHUT_RDWR)


def _answer(connection: http.client.HTTPConnection, fine: frozenset[int]) -> bytes:
    sock = connection.sock  # the response takes it over; the timer must still find it
    response = connection.getresponse()
    connection.sock = sock
    with response:
        return _body(response, fine)


def _body(response: http.client.HTTPResponse, fine: frozenset[int]) -> bytes:
    if 300 <= response.status < 400:
        raise NoAnswer(f"it answered {response.status}: where it points to is not followed")
    taken = b"" if (response.length or 0) > BODY_LIMIT else response.read(BODY_LIMIT + 1)
    if (response.length or 0) > BODY_LIMIT or len(taken) > BODY_LIMIT:
        raise NoAnswer(f"its answer has more than {BODY_LIMIT >> 10} KB")
    if response.status not in fine:
        kind = NothingYet if response.status in PASSING else NoAnswer
        raise kind(f"it answered {response.status}: {shown(taken)}")
    if response.length:  # less came than the length that was announced
        raise http.client.IncompleteRead(taken, response.length)
    return taken


def _trouble(error: Exception, place: str, seconds: float, *, late: bool) -> NoAnswer:
    if late or isinstance(error, TimeoutError):
        return NothingYet(f"no answer from {place} within {seconds:g} s")
    if isinstance(error, ssl.SSLError):
        return NoAnswer(f"{place}: TLS failed: {error.reason or error}"[:300])
    if isinstance(error, http.client.HTTPException):
        return NothingYet(f"{place} broke off its answer ({type(error).__name__})")
    said = getattr(error, "strerror", None) or type(error).__name__
    return NothingYet(f"{place} cannot be reached: {said}"[:300])
