"""What did real log stores answer? Golden answers of Loki and VictoriaLogs, one folder for each version."""

import json
from pathlib import Path
from typing import Any

from detectors.stores.store import Answer

FOLDER = Path(__file__).parent / "recordings"
VERSIONS = {"loki": "loki-2026-08-22", "victorialogs": "victorialogs-1.26.0"}
T0 = 1_795_960_800 * 1_000_000_000  # 2026-11-29T14:00:00Z
PUSHED = {
    "loki": (
        "push_progress",
        "push_nccl_structured_metadata",
        "push_kernel",
        "push_odd_lines",
        "push_burst_one_instant",
        "push_out_of_order",
        "push_duplicates",
        "push_same_line_two_ranks",
        "push_other_cluster",
        "push_traceback_split",
    ),
    "victorialogs": (
        "insert_progress",
        "insert_nccl",
        "insert_kernel",
        "insert_odd_lines",
        "insert_burst_one_instant",
        "insert_out_of_order",
        "insert_duplicates",
        "insert_other_cluster",
        "insert_traceback_split",
    ),
}


def case(store: str, name: str) -> dict[str, Any]:
    """One recorded request with its response."""
    found: dict[str, Any] = json.loads((FOLDER / VERSIONS[store] / f"{name}.json").read_text())
    return found


def answer(store: str, name: str) -> Answer:
    """A recorded answer as it comes out of the network."""
    response = case(store, name)["response"]
    return Answer(response["status"], response["body"].encode("utf-8", "surrogatepass"))
