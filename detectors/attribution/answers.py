"""What did somebody outside say about a verdict? Facts like others, bounded when they are read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Place:
    """A rank or a GPU (its index on the host) that an answer points at."""

    host: str
    rank: int | None = None
    gpu: int | None = None


@dataclass(frozen=True)
class Answer:
    """One provider's answer. Empty or `None`: nothing is said about it.

    `about`: fingerprint of the verdict that it was asked about. `layer`: a layer or the domain of several.
    `confidence`: of the cause that it names, of ours where it names none.
    """

    provider: str
    about: str = ""
    layer: str = ""
    signature: str = ""
    confidence: float | None = None
    hosts: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    sentence: str = ""


def read_answer(stored: Mapping[str, Any]) -> Answer:
    """The answer that `dataclasses.asdict` wrote; `KeyError`, `TypeError` or `ValueError` when it did not."""
    read = {
        "hosts": tuple(str(host) for host in stored["hosts"]),
        "places": tuple(Place(**one) for one in stored["places"]),
    }
    return Answer(**{**stored, **read})


def answers_in_order(answers: tuple[Answer, ...]) -> tuple[Answer, ...]:
    """The one order in which answers count."""
    return tuple(sorted(answers, key=lambda one: (one.provider, repr(one))))
