"""Does the site work behind nginx with the sample configuration, as production.md says?"""

import http.client
import json
import re
import socket
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.site.behind_nginx import HOST, OTHER, OWN, Behind, Came, Proxy, listening

pytestmark = pytest.mark.e2e  # its stores are its own: once is enough

ORIGIN = f"https://{HOST}"
MAKE = """
from datetime import UTC, datetime
from django.contrib.auth.models import User
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.trail import Actor, Entry, Subject, record
User.objects.create_superuser("operator", password="cold-water-77")
call_command("cluster", "add", "alpha", "--push")
words = Entry(EventType.CLIENT, Subject("alpha"), Actor(ActorKind.RULE, "test"), "x" * 900)
for _ in range(10):
    record([words] * 1000, datetime.now(UTC))
call_command("token", "create", "reader", "--role", "viewer", "--cluster", "alpha")
"""


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    running = Behind(tmp_path_factory.mktemp("behind"), MAKE)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def bearer(behind: Behind) -> dict[str, str]:
    return {"Authorization": f"Bearer {behind.printed.split()[-1]}"}


@pytest.fixture(scope="module")
def cookies(behind: Behind) -> str:
    """Those of somebody who has signed in with a password, over the form."""
    came = sign_in(behind, "cold-water-77")
    assert came.status == 302, came.body.decode()
    assert all("; secure" in line.lower() for line in came.headers.get_all("Set-Cookie", []))
    return _cookies(came)


def sign_in(behind: Behind, password: str, name: str = "operator", source: str = OWN, claims: str = "") -> Came:
    """Send the form, as a client at `source` that claims to be at another address."""
    page = behind.proxy.ask("/sign-in")
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.body.decode())
    assert token
    form = {"csrfmiddlewaretoken": token.group(1), "username": name, "password": password}
    headers = {"Origin": ORIGIN, "Cookie": _cookies(page), "Content-Type": "application/x-www-form-urlencoded"}
    if claims:
        headers["X-Forwarded-For"] = claims
    return behind.proxy.ask("/sign-in", headers, urllib.parse.urlencode(form).encode(), source)


def _cookies(answer: Came) -> str:
    return "; ".join(line.split(";")[0] for line in answer.headers.get_all("Set-Cookie", []))


def test_plain_http_leads_to_the_site_whatever_host_was_asked_for(behind: Behind) -> None:
    for host in (HOST, "somebody.example.net"):
        with behind.proxy.asked("/jobs?state=live", {"Host": host}, plain=True) as answer:
            assert (answer.status, answer.headers["Location"]) == (301, f"{ORIGIN}/jobs?state=live")


def test_by_tls_pages_and_files_come_once_and_never_plainly_again(behind: Behind) -> None:
    page = behind.proxy.ask("/sign-in")
    assert (page.status, page.headers["Strict-Transport-Security"][:16]) == (200, "max-age=31536000")
    files = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page.body.decode()))
    assert files and {behind.proxy.ask(name).status for name in files} == {200}
    assert behind.proxy.ask("/sign-in", {"Host": "somebody.example.net"}).status == 400
    assert [behind.proxy.ask(probe).status for probe in ("/healthz", "/readyz", "/metrics")] == [200, 200, 403]


def test_an_open_console_is_told(behind: Behind, cookies: str) -> None:
    with connect(
        f"wss://{HOST}/ws/live?topic=overview",
        sock=socket.create_connection((OWN, behind.proxy.port), timeout=60),
        ssl=behind.proxy.trust,
        server_hostname=HOST,
        origin=Origin(ORIGIN),
        additional_headers={"Cookie": cookies},
        proxy=None,
    ) as page:
        assert json.loads(page.recv(timeout=30))["topics"] == []
        assert sign_in(behind, "warm water").status == 200  # refused, which the trail tells
        while "overview" not in json.loads(page.recv(timeout=60))["topics"]:
            pass


def test_a_controller_waits_at_the_sockets_server(behind: Behind, bearer: dict[str, str]) -> None:
    asked = "/v1/advice:watch?cluster=alpha&waitSeconds=3"
    seen = json.loads(behind.proxy.ask(asked, bearer).body)["seen"]
    began = time.monotonic()
    answer = json.loads(behind.proxy.ask(f"{asked}&seen={seen}", bearer).body)
    assert not answer["changed"] and time.monotonic() - began >= 3


def test_a_body_is_taken_as_far_as_the_api_takes_it(behind: Behind, bearer: dict[str, str]) -> None:
    def sent(size: int) -> tuple[int, str]:
        headers = {**bearer, "Content-Type": "application/json"}
        answer = behind.proxy.ask("/v1/health-events", headers, b" " * size)
        return answer.status, answer.headers["Content-Type"]

    assert sent(4 << 20) != (413, "text/html")  # by the API, whatever it says
    assert sent((4 << 20) + 1) == (413, "text/html")  # by nginx


def test_an_export_that_breaks_off_is_not_taken_for_the_whole(behind: Behind, bearer: dict[str, str]) -> None:
    path = "/v1/trail:export?cluster=alpha&format=csv"
    whole = behind.proxy.ask(path, bearer).body.count(b"\n")
    assert whole > 10_000
    with behind.proxy.asked(path, bearer) as answer:
        answer.read(1000)
        for worker in psutil.Process(behind.pages.process.pid).children():
            worker.kill()  # gunicorn starts others
        with pytest.raises(http.client.IncompleteRead):
            answer.read()


def test_passwords_are_counted_by_the_address_that_nginx_sees(behind: Behind) -> None:
    def tried(number: int, source: str) -> bool:
        answer = sign_in(behind, "wrong", "nobody", source, claims=f"192.0.2.{number}")
        return b"do not fit together" in answer.body

    assert [tried(number, OWN) for number in range(6)] == [True] * 5 + [False]
    assert tried(7, OTHER)


@pytest.mark.parametrize("path", ["/jobs", "/ws/live", "/v1/advice:watch"])
def test_nobody_says_himself_where_he_comes_from(path: str, tmp_path: Path) -> None:
    made_up = {"X-Forwarded-For": "192.0.2.9", "X-Forwarded-Proto": "http", "Upgrade": "websocket"}
    with listening(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") as (port, heads):
        proxy = Proxy(tmp_path, port, port)
        try:
            assert proxy.ask(path, made_up, source=OTHER).status == 200
        finally:
            proxy.stop()
    lines = heads[0].lower().splitlines()
    for name, value in (("host", HOST), ("x-forwarded-for", OTHER), ("x-forwarded-proto", "https")):
        assert [line for line in lines if line.startswith(f"{name}:")] == [f"{name}: {value}"]
