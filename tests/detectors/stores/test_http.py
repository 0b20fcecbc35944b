"""Is an answer taken only when it came whole, in time, and not too large?"""

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from detectors.stores import http as door
from detectors.stores.http import ask
from detectors.stores.store import Answer, Request, StoreTrouble, TooMuch
from lab.parts.ports import free_port
from tests.detectors.stores.served import served

REQUEST = Request("/select", {"query": 'a="b c" & ü'}, {"AccountID": "12"})
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_the_request_arrives_with_its_path_query_and_headers() -> None:
    seen: list[Request] = []

    def answering(request: Request) -> Answer:
        seen.append(request)
        return Answer(200, b"fine")

    with served(answering) as address:
        assert ask(f"{address}/behind/", REQUEST, "Bearer abc", None, 5) == Answer(200, b"fine")
    (request,) = seen
    assert (request.path, request.params) == ("/behind/select", REQUEST.params)
    assert request.headers["AccountID"] == "12" and request.headers["Authorization"] == "Bearer abc"


def test_nothing_is_followed() -> None:
    moved = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    with served(lambda _request: moved) as address:
        assert ask(address, REQUEST, "", None, 5).status == 302


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (b"", "broke off"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", "broke off"),
        (CHUNKED + b"5\r\nwhole\r\n", "broke off"),
        (CHUNKED + b"64\r\ncut", "broke off"),
        (CHUNKED + b"5\r\nwhole\r\nthe connection has been aborted", "broke off"),
        (b"220 mail.example.org ESMTP\r\n\r\n", "broke off"),
    ],
    ids=["nothing", "shorter than announced", "no last chunk", "inside a chunk", "text for a chunk", "no HTTP"],
)
def test_an_answer_that_breaks_off_is_none(sent: bytes, why: str) -> None:
    with served(lambda _request: sent) as address, pytest.raises(StoreTrouble, match=why):
        ask(address, REQUEST, "", None, 5)


def test_a_whole_chunked_answer_is_one() -> None:
    with served(lambda _request: CHUNKED + b"5\r\nwhole\r\n0\r\n\r\n") as address:
        assert ask(address, REQUEST, "", None, 5).body == b"whole"


def test_nobody_there() -> None:
    port = free_port()
    with pytest.raises(StoreTrouble, match=rf"127\.0\.0\.1:{port} cannot be reached: Connection refused"):
        ask(f"http://127.0.0.1:{port}", REQUEST, "", None, 5)


def test_a_store_that_hangs_is_left_after_the_time_limit() -> None:
    released = threading.Event()

    def hanging(_request: Request) -> Answer:
        released.wait(60)
        return Answer(200, b"")

    with served(hanging) as address, pytest.raises(StoreTrouble, match=r"no answer .* within 0\.3 s"):
        try:
            ask(address, REQUEST, "", None, 0.3)
        finally:
            released.set()


@contextmanager
def dripping() -> Iterator[str]:
    """A server that sends a byte now and then, for ever."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def drip() -> None:
        peer, _address = listener.accept()
        with peer:
            peer.recv(4096)
            peer.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while not over.wait(0.05):
                peer.sendall(b"x")

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        thread.join()
        listener.close()


def test_a_store_that_drips_is_left_after_the_time_limit() -> None:
    began = time.monotonic()
    with dripping() as address, pytest.raises(StoreTrouble, match="no answer"):
        ask(address, REQUEST, "", None, 0.4)
    assert time.monotonic() - began < 30  # of ever that it drips


def test_too_large_an_answer_is_not_read_to_its_end() -> None:
    with (
        mock.patch.object(door, "BODY_LIMIT", 1000),
        served(lambda _request: Answer(200, b"x" * 5000)) as address,
        pytest.raises(TooMuch),
    ):
        ask(address, REQUEST, "", None, 5)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1, signed by itself, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=180)
    return folder / "cert.pem", folder / "key.pem"


@contextmanager
def served_by_tls(certificate: tuple[Path, Path]) -> Iterator[str]:
    """A server behind TLS that answers each connection once."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        peer, _address = listener.accept()
        try:
            with context.wrap_socket(peer, server_side=True) as secure:
                secure.recv(4096)
                secure.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")
        except OSError:
            peer.close()

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        thread.join(60)
        listener.close()


def test_tls_with_an_authority_of_ones_own(certificate: tuple[Path, Path]) -> None:
    with served_by_tls(certificate) as address:
        assert ask(address, REQUEST, "", certificate[0], 5).body == b"secret"


def test_a_certificate_of_an_unknown_authority_is_refused(certificate: tuple[Path, Path]) -> None:
    with served_by_tls(certificate) as address, pytest.raises(StoreTrouble, match="TLS failed: CERTIFICATE_VERIFY"):
        ask(address, REQUEST, "", None, 5)
