"""What is asked of a metric server, and what does it give?

Pure: requests are built and answers are read here and beside; `detectors.stores.http` speaks to the network. A
server that cannot be believed raises `StoreTrouble`, as a log store does.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from detectors.stores.store import Answer, Request


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one series: what it is called, what its labels say, and the server's time of the answer (s)."""

    name: str
    labels: Mapping[str, str]
    value: float
    at: float


class MetricSource(Protocol):
    """A server of metrics. It does no I/O."""

    name: str
    title: str

    def request(self, query: str) -> Request:
        """One instant query, as of the server's own now: two clocks never have to agree."""

    def samples(self, answer: Answer) -> Iterator[Sample]:
        """The samples of an answer; what is not a finite number is absent.

        Raises `StoreTrouble`, at its end at the latest: what came before it is not to be believed either.
        """
