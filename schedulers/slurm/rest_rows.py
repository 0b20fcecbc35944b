"""What do the answers of slurmrestd tell? The same rows as the commands', value by value.

Where Slurm's commands work something out of what slurmctld says, the same is worked out here: a listing must not
depend on the way that it came. Each function raises `ValueError` with a sentence.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from schedulers.hostlist import expand
from schedulers.observation import LATEST
from schedulers.port import JobRow, NodeRow
from schedulers.slurm.listing import fold, span
from schedulers.slurm.values import NOTHING, exit_status, state
from schedulers.states import JobState

NO_VALUE = 2**32 - 2  # what the commands print for a number that Slurm has not set

_JOB = frozenset(
    {
        "account",
        "admin_comment",
        "array_job_id",
        "array_task_id",
        "array_task_string",
        "batch_flag",
        "comment",
        "current_working_directory",
        "dependency",
        "eligible_time",
        "end_time",
        "excluded_nodes",
        "exit_code",
        "het_job_id",
        "job_id",
        "job_state",
        "name",
        "node_count",
        "nodes",
        "partition",
        "priority",
        "requeue",
        "required_nodes",
        "restart_cnt",
        "standard_error",
        "standard_output",
        "start_time",
        "state_description",
        "state_reason",
        "submit_time",
        "user_id",
        "user_name",
    }
)
_NODE = frozenset(
    {
        "boot_time",
        "name",
        "partitions",
        "reason",
        "reason_changed_at",
        "reason_set_by_user",
        "state",
        "state_flags",
    }
)
_AROUND = frozenset({"jobs", "nodes", "errors", "description", "error", "error_number", "pings", "ping"})
WANTED = _JOB | _NODE | _AROUND | frozenset({"statistics", "req_time", "meta", "Slurm", "release"})


def jobs(content: Mapping[str, Any]) -> tuple[JobRow, ...]:
    """Every job of an answer."""
    return fold(_job(_record(one)) for one in _list(content, "jobs"))


def excluded_nodes(content: Mapping[str, Any], number: int) -> tuple[str, ...]:
    """The excluded nodes of one job of an answer."""
    for one in map(_record, _list(content, "jobs")):
        if one.get("job_id") == number:
            return expand(_text(one, "excluded_nodes"))
    raise ValueError(f"The answer shows no job {number}.")


def nodes(content: Mapping[str, Any]) -> tuple[NodeRow, ...]:
    """Every node of an answer."""
    return tuple(_node(_record(one)) for one in _list(content, "nodes"))


def clock(content: Mapping[str, Any]) -> datetime:
    """The controller's time: that of the answer to a question for its statistics."""
    at = _time(_record(content.get("statistics")), "req_time")
    if at is None:
        raise ValueError("The statistics show no time.")
    return at


def is_up(content: Mapping[str, Any]) -> bool:
    """Whether a controller, the primary or a backup, answered a ping."""
    return any(_record(one).get("ping") == "UP" for one in _list(content, "pings"))


def release(content: Mapping[str, Any]) -> str:
    """Slurm's version."""
    return _text(_record(_record(content.get("meta")).get("Slurm")), "release")


def _job(of: Mapping[str, Any]) -> JobRow:
    word = _text(of, "job_state")
    priority = NO_VALUE if of.get("priority", 0) is None else _whole(of, "priority")
    known = state(word, priority)
    started_at, ended_at = span(_time(of, "start_time"), _time(of, "end_time"), known)
    code, signal = exit_status(str(_whole(of, "exit_code")))
    listed, required = expand(_text(of, "nodes")), expand(_text(of, "required_nodes"))
    array_task, first_task = _tasks(of)
    row = JobRow(
        number=_whole(of, "job_id"),
        name=_text(of, "name"),
        user=_text(of, "user_name"),
        partition=_text(of, "partition"),
        state=known,
        word=word,
        reason=_reason(of),
        restarts=_whole(of, "restart_cnt"),
        submitted_at=_time(of, "submit_time"),
        started_at=started_at,
        ended_at=ended_at,
        exit_code=code,
        exit_signal=signal,
        nodes=listed,
        node_count=_node_count(known, _whole(of, "node_count"), len(listed), len(required)),
        account=_text(of, "account"),
        user_id=_whole(of, "user_id"),
        array_job=None if first_task is None else _whole(of, "array_job_id"),
        array_task=array_task,
        het_leader=_whole(of, "het_job_id") or None,
        batch=_flag(of, "batch_flag"),
        requeue_allowed=_flag(of, "requeue"),
        priority=priority,
        comment=_text(of, "comment"),
        admin_comment=_text(of, "admin_comment"),
        work_dir=_text(of, "current_working_directory"),
        dependency=_text(of, "dependency"),
        required_nodes=required,
        eligible_at=_time(of, "eligible_time"),
    )
    return _with_outputs(row, _text(of, "standard_output"), _text(of, "standard_error"))


def _with_outputs(row: JobRow, stdout: str, stderr: str) -> JobRow:
    """As squeue names them: Slurm's own name where none is given, and errors beside what a batch job prints."""
    stdout = stdout or f"{row.work_dir}/slurm-{row.number}.out"
    return replace(row, stdout=stdout, stderr=stderr or (stdout if row.batch else ""))


def _reason(of: Mapping[str, Any]) -> str:
    reason = _text(of, "state_description") or _text(of, "state_reason")
    return "" if reason in NOTHING else reason


def _tasks(of: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """A job's task of an array, and the first of its tasks. A record of several waiting ones has only the second.

    The text that lists those is cut where it gets long, so no more is read from it than its first number.
    """
    if (task := of.get("array_task_id")) is not None:
        return (number := _number(task, "array_task_id")), number
    listed = re.match(r"(\d{1,10})(?:%\d{1,10})?(\Z)?", _text(of, "array_task_string"), re.ASCII)
    if listed is None:
        return None, None
    return int(listed[1]) if listed[2] is not None else None, int(listed[1])


def _node_count(known: JobState, told: int, listed: int, required: int) -> int:
    """As squeue counts: of a job that ends the nodes that are left, of a waiting one at least those it names."""
    if known is JobState.COMPLETING:
        return listed
    return max(told, required) if known in {JobState.PENDING, JobState.HELD} else told


def _node(of: Mapping[str, Any]) -> NodeRow:
    flags = [_words(flag, "state_flags") for flag in _list(of, "state_flags")]
    return NodeRow(
        name=_text(of, "name"),
        states=tuple(word.lower() for word in (_text(of, "state"), *flags)),
        reason=" ".join(_text(of, "reason").split()),
        reason_by="" if of.get("reason_set_by_user", "") is None else _text(of, "reason_set_by_user"),
        reason_at=_time(of, "reason_changed_at"),
        booted_at=_time(of, "boot_time"),
        partitions=tuple(_words(name, "partitions") for name in _list(of, "partitions")),
    )


def _record(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("The answer holds something that is no record.")
    return value


def _list(of: Mapping[str, Any], name: str) -> Sequence[Any]:
    value = of.get(name)
    if not isinstance(value, list):
        raise ValueError(f"The answer has no list '{name}'.")
    return value


def _text(of: Mapping[str, Any], name: str) -> str:
    if name not in of:
        raise ValueError(f"A record of the answer has no '{name}'; is it another version of the API?")
    return _words(of[name], name)


def _words(value: Any, name: str) -> str:
    """A text that can be stored and sent: no lone surrogates."""
    if not isinstance(value, str):
        raise ValueError(f"'{name}' is no text.")
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def _whole(of: Mapping[str, Any], name: str) -> int:
    if name not in of:
        raise ValueError(f"A record of the answer has no '{name}'; is it another version of the API?")
    return _number(of[name], name)


def _number(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise ValueError(f"'{name}' is no number without sign.")
    return value


def _flag(of: Mapping[str, Any], name: str) -> bool:
    value = of.get(name)
    if not isinstance(value, bool):
        raise ValueError(f"'{name}' is neither true nor false.")
    return value


def _time(of: Mapping[str, Any], name: str) -> datetime | None:
    """Epoch seconds, `LATEST` at most; nothing for 0 and for null."""
    if name in of and of[name] is None:
        return None
    seconds = _whole(of, name)
    if not seconds:
        return None
    try:
        return min(datetime.fromtimestamp(seconds, UTC), LATEST)
    except (ValueError, OverflowError, OSError) as error:
        raise ValueError(f"'{name}' is a time beyond the calendar.") from error
