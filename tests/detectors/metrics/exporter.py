"""What do exporters of GPUs and hosts look like? A small one whose values a test changes."""

import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from detectors.metrics import families

HEALTHY = {
    families.UTIL: 98.0,
    families.POWER: 610.0,
    families.CLOCK: 1980.0,
    families.TENSOR: 0.45,
    families.XID: 0.0,
    families.DBE: 0.0,
    families.REMAP_FAILURE: 0.0,
    families.BROKEN_ROWS: 0.0,
    families.REPLAYS: 3.0,
    families.THROTTLE[0]: 4.0,
    families.NVLINK_ERRORS[0]: 0.0,
}
PORT = {
    families.PORT_STATE: 4.0,
    families.RECEIVED: 1e9,
    families.SENT: 1e9,
    families.LINK_DOWNED: 0.0,
    families.PORT_ERRORS[1]: 2.0,
}
MEMORY = {families.MEMORY: 1e12, families.MEMORY_LEFT: 6e11}


class Exporter:
    """Nodes with GPUs and a port each, in the text format, on a port of the loopback. `answers` off: HTTP 500."""

    def __init__(self, nodes: tuple[str, ...] = ("n01", "n02", "n03"), gpus: int = 2) -> None:
        self.gpus: dict[tuple[str, int], dict[str, Any]] = {
            (node, gpu): dict(HEALTHY) for node in nodes for gpu in range(gpus)
        }
        self.hosts: dict[str, dict[str, Any]] = {node: {**PORT, **MEMORY} for node in nodes}
        self.stamped = False
        self.answers = True
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """Where it is scraped."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    def set(self, node: str, gpu: int, **values: float) -> None:
        """Change values of one GPU, by the names of `detectors.metrics.families`."""
        with self._lock:
            self.gpus[node, gpu].update({getattr(families, name): value for name, value in values.items()})

    def set_all(self, **values: float) -> None:
        """Change values of every GPU."""
        for node, gpu in self.gpus:
            self.set(node, gpu, **values)

    def page(self) -> str:
        """All series. The host's are those of a node exporter behind a proxy that writes `instance` itself."""
        with self._lock:
            rows = [
                _row(name, {"Hostname": node, "gpu": str(gpu), "UUID": f"GPU-{node}-{gpu}", "device": "x"}, value)
                for (node, gpu), values in self.gpus.items()
                for name, value in values.items()
            ]
            for node, values in self.hosts.items():
                for name, value in values.items():
                    place = {"node": node} if name in MEMORY else {"node": node, "device": "mlx5_0", "port": "1"}
                    rows.append(_row(name, place, value))
        return "\n".join(rows) + "\n"

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        exporter = self

        class Page(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = exporter.page().encode() if exporter.answers else b"out of order"
                self.send_response(200 if exporter.answers else 500)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_args: object) -> None:
                """Say nothing."""

        return Page


def _row(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{label}="{text}"' for label, text in labels.items())
    return f"{name}{{{inside}}} {value}"
