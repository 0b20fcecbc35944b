"""How is the body of a request read so that a hostile one costs nothing?"""

import json
import math
import re
import zlib
from collections.abc import Mapping
from typing import Any, NoReturn

from rest_framework.exceptions import ParseError, UnsupportedMediaType
from rest_framework.parsers import BaseParser

from advisor_api.errors import TooLarge
from workloads.stored_text import storable

BODY_LIMIT = 1 << 20  # bytes: 250 events of 4 KiB
LISTING_LIMIT = 32 << 20  # bytes; a listing of 10,000 jobs is about 8 MB
GZIP = 16 + zlib.MAX_WBITS
DEPTH_LIMIT = 32
NUMBER_LIMIT = 40  # digits; a 64-bit integer has 19
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NOT_BRACKETS = re.compile(rb"[^\[\]{}]+")


class BoundedJson(BaseParser):
    """JSON up to `limit` bytes and `DEPTH_LIMIT` levels; NUL bytes and lone surrogates become U+FFFD."""

    media_type = "application/json"
    limit = BODY_LIMIT

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The object in the body; `ParseError` (400) or `TooLarge` (413)."""
        raw = self.content(stream, parser_context or {})
        if _depth(raw) > DEPTH_LIMIT:
            raise TooLarge(f"The body is nested deeper than {DEPTH_LIMIT} levels.")
        try:
            value = json.loads(
                raw.decode("utf-8"), parse_constant=_no_constant, parse_int=_whole, parse_float=_finite
            )
        except UnicodeDecodeError:
            raise ParseError("The body is not UTF-8.") from None
        except json.JSONDecodeError as error:
            raise ParseError(
                f"The body is no JSON (line {error.lineno}, column {error.colno}: {error.msg})."
            ) from None
        except ValueError as error:
            raise ParseError(f"The body is no JSON: {error}.") from None
        if not isinstance(value, dict):
            raise ParseError("The body must be a JSON object.")
        return {str(name): item for name, item in clean(value).items()}

    def content(self, stream: Any, context: Mapping[str, Any]) -> bytes:
        """The bytes of the body, at most `limit`."""
        raw: bytes = stream.read(self.limit + 1)
        if len(raw) > self.limit:
            raise TooLarge(f"The body is larger than {self.limit} bytes.")
        return raw


class BoundedListing(BoundedJson):
    """The same for a whole listing, which may come with `Content-Encoding: gzip`; the bound holds once unpacked."""

    limit = LISTING_LIMIT

    def content(self, stream: Any, context: Mapping[str, Any]) -> bytes:
        """The bytes of the body, unpacked."""
        raw = super().content(stream, context)
        request = context.get("request")
        coding = request.META.get("HTTP_CONTENT_ENCODING", "identity") if request is not None else "identity"
        if coding == "identity":
            return raw
        if coding != "gzip":
            raise UnsupportedMediaType(coding[:40], detail="Content-Encoding is gzip, or left out.")
        unpacking = zlib.decompressobj(wbits=GZIP)
        try:
            unpacked = unpacking.decompress(raw, self.limit + 1)
        except zlib.error:
            raise ParseError("The body is no gzip.") from None
        if len(unpacked) > self.limit:
            raise TooLarge(f"The body is larger than {self.limit} bytes once unpacked.")
        if not unpacking.eof:
            raise ParseError("The gzip of the body ends too soon.")
        return unpacked


def clean(value: Any) -> Any:
    """The same value with every text storable. Depth is bounded by the caller."""
    if isinstance(value, str):
        return storable(value, len(value))
    if isinstance(value, list):
        return [clean(item) for item in value]
    if isinstance(value, dict):
        return {clean(name): clean(item) for name, item in value.items()}
    return value


def _depth(raw: bytes) -> int:
    """The deepest nesting of brackets outside of strings."""
    depth = deepest = 0
    for byte in _NOT_BRACKETS.sub(b"", _STRING.sub(b"", raw)):
        depth += 1 if byte in b"[{" else -1
        deepest = max(deepest, depth)
        if deepest > DEPTH_LIMIT:
            break
    return deepest


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("a number is too large")
    return number


def _whole(digits: str) -> int:
    if len(digits) > NUMBER_LIMIT:
        raise ValueError("a number is too long")
    return int(digits)
