"""How does one speak to the Advisor, and what can go wrong on the way?

Reads are tried twice, writes once: a write that got lost is repeated by the next pass with the same idempotency
key. One connection per request, no redirects, no proxies, a time limit over the whole answer and a size limit.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import client as http
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import quote, urlencode, urlsplit

from controller.advice import (
    Advice,
    BadAnswer,
    ClusterGates,
    Disposition,
    LeaseAnswer,
    Reason,
    read_advice,
    read_cluster,
    read_excluded,
    read_lease,
    write_time,
)
from controller.config import read_token
from controller.plain import one_line
from schedulers.bounded_http import bounded

LARGEST_ANSWER = 4 * 1024 * 1024  # bytes
PAGE, LARGEST_PAGE = 100, 250  # items that are asked for, and that the API allows at most
MOST_PAGES = 50
LIST_SECONDS = 15.0  # for all pages together: the lease and the jobs that we hold do not wait for them
LONGEST_TOKEN = 512  # characters of a page token
SECONDS = 5.0  # limit of one request, whole answer included
QUICK = 1.0  # seconds: only a read that failed at once is tried again, a hung Advisor costs its time once
LONGEST_MARK = 64  # characters
UNAUTHORIZED = 401
TOO_MANY = 429
GZIP = b"\x1f\x8b"  # how packed content begins; JSON never does


class AdvisorError(Exception):
    """The Advisor did not do what was asked."""


class Unreachable(AdvisorError):
    """No usable answer: whether a write was stored is unknown, so it is repeated with the same key."""


class Rejected(AdvisorError):
    """The Advisor said no, and stored nothing."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


@dataclass(frozen=True)
class AdviceList:
    """All open advice, and a sentence for each item that could not be understood (nothing is done about it)."""

    advice: tuple[Advice, ...]
    unreadable: tuple[str, ...] = ()


class Advisor:
    """The Advisor API of one cluster. Every call raises `Unreachable` or `Rejected`.

    The token is read from its file now, and again when the Advisor answers 401: tokens are rotated with an overlap.
    """

    def __init__(self, url: str, cluster: str, token_file: Path, seconds: float = SECONDS) -> None:
        parts = urlsplit(url)
        self._secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port
        self._prefix = parts.path.rstrip("/")
        self._cluster = cluster
        self._token_file = token_file
        self._token = read_token(token_file)
        self._seconds = seconds

    def cluster(self) -> ClusterGates:
        """The cluster with mode, gates and pauses."""
        answer = self._ask("GET", f"/v1/clusters/{quote(self._cluster, safe='')}")
        try:
            return read_cluster(answer)
        except BadAnswer as error:
            raise Unreachable(f"the cluster cannot be understood: {error}") from error

    def take_lease(self, holder: str, fence: int) -> LeaseAnswer:
        """Take or extend the lease; `Rejected` with 409 when another controller has it or the fence is old."""
        path = f"/v1/clusters/{quote(self._cluster, safe='')}/lease"
        answer = self._ask("PUT", path, {"holder": holder, "fence": str(fence)})
        try:
            return read_lease(answer)
        except BadAnswer as error:
            raise Unreachable(f"the lease cannot be understood: {error}") from error

    def advice(self) -> AdviceList:
        """All advice that can still need something, over all pages."""
        advice: list[Advice] = []
        unreadable: list[str] = []
        for item in self._listed("/v1/advice", "advice"):
            try:
                advice.append(read_advice(item))
            except BadAnswer as error:
                unreadable.append(f"an advice cannot be understood: {error}")
        return AdviceList(tuple(advice), tuple(unreadable))

    def excluded_nodes(self) -> frozenset[str]:
        """The nodes that are excluded on the cluster at the moment."""
        try:
            return frozenset(read_excluded(item) for item in self._listed("/v1/exclusions", "exclusions"))
        except BadAnswer as error:
            raise Unreachable("the list of exclusions cannot be understood") from error

    def watch(self, seen: str, seconds: int) -> tuple[str, bool]:
        """Wait up to `seconds` until open advice or gates are other than when they had the mark `seen`.

        Returns the mark of now, and whether it is another one. Some servers answer at once. The limit of a request
        of this Advisor must be longer than `seconds`.
        """
        answer = self._ask("GET", "/v1/advice:watch", query={"seen": seen, "waitSeconds": str(seconds)})
        mark: object = answer.get("seen")
        changed = answer.get("changed")
        if not _plain(mark, LONGEST_MARK) or not isinstance(changed, bool):
            raise Unreachable("the answer to the question that waits cannot be understood")
        return mark, changed

    def reconcile(self, advice: Advice, disposition: Disposition, reason: Reason) -> None:
        """Say what became of an advice; repeating the same is fine."""
        body = {
            "observedGeneration": str(advice.generation),
            "disposition": disposition.value,
            "reason": f"ADVICE_RECONCILIATION_REASON_{reason.value}",
        }
        self._ask("PUT", f"/v1/advice/{advice.advice_id}/reconciliation-status", body)

    def milestone(self, advice: Advice, action: str, key: str, done_at: datetime) -> None:
        """Say that a scheduler action is done. `action` is the end of its name, e.g. `SLURM_RELEASE`."""
        body = {
            "sequenceId": advice.sequence_id,
            "idempotencyKey": key,
            "operation": advice.operation.value,
            "action": f"RECOVERY_SCHEDULER_ACTION_{action}",
            "time": write_time(done_at),
        }
        self._ask("POST", "/v1/recovery/milestones", body)

    def record(
        self, advice: Advice, kind: tuple[str, str], payload: Mapping[str, str], *, key: str, at: datetime
    ) -> None:
        """Put one event of `kind` (type, level) on the audit trail; when this returns it is durable."""
        item = {
            "heimdallJobId": advice.advice_id,
            "eventProducer": "controller",
            "eventType": kind[0],
            "eventLevel": kind[1],
            "payload": {"generation": str(advice.generation), **payload},
            "eventProducedAt": str(int(at.astimezone(UTC).timestamp() * 1_000_000)),
            "idempotencyKey": key,
        }
        answer = self._ask("POST", "/v1/audit/events", {"items": [item]})
        partial = answer.get("partialSuccess")
        counted = partial if isinstance(partial, dict) else answer
        if counted.get("rejected"):
            raise Rejected(400, one_line(f"the event was not stored: {counted['rejected']}"))
        if str(counted.get("accepted")) != "1":
            raise Unreachable("it is not known whether the event was stored")

    def _listed(self, path: str, name: str) -> list[Any]:
        """The items of all pages of a list, bounded in number and time."""
        items: list[Any] = []
        page, ends = "", time.monotonic() + LIST_SECONDS
        for _ in range(MOST_PAGES):
            query = {"onlyActive": "true", "limit": str(PAGE)} | ({"page": page} if page else {})
            answer = self._ask("GET", path, query=query)
            found, page = answer.get(name), answer.get("nextPageToken") or ""
            if not isinstance(found, list) or len(found) > LARGEST_PAGE or not _plain(page, LONGEST_TOKEN):
                raise Unreachable(f"the list of {name} cannot be understood")
            items += found
            if not page:
                return items
            if time.monotonic() > ends:
                raise Unreachable(f"the list of {name} takes longer than {LIST_SECONDS:.0f} s")
        raise Unreachable(f"the list of {name} does not end after {MOST_PAGES} pages")

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | bytes | None = None,
        query: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The JSON object answered, after a second try where that is harmless."""
        target = f"{self._prefix}{path}?{urlencode({'cluster': self._cluster, **(query or {})})}"
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        began = time.monotonic()
        try:
            return self._once(method, target, content)
        except Rejected as error:
            if error.status != UNAUTHORIZED or not self._token_changed():
                raise
        except Unreachable:
            if method != "GET" or time.monotonic() - began > QUICK:
                raise
        return self._once(method, target, content)

    def _once(self, method: str, target: str, content: bytes | None) -> dict[str, Any]:
        deadline = time.monotonic() + self._seconds
        kind = http.HTTPSConnection if self._secure else http.HTTPConnection
        connection = kind(self._host, self._port, timeout=self._seconds)
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", "Connection": "close"}
        if content is not None:
            headers["Content-Type"] = "application/json"
            if content.startswith(GZIP):
                headers["Content-Encoding"] = "gzip"
        try:
            connection.connect()
            connection.response_class = bounded(deadline)
            connection.request(method, target, content, headers)
            with connection.getresponse() as answer:
                return _understood(answer.status, _bounded_body(answer))
        except (OSError, http.HTTPException) as error:
            raise Unreachable(
                f"no answer from the Advisor: {one_line(str(error) or type(error).__name__)}"
            ) from error
        finally:
            connection.close()

    def _token_changed(self) -> bool:
        try:
            token = read_token(self._token_file)
        except ValueError:
            return False
        changed = token != self._token
        self._token = token
        return changed


def _plain(text: object, longest: int) -> TypeGuard[str]:
    """Whether this can be said again to the Advisor as it is: a lone surrogate could not."""
    return isinstance(text, str) and len(text) <= longest and text.isascii() and text.isprintable()


def _bounded_body(answer: http.HTTPResponse) -> bytes:
    if (answer.length or 0) > LARGEST_ANSWER:
        raise Unreachable(f"the Advisor's answer is larger than {LARGEST_ANSWER} bytes")
    body = answer.read(LARGEST_ANSWER + 1)
    if len(body) > LARGEST_ANSWER:
        raise Unreachable(f"the Advisor's answer is larger than {LARGEST_ANSWER} bytes")
    return body


def _understood(status: int, body: bytes) -> dict[str, Any]:
    """The object of a good answer; a refusal as `Rejected`; everything else is no answer."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    if 200 <= status < 300:
        if not isinstance(content, dict):
            raise Unreachable(f"the Advisor answered {status} with something that is no JSON object")
        return content
    message = content.get("message") if isinstance(content, dict) else None
    sentence = one_line(message) if isinstance(message, str) and message else "without a message"
    if status >= 500 or status == TOO_MANY:
        raise Unreachable(f"the Advisor answered {status}: {sentence}")
    if status < 400:
        raise Rejected(status, "the Advisor sent us elsewhere, and redirects are not followed")
    raise Rejected(status, sentence)
