"""How is the body of a request read so that a hostile one costs nothing?"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from advisor_api.errors import TooLarge
from workloads.stored_text import storable

BODY_LIMIT = 1 << 20  # bytes: 250 events of 4 KiB
DEPTH_LIMIT = 32
NUMBER_LIMIT = 40  # digits; a 64-bit integer has 19
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NOT_BRACKETS = re.compile(rb"[^\[\]{}]+")


class BoundedJson(BaseParser):
    """JSON up to `BODY_LIMIT` bytes and `DEPTH_LIMIT` levels; NUL bytes and lone surrogates become U+FFFD."""

    media_type = "application/json"

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """The object in the body; `ParseError` (400) or `TooLarge` (413)."""
        raw = stream.read(BODY_LIMIT + 1)
        if len(raw) > BODY_LIMIT:
            raise TooLarge(f"The body is larger than {BODY_LIMIT} bytes.")
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
