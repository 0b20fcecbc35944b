"""What do the tests of dumps build their files from? The recorder's own field names, made-up ranks."""

import json
import pickle
from collections.abc import Sequence
from typing import Any

BASE = 1_796_000_000  # epoch seconds of the first entry
DEFAULT = ("0", "default_pg")


def entry(number: int, seq: int, state: str, **changes: Any) -> dict[str, Any]:
    """One collective, `number` seconds after the first."""
    at = (BASE + number) * 10**9
    return {
        "frames": [{"name": "step", "filename": "train.py", "line": 42}],
        "record_id": number,
        "pg_id": 0,
        "process_group": DEFAULT,
        "collective_seq_id": seq,
        "p2p_seq_id": 0,
        "op_id": number,
        "profiling_name": "nccl:all_reduce",
        "time_created_ns": at,
        "input_sizes": [[4, 4]],
        "input_dtypes": ["Float"],
        "output_sizes": [[4, 4]],
        "output_dtypes": ["Float"],
        "state": state,
        "time_discovered_started_ns": None if state == "scheduled" else at,
        "time_discovered_completed_ns": at if state == "completed" else None,
        "retired": state == "completed",
        "timeout_ms": 600_000,
        "is_p2p": False,
        **changes,
    }


def dump(entries: Sequence[dict[str, Any]], world: int = 8, **changes: Any) -> dict[str, Any]:
    """The dump of one rank of a job with one group of all."""
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": str(list(range(world)))}}
    return {"version": "2.10", "pg_config": config, "pg_status": {}, "entries": list(entries), **changes}


def trained(last: int, state: str = "completed", seq: int | None = None, **changes: Any) -> list[dict[str, Any]]:
    """Completed collectives 1 to `last`, then one more in `state`, unless that is `completed`."""
    entries = [entry(number, number, "completed") for number in range(1, last + 1)]
    if state != "completed":
        entries.append(entry(last + 1, last + 1 if seq is None else seq, state, **changes))
    return entries


def pickled(values: Any, protocol: int = 2) -> bytes:
    """As the recorder writes it: protocol 2 and nothing but containers and scalars."""
    return pickle.dumps(values, protocol=protocol)


def written(values: Any) -> bytes:
    """As `_dump_nccl_trace_json` writes it."""
    return json.dumps(values).encode()
