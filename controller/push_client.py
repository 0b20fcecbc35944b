"""How does a whole listing get to the Advisor?"""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from controller.client import Advisor, Unreachable

PUSH_SECONDS = (
    30.0  # limit of one request: a listing of 10,000 jobs is about 1 MB once packed, and is looked at first
)
MOST_WANTED = 25
LARGEST_NUMBER = 2**63 - 1


@dataclass(frozen=True)
class Stand:
    """The last sequence that the Advisor took, and the jobs whose end it wants to know from the accounting."""

    sequence: int
    wanted: tuple[int, ...]
    stored: bool = True


class PushAdvisor(Advisor):
    """The Advisor API for whoever pushes, with a longer limit of a request."""

    def stand(self) -> Stand:
        """Where pushing stands; `Rejected` with 404 when the Advisor asks the scheduler itself."""
        return _read(self._ask("GET", self._path()))

    def push(self, content: Mapping[str, Any]) -> Stand:
        """Push one observation, packed; repeating the same is fine."""
        return _read(self._ask("PUT", self._path(), packed(content)))

    def _path(self) -> str:
        return f"/v1/clusters/{quote(self._cluster, safe='')}/observation"


def packed(content: Mapping[str, Any]) -> bytes:
    """An observation as it travels."""
    return gzip.compress(json.dumps(content, separators=(",", ":")).encode(), compresslevel=3, mtime=0)


def _read(answer: Mapping[str, Any]) -> Stand:
    wanted, sequence = answer.get("wanted"), answer.get("sequence")
    numbers = wanted if isinstance(wanted, list) and all(type(number) is int for number in wanted) else None
    digits = sequence if isinstance(sequence, str) and sequence.isascii() and sequence.isdigit() else ""
    if numbers is None or not digits or len(digits) > 19 or int(digits) > LARGEST_NUMBER:
        raise Unreachable("the answer to a push cannot be understood")
    return Stand(int(digits), tuple(numbers[:MOST_WANTED]), answer.get("stored", True) is True)
