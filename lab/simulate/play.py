"""What does a simulated job do? A play: its submission, its steps and what goes wrong in them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lab.dialects.known import DIALECTS
from lab.texts.texts import TEXTS

LONGEST_PLAY = 1 << 18  # bytes of JSON
LONGEST_COMMENT = 1024  # bytes, as Slurm's
KINDS = (
    "ecc",
    "exit",
    "sigkill",
    "hang",
    "silent_exit",
    "node_down",
    "cancel",
    "timeout",
    "oom",
    "lines",
    "text",
    "pause",
    "slow",
    "nan",
    "spin",
    "reprint",
    "preempt",
    "requeue",
    "launch_failure",
    "prolog_failure",
    "signal",
    "no_save",
)
ENDS = ("failed", "hang", "goes_on")


class BadPlay(ValueError):
    """A play that cannot be put on; one sentence says what is wrong and where."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong in step `step` (or at once, when the attempt resumes behind it).

    `attempt` is the zero-based attempt it happens in, `None` any. `node` is an index into the attempt's nodes or
    a name; `node_name` a bad node: the fault happens only to attempts that run on it. `gpu` is the local rank
    concerned. `lines` are printed first. `exit_code` is that of the kinds `exit`, `silent_exit`, `text` and
    `signal` (there 128 + n: a task died of signal n; n alone: the batch script itself did).

    `text` is a name in `lab.texts.texts.TEXTS`; then the attempt `ends` as failed, as a hang, or it goes on.
    `pause` makes no step for `seconds`, then prints `after`; `spin` and `reprint` print every `seconds` for ever.
    `slow`, `nan` and `no_save` last: they concern each `every`-th step from `step` to `until` (`None`: the last),
    and a slow step takes `factor + growth * (steps since step)` times as long. `launch_failure` and
    `prolog_failure` strike before the training begins, whatever `step` says.
    """

    kind: str
    step: int = 0
    attempt: int | None = None
    node: int | str = 0
    node_name: str = ""
    gpu: int = 2
    lines: tuple[str, ...] = ()
    exit_code: int = 1
    text: str = ""
    ends: str = "failed"
    seconds: float = 60.0
    factor: float = 1.0
    growth: float = 0.0
    every: int = 0  # 0 and 1: every step
    until: int | None = None
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Play:
    """One batch job: what `sbatch` would be told, and what its script does. Durations in seconds.

    `array_job` and `array_task`: it is this task of the array with this number. Modelled: each task is submitted by
    itself and has a number of its own from the start, while Slurm gives it one when it starts.
    """

    name: str = "train"
    user: str = "trainer"
    account: str = "training"
    partition: str = ""  # empty: the default one
    nodes: int = 1
    comment: str = ""
    requeue: bool = True
    output: str = "slurm-%j.out"
    open_mode: str = "truncate"
    steps: int = 200
    step_seconds: float = 0.5
    checkpoint_every: int = 10
    dialect: str = "megatron"
    startup_seconds: float = 1.0
    time_limit_seconds: int = 0  # 0: none
    ignores_term: bool = False  # needs KillWait and a KILL to end
    array_job: int = 0  # 0: in no array
    array_task: int = 0
    faults: tuple[Fault, ...] = ()


def read_play(text: str) -> Play:
    """The play that a JSON text describes; raises `BadPlay`."""
    if len(text.encode("utf-8", "replace")) > LONGEST_PLAY:
        raise BadPlay(f"A play holds at most {LONGEST_PLAY} bytes.")
    try:
        told = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadPlay(f"The play is no JSON: {error}.") from None
    return play_of(told)


def play_of(told: Any) -> Play:
    """The play that a decoded JSON value describes; raises `BadPlay`."""
    values = _checked(told, PLAY, "The play")
    faults = told.get("faults", [])
    if not isinstance(faults, list) or len(faults) > 100:
        raise BadPlay("'faults' must be a list of at most 100 faults.")
    return Play(**values, faults=tuple(fault_of(fault, place) for place, fault in enumerate(faults)))


def fault_of(told: Any, place: int) -> Fault:
    """The fault that a decoded JSON value describes; `place` is its index in the list."""
    values = _checked(told, FAULT, f"Fault {place}")
    if "kind" not in values:
        raise BadPlay(f"Fault {place} has no 'kind'.")
    for name in ("lines", "after"):
        if name in values:
            values[name] = tuple(values[name])
    if values["kind"] == "text" and not values.get("text"):
        raise BadPlay(f"Fault {place} has no 'text'.")
    return Fault(**values)


def _checked(told: Any, table: Mapping[str, Callable[[Any], str]], where: str) -> dict[str, Any]:
    if not isinstance(told, dict):
        raise BadPlay(f"{where} must be an object.")
    values = {}
    for name, value in told.items():
        if name == "faults" and table is PLAY:
            continue
        if name not in table:
            raise BadPlay(f"{where} has an unknown key '{str(name)[:40]}'.")
        if wrong := table[name](value):
            raise BadPlay(f"{where}: '{name}' {wrong}.")
        values[name] = value
    return values


def _text(most: int) -> Callable[[Any], str]:
    def wrong(value: Any) -> str:
        if not isinstance(value, str) or len(value.encode("utf-8", "replace")) > most or "\0" in value:
            return f"must be a text of at most {most} bytes without NUL"
        return ""

    return wrong


def _whole(least: int, most: int) -> Callable[[Any], str]:
    def wrong(value: Any) -> str:
        good = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        return "" if good else f"must be a whole number from {least} to {most}"

    return wrong


def _seconds(least: float, most: float) -> Callable[[Any], str]:
    def wrong(value: Any) -> str:
        good = isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
        return "" if good else f"must be from {least:g} to {most:g} seconds"

    return wrong


def _number(least: float, most: float) -> Callable[[Any], str]:
    def wrong(value: Any) -> str:
        good = isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most
        return "" if good else f"must be a number from {least:g} to {most:g}"

    return wrong


def _flag(value: Any) -> str:
    return "" if isinstance(value, bool) else "must be true or false"


def _one_of(*words: str) -> Callable[[Any], str]:
    def wrong(value: Any) -> str:
        return "" if isinstance(value, str) and value in words else f"must be one of {', '.join(words)}"

    return wrong


def _output(value: Any) -> str:
    if wrong := _text(512)(value):
        return wrong
    if not value or value.startswith("/") or ".." in value.split("/"):
        return "must be a path below the cluster's folder of logs"
    return ""


def _node(value: Any) -> str:
    return _text(64)(value) if isinstance(value, str) else _whole(0, 9999)(value)


def _known_text(value: Any) -> str:
    return "" if isinstance(value, str) and value in TEXTS else "must be one of the lab's texts"


def _lines(value: Any) -> str:
    good = isinstance(value, list) and len(value) <= 1000 and not any(_text(16384)(line) for line in value)
    return "" if good else "must be a list of at most 1000 lines"


def _or_none(check: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: "" if value is None else check(value)


PLAY: dict[str, Callable[[Any], str]] = {
    "name": _text(256),
    "user": _text(64),
    "account": _text(64),
    "partition": _text(64),
    "nodes": _whole(1, 9999),
    "comment": _text(LONGEST_COMMENT),
    "requeue": _flag,
    "output": _output,
    "open_mode": _one_of("truncate", "append"),
    "steps": _whole(0, 10_000_000),
    "step_seconds": _seconds(0.01, 86400),
    "checkpoint_every": _whole(0, 10_000_000),
    "dialect": _one_of(*DIALECTS),
    "startup_seconds": _seconds(0, 86400),
    "time_limit_seconds": _whole(0, 31_536_000),
    "ignores_term": _flag,
    "array_job": _whole(0, 2**31),
    "array_task": _whole(0, 4_000_000),
}
FAULT: dict[str, Callable[[Any], str]] = {
    "kind": _one_of(*KINDS),
    "step": _whole(0, 10_000_000),
    "attempt": _or_none(_whole(0, 9999)),
    "node": _node,
    "node_name": _text(64),
    "gpu": _whole(0, 63),
    "lines": _lines,
    "exit_code": _whole(0, 255),
    "text": _known_text,
    "ends": _one_of(*ENDS),
    "seconds": _seconds(0.1, 31_536_000),
    "factor": _number(0, 10_000),
    "growth": _number(-100, 100),
    "every": _whole(0, 10_000_000),
    "until": _or_none(_whole(0, 10_000_000)),
    "after": _lines,
}
