"""Does a real store give every line once? Run where LOKI_BIN or VICTORIALOGS_BIN names its program."""

import http.client
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from detectors.stores import STORES
from detectors.stores.http import ask
from detectors.stores.paging import answered, begin, failed
from detectors.stores.seen import OVERLAP, Cursor
from detectors.stores.store import Line, Store, StoreTrouble
from detectors.stores.victorialogs import stamp_of
from lab.parts.ports import free_port
from tests.detectors.stores.pretend import Pretend, Row, recorded_rows
from tests.detectors.stores.recorded import T0
from tests.detectors.stores.test_paging import ALL, expected, texts

SECOND = 1_000_000_000
BINARIES = {"loki": "LOKI_BIN", "victorialogs": "VICTORIALOGS_BIN"}
NAMED = [store for store in STORES if os.environ.get(BINARIES[store.name])]
LOKI = """
auth_enabled: false
server:
  {http_listen_address: 127.0.0.1, http_listen_port: PORT, grpc_listen_address: 127.0.0.1, grpc_listen_port: 0}
common:
  path_prefix: FOLDER
  replication_factor: 1
  ring: {instance_addr: 127.0.0.1, kvstore: {store: inmemory}}
  storage: {filesystem: {chunks_directory: FOLDER/chunks, rules_directory: FOLDER/rules}}
schema_config:
  configs:
    - {from: 2024-01-01, store: tsdb, object_store: filesystem, schema: v13, index: {prefix: index_, period: 24h}}
analytics: {reporting_enabled: false}
"""


def command(store: Store, folder: Path, port: int) -> list[str]:
    program = os.environ[BINARIES[store.name]]
    if store.name == "victorialogs":
        return [program, f"-storageDataPath={folder}", f"-httpListenAddr=127.0.0.1:{port}"]
    settings = folder / "loki.yaml"
    settings.write_text(LOKI.replace("PORT", str(port)).replace("FOLDER", str(folder)))
    return [program, f"-config.file={settings}"]


def post(address: str, target: str, body: str, kind: str) -> int:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=10)
    try:
        connection.request("POST", target, body.encode("utf-8", "surrogatepass"), {"Content-Type": kind})
        return connection.getresponse().status
    finally:
        connection.close()


def push(store: Store, address: str, rows: list[Row]) -> None:
    """Every line, as a shipper would."""
    if store.name == "loki":
        streams = [
            {"stream": dict(row.labels), "values": [[str(row.ns), row.text, dict(row.fields)]]} for row in rows
        ]
        assert post(address, "/loki/api/v1/push", json.dumps({"streams": streams}), "application/json") == 204
        return
    names = sorted({name for row in rows for name in row.labels})
    query = urlencode({"_stream_fields": ",".join(names), "_time_field": "time", "_msg_field": "line"})
    lines = [{"time": stamp_of(row.ns), "line": row.text, **row.labels, **row.fields} for row in rows]
    body = "".join(json.dumps(line) + "\n" for line in lines)
    assert post(address, f"/insert/jsonline?{query}", body, "application/stream+json") == 200


@pytest.fixture(params=NAMED, ids=lambda store: store.name)
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, str]]:
    """A store of its own, ready to take lines."""
    store: Store = request.param
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command(store, tmp_path, port), stdout=log, stderr=log)
        try:
            for _second in range(60):
                try:
                    push(store, address, [Row(time.time_ns(), "ready", {"probe": "1"})])
                    break
                except (OSError, AssertionError, http.client.HTTPException):
                    assert process.poll() is None, (tmp_path / "log").read_text()[-2000:]
                    time.sleep(1)
            yield store, address
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def read(store: Store, address: str, cursor: Cursor, end: int, page: int) -> tuple[Cursor, list[Line]]:
    state, new = begin(cursor.start(OVERLAP), end, page, store.instant), []
    while not state.done:
        try:
            request = store.request(ALL, "", state.questions[0])
            state, complete = answered(state, store.lines(ask(address, request, "", None, 10)))
        except StoreTrouble as trouble:
            state, complete = failed(state, trouble), ()
        fresh = cursor.new(complete)
        cursor = cursor.taking(fresh)
        new += fresh
    return cursor, new


def test_every_line_of_a_real_store_comes_once(running: tuple[Store, str]) -> None:
    store, address = running
    shift = (time.time_ns() // SECOND - 1200) * SECOND - T0
    pretend = Pretend(store.name)
    pretend.rows = [Row(row.ns + shift, row.text, row.labels, row.fields) for row in recorded_rows(store.name)]
    push(store, address, pretend.rows)
    time.sleep(15)  # a new stream of VictoriaLogs that was asked for too early stays empty for ten seconds
    for page in (1, 7, 31, 2000):
        begun = Cursor.at(T0 + shift)
        cursor, new = read(store, address, begun, T0 + shift + 600 * SECOND, page)
        assert texts(new) == expected(pretend), page
        assert read(store, address, cursor, T0 + shift + 600 * SECOND, page)[1] == []
