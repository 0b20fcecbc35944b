"""How is the site started as `deploy/` says: by the units' own commands, behind nginx with the sample?"""

import http.client
import os
import pwd
import re
import shlex
import signal
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from lab.parts.ports import free_port
from lab.parts.running import PYTHON, ROOT, Running, clean_environment, until
from tests.site.test_exposure import PRODUCTION

HOST = "rekindle.example.org"
OWN = "127.0.0.1"
OTHER = "127.0.0.2"  # another machine, as far as nginx can see
MIGRATE = """
from django.core.management import call_command
call_command("migrate", verbosity=0)
"""
AROUND = """
daemon off;
worker_processes 1;
user {user};
pid {folder}/nginx.pid;
error_log stderr warn;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/sample.conf;
}}
"""


class Came(NamedTuple):
    """An answer."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes


class Proxy:
    """nginx with the sample, on ports of its own; `pages` and `sockets` are the ports behind it."""

    def __init__(self, folder: Path, pages: int, sockets: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.plain, self.port = free_port(), free_port()
        certificate = folder / "rekindle.crt"
        make_certificate(certificate, folder / "rekindle.key")
        self.trust = ssl.create_default_context(cafile=str(certificate))
        sample = (ROOT / "deploy" / "nginx.conf").read_text()
        for old, new in {
            "listen 80;": f"listen {OWN}:{self.plain};",
            "listen 443 ssl;": f"listen {OWN}:{self.port} ssl;",
            f"{OWN}:8001": f"{OWN}:{pages}",
            f"{OWN}:8002": f"{OWN}:{sockets}",
            "/etc/ssl/": f"{folder}/",
        }.items():
            assert old in sample
            sample = sample.replace(old, new)
        (folder / "sample.conf").write_text(sample)
        user = pwd.getpwuid(os.geteuid()).pw_name
        (folder / "nginx.conf").write_text(AROUND.format(folder=folder, user=user))
        self._process = Running(
            ["/usr/sbin/nginx", "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")], {}
        )
        until(self._listens, 30, self._process.text, pause=0.05)

    def _listens(self) -> bool:
        assert self._process.process.poll() is None, self._process.text()
        with socket.socket() as probe:
            return probe.connect_ex((OWN, self.port)) == 0

    def stop(self) -> None:
        """End nginx."""
        self._process.end(signal.SIGTERM)

    def ask(
        self, path: str, headers: Mapping[str, str] | None = None, body: bytes | None = None, source: str = OWN
    ) -> Came:
        """One question over TLS, as a client at the address `source` puts it."""
        with self.asked(path, headers, body, source) as answer:
            return Came(answer.status, answer.headers, answer.read())

    @contextmanager
    def asked(
        self,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        source: str = OWN,
        plain: bool = False,
    ) -> Iterator[http.client.HTTPResponse]:
        """The same with an answer that is still to be read; `plain`: without TLS."""
        connection = http.client.HTTPConnection(HOST, timeout=60)
        port = self.plain if plain else self.port
        connection.sock = socket.create_connection((OWN, port), timeout=60, source_address=(source, 0))
        try:
            if not plain:
                connection.sock = self.trust.wrap_socket(connection.sock, server_hostname=HOST)
            connection.request("GET" if body is None else "POST", path, body, dict(headers or {}))
            with connection.getresponse() as answer:
                yield answer
        finally:
            connection.close()


class Behind:
    """The pages' and the sockets' server by the commands of their units, and nginx before them.

    `make` is run in the new database before they start; what it prints is `printed`.
    """

    def __init__(self, folder: Path, make: str) -> None:
        self.environment = {**PRODUCTION, "REKINDLE_STATE_DIR": str(folder / "state")}
        pages, sockets = free_port(), free_port()
        self.printed = self.manage("shell", "-v", "0", "-c", f"{MIGRATE}\n{make}")
        self._ends = ExitStack()
        try:
            self.pages = self._run("web", f"{OWN}:8001", f"{OWN}:{pages}")
            self.sockets = self._run("sockets", "--port 8002", f"--port {sockets}")
            self.proxy = Proxy(folder / "nginx", pages, sockets)
            self._ends.callback(self.proxy.stop)
            until(lambda: is_ready(pages), 240, self.pages.text)
            until(lambda: is_ready(sockets), 240, self.sockets.text)
        except BaseException:
            self.stop()
            raise

    def _run(self, unit: str, old: str, new: str) -> Running:
        running = Running(command_of(unit, old, new), self.environment)
        self._ends.callback(running.end, signal.SIGTERM)
        return running

    def manage(self, *words: str) -> str:
        """One of the site's commands; what it printed."""
        environment = clean_environment() | self.environment
        command = [PYTHON, "manage.py", *words]
        run = subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    def stop(self) -> None:
        """End all that was started."""
        self._ends.close()


def command_of(unit: str, old: str, new: str) -> list[str]:
    """The command of a unit with another port, by the Python that runs the tests."""
    text = (ROOT / "deploy" / "systemd" / f"rekindle-{unit}.service").read_text()
    found = re.search(r"^ExecStart=/opt/rekindle/\.venv/bin/(.*)$", text, re.MULTILINE)
    assert found and old in found.group(1)
    return [PYTHON, "-m", *shlex.split(found.group(1).replace(old, new))]


def is_ready(port: int) -> bool:
    """Whether a server says so at its own address, as a probe asks it."""
    connection = http.client.HTTPConnection(OWN, port, timeout=30)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def make_certificate(certificate: Path, key: Path) -> None:
    """A throw-away certificate of the sample's host, signed by itself."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True, timeout=180,
    )  # fmt: skip


@contextmanager
def listening(answer: bytes) -> Iterator[tuple[int, list[str]]]:
    """A server that says the same to everybody: its port, and the heads of what it was asked."""
    heads: list[str] = []
    with socket.create_server((OWN, 0)) as door:

        def serve() -> None:
            while True:
                try:
                    peer, _address = door.accept()
                except OSError:
                    return
                with peer:
                    head = b""
                    while b"\r\n\r\n" not in head and (more := peer.recv(65536)):
                        head += more
                    heads.append(head.decode())
                    peer.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield door.getsockname()[1], heads
        door.shutdown(socket.SHUT_RDWR)
        thread.join(10)
