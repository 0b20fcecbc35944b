"""Is what an operator typed into a cluster's form usable?"""

import posixpath
import re
from typing import Any

from django.core.exceptions import ValidationError

from schedulers.ssh_transport import read_address
from workloads.limits import DEFAULT_LIMITS

NO_LOGS_BELOW = ("/dev", "/proc", "/sys")  # what looks like a file there is a device or a process
LONGEST_GROUP = 150  # characters, as Django stores them
PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")


def plain_names(value: Any) -> None:
    """A list of names such as partitions."""
    for item in _strings(value):
        if not PLAIN_NAME.match(item):
            raise ValidationError(f"{item!r} is not a plain name (letters, digits, '.', '_', '-').")


def group_names(value: Any) -> None:
    """A list of names of groups of people; whether there are such groups is for whoever types them to be told."""
    for item in _strings(value):
        if not 0 < len(item) <= LONGEST_GROUP or not item.isprintable():
            raise ValidationError(f"{item[:40]!r} is not the name of a group.")


def absolute_paths(value: Any) -> None:
    """A list of absolute folders."""
    for item in _strings(value):
        if not item.startswith("/") or "\0" in item or ".." in item.split("/"):
            raise ValidationError(f"{item!r} is not an absolute path without '..'.")
        path = "/" + posixpath.normpath(item).strip("/")
        if path == "/" or any(path == root or path.startswith(f"{root}/") for root in NO_LOGS_BELOW):
            raise ValidationError(f"{item!r} is no folder of logs: it would be no border.")


def log_patterns(value: Any) -> None:
    """A list of path patterns."""
    for item in _strings(value):
        if "\0" in item or len(item) > 1024:
            raise ValidationError(f"{item[:40]!r} is not a usable path pattern.")


def ssh_address(value: Any) -> None:
    """An account on a host."""
    try:
        read_address(str(value))
    except ValueError as error:
        raise ValidationError(str(error)) from error


def ssh_mistakes(cluster: Any) -> dict[str, str]:
    """By field what is missing for SSH, or given without it."""
    wanted = {"ssh_address": cluster.ssh_address, "ssh_credential": cluster.ssh_credential}
    if cluster.scheduler_transport == "ssh":
        return {name: "Is needed to reach the scheduler over SSH." for name, value in wanted.items() if not value}
    return {name: "Is of use over SSH only." for name, value in wanted.items() if value}


def detector_limits(value: Any) -> None:
    """A mapping of known limits to positive numbers."""
    if not isinstance(value, dict):
        raise ValidationError("Limits are written as {name: number}.")
    for name, number in value.items():
        if name not in DEFAULT_LIMITS:
            raise ValidationError(f"{name!r} is no limit; known are {', '.join(sorted(DEFAULT_LIMITS))}.")
        if not isinstance(number, int | float) or isinstance(number, bool) or not number > 0:
            raise ValidationError(f"{name} must be a number above 0.")


def _strings(value: Any) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValidationError('Write a list of texts, e.g. ["one", "two"].')
    return value


def dump_mistakes(cluster: Any) -> dict[str, str]:
    """By field what patterns of dumps are missing: a dump is read below a log root only."""
    if cluster.dump_patterns and not cluster.log_roots:
        return {"dump_patterns": "Dumps are read below the log roots only: name a folder there, too."}
    return {}
