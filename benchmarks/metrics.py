"""What does one turn over the metrics of a whole cluster take? Answers in Prometheus' form, made up and in memory.

`python -m benchmarks.metrics [NODES …]`: seconds of a processor to read the four answers, and to judge them with a
window that closes; the size of the answers and of the memory that is stored. Nothing is asked over a network.
"""

import argparse
import json
import time
from collections.abc import Iterable, Mapping

from detectors.metrics import SOURCES, families
from detectors.metrics.families import Labels
from detectors.metrics.jobs import Run
from detectors.metrics.snapshot import Snapshot, Sorting
from detectors.metrics.turning import turn
from detectors.stores.store import Answer

LABELS = Labels("Hostname", "gpu", "node", "device", "port")
GPUS = 8  # and as many adapters, of a node
NODES_OF_A_JOB = 10
NOW = 1_795_991_852.5
ACTIVITY = {families.UTIL: 98.0, families.POWER: 610.0, families.CLOCK: 1980.0, families.TENSOR: 0.45}
STATES = (
    families.XID,
    families.DBE,
    families.REMAP_FAILURE,
    families.BROKEN_ROWS,
    families.REPLAYS,
    families.THROTTLE[0],
    *families.NVLINK_ERRORS[:2],
)
PORT = {families.PORT_STATE: 4.0, families.RECEIVED: 1e9, families.SENT: 1e9, families.PORT_ERRORS[1]: 2.0}


def answers(nodes: Iterable[str]) -> dict[str, Answer]:
    """The four answers for these nodes, in the order of the queries."""
    rows: dict[str, list[object]] = {"ages": [], "states": [], "activity": [], "host": []}
    for node in nodes:
        for gpu in range(GPUS):
            place = {"Hostname": node, "gpu": str(gpu)}
            rows["ages"].append(_row(place, NOW - 2))
            card = {**place, "UUID": f"GPU-5a1e9c3a-7b1d-4c0e-9f00-{node[-4:]}0000{gpu:04}"}
            rows["states"] += [_row({"__name__": name, **card}, 0) for name in STATES]
            rows["activity"] += [_row({"__name__": name, **place}, value) for name, value in ACTIVITY.items()]
            port = {"node": node, "device": f"mlx5_{gpu}", "port": "1"}
            rows["host"] += [_row({"__name__": name, **port}, value) for name, value in PORT.items()]
        rows["host"] += [
            _row({"__name__": name, "node": node}, 1e12) for name in (families.MEMORY, families.MEMORY_LEFT)
        ]
    return {query: _answer(some) for query, some in rows.items()}


def measured(count: int) -> str:
    """One line of the table."""
    nodes = [f"gpu-n{number:04}" for number in range(count)]
    given = answers(nodes)
    begun = time.process_time()
    seen = _sorted(given, nodes)
    sorted_at = time.process_time()
    runs = [
        Run(number, tuple(nodes[number : number + NODES_OF_A_JOB]), 5) for number in range(0, count, NODES_OF_A_JOB)
    ]
    stored = json.dumps(turn({}, seen, runs, frozenset(nodes), NOW).state)
    judged_at = time.process_time()
    turn(json.loads(stored), seen, runs, frozenset(nodes), NOW + 61)
    ended = time.process_time()
    size = sum(len(answer.body) for answer in given.values()) / 1e6
    return (
        f"| {count:,} | {count * GPUS:,} | {len(given)} | {size:.1f} | {sorted_at - begun:.2f} "
        f"| {ended - judged_at:.2f} | {len(stored) / 1e6:.2f} |"
    )


def _sorted(given: Mapping[str, Answer], nodes: list[str]) -> Snapshot:
    sorting = Sorting(LABELS, nodes)
    for query, answer in given.items():
        sorting.take(query, SOURCES[0].samples(answer))
    return sorting.seen


def _row(labels: Mapping[str, str], value: float) -> object:
    return {"metric": labels, "value": [NOW, str(value)]}


def _answer(rows: list[object]) -> Answer:
    body = {"status": "success", "data": {"resultType": "vector", "result": rows}}
    return Answer(200, json.dumps(body, separators=(",", ":")).encode())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("nodes", nargs="*", type=int, default=[10, 100, 1_000, 2_000])
    print("| nodes | GPUs | queries | answers, MB | read, s | judge, s | memory stored, MB |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for count in parser.parse_args().nodes:
        print(measured(count), flush=True)


if __name__ == "__main__":
    main()
