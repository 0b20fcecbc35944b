"""What does a match say on a second look at the words it caught?

Some patterns cover lines of different weight: the code of a GPU error, the severity of a link error, the signal
that ended a task. Here such a match becomes a signature of its own (`tables/derived.json`, `tables/xid.json`). An
error whose class says nothing belongs to whoever raised it, the package of its innermost frame
(`tables/packages.json`).
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

from detectors.catalogue.catalogue import catalogue, table
from detectors.catalogue.numerals import whole

Words = Mapping[str, str]


def refined(name: str, words: Words) -> str:
    """The name of the signature that a match of signature `name` with the caught `words` stands for."""
    look = _LOOKS.get(name)
    return name if look is None else look(words)


def looks_closer(name: str) -> bool:
    """Whether what the signature stands for depends on its words."""
    return name in _LOOKS


def by_package(name: str, inner: str) -> str:
    """The name for an error `name` that an installed file raised; the same where `inner` says no more."""
    if name not in _PLAIN or not inner:
        return name
    return next((told for told, packages in table("packages").items() if inner.startswith(tuple(packages))), name)


def _gpu_code(words: Words) -> str:
    """`xid.79`; a code that no table names counts as one without a known meaning."""
    name = f"xid.{whole(words['xid'])}"
    return name if catalogue().knows(name) else "xid.1"


def _nvlink(words: Words) -> str:
    """Which end of the link is at fault (reference 4.1b): the sub-code decides, else the severity."""
    caught = {
        "subcode": (int(words.get("intr", "0x0"), 16) >> 20) & 0x3F,
        "status": int(words.get("es", "0x0"), 16),
    }
    code, unit = whole(words["xid"]), words["unit"]
    for row in _nvlink_rows():
        if code in row["codes"] and unit in row["units"] and caught[row["field"]] in row["values"]:
            return f"xid.nvlink5.{row['reading']}"
    return "xid.nvlink5.noise" if words["sev"].lower().startswith("non") else "xid.nvlink5"


@functools.cache
def _nvlink_rows() -> Any:
    return table("xid")["nvlink5"]


def _recovery(words: Words) -> str:
    return "xid.recovery_none" if words["new"].strip().lower() == "none" else "xid.recovery_action"


def _nic(words: Words) -> str:
    return "nvrx.nic_up" if "ACTIVE" in words.get("b", "") else "nvrx.nic_down"


def _task_signal(words: Words) -> str:
    """A task that was told to end is a victim; one that was killed died of something that another line tells."""
    if words["sig"] in ("Terminated", "Aborted", "Hangup"):
        return "slurm.task_ended"
    return "slurm.task_killed" if words["sig"] == "Killed" else "slurm.task_signal"


def _killed_of_shell(words: Words) -> str:
    """What the shell of a batch script says of a process is what `srun` says of a task."""
    return "slurm.task_killed"


def _interpreter(words: Words) -> str:
    return "py.aborted" if words["what"] == "Aborted" else "py.fatal"


_PLAIN = ("py.exception", "py.valueerror", "py.assert")
"""Errors of which a line tells the class alone."""

_LOOKS: dict[str, Callable[[Words], str]] = {
    "xid.generic": _gpu_code,
    "xid.bare": _gpu_code,
    "xid.previous": _gpu_code,
    "xid.nvlink5": _nvlink,
    "xid.recovery_action": _recovery,
    "nvrx.nic_down": _nic,
    "slurm.task_signal": _task_signal,
    "shell.killed": _killed_of_shell,
    "py.fatal": _interpreter,
}
