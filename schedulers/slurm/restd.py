"""How is slurmrestd asked, and what is an answer of it?

It is only ever asked with GET, so nothing can be changed this way. One connection a question, no redirects, no
proxies, one limit of time over the whole answer and one of size. What it cannot answer is never an empty answer.
"""

import contextlib
import json
import os
import re
import socket
import ssl
import time
from collections.abc import Iterator, Mapping
from http import client as http
from typing import Any

from schedulers.bounded_http import bounded
from schedulers.port import Garbled, NoSuchJob, Unreachable
from schedulers.slurm.rest_place import RestPlace, read_place
from schedulers.slurm.rest_rows import WANTED
from schedulers.transport import LARGEST_ANSWER, TooLong

UNKNOWN_JOB = 2017  # Slurm's number for "Invalid job id specified"
CHUNK = 1 << 20
_HEADER = re.compile(r"[\x21-\x7e]{1,4096}\Z")


class Restd:
    """Asks the slurmrestd of one place. Of each object in an answer only the keys in `WANTED` are kept."""

    def __init__(self, place: RestPlace, largest: int = LARGEST_ANSWER) -> None:
        self._place = place
        self._largest = largest

    def ask(self, path: str, seconds: float) -> tuple[dict[str, Any], int]:
        """The answer and its bytes; also raises `NoSuchJob`. `path` is made of our own words and numbers."""
        ends = time.monotonic() + seconds
        target, headers = f"/slurm/{self._place.version}/{path}", self._headers()
        try:
            with self._connected(seconds) as connection:
                connection.response_class = bounded(ends)
                connection.request("GET", target, headers=headers)
                with connection.getresponse() as answer:
                    status, body = answer.status, self._body(answer)
        except TimeoutError as error:
            raise Unreachable(f"{self._place} did not answer within {seconds:g} s.") from error
        except (OSError, http.HTTPException) as error:
            raise Unreachable(
                f"{self._place} does not answer: {_line(str(error)) or type(error).__name__}."
            ) from error
        return _understood(str(self._place), target, status, body), len(body)

    @contextlib.contextmanager
    def _connected(self, seconds: float) -> Iterator[http.HTTPConnection]:
        scheme, host, port = read_place(self._place.address)
        if scheme == "unix":
            _refuse_shared(host)
            connection: http.HTTPConnection = _Unix(host, seconds)
        elif scheme == "http":
            connection = http.HTTPConnection(host, port, timeout=seconds)
        else:
            trusted = ssl.create_default_context(cafile=self._place.authorities or None)
            connection = http.HTTPSConnection(host, port, timeout=seconds, context=trusted)
        try:
            connection.connect()
            yield connection
        finally:
            connection.close()

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json", "Connection": "close"}
        if self._place.token is None:
            return headers
        try:
            token = self._place.token()
        except ValueError as error:
            raise Unreachable(f"{self._place} is not asked: {error}.") from error
        if not _HEADER.match(token) or not _HEADER.match(self._place.user):
            raise Unreachable(f"{self._place} is not asked: its user or token cannot stand in a header.")
        return {**headers, "X-SLURM-USER-NAME": self._place.user, "X-SLURM-USER-TOKEN": token}

    def _body(self, answer: http.HTTPResponse) -> bytes:
        """All of it: where it says how long it is, a shorter one raises `IncompleteRead`."""
        body = bytearray()
        if (answer.length or 0) <= self._largest:
            while len(body) <= self._largest and (chunk := answer.read(CHUNK)):
                body += chunk
            if not answer.length and len(body) <= self._largest:
                return bytes(body)
            if answer.length and len(body) <= self._largest:
                raise http.IncompleteRead(b"", answer.length)
        raise TooLong(f"{self._place} answered more than {self._largest} bytes.", _text(body[:CHUNK]))


def _refuse_shared(path: str) -> None:
    """Raise `Unreachable` where others could put a socket of their own: it would be believed, or get the token."""
    folder = os.path.dirname(path)
    if os.stat(folder).st_mode & 0o022:
        raise Unreachable(f"slurmrestd is not asked: others may write in {folder}, and could stand in for it.")


class _Unix(http.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _understood(place: str, target: str, status: int, body: bytes) -> dict[str, Any]:
    """The object of a good answer. An error beside an empty list is no empty list."""
    text = _text(body)
    try:
        content = json.loads(text, object_hook=_kept)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        said = f"{place} answered {status} to {target}: {_line(text) or 'nothing'}"
        raise Garbled(f"{said}.", text) if 200 <= status < 300 or status == 404 else Unreachable(f"{said}.", text)
    errors = content.get("errors")
    if not isinstance(errors, list):
        raise Garbled(f"{place} answered {status} to {target} without its list of errors.", text)
    if not errors and status == 200:
        return content
    first = errors[0] if errors and isinstance(errors[0], Mapping) else {}
    words = ": ".join(_line(str(first[key])) for key in ("description", "error") if first.get(key))
    sentence = f"{place} answered {status} to {target}: {words or 'no word'}."
    if first.get("error_number") == UNKNOWN_JOB:
        raise NoSuchJob(sentence, text)
    raise Unreachable(sentence, text)


def _kept(found: dict[str, Any]) -> dict[str, Any]:
    """Only what is read later: an answer of 10,000 jobs is 35 MB, nearly all of it of no use here."""
    return {key: value for key, value in found.items() if key in WANTED}


def _text(content: bytes | bytearray) -> str:
    return content.decode("utf-8", "replace")


def _line(text: str) -> str:
    """The beginning of a text on one line."""
    plain = "".join(sign if sign.isprintable() else " " for sign in text[:1000])
    return " ".join(plain.split())[:300].rstrip(".")
