"""What does a job's own comment ask for? Its opt-in, its resume mode, its workflow and its logs.

`{"nvidia-recovery": {"environment": …, "mode": …}, "APS": {"auto_resume_mode": …, "max_requeue_times": …}}`.
Our own keys `workflowId` and `logs` stand at the top or inside `nvidia-recovery`; the inner one wins.
Other keys belong to others and are passed over. A comment that cannot be understood asks for nothing: the job is
watched in monitor mode, and the sentence says why.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workloads.mode import Mode
from workloads.stored_text import storable
from workloads.wish import Wish

COMMENT_BYTES = 1024  # Slurm's own limit of a comment
LOGS_LIMIT = 8  # patterns; the logs of a job are read every second
PATTERN_LIMIT = 1024  # characters of one pattern: what the comment itself can hold
RESUME_MODES = ("requeue", "singleton_dependency")
REQUEUE_LIMIT = 1_000_000

RECOVERY, APS = "nvidia-recovery", "APS"


@dataclass(frozen=True)
class OptIn:
    """What a comment asks for. `mode` is `None` when it says nothing about it: neither yes nor no.

    `max_requeue_times` only ever lowers the policy's own limit; `None`: not given.
    """

    environment: str = ""
    mode: Mode | None = None
    auto_resume_mode: str = ""
    max_requeue_times: int | None = None
    workflow_id: str = ""
    logs: tuple[str, ...] = ()

    @property
    def wants_action(self) -> bool:
        """Whether the job itself asks that Rekindle acts on it."""
        return self.mode is Mode.ACTION

    @property
    def wants_peace(self) -> bool:
        """Whether the job asks to be left alone, which counts where a cluster is opt-out."""
        return self.mode is not None and self.mode is not Mode.ACTION

    @property
    def wish(self) -> Wish:
        """In one word; that a comment was not understood is not known here."""
        if self.mode is None:
            return Wish.NOTHING
        return Wish.ACTION if self.wants_action else Wish.PEACE

    def stored(self) -> dict[str, Any]:
        """The JSON of `Job.opt_in`; `{}` when the comment asks for nothing."""
        if self == OptIn():
            return {}
        return {
            "environment": self.environment,
            "mode": self.mode.value if self.mode else "",
            "auto_resume_mode": self.auto_resume_mode,
            "max_requeue_times": self.max_requeue_times,
            "workflow_id": self.workflow_id,
            "logs": list(self.logs),
            "wants_action": self.wants_action,
        }


def read_stored(stored: Mapping[str, Any]) -> OptIn:
    """The opt-in that `OptIn.stored` wrote."""
    return OptIn(
        environment=stored.get("environment", ""),
        mode=Mode.read(stored["mode"]) if stored.get("mode") else None,
        auto_resume_mode=stored.get("auto_resume_mode", ""),
        max_requeue_times=stored.get("max_requeue_times"),
        workflow_id=stored.get("workflow_id", ""),
        logs=tuple(stored.get("logs", ())),
    )


class _Refused(Exception):
    """The sentence that says what is wrong with a comment."""


def read_comment(comment: str) -> tuple[OptIn, str]:
    """The opt-in of a comment, and `""` or one sentence that says why it was not understood.

    An empty comment, and JSON that has none of our keys, ask for nothing and are no mistake.
    """
    if not comment.strip():
        return OptIn(), ""
    try:
        return _opt_in(_as_object(comment)), ""
    except _Refused as refusal:
        return OptIn(mode=Mode.MONITOR), str(refusal)
    except RecursionError:
        return OptIn(mode=Mode.MONITOR), "The comment is nested too deeply."


def _as_object(comment: str) -> dict[str, Any]:
    if len(comment.encode("utf-8", "surrogatepass")) > COMMENT_BYTES:
        raise _Refused(f"The comment is longer than {COMMENT_BYTES} bytes, the most that Slurm keeps.")
    try:
        value = json.loads(comment, object_pairs_hook=_without_repeats)
    except ValueError as error:
        raise _Refused(_why_no_json(comment, error)) from None
    if not isinstance(value, dict):
        raise _Refused('The comment must be a JSON object, e.g. {"nvidia-recovery": {"mode": "action"}}.')
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Refused(f"The comment has {_shown(twice)} twice.")
    return found


def _why_no_json(comment: str, error: ValueError) -> str:
    text = comment.strip()
    if text.startswith("{") and '"' not in text:
        return (
            f"The comment arrived as {storable(text, 60)} without double quotes, so it is no JSON: "
            """write it in single quotes, e.g. #SBATCH --comment='{"nvidia-recovery": {"mode": "action"}}'."""
        )
    where = f" (character {error.pos + 1}: {error.msg})" if isinstance(error, json.JSONDecodeError) else ""
    return f"The comment is no JSON{where}."


def _opt_in(found: dict[str, Any]) -> OptIn:
    recovery, aps = _part(found, RECOVERY), _part(found, APS)
    ours = {name: recovery.get(name, found.get(name)) for name in ("workflowId", "logs")}
    return OptIn(
        environment=_text(recovery.get("environment"), f"{RECOVERY}.environment", 64),
        mode=_mode(recovery.get("mode")),
        auto_resume_mode=_resume_mode(aps.get("auto_resume_mode")),
        max_requeue_times=_count(aps.get("max_requeue_times")),
        workflow_id=_text(ours["workflowId"], "workflowId", 256),
        logs=_logs(ours["logs"]),
    )


def _part(found: dict[str, Any], name: str) -> dict[str, Any]:
    part = found.get(name, {})
    if not isinstance(part, dict):
        raise _Refused(f"{name} must be an object, not {_shown(part)}.")
    return part


def _text(value: Any, name: str, limit: int) -> str:
    if value is None:
        return ""
    if not isinstance(value, str) or not 0 < len(value) <= limit:
        raise _Refused(f"{name} must be a text of 1 to {limit} characters, not {_shown(value)}.")
    return storable(value, limit)


def _mode(value: Any) -> Mode | None:
    if value is None:
        return None
    try:
        return Mode.read(value)
    except ValueError:
        known = ", ".join([*Mode, "observe"])
        raise _Refused(f"{RECOVERY}.mode must be one of {known}, not {_shown(value)}.") from None


def _resume_mode(value: Any) -> str:
    if value is None:
        return ""
    if value not in RESUME_MODES:
        raise _Refused(f"{APS}.auto_resume_mode must be one of {', '.join(RESUME_MODES)}, not {_shown(value)}.")
    return str(value)


def _count(value: Any) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= REQUEUE_LIMIT:
        raise _Refused(f"{APS}.max_requeue_times must be a whole number from 0, not {_shown(value)}.")
    return value


def _logs(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > LOGS_LIMIT:
        raise _Refused(f"logs must be a list of at most {LOGS_LIMIT} path patterns, not {_shown(value)}.")
    for item in value:
        if not isinstance(item, str) or not 0 < len(item) <= PATTERN_LIMIT or "\0" in item:
            raise _Refused(f"logs must hold path patterns, not {_shown(item)}.")
    return tuple(storable(item, PATTERN_LIMIT) for item in value)


def _shown(value: Any) -> str:
    """A value as the sentence shows it: bounded, and storable."""
    return storable(json.dumps(value, ensure_ascii=False), 40)
