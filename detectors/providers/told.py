"""How is what a provider tells read, whatever it is? Bounded, or refused with a sentence."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from detectors.attribution.answers import Place
from detectors.providers.provider import NoAnswer
from workloads.stored_text import storable

MOST_HOSTS = 64
MOST_PLACES = 64
LONGEST_NAME = 255
LONGEST_WORD = 128
LONGEST_SENTENCE = 500
LARGEST_RANK = 2**31 - 1
LARGEST_GPU = 63


def read_object(body: bytes) -> Mapping[str, Any]:
    """The JSON object in an answer; raises `NoAnswer`."""
    try:
        told = json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError:
        raise NoAnswer("it answered with something that is no text") from None
    except (ValueError, RecursionError):
        raise NoAnswer(f"it answered with something that is no JSON: {shown(body)}") from None
    if not isinstance(told, dict):
        raise NoAnswer(f"it answered with something that is no JSON object: {shown(body)}")
    return told


def shown(body: bytes) -> str:
    """The beginning of an answer, for a sentence."""
    said = " ".join(storable(body[:200].decode("utf-8", "replace"), 200).split())
    return repr(said[:80]) if said else "nothing"


def part(told: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object within an object; empty when it is none."""
    found = told.get(name)
    return found if isinstance(found, Mapping) else {}


def text(value: Any, limit: int = LONGEST_WORD) -> str:
    """One line of text of at most `limit` characters; empty when it is none."""
    if not isinstance(value, str):
        return ""
    return " ".join(storable(value[: 2 * limit], 2 * limit).split())[:limit]


def word(value: Any) -> str:
    """A word of a vocabulary."""
    return text(value).lower()


def share(value: Any) -> float | None:
    """A number from 0 to 1; `None` when it is none. Raises `NoAnswer` for one that is out of bounds."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NoAnswer(f"its confidence is no number: {text(str(value)[:80], 40)!r}")
    if not 0 <= value <= 1:  # also NaN
        raise NoAnswer(f"its confidence does not lie between 0 and 1: {text(str(value)[:80], 40)}")
    return round(float(value), 4) if math.isfinite(value) else None


def hosts_and_places(told: Any) -> tuple[tuple[str, ...], tuple[Place, ...]]:
    """Hosts, and ranks and GPUs on them, out of a list of names or of objects with `host`, `rank`, `gpu`."""
    hosts: dict[str, None] = {}
    places: dict[Place, None] = {}
    for item in (told if isinstance(told, list) else [])[:MOST_PLACES]:
        row = item if isinstance(item, Mapping) else {"host": item}
        host = next(filter(None, (text(row.get(key), LONGEST_NAME) for key in ("host", "node", "name"))), "")
        if not host:
            continue
        hosts[host] = None
        place = Place(host, _whole(row.get("rank"), LARGEST_RANK), _whole(row.get("gpu"), LARGEST_GPU))
        if (place.rank, place.gpu) != (None, None):
            places[place] = None
    return tuple(hosts)[:MOST_HOSTS], tuple(places)


def first_text(values: Iterable[Any], limit: int = LONGEST_SENTENCE) -> str:
    """The first of some values that is text."""
    return next(filter(None, (text(value, limit) for value in values)), "")


def _whole(value: Any, largest: int) -> int | None:
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= largest
    return value if usable else None


def _no_number(said: str) -> float:
    raise ValueError(said)
