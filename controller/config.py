"""What is the controller told, and where exactly is a mistake in it?"""

import os
import re
import stat
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.advice import Mode
from controller.cross_checks import cross_check
from controller.keys import KEYS, REQUIRED
from schedulers.ssh_transport import SshPlace

LARGEST_FILE = 65536  # bytes
LARGEST_TOKEN = 4096  # bytes
LINE_OF_SYNTAX = re.compile(r"\s*\(at line (\d+), column \d+\)$")
TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(?:#.*)?$")
ENTRY = re.compile(r"\s*([A-Za-z0-9_.\"' -]+?)\s*=")


class BadConfig(Exception):
    """One or more mistakes; each is a sentence that begins with file, line and key."""

    def __init__(self, mistakes: list[str]) -> None:
        super().__init__("\n".join(mistakes))
        self.mistakes = tuple(mistakes)


@dataclass(frozen=True)
class AdvisorSettings:
    """Where the Advisor API is and which token opens it."""

    url: str
    token_file: Path
    allow_plain_http: bool


@dataclass(frozen=True)
class SchedulerSettings:
    """Which scheduler, and how its commands are run."""

    kind: str
    path: str
    config: str
    command_seconds: float
    transport: str = "local"


@dataclass(frozen=True)
class ControllerSettings:
    """The controller's own gates, rhythm and memory."""

    enabled: bool
    mode: Mode
    acknowledge_scheduler_actions: bool
    environment_pattern: str
    partitions: tuple[str, ...]
    poll_seconds: float
    journal: Path
    holder: str
    shorten_requeue_wait: bool = True
    metrics_address: str = "127.0.0.1"
    metrics_port: int = 0


@dataclass(frozen=True)
class WatchdogSettings:
    """The watchdog's own gates, rhythm and memory."""

    enabled: bool
    mode: Mode
    acknowledge_scheduler_actions: bool
    environment_pattern: str
    poll_seconds: float
    acts: str = ""
    metrics_address: str = "127.0.0.1"
    metrics_port: int = 0


@dataclass(frozen=True)
class PushSettings:
    """Whether `run` pushes what it lists."""

    enabled: bool


@dataclass(frozen=True)
class RestSettings:
    """Where the slurmrestd is that jobs and nodes are read from."""

    url: str
    api: str
    user: str
    token_file: str
    ca_file: str


@dataclass(frozen=True)
class Settings:
    """The whole file. `ssh` is there when the transport is ssh, `slurmrestd` when one is named."""

    cluster: str
    environment: str
    advisor: AdvisorSettings
    scheduler: SchedulerSettings
    controller: ControllerSettings
    watchdog: WatchdogSettings
    ssh: SshPlace | None = None
    json_log: bool = False
    path: Path = Path()
    push: PushSettings = PushSettings(enabled=False)
    slurmrestd: RestSettings | None = None

    @property
    def acts(self) -> Path:
        """The file of what the watchdog did."""
        return Path(self.watchdog.acts or f"{self.controller.journal}.watchdog")


def read_config(path: Path) -> Settings:
    """The settings in `path`. Raises `BadConfig` with every mistake; nothing else was done."""
    text = _content(path)
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = LINE_OF_SYNTAX.search(str(error))
        line = int(found[1]) if found else len(text.splitlines())
        raise BadConfig([f"{path}:{line}: this is no TOML: {LINE_OF_SYNTAX.sub('', str(error))}."]) from error
    mistakes = _Mistakes(path, text.splitlines())
    values = {table: _read_table(table, content, mistakes) for table in KEYS}
    for name in content.keys() - {key.name for key in KEYS[""]} - KEYS.keys():
        mistakes.add("", name, "is no key of this file; known are " + _known("") + " and the tables "
                     + ", ".join(f"[{table}]" for table in KEYS if table))  # fmt: skip
    cross_check(values, mistakes.add)
    if mistakes.found:
        raise BadConfig([sentence for _, sentence in sorted(mistakes.found)])
    return Settings(
        **values[""],
        advisor=AdvisorSettings(**values["advisor"]),
        scheduler=SchedulerSettings(**values["scheduler"]),
        controller=ControllerSettings(**values["controller"]),
        watchdog=WatchdogSettings(**values["watchdog"]),
        ssh=values["ssh"].get("place"),
        json_log=values["log"]["format"] == "json",
        path=path,
        push=PushSettings(**values["push"]),
        slurmrestd=RestSettings(**values["slurmrestd"]) if values["slurmrestd"]["url"] else None,
    )


def read_token(path: Path) -> str:
    """The token in `path`. Raises `ValueError` with a sentence when it is missing, open to others or no token."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise ValueError(f"the file {path} cannot be read: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError(f"{path} is no file")
        if status.st_mode & 0o077:
            raise ValueError(f"the file {path} is open to others (mode {status.st_mode & 0o777:o}); use chmod 600")
        token = os.read(descriptor, LARGEST_TOKEN + 1).strip()
    finally:
        os.close(descriptor)
    if not token or len(token) > LARGEST_TOKEN or not re.fullmatch(rb"[\x21-\x7e]+", token):
        raise ValueError(f"the file {path} holds no token of one line")
    return token.decode()


class _Mistakes:
    """Collects mistakes and finds the line of the key that each is about."""

    def __init__(self, path: Path, lines: list[str]) -> None:
        self.path = path
        self.found: list[tuple[int, str]] = []
        self._lines: dict[str, int] = {"": max(len(lines), 1)}
        current = ""
        for number, line in enumerate(lines, 1):
            if table := TABLE.match(line):
                current = _plain(table[1])
                self._lines.setdefault(current, number)
            elif entry := ENTRY.match(line):
                self._lines.setdefault(_joined(current, _plain(entry[1])), number)

    def add(self, table: str, name: str, sentence: str) -> None:
        """Note a mistake at the key's line, else at its table's, else at the end of the file."""
        key = _joined(table, name)
        line = next(self._lines[place] for place in (key, table, "") if place in self._lines)
        self.found.append((line, f"{self.path}:{line}: {key}: {sentence}."))


def _read_table(table: str, content: dict[str, Any], mistakes: _Mistakes) -> dict[str, Any]:
    section = content.get(table, {}) if table else content
    if not isinstance(section, dict):
        mistakes.add("", table, "must be a table")
        return {}
    values: dict[str, Any] = {}
    for key in KEYS[table]:
        attribute = re.sub(r"([A-Z])", lambda letter: "_" + letter[1].lower(), key.name)
        if key.name not in section:
            if key.default is REQUIRED:
                mistakes.add(table, key.name, f"is missing. {key.tells[:-1]}")
            values[attribute] = key.default
            continue
        try:
            values[attribute] = key.read(section[key.name])
        except ValueError as error:
            mistakes.add(table, key.name, str(error))
    if table:
        for name in section.keys() - {key.name for key in KEYS[table]}:
            mistakes.add(table, name, f"is no key of [{table}]; known are {_known(table)}")
    return values


def _content(path: Path) -> str:
    try:
        with open(path, "rb", opener=_open_at_once) as file:
            if why := _unsafe(os.fstat(file.fileno())):
                raise BadConfig([f"{path}:1: {why}: whoever writes this file says what may be done to jobs."])
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise BadConfig([f"{path}:1: the file is larger than {LARGEST_FILE} bytes."])
        return content.decode()
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise BadConfig([f"{path}:{line}: this is no UTF-8 text."]) from error
    except OSError as error:
        raise BadConfig([f"{path}:1: the file cannot be read: {error.strerror}."]) from error


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _unsafe(status: os.stat_result) -> str:
    """Why somebody else could write this file, or nothing."""
    if not stat.S_ISREG(status.st_mode):
        return "this is no file"
    if status.st_uid not in {0, os.geteuid()}:
        return f"the file belongs to somebody else (user {status.st_uid}); use chown"
    if status.st_mode & 0o022:
        return f"others may write the file (mode {status.st_mode & 0o777:o}); use chmod 640"
    return ""


def _known(table: str) -> str:
    return ", ".join(key.name for key in KEYS[table])


def _plain(name: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in name.split("."))


def _joined(table: str, name: str) -> str:
    return f"{table}.{name}" if table else name
