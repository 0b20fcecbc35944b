"""Which rows of a listing are watched, and in what form are they stored?"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from audit.masking import masked, masked_comment
from schedulers.port import JobRow
from schedulers.states import WAITING
from workloads.stored_text import storable

WIDTHS = {
    "name": 255,
    "user": 64,
    "partition": 128,
    "word": 64,
    "reason": 255,
    "account": 128,
    "comment": 2048,  # twice what Slurm keeps: one that is too long is still seen to be
    "work_dir": 4096,
    "stdout": 4096,
    "stderr": 4096,
}
NODES_LIMIT = 65536
NODE_NAME_LIMIT = 255
LARGEST = {"restarts": 2**31 - 1, "node_count": 2**31 - 1, "user_id": 2**63 - 1}
LARGEST_NUMBER = 2**63 - 1


def watched_rows(rows: Sequence[JobRow], partitions: Iterable[str], known: Iterable[int]) -> dict[int, JobRow]:
    """The rows to be stored, by job number, with texts and numbers that every column takes.

    Watched are batch jobs of the allow-listed partitions (an empty list: all), the parts of a heterogeneous job,
    and the jobs already `known`, wherever they went since. The rest of an array that has not started yet is
    listed once per task under the number of the array; those are no jobs yet.
    """
    allowed, already = frozenset(partitions), frozenset(known)
    found: dict[int, JobRow] = {}
    unsplit = _unsplit_arrays(rows)
    for row in rows:
        if not 0 < row.number <= LARGEST_NUMBER or not 0 <= row.restarts <= LARGEST["restarts"]:
            continue
        if row.array_job is not None and row.array_task is None:
            continue  # the folded line of an array
        if row.number in unsplit and row.state in WAITING:
            continue
        if row.number in already or (_batch(row) and _allowed(row, allowed)):
            found[row.number] = row  # a number listed twice: the later line counts
    return {number: _storable(row) for number, row in found.items()}


def _unsplit_arrays(rows: Sequence[JobRow]) -> set[int]:
    """Array numbers under which more than one task is listed: tasks get numbers of their own when they start."""
    tasks: dict[int, set[int | None]] = {}
    for row in rows:
        if row.array_job == row.number:
            tasks.setdefault(row.number, set()).add(row.array_task)
    return {number for number, found in tasks.items() if len(found) > 1}


def _batch(row: JobRow) -> bool:
    return row.batch or row.het_leader not in {None, row.number}


def _allowed(row: JobRow, allowed: frozenset[str]) -> bool:
    # A waiting job may name several partitions: "main,spare".
    return not allowed or not allowed.isdisjoint(row.partition.split(","))


def _storable(row: JobRow) -> JobRow:
    texts = {name: storable(getattr(row, name), limit) for name, limit in WIDTHS.items()}
    texts["comment"] = masked_comment(texts["comment"])  # here, so that the next listing shows no other one
    texts |= {name: masked(texts[name])[: WIDTHS[name]] for name in ("reason", "word")}
    return replace(
        row,
        **(texts | {"reason": "" if row.reason == "None" else texts["reason"]}),  # type: ignore[arg-type]  # every name in WIDTHS is a text
        nodes=tuple(storable(node, NODE_NAME_LIMIT) for node in row.nodes[:NODES_LIMIT]),
        node_count=min(max(row.node_count, 0), LARGEST["node_count"]),
        user_id=_within(row.user_id, LARGEST["user_id"]),
        array_job=_within(row.array_job, LARGEST_NUMBER),
        array_task=_within(row.array_task, LARGEST_NUMBER),
        het_leader=_within(row.het_leader, LARGEST_NUMBER),
        exit_code=min(max(row.exit_code, 0), 2**31 - 1),
        exit_signal=min(max(row.exit_signal, 0), 2**31 - 1),
    )


def _within(value: int | None, most: int) -> int | None:
    return value if value is not None and 0 <= value <= most else None
