"""What is asked of a log store, and what does it give?

Pure: requests are built and answers are read here and beside; only `detectors.stores.http` speaks to a network.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

SECOND = 1_000_000_000  # nanoseconds: both stores keep time in them


class StoreTrouble(Exception):
    """The store gave nothing that can be trusted: *cannot see*, with the reason; never "no lines"."""


class TooMany(StoreTrouble):
    """More lines were asked for than the store allows; `limit` is what it allows."""

    def __init__(self, reason: str, limit: int) -> None:
        super().__init__(reason)
        self.limit = limit


class TooSlow(StoreTrouble):
    """The store gave up on the query in its own time: a shorter window may do."""


class TooMuch(StoreTrouble):
    """The answer has more bytes than are taken at once: fewer lines may do."""


@dataclass(frozen=True)
class Labels:
    """Which label of a line holds what; empty: none. Only `job_id` must be there."""

    job_id: str
    node: str = ""
    rank: str = ""
    filename: str = ""
    restart: str = ""


@dataclass(frozen=True)
class Line:
    """One line of a store: nanoseconds since 1970, text and labels. `key` is the same whenever it is read again."""

    ns: int
    text: str
    labels: Mapping[str, str]
    key: bytes


@dataclass(frozen=True)
class Filter:
    """Only lines that hold `text` (`wanted`), or only those that do not."""

    text: str
    wanted: bool


@dataclass(frozen=True)
class Question:
    """The oldest `limit` lines from `start` to before `end`, in nanoseconds since 1970."""

    start: int
    end: int
    limit: int
    filters: tuple[Filter, ...] = ()


@dataclass(frozen=True)
class Request:
    """A GET below the store's address."""

    path: str
    params: Mapping[str, str]
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """What came back, read to its last byte: a body that breaks off is no answer."""

    status: int
    body: bytes


class Store(Protocol):
    """A log store. It does no I/O.

    `page` is how many lines are asked for at once, `instant` how many when all of them carry one time stamp.
    `settles_seconds`: how long an accepted line may stay invisible.
    """

    name: str
    title: str
    page: int
    instant: int
    settles_seconds: int

    def request(self, selector: str, tenant: str, question: Question) -> Request:
        """The query for one question."""

    def lines(self, answer: Answer) -> Sequence[Line]:
        """The lines of an answer, ordered by time. Raises `StoreTrouble`."""

    def names_request(self, tenant: str, start: int, end: int) -> Request:
        """Which labels lines have in a time (ns since 1970)."""

    def names(self, answer: Answer) -> Sequence[str]:
        """The names of labels in an answer. Raises `StoreTrouble`."""

    def values_request(self, name: str, tenant: str, start: int, end: int) -> Request:
        """Which values the label `name` has in a time (ns since 1970)."""

    def values(self, answer: Answer) -> Sequence[str]:
        """The values of a label in an answer, without the empty one. Raises `StoreTrouble`."""

    def having(self, label: str) -> str:
        """The selector of all lines that have this label."""


def key_of(ns: int, text: str, labels: Mapping[str, str]) -> bytes:
    """Eight bytes that tell a line from others: among 50,000 remembered ones two are never taken for one."""
    digest = hashlib.blake2b(digest_size=8)
    for part in (str(ns), text, *(f"{name}\0{value}" for name, value in sorted(labels.items()))):
        digest.update(part.encode("utf-8", "surrogatepass") + b"\0\0")
    return digest.digest()


def refused(title: str, answer: Answer) -> StoreTrouble:
    """What an answer without lines says, as a sentence."""
    said = " ".join(answer.body[:300].decode("utf-8", "replace").split())
    hints = {401: " (its credential or tenant is missing or wrong)", 403: " (the credential may not read)"}
    return StoreTrouble(f"{title} answered {answer.status}{hints.get(answer.status, '')}: {said or 'nothing'}")
