"""Does every mistake in the configuration name its file, line and key, and change nothing?"""

import os
from pathlib import Path

import pytest

from controller.advice import Mode
from controller.config import BadConfig, read_config, read_token

GOOD = """cluster = "demo"
environment = "demo"
[advisor]
url = "http://127.0.0.1:8000"
token_file = "/etc/rekindle/token"
[scheduler]
kind = "slurm"
path = ""
config = ""
command_seconds = 10
[controller]
enabled = true
mode = "action"
acknowledgeSchedulerActions = true
environmentPattern = "demo*"
partitions = ["main"]
poll_seconds = 1.0
journal = "{folder}/journal.jsonl"
holder = ""
[watchdog]
enabled = true
mode = "observe"
acknowledgeSchedulerActions = true
environmentPattern = "demo*"
poll_seconds = 5.0
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "controller.toml"
    path.write_text(text.replace("{folder}", str(folder)))
    return path


def test_a_good_file_is_read(tmp_path: Path) -> None:
    settings = read_config(write(tmp_path, GOOD))
    assert settings.cluster == "demo"
    assert settings.controller.mode is Mode.ACTION
    assert settings.controller.partitions == ("main",)
    assert settings.controller.holder == os.uname().nodename
    assert settings.watchdog.mode is Mode.MONITOR
    assert settings.scheduler.command_seconds == 10.0


def test_what_is_left_out_is_the_careful_choice(tmp_path: Path) -> None:
    short = 'cluster="demo"\nenvironment="demo"\nadvisor.url="https://advisor"\nadvisor.token_file="/token"\n'
    short += 'scheduler.kind="slurm"\ncontroller.journal="{folder}/journal"\n'
    settings = read_config(write(tmp_path, short))
    for own in (settings.controller, settings.watchdog):
        assert own.mode is Mode.MONITOR
        assert not own.acknowledge_scheduler_actions
        assert own.environment_pattern == ""


MISTAKES = {
    "a missing key": ('cluster = "demo"\n', "", 24, "cluster", "is missing"),
    "a missing key of a table": ('url = "http://127.0.0.1:8000"\n', "", 3, "advisor.url", "is missing"),
    "a key nobody knows": ("command_seconds", "command_second", 10, "scheduler.command_second", "is no key"),
    "a table nobody knows": ("[watchdog]", "[watchdogs]", 20, "watchdogs", "is no key of this file"),
    "a wrong mode": ('mode = "action"', 'mode = "destroy"', 13, "controller.mode", "must be one of monitor"),
    "approve is no mode of the watchdog": ('"observe"', '"approve"', 22, "watchdog.mode", "must be one of"),
    "a text for a switch": (
        "enabled = true\nmode",
        'enabled = "yes"\nmode',
        12,
        "controller.enabled",
        "true or false",
    ),
    "a number for a switch": (
        "enabled = true\nmode",
        "enabled = 1\nmode",
        12,
        "controller.enabled",
        "true or false",
    ),
    "a poll of no time": (
        "poll_seconds = 1.0",
        "poll_seconds = 0",
        17,
        "controller.poll_seconds",
        "between 0.1 and 300",
    ),
    "a poll that is no number": ("= 5.0", "= nan", 25, "watchdog.poll_seconds", "must be a number of seconds"),
    "a switch for a number": ("= 10\n", "= true\n", 10, "scheduler.command_seconds", "must be a number of seconds"),
    "one partition as a text": ('["main"]', '"main"', 16, "controller.partitions", "must be a list"),
    "an option as a partition": ('["main"]', '["--all"]', 16, "controller.partitions", "must be a name"),
    "a relative journal": ('"{folder}/journal.jsonl"', '"journal"', 18, "controller.journal", "an absolute path"),
    "a journal in no folder": (
        "{folder}/journal",
        "{folder}/no/journal",
        18,
        "controller.journal",
        "there is no folder",
    ),
    "plain http to elsewhere": (
        "127.0.0.1:8000",
        "advisor:8000",
        4,
        "advisor.url",
        "plain http would show the token",
    ),
    "plain http in capitals": ("http://127.0.0.1", "HTTP://advisor", 4, "advisor.url", "plain http would show"),
    "plain http to a name that looks local": (
        "127.0.0.1:8000",
        "127.0.0.1.example",
        4,
        "advisor.url",
        "plain http",
    ),
    "a file as an address": ("http://127.0.0.1:8000", "file:///etc/passwd", 4, "advisor.url", "must be an address"),
    "a password in the address": ("127.0.0.1:8000", "me:pw@127.0.0.1", 4, "advisor.url", "without user"),
    "a port that is none": (":8000", ":80000", 4, "advisor.url", "must be an address"),
    "another scheduler": ('"slurm"', '"pbs"', 7, "scheduler.kind", "must be one of slurm"),
    "a value where a table belongs": (
        '[scheduler]\nkind = "slurm"\n',
        "",
        6,
        "advisor.path",
        "is no key of [advisor]",
    ),
    "a cluster that is no name": ('cluster = "demo"', 'cluster = "../demo"', 1, "cluster", "must be a name"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_names_file_line_and_key(tmp_path: Path, name: str) -> None:
    old, new, line, key, sentence = MISTAKES[name]
    assert GOOD.count(old) >= 1
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(BadConfig) as caught:
        read_config(path)
    said = [mistake for mistake in caught.value.mistakes if f": {key}: " in mistake]
    assert said, caught.value.mistakes
    assert said[0].startswith(f"{path}:{line}: {key}: ")
    assert sentence in said[0]


def test_all_mistakes_are_told_at_once_in_their_order(tmp_path: Path) -> None:
    text = GOOD.replace('"slurm"', '"pbs"').replace('"action"', '"all"').replace("cluster", "clustre")
    with pytest.raises(BadConfig) as caught:
        read_config(write(tmp_path, text))
    keys = [mistake.split(": ")[1] for mistake in caught.value.mistakes]
    assert keys == ["clustre", "scheduler.kind", "controller.mode", "cluster"]


@pytest.mark.parametrize(
    ("content", "line", "sentence"),
    [
        (b"cluster = \n", 1, "this is no TOML"),
        (b'cluster = "a"\ncluster = "b"\n', 2, "this is no TOML"),
        (b"a = 1\n\xff\xfe", 2, "no UTF-8"),
        (b"x = [" + b"[" * 30000, 1, "this is no TOML"),
        (b"#" * 70000, 1, "larger than"),
    ],
    ids=["half a line", "twice", "bytes", "a deep nest", "a huge file"],
)
def test_what_is_no_toml_names_its_line(tmp_path: Path, content: bytes, line: int, sentence: str) -> None:
    path = tmp_path / "controller.toml"
    path.write_bytes(content)
    with pytest.raises(BadConfig, match=sentence) as caught:
        read_config(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadConfig, match="cannot be read: No such file"):
        read_config(tmp_path / "none.toml")


def test_plain_http_can_be_allowed(tmp_path: Path) -> None:
    text = GOOD.replace("127.0.0.1:8000", "advisor:8000").replace(
        "[scheduler]", "allow_plain_http = true\n[scheduler]"
    )
    assert read_config(write(tmp_path, text)).advisor.url == "http://advisor:8000"


@pytest.mark.parametrize(
    "url", ["http://127.8.0.1", "http://[::1]:80", "http://localhost:8000", "https://far/prefix/"]
)
def test_addresses_that_are_fine(tmp_path: Path, url: str) -> None:
    read_config(write(tmp_path, GOOD.replace("http://127.0.0.1:8000", url)))


@pytest.mark.parametrize(
    ("mode", "content", "sentence"),
    [
        (0o640, b"token", "is open to others"),
        (0o604, b"token", "is open to others"),
        (0o600, b"", "holds no token"),
        (0o600, b"one\ntwo", "holds no token"),
        (0o600, b"to\r\nken", "holds no token"),
        (0o600, b"x" * 5000, "holds no token"),
        (0o600, "tökn".encode(), "holds no token"),
    ],
)
def test_a_bad_token_file(tmp_path: Path, mode: int, content: bytes, sentence: str) -> None:
    path = tmp_path / "token"
    path.write_bytes(content)
    path.chmod(mode)
    with pytest.raises(ValueError, match=sentence):
        read_token(path)


def test_a_token_file_that_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(ValueError, match="is no file"):
        read_token(tmp_path / "pipe")
    with pytest.raises(ValueError, match="cannot be read"):
        read_token(tmp_path / "none")
    with pytest.raises(ValueError, match="is no file"):
        read_token(tmp_path)


def test_a_good_token(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(" abc.DEF-123 \n")
    path.chmod(0o600)
    assert read_token(path) == "abc.DEF-123"


REST = {
    "no slurmrestd, and a token": ('token_file = "/t"\nuser = "root"', "url says of no slurmrestd"),
    "a place that is none": ('url = "localhost:6820"', "must be unix:/path/of/a/socket"),
    "a number": ("url = 6820", "must be a text"),
    "a port without a token": ('url = "http://127.0.0.1:6820"', "token_file: is missing"),
    "a user without a token": ('url = "unix:/s"\nuser = "root"', "user: is of no use without token_file"),
    "a token without a user": ('url = "unix:/s"\ntoken_file = "/t"', "token_file: is of no use without user"),
    "a token over plain http": (
        'url = "http://head:6820"\nuser = "root"\ntoken_file = "/t"',
        "url: plain http would show the token to the network",
    ),
    "a version that nobody tried": ('url = "unix:/s"\napi = "v0.0.41"', "api: must be one of v0.0.38"),
    "a user that is none": (
        'url = "unix:/s"\nuser = "-x"\ntoken_file = "/t"',
        "user: must be the name of an account",
    ),
    "a relative token": ('url = "unix:/s"\nuser = "x"\ntoken_file = "t"', "token_file: must be an absolute path"),
}


@pytest.mark.parametrize("name", REST)
def test_a_mistake_about_slurmrestd_is_one_sentence(tmp_path: Path, name: str) -> None:
    lines, sentence = REST[name]
    with pytest.raises(BadConfig) as found:
        read_config(write(tmp_path, f"{GOOD}[slurmrestd]\n{lines}\n"))
    (mistake,) = found.value.mistakes
    assert sentence in mistake
    assert ": slurmrestd." in mistake


def test_slurmrestd_by_a_socket_or_by_a_token(tmp_path: Path) -> None:
    assert read_config(write(tmp_path, GOOD)).slurmrestd is None
    told = read_config(write(tmp_path, GOOD + '[slurmrestd]\nurl = "unix:/run/slurmrestd/socket"\n')).slurmrestd
    assert told is not None
    assert (told.url, told.user) == ("unix:/run/slurmrestd/socket", "")
    lines = '[slurmrestd]\nurl = "https://head:6820"\nuser = "slurm"\ntoken_file = "/t"\n'
    told = read_config(write(tmp_path, GOOD + lines)).slurmrestd
    assert told is not None
    assert (told.user, told.token_file) == ("slurm", "/t")
