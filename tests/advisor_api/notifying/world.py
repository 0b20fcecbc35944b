"""What the tests of notifications are played with: routes, events of the trail, a receiver, a mail server."""

import http.server
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from advisor_api.notification_models import Delivery, NotificationRoute
from advisor_api.notifying.collecting import collect
from advisor_api.notifying.deliveries import claim, due_deliveries
from advisor_api.notifying.sending import deliver
from audit.event_type import EventType
from audit.level import Level
from audit.sealing import seal_waiting
from audit.trail import Actor, Entry, Subject, record
from detectors.seeing import READER
from tests.advisor_api.world import NOW
from workloads.models import Attempt, Cluster
from workloads.subjects import subject_of

AGE = timedelta(hours=6)


def a_route(cluster: Cluster | None = None, now: datetime = NOW, **values: Any) -> NotificationRoute:
    usual = {"name": "ops", "kind": "receiver", "address": "http://127.0.0.1:9/", "least_level": "info"}
    if values.get("kind") in {"mail", "slack"}:
        usual["address"] = ""
    route = NotificationRoute(cluster=cluster, since=now - timedelta(days=9), **{**usual, **values})
    route.full_clean()
    route.save()
    return route


def blind(attempt: Attempt, now: datetime = NOW, why: str = "no file") -> Entry:
    sentence = f"Blind on attempt {attempt.label}: {why}"
    return Entry(EventType.BLIND, subject_of(attempt), READER, sentence, Level.WARNING)


def an_event(cluster: Cluster, kind: EventType, sentence: str, actor: Actor = READER, **values: Any) -> Entry:
    return Entry(kind, Subject(cluster=cluster.name), actor, sentence, **values)


def tell(*entries: Entry, now: datetime = NOW) -> int:
    """Write them into the trail, seal, and collect."""
    record(entries, now)
    while seal_waiting(now):
        pass
    return collect(AGE, now)


def sweep(now: datetime) -> int:
    """What the task does with what is due, without its threads."""
    sent = 0
    for row in due_deliveries(now):
        if claim(row, now):
            deliver(row, lambda: now)
            sent += 1
    return sent


def only() -> Delivery:
    return Delivery.objects.get()


class Receiver(http.server.BaseHTTPRequestHandler):
    """Answers as it is told, or 200."""

    answers: list[int] = []
    got: list[tuple[str, dict[str, str], bytes]] = []
    delay = 0.0

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        Receiver.got.append((self.path, dict(self.headers.items()), body))
        time.sleep(Receiver.delay)
        self.send_response(Receiver.answers.pop(0) if Receiver.answers else 200)
        if self.path.startswith("/turn"):
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


@contextmanager
def a_receiver() -> Iterator[str]:
    Receiver.answers, Receiver.got, Receiver.delay = [], [], 0.0
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


class Smtp(socketserver.StreamRequestHandler):
    """A mail server that speaks RFC 5321 as far as it is asked to, and answers some commands as it is told."""

    answers: dict[str, str] = {}
    mails: list[tuple[str, list[str], str]] = []
    drips = False

    def say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())

    def drip(self) -> None:
        try:
            while True:
                self.wfile.write(b"2")
                self.wfile.flush()
                time.sleep(0.1)
        except OSError:
            return

    def handle(self) -> None:
        if Smtp.drips:
            self.drip()
            return
        self.say("220 here")
        sender, to = "", []
        while line := self.rfile.readline().decode().strip():
            verb = line.split()[0].upper()
            if verb in Smtp.answers:
                self.say(Smtp.answers[verb])
            elif verb == "DATA":
                self.say("354 go on")
                text = b""
                while (part := self.rfile.readline()) not in {b".\r\n", b""}:
                    text += part
                Smtp.mails.append((sender, to, text.decode()))
                self.say("250 taken")
            elif verb == "QUIT":
                self.say("221 bye")
                return
            else:
                if verb == "MAIL":
                    sender = line.partition(":")[2].split()[0]
                if verb == "RCPT":
                    to = [*to, line.partition(":")[2]]
                self.say("250 fine")


@contextmanager
def a_mail_server() -> Iterator[int]:
    Smtp.answers, Smtp.mails, Smtp.drips = {}, [], False
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Smtp)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
