"""A small Advisor on loopback that keeps to the contract: real HTTP, lease, advice, milestones, trail."""

import gzip
import json
import threading
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.controller.scripted import START

TOKEN = "token-of-the-tests"


def wire(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def advice(job: int = 12, **changes: Any) -> dict[str, Any]:
    """A restart of a failed job without n03, as the API serves it."""
    number = uuid.uuid5(uuid.NAMESPACE_URL, f"{job}")
    return {
        "heimdallJobId": str(number),
        "generation": "1",
        "jobId": str(job),
        "attemptIndex": 0,
        "cluster": "demo",
        "environment": "demo",
        "partition": "main",
        "user": "trainer",
        "schedulerSystem": "slurm",
        "schedulerScope": "demo",
        "operation": "RECOVERY_OPERATION_RESTART",
        "desiredState": "RUNNING_AGAIN",
        "nodeConstraints": {"excludedNodes": ["n03"]},
        "detectedIssues": [],
        "observedState": {"jmState": "FAILED", "restarts": 0, "submittedAt": wire(START - timedelta(hours=1))},
        "rule": "named_node",
        "reason": "the log names n03",
        "verdictId": None,
        "notBefore": wire(START),
        "holdUntil": wire(START + timedelta(minutes=5)),
        "expiresAt": wire(START + timedelta(minutes=15)),
        "createdAt": wire(START),
        "modeAtDecision": "action",
        "mayBeActedOn": True,
        "whyNot": "",
        "sequenceId": str(uuid.uuid5(number, "sequence")),
        "traceContext": {"traceparent": "00-" + "1" * 32 + "-" + "2" * 16 + "-01"},
    } | changes


class Refusal(Exception):
    """Answered with this status and message."""


class SmallAdvisor:
    """The state behind the server; tests change it. `answer_instead` replaces every answer."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self.tokens = {TOKEN}
        self.cluster: dict[str, Any] = {
            "name": "demo",
            "environment": "demo",
            "schedulerKind": "slurm",
            "mode": "action",
            "modeVersion": "1",
            "acknowledgeSchedulerActions": True,
            "partitions": [],
            "optOut": False,
            "pauses": [],
        }
        self.lease: tuple[str, int, datetime] | None = None
        self.advice: list[dict[str, Any]] = []
        self.milestones: dict[str, dict[str, Any]] = {}
        self.events: dict[str, dict[str, Any]] = {}
        self.reports: list[tuple[str, str, str]] = []
        self.excluded: list[str] = []
        self.observations: list[dict[str, Any]] = []
        self.requests: list[tuple[str, str, Any]] = []
        self.refuse: dict[str, int] = {}  # part of a path -> status
        self.holds = True  # whether questions that wait are held
        self.answer_instead: Callable[[BaseHTTPRequestHandler], None] | None = None

    def take_lease(self, body: dict[str, Any]) -> dict[str, Any]:
        now, holder, fence = self._now(), body["holder"], int(body["fence"])
        until = now + timedelta(seconds=60)
        if self.lease is None:
            if fence:
                raise Refusal(409, "that fence was never given")
            self.lease = (holder, 1, until)
        elif self.lease[:2] == (holder, fence):
            self.lease = (holder, fence, until)
        elif self.lease[2] > now:
            raise Refusal(409, f"held by {self.lease[0]} until {wire(self.lease[2])}")
        elif fence:
            raise Refusal(409, "an old fence")
        else:
            self.lease = (holder, self.lease[1] + 1, until)
        return {"holder": holder, "fence": str(self.lease[1]), "until": wire(until), "now": wire(now)}

    def watch(self, seen: str, seconds: float) -> dict[str, Any]:
        end = time.monotonic() + (seconds if self.holds else 0.0)
        while (mark := f"{len(self.advice):032x}") == seen and time.monotonic() < end:
            time.sleep(0.02)
        return {"seen": mark, "changed": mark != seen}

    def list_advice(self, query: dict[str, list[str]]) -> dict[str, Any]:
        done = {identity for identity, _, _ in self.reports}
        active = [item for item in self.advice if item.get("heimdallJobId") not in done]
        start, limit = int(query.get("page", ["0"])[0]), int(query["limit"][0])
        shown = active[start : start + limit]
        more = str(start + limit) if start + limit < len(active) else ""
        return {"advice": shown, "count": len(shown), "nextPageToken": more}

    def reconcile(self, identity: str, body: dict[str, Any]) -> dict[str, Any]:
        item = next((item for item in self.advice if item["heimdallJobId"] == identity), None)
        if item is None:
            raise Refusal(404, "no such attempt")
        if body["observedGeneration"] != item["generation"]:
            raise Refusal(409, "an older generation")
        report = (identity, body["disposition"].rpartition("_")[2], body["reason"].partition("REASON_")[2])
        before = [seen for seen in self.reports if seen[0] == identity]
        if before and before[0][1] != report[1]:
            raise Refusal(409, "it is final already")
        if not before:
            self.reports.append(report)
        return item

    def milestone(self, body: dict[str, Any]) -> dict[str, Any]:
        return {"milestone": self.milestones.setdefault(body["idempotencyKey"], body)}

    def store(self, body: dict[str, Any]) -> dict[str, Any]:
        for item in body["items"]:
            self.events.setdefault(item["idempotencyKey"], item)
        return {"accepted": len(body["items"])}

    def answer(  # noqa: C901, PLR0912  # one line for each path
        self, method: str, path: str, query: dict[str, list[str]], body: Any
    ) -> dict[str, Any]:
        self.requests.append((method, path, body))
        for part, status in self.refuse.items():
            if part in path:
                raise Refusal(status, "refused by the test")
        if query.get("cluster") != ["demo"]:
            raise Refusal(400, "which cluster?")
        match method, path.strip("/").split("/")[1:]:
            case "GET", ["clusters", "demo"]:
                return self.cluster
            case "PUT", ["clusters", "demo", "lease"]:
                return self.take_lease(body)
            case "GET", ["clusters", "demo", "observation"]:
                return {
                    "sequence": str(self.observations[-1]["sequence"] if self.observations else 0),
                    "wanted": [],
                }
            case "PUT", ["clusters", "demo", "observation"]:
                self.observations.append(body)
                return {"stored": True, "sequence": body["sequence"], "wanted": []}
            case "GET", ["advice:watch"]:
                return self.watch(query.get("seen", [""])[0], float(query["waitSeconds"][0]))
            case "GET", ["advice"]:
                return self.list_advice(query)
            case "GET", ["exclusions"]:
                return {"exclusions": [{"node": node} for node in self.excluded], "nextPageToken": ""}
            case "PUT", ["advice", identity, "reconciliation-status"]:
                return self.reconcile(identity, body)
            case "POST", ["recovery", "milestones"]:
                return self.milestone(body)
            case "POST", ["audit", "events"]:
                return self.store(body)
        raise Refusal(404, "no such path")


class Server:
    """The Advisor behind a socket. `url` is its address; use it in `with`."""

    def __init__(self, advisor: SmallAdvisor) -> None:
        class Door(BaseHTTPRequestHandler):
            def _serve(self) -> None:
                if advisor.answer_instead is not None:
                    advisor.answer_instead(self)
                    return
                parts = urlsplit(self.path)
                content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                packed = self.headers.get("Content-Encoding") == "gzip"
                body = json.loads((gzip.decompress(content) if packed else content) or "null")
                status, answer = 200, {}
                try:
                    if self.headers.get("Authorization", "").removeprefix("Bearer ") not in advisor.tokens:
                        raise Refusal(401, "no such token")
                    answer = advisor.answer(self.command, parts.path, parse_qs(parts.query), body)
                except Refusal as refusal:
                    status, answer = refusal.args[0], {"code": 9, "message": refusal.args[1], "details": []}
                send(self, status, json.dumps(answer).encode())

            do_GET = do_PUT = do_POST = _serve

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> "Server":
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def send(door: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    """One whole answer."""
    door.send_response(status)
    door.send_header("Content-Length", str(len(body)))
    for name, value in headers.items():
        door.send_header(name, value)
    door.end_headers()
    door.wfile.write(body)
