"""What does the scheduler say of a job's end? Read from what `sacct --json` prints, or from the plain fields.

Plain fields, all optional: `state`, `exit_code` (`"1:9"` or a number), `nodes` (an expression or a list), `start`,
`end` (epoch seconds or ISO 8601), `job_id`, `user`, `partition`, `cluster`, `restarts`, `reason`; the columns'
names of sacct (`ExitCode`, `NodeList`, `JobIDRaw`, …) are understood as well.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from schedulers.hostlist import expand, is_node_name
from schedulers.slurm.values import exit_status, state
from schedulers.states import FINAL, JobState

LONGEST = 16 << 20  # bytes of the JSON
NODES_LIMIT = 65_536


class BadAccounting(ValueError):
    """It cannot be used; one sentence says why."""


@dataclass(frozen=True)
class Told:
    """What the scheduler told. `state` is `None` when nobody asked it. `until`: newest moment that it speaks of."""

    state: JobState | None = None
    word: str = ""
    reason: str = ""
    nodes: tuple[str, ...] = ()
    exit_code: int | None = None
    exit_signal: int | None = None
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    until: datetime | None = None
    job: str = ""
    user: str = ""
    partition: str = ""
    cluster: str = ""
    restarts: int = 0

    @property
    def number(self) -> int:
        """The job's number, 0 when it is not known."""
        return int(self.job) if self.job.isascii() and self.job.isdigit() and len(self.job) < 19 else 0


def read_accounting(text: str) -> Told:
    """What the JSON says of one job: of its last attempt when there are several. Raises `BadAccounting`."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        raise BadAccounting("The scheduler's file is no JSON.") from None
    rows = told.get("jobs") if isinstance(told, dict) and "jobs" in told else told
    rows = rows if isinstance(rows, list) else [rows]
    jobs = [_plain(row) for row in rows if isinstance(row, Mapping)]
    if not jobs:
        raise BadAccounting("The scheduler's file speaks of no job.")
    try:
        read = [_told(job) for job in jobs]
    except (ValueError, TypeError, OverflowError, OSError) as error:
        raise BadAccounting(f"The scheduler's file cannot be used: {str(error)[:200]}") from None
    if len({one.job for one in read}) > 1:
        raise BadAccounting("The scheduler's file speaks of several jobs; ask sacct for one of them.")
    never = datetime.fromtimestamp(0, UTC)
    return max(read, key=lambda one: one.started_at or one.submitted_at or never)


_NAMES = {
    "nodelist": "nodes",
    "jobid": "job",
    "jobidraw": "job",
    "returncode": "exitcode",
    "submit": "submission",
    "restartcnt": "restarts",
    "account": "",
}


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Names without case and underscores, times of sacct's own JSON lifted out of their object."""
    flat = {**row, **(row["time"] if isinstance(row.get("time"), Mapping) else {})}
    named = {str(name).lower().replace("_", ""): value for name, value in flat.items()}
    found: dict[str, Any] = {}
    for name, value in named.items():
        found.setdefault(_NAMES.get(name, name), value)
    return found


def _told(row: Mapping[str, Any]) -> Told:
    word, reason = _state(row)
    known = state(word) if word else None
    code, number = _exit(row.get("exitcode"))
    started_at, ended_at = _moment(row.get("start")), _moment(row.get("end"))
    elapsed = _number(row.get("elapsed"))
    until = ended_at
    if known not in FINAL:
        ended_at = None
        until = started_at + timedelta(seconds=elapsed) if started_at and elapsed else None
    return Told(
        state=known,
        word=word,
        reason=reason,
        nodes=_nodes(row.get("nodes")),
        exit_code=code,
        exit_signal=number,
        submitted_at=_moment(row.get("submission")),
        started_at=started_at,
        ended_at=ended_at,
        until=until,
        job=str(_number(row.get("job")) or row.get("job") or "")[:64],
        user=_text(row.get("user")),
        partition=_text(row.get("partition")),
        cluster=_text(row.get("cluster")),
        restarts=_number(row.get("restarts")) or 0,
    )


def _state(row: Mapping[str, Any]) -> tuple[str, str]:
    """Slurm's word, and its reason; `CANCELLED by 0` is one word, and newer versions give a list of them."""
    value, reason = row.get("state"), row.get("reason")
    if isinstance(value, Mapping):
        reason = value.get("reason", reason)
        value = value.get("current")
    if isinstance(value, list):
        value = value[0] if value else ""
    return _text(value).split(" ")[0].upper(), "" if reason in (None, "None") else _text(reason)


def _exit(value: Any) -> tuple[int | None, int | None]:
    if value is None:
        return None, None
    if isinstance(value, str):
        return exit_status(value)
    if not isinstance(value, Mapping):
        return _number(value), None
    ended_by = value.get("signal")
    if isinstance(ended_by, Mapping):
        ended_by = ended_by.get("id", ended_by.get("signal_id"))
    return _number(value.get("return_code")), _number(ended_by) or 0


def _number(value: Any) -> int | None:
    """A whole number, also as newer versions write one: with `set` and `number`."""
    if isinstance(value, Mapping):
        value = value.get("number") if value.get("set") else None
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value[:19])
    if value is None or isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < 1 << 62 else None


def _moment(value: Any) -> datetime | None:
    number = _number(value)
    if number is not None:
        return datetime.fromtimestamp(number, UTC) if number else None
    if not isinstance(value, str) or value in ("", "Unknown", "None", "N/A"):
        return None
    try:
        read = datetime.fromisoformat(value)
    except ValueError:
        raise ValueError(f"{value[:40]!r} is no time.") from None
    return read.astimezone(UTC) if read.tzinfo is not None else read.replace(tzinfo=UTC)


def _nodes(value: Any) -> tuple[str, ...]:
    if isinstance(value, list):
        names = tuple(str(name) for name in value[:NODES_LIMIT])
    else:
        names = expand(_text(value), NODES_LIMIT)
    wrong = next((name for name in names if not is_node_name(name)), None)
    if wrong is not None:
        raise ValueError(f"{wrong[:40]!r} is no name of a node.")
    return tuple(dict.fromkeys(names))


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else ""
    return "".join(character if character.isprintable() else " " for character in text[: 1 << 20]).strip()
