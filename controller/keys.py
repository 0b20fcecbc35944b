"""Which keys does the configuration have, and what may stand behind each?"""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from controller.advice import Mode
from schedulers.slurm.rest_place import VERSIONS, read_place

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
ACCOUNT = re.compile(r"[A-Za-z_][A-Za-z0-9._-]{0,31}\$?", re.ASCII)
REQUIRED = object()


@dataclass(frozen=True)
class Key:
    """One key of the file, declared once. `read` turns a TOML value into ours or raises `ValueError`."""

    name: str
    read: Callable[[Any], Any]
    default: Any
    tells: str


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def _words(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 256 or not value.isprintable():
        raise ValueError("must be a text of at most 256 printable characters")
    return value


def _name(value: Any) -> str:
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise ValueError("must be a name of letters, digits, '.', '_' and '-', at most 64 characters")
    return value


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError("must be a list of names")
    return tuple(_name(name) for name in value)


def _place(value: Any) -> Path:
    if not isinstance(value, str) or not value.isprintable() or not os.path.isabs(value):
        raise ValueError("must be an absolute path")
    return Path(value)


def _place_or_none(value: Any) -> str:
    return "" if value == "" else str(_place(value))


def _seconds(lowest: float, highest: float) -> Callable[[Any], float]:
    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not lowest <= value <= highest:
            raise ValueError(f"must be a number of seconds between {lowest:g} and {highest:g}")
        return float(value)

    return read


def _whole(lowest: int, highest: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
            raise ValueError(f"must be a whole number between {lowest} and {highest}")
        return value

    return read


def _one_of(*choices: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}")
        return str(value)

    return read


def _mode(*choices: str) -> Callable[[Any], Mode]:
    return lambda value: Mode.read(_one_of(*choices)(value))


def _address(value: Any) -> str:
    try:
        parts = urlsplit(value if isinstance(value, str) and value.isascii() and value.isprintable() else "")
        usable = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or 1) > 0 and " " not in value
    except ValueError:
        usable = False
    if not usable or parts.query or parts.fragment or parts.username is not None:
        raise ValueError("must be an address like https://host:port, without user, query or fragment")
    return str(value).rstrip("/")


def _rest_address(value: Any) -> str:
    if value == "":
        return ""
    if not isinstance(value, str):
        raise ValueError("must be a text")
    read_place(value)
    return value


def _user(value: Any) -> str:
    if value == "":
        return ""
    if not isinstance(value, str) or not ACCOUNT.fullmatch(value):
        raise ValueError("must be the name of an account")
    return value


KEYS: dict[str, tuple[Key, ...]] = {
    "": (
        Key("cluster", _name, REQUIRED, "Name of the cluster at the Advisor."),
        Key("environment", _name, REQUIRED, "Environment that the Advisor must name for this cluster."),
    ),
    "advisor": (
        Key("url", _address, REQUIRED, "Address of the Advisor; plain http only on this machine."),
        Key("token_file", _place, REQUIRED, "File with the bearer token; only its owner may read it."),
        Key("allow_plain_http", _switch, False, "Allow plain http to another machine."),
    ),
    "scheduler": (
        Key("kind", _one_of("slurm"), REQUIRED, "The scheduler."),
        Key("transport", _one_of("local", "ssh"), "local", "local: commands of this machine; ssh: those of [ssh]."),
        Key("path", _place_or_none, "", "Folder of its commands; empty: the PATH. Not used with ssh."),
        Key("config", _place_or_none, "", "SLURM_CONF for its commands; empty: the site's own. Not used with ssh."),
        Key("command_seconds", _seconds(1, 60), 10.0, "Time limit of one command."),
    ),
    "ssh": (
        Key("host", _words, "", "The host; nothing of ~/.ssh/config is read."),
        Key("user", _words, "", "The account there, with the forced command (production.md)."),
        Key("port", _whole(1, 65535), 22, "Its port."),
        Key(
            "known_hosts_file", _place_or_none, "", "File with the host's key; a host that is not in it is refused."
        ),
        Key("key_file", _place_or_none, "", "File with the private key; empty: the keys of the agent."),
        Key("certificate_file", _place_or_none, "", "File with a certificate of that key, if there is one."),
        Key("folder", _place_or_none, "", "Folder for the connection's socket, ours alone; empty: one is made."),
    ),
    "slurmrestd": (
        Key(
            "url",
            _rest_address,
            "",
            "unix:/path, http://host:port or https://host:port: jobs and nodes are read there, by all but the "
            "watchdog. Empty: everything by commands.",
        ),
        Key("api", _one_of(*VERSIONS), VERSIONS[0], "Version of its API."),
        Key("user", _user, "", "User whose token it is; empty: the socket's own rights (rest_auth/local)."),
        Key("token_file", _place_or_none, "", "File with a token of `scontrol token`, read for each question."),
        Key("ca_file", _place_or_none, "", "Certificates to trust with https; empty: those of the machine."),
    ),
    "log": (Key("format", _one_of("text", "json"), "text", "text: a line for people; json: an object a line."),),
    "controller": (
        Key("enabled", _switch, True, "false: does nothing at all."),
        Key("mode", _mode("monitor", "observe", "approve", "action"), Mode.MONITOR, "The most it may ever do."),
        Key("acknowledgeSchedulerActions", _switch, False, "Confirms that it may change jobs."),
        Key("environmentPattern", _words, "", "Glob that the cluster's environment must match."),
        Key("partitions", _names, (), "Partitions it may act in; empty: all."),
        Key(
            "poll_seconds",
            _seconds(0.1, 300),
            1.0,
            "Time between two looks at what is to be done; new advice ends it.",
        ),
        Key("shorten_requeue_wait", _switch, True, "Let a job that it released begin at once, not in two minutes."),
        Key("journal", _place, REQUIRED, "Its memory of what it began; on a local disk."),
        Key("holder", _words, "", "Its name in the lease, stable over a restart; empty: the host's name."),
        Key(
            "metrics_address",
            _words,
            "127.0.0.1",
            "Where /metrics and /healthz are; loopback shows them to nobody else.",
        ),
        Key("metrics_port", _whole(0, 65535), 0, "Their port; 0: none."),
    ),
    "push": (
        Key(
            "enabled",
            _switch,
            False,
            "true: `run` pushes its listings to an Advisor that must not ask the scheduler.",
        ),
    ),
    "watchdog": (
        Key("enabled", _switch, True, "false: does nothing at all."),
        Key("mode", _mode("monitor", "observe", "action"), Mode.MONITOR, "monitor: only says what it would do."),
        Key("acknowledgeSchedulerActions", _switch, False, "Confirms that it may release jobs."),
        Key("environmentPattern", _words, "", "Glob that the environment above must match."),
        Key("poll_seconds", _seconds(0.1, 300), 5.0, "Time between two looks."),
        Key("acts", _place_or_none, "", "File of what it did; empty: beside the journal, with .watchdog behind."),
        Key("metrics_address", _words, "127.0.0.1", "As of the controller."),
        Key("metrics_port", _whole(0, 65535), 0, "As of the controller, and another one."),
    ),
}
