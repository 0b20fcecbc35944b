"""Does SSH carry the commands of the scheduler, and nothing else, whatever is typed at the other end?"""

import ast
import importlib.util
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedulers.opening import open_scheduler
from schedulers.port import Refused, Scheduler, Unclear, Unreachable
from schedulers.slurm import accounting, commands
from schedulers.slurm.listing import Borders
from schedulers.ssh_transport import WORD, SshPlace, SshTransport, read_address
from schedulers.transport import Lost, NotConnected
from tests.schedulers.contract import SchedulerContract, wait  # noqa: F401  the contract's own fixture
from tests.schedulers.real import RealCluster
from tests.schedulers.sshd import FORCED, Sshd, keygen, running


def tell_tales(folder: Path) -> Path:
    """A folder of commands that say how they were called."""
    folder.mkdir()
    for name in ("squeue", "scontrol", "sacct", "scancel", "sdiag"):
        (folder / name).write_text(
            f"#!{sys.executable}\nimport json, os, sys\nprint(json.dumps([sys.argv[1:], dict(os.environ)]))\n"
        )
        (folder / name).chmod(0o755)
    return folder


def load_forced() -> Any:
    """The forced command as a module; it stands outside of every package."""
    spec = importlib.util.spec_from_file_location("forced_command", FORCED)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


forced = load_forced()


@pytest.fixture
def bin_folder(short_folder: Path) -> Path:
    return tell_tales(short_folder / "bin")


@pytest.fixture
def sshd(short_folder: Path, bin_folder: Path) -> Iterator[Sshd]:
    with running(short_folder / "s", path=str(bin_folder), config="/lab/slurm.conf") as started:
        yield started


@pytest.fixture(scope="module")
def shared() -> Iterator[Sshd]:
    """One for all tests that leave it as it was."""
    folder = Path(tempfile.mkdtemp(prefix="rk-"))
    with running(folder / "s", path=str(tell_tales(folder / "bin")), config="/lab/slurm.conf") as started:
        yield started
    shutil.rmtree(folder)


def asked(argv: object, seconds: object = 5) -> bytes:
    return json.dumps({"argv": argv, "seconds": seconds}).encode()


# --- what is carried


@pytest.mark.slurm
class TestOnRealSlurm:
    """The part of the contract that sends every kind of command."""

    @pytest.fixture
    def cluster(self, real_cluster: RealCluster) -> RealCluster:
        return real_cluster

    @pytest.fixture
    def scheduler(self, cluster: RealCluster, short_folder: Path) -> Iterator[Scheduler]:
        with running(short_folder / "s", config=cluster.config) as started:
            yield open_scheduler("slurm", "", "", 30, started.transport())

    test_names = SchedulerContract.test_a_hostile_name_and_comment_come_back_as_written_and_forge_nothing
    test_limits = SchedulerContract.test_the_installation_tells_its_limits_and_its_clock
    test_nodes = SchedulerContract.test_a_drained_node_is_not_available_and_says_why_and_by_whom
    test_exclusions = SchedulerContract.test_the_next_attempt_runs_beside_the_excluded_nodes
    test_mark = SchedulerContract.test_foreign_text_behind_the_mark_stays_as_it_was
    test_refusal = SchedulerContract.test_a_job_whose_user_forbade_it_is_not_requeued
    test_unknown = SchedulerContract.test_every_action_on_an_unknown_job_says_so
    test_accounting = SchedulerContract.test_the_accounting_knows_how_each_attempt_ended
    hold = SchedulerContract.hold

    def test_a_key_that_may_release_does_nothing_else(self, cluster, scheduler, short_folder, wait):  # noqa: F811
        number = self.hold(cluster, scheduler, wait)
        with running(short_folder / "t", config=cluster.config, may="release") as started:
            watchdog = open_scheduler("slurm", "", "", 30, started.transport())
            for act in (
                lambda: watchdog.mark(number, "x"),
                lambda: watchdog.update_exclusions(number, ()),
                lambda: watchdog.requeue_hold(number, running=False),
                lambda: watchdog.cancel(number),
            ):
                with pytest.raises(Refused, match="not permitted to a key that may release"):
                    act()
            watchdog.release(number)
            assert not watchdog.job(number).row.held


def test_every_command_there_is_is_permitted_as_it_is_written(shared):
    """A new command in `schedulers.slurm.commands` must stand here and in the forced command."""
    layout = Borders.fresh().layout()
    known = {
        "list_jobs": [(layout,)],
        "list_job": [(7, layout)],
        "show_job": [("7",), ("7_3",)],
        "show_nodes": [()],
        "show_config": [()],
        "statistics": [()],
        "ping": [()],
        "accounting": [(7, accounting.COLUMNS, Borders.fresh().field)],
        "set_mark": [("7_3", "x" * commands.LONGEST_MARK), ("7", ""), ("7", "a\nb; rm -rf / $(id) \"'`\x1f é")],
        "set_exclusions": [("7", ()), ("7_3", ("n01", "gpu-2.rack_3"))],
        "start_at": [("7_3", 1_796_000_000)],
        "release": [("7_3",)],
        "cancel": [("7",)],
    }
    known |= {"set_exclusions_of_tasks": [(7, (1, 2, 5), ("n01",)), (7, (4,), ())]}
    built = [getattr(commands, name)(*given) for name, all_given in known.items() for given in all_given]
    built += [commands.requeue_hold("7_3", running=True), commands.requeue_hold("7", running=False)]
    ours = {name for name in vars(commands) if not name.startswith("_") and callable(vars(commands)[name])}
    ours -= {"Sequence", "is_node_name", "places", "only_reads", "job_number", "requeue_hold"}
    assert ours == set(known)
    transport = shared.transport()
    for argv in built:
        answer = transport.run(argv, 5)
        assert answer.returncode == 0, (argv, answer)
        assert json.loads(answer.stdout)[0] == list(argv[1:])


def test_the_command_sees_nothing_of_what_the_client_or_the_account_brought_along(shared):
    said = shared.ssh("-o", "SetEnv=SLURM_CONF=/tmp/mine SQUEUE_FORMAT=%A LD_PRELOAD=/tmp/x", "127.0.0.1", WORD,
                    given=asked(["sdiag"]))  # fmt: skip
    values = json.loads(said.stdout)[1]
    values.pop("LC_CTYPE", None)  # Python's own
    assert values == {
        "PATH": str(shared.folder.parent / "bin"),
        "LC_ALL": "C.UTF-8",
        "SLURM_TIME_FORMAT": "%s",
        "SLURM_CONF": "/lab/slurm.conf",
    }


def test_one_connection_carries_all_commands_also_those_of_other_processes(sshd):
    first, second = sshd.transport(), sshd.transport()
    for transport in (first, second, first):
        assert transport.run(("scontrol", "ping"), 5).returncode == 0
    assert len(sshd.sessions()) == 1
    assert stat.S_IMODE((sshd.folder / "run").stat().st_mode) == 0o700


# --- what is refused

WRONG = {
    "another command": ["id"],
    "another verb": ["scontrol", "shutdown"],
    "a verb of nodes": ["scontrol", "update", "NodeName=n01", "State=DOWN"],
    "a path to a command": ["/usr/bin/scontrol", "ping"],
    "a path that climbs": ["../bin/scontrol", "ping"],
    "an option before": ["scontrol", "--uid=0", "ping"],
    "an option behind": ["scontrol", "ping", "-v"],
    "a leading dash for a job": ["scontrol", "release", "-1"],
    "an option for a job": ["scancel", "--user=root"],
    "all jobs of a user": ["scancel", "-u", "root"],
    "several jobs": ["scontrol", "release", "1,2"],
    "a whole range": ["scancel", "7_[0-9]"],
    "job 0": ["scontrol", "release", "0"],
    "a semicolon": ["scontrol", "release", "7;id"],
    "a command in a command": ["scontrol", "release", "$(id)"],
    "backquotes": ["scontrol", "release", "`id`"],
    "a newline at the end": ["scontrol", "release", "7\n"],
    "a newline in between": ["scontrol", "release", "7\nshutdown"],
    "a NUL": ["scontrol", "update", "JobId=7", "AdminComment=a\0b"],
    "another field": ["scontrol", "update", "JobId=7", "UserId=0"],
    "a second field": ["scontrol", "update", "JobId=7", "AdminComment=x", "UserId=0"],
    "a field behind the nodes": ["scontrol", "update", "JobId=7", "ExcNodeList=n01 UserId=0"],
    "a node that is an option": ["scontrol", "update", "JobId=7", "ExcNodeList=-n01"],
    "the user's comment": ["scontrol", "update", "JobId=7", "Comment=x"],
    "another output of squeue": ["squeue", "-h", "-a", "-r", "-t", "all", "-o", "%all"],
    "a file of sacct": ["sacct", "-n", "-D", "-X", "-p", "-f", "/etc/shadow"],
    "a mark that is too long": ["scontrol", "update", "JobId=7", "AdminComment=" + "x" * 10_100],
    "digits of another script": ["scontrol", "release", "\u0667"],
    "no argument": [],
    "no list": "scontrol ping",
    "a number": ["scontrol", 7],
}


@pytest.mark.parametrize("name", WRONG)
def test_arguments_that_fit_no_row_are_refused(name):
    with pytest.raises(forced.Refused):
        argv, _ = forced.request(WORD, asked(WRONG[name]))
        if not forced.permitted(argv, forced.MAY["act"]):
            raise forced.Refused


@pytest.mark.parametrize("name", ["another command", "an option behind", "a newline at the end", "a second field"])
def test_they_are_refused_at_the_other_end_of_the_line_too(shared, name):
    refused(shared.ssh("127.0.0.1", WORD, given=asked(WRONG[name])))


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"scontrol ping",
        b"[" * 100_000,
        b'{"argv": ["sdiag"]}',
        asked(["sdiag"], "5"),
        asked(["sdiag"], 0),
        asked(["sdiag"], 1e9),
        asked(["sdiag"], True),
        asked(["sdiag"]).replace(b"5", b"NaN"),
        asked(["sdiag"])[:-1] + b', "cwd": "/"}',
        b"\xff\xfe" + asked(["sdiag"]),
        b'{"argv": ["scontrol", "update", "JobId=7", "AdminComment=\\ud800"], "seconds": 5}',
        asked(["sdiag"]) + b" " * 200_000,
        asked(["sdiag"]) + b"\n" + asked(["scontrol", "ping"]),
    ],
    ids=range(14),
)
def test_a_request_that_is_none_is_refused(given):
    with pytest.raises(forced.Refused):
        forced.request(WORD, given)


def test_two_requests_at_once_are_none(shared):
    refused(shared.ssh("127.0.0.1", WORD, given=asked(["sdiag"]) + b"\n" + asked(["scontrol", "ping"])))


def test_the_answer_is_that_of_the_command(shared):
    said = shared.ssh("127.0.0.1", WORD, given=asked(["scontrol", "release", "7_3"]))
    assert json.loads(said.stdout)[0] == ["release", "7_3"]


@pytest.mark.parametrize(
    "words",
    [
        ("127.0.0.1",),
        ("127.0.0.1", "id"),
        ("127.0.0.1", f"{WORD}; id"),
        ("127.0.0.1", f"{WORD}\nid"),
        ("127.0.0.1", f"$(id) {WORD}"),
        ("127.0.0.1", f"{WORD} --may act"),
        ("127.0.0.1", "scontrol", "ping"),
        ("127.0.0.1", "internal-sftp"),
        ("127.0.0.1", "scp", "-t", "/tmp"),
    ],
    ids=lambda words: " ".join(words[-2:]).replace("\n", "_"),
)
def test_nothing_but_the_word_is_answered(shared, words):
    refused(shared.ssh(*words, given=asked(["sdiag"])))


def refused(said: subprocess.CompletedProcess[bytes]) -> None:
    """Refused in one sentence, and no command was called: each would have printed its arguments."""
    assert said.returncode == 64, said
    assert said.stdout == b"" and b"forced command refused: " in said.stderr
    assert len(re.findall(rb"^forced command.*$", said.stderr, re.MULTILINE)) == 1


@pytest.mark.parametrize(
    "options",
    [("-W", "127.0.0.1:22"), ("-N", "-o", "ExitOnForwardFailure=yes", "-R", "0:127.0.0.1:22")],
    ids=["a port of the host", "a port for the host"],
)
def test_no_port_is_forwarded(shared, options):
    said = shared.ssh(*options, "127.0.0.1")
    assert said.returncode == 255
    assert re.search(rb"administratively prohibited|forwarding failed", said.stderr), said.stderr


def test_no_file_is_taken_by_sftp(shared, tmp_path):
    sftp = ["sftp", "-b", "-", "-F", "none", "-P", str(shared.port), "-i", str(shared.folder / "key")]
    sftp += ["-o", f"UserKnownHostsFile={shared.folder}/known_hosts", "-o", "IdentitiesOnly=yes"]
    got = tmp_path / "got"
    command = [*sftp, "root@127.0.0.1"]
    said = subprocess.run(
        command, input=f"get /etc/hostname {got}\n".encode(), capture_output=True, timeout=120, check=False
    )
    assert said.returncode != 0 and not got.exists()


def test_no_terminal_is_given(shared):
    said = shared.ssh("-tt", "127.0.0.1", WORD, given=asked(["sdiag"]))
    assert (said.returncode, said.stdout) == (255, b"")
    assert b"PTY allocation request failed" in said.stderr


def test_another_key_is_let_in_nowhere(shared):
    said = shared.ssh("127.0.0.1", WORD, given=asked(["sdiag"]), key="stranger")
    assert said.returncode == 255 and b"Permission denied" in said.stderr
    with pytest.raises(NotConnected, match=r"cannot be connected to: .*Permission denied"):
        shared.transport(key=str(shared.folder / "stranger")).run(("sdiag",), 5)


def test_without_a_forced_command_nothing_happens(sshd):
    sshd.authorize("")
    with pytest.raises(NotConnected, match="has no forced command for rekindle/1"):
        sshd.transport().run(("sdiag",), 5)


def test_a_command_that_does_not_end_is_ended_on_both_sides(sshd, bin_folder):
    (bin_folder / "sdiag").write_text("#!/bin/sh\nexec /bin/sleep 61.7\n")
    began = time.monotonic()
    answer = sshd.transport().run(("sdiag",), 1)
    assert time.monotonic() - began < 40
    assert (answer.returncode, "Socket timed out" in answer.stderr) == (124, True)
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, timeout=120, check=True)
    assert b"sleep 61.7" not in listed.stdout


# --- keys and hosts


def test_an_unknown_host_is_not_spoken_to(shared, tmp_path):
    (tmp_path / "none").touch()
    with pytest.raises(NotConnected, match=r"cannot be connected to: Host key verification failed\.$"):
        shared.transport(known_hosts=str(tmp_path / "none")).run(("sdiag",), 5)
    assert (tmp_path / "none").read_text() == ""


def test_a_host_with_another_key_is_not_spoken_to(shared, tmp_path):
    kind, key = (shared.folder / "stranger.pub").read_text().split()[:2]
    (tmp_path / "other").write_text(f"[127.0.0.1]:{shared.port} {kind} {key}\n")
    with pytest.raises(NotConnected, match=r"Host key verification failed\.$"):
        shared.transport(known_hosts=str(tmp_path / "other")).run(("sdiag",), 5)


def test_the_keys_of_an_agent_are_taken(sshd, monkeypatch):
    agent = str(sshd.folder / "agent")
    with subprocess.Popen(["ssh-agent", "-D", "-a", agent], stdout=subprocess.DEVNULL) as process:
        try:
            while not os.path.exists(agent):
                time.sleep(0.02)
            monkeypatch.setenv("SSH_AUTH_SOCK", agent)
            subprocess.run(
                ["ssh-add", "-q", str(sshd.folder / "key")], capture_output=True, timeout=120, check=True
            )
            assert sshd.transport(key="").run(("sdiag",), 5).returncode == 0
        finally:
            process.terminate()


def test_a_certificate_opens_what_its_options_say(sshd):
    keygen("-s", str(sshd.folder / "ca"), "-I", "rekindle", "-n", "root", "-O", "clear",
           "-O", f"force-command={sshd.forced}", str(sshd.folder / "stranger.pub"))  # fmt: skip
    (sshd.folder / "principals").write_text("root\n")
    transport = sshd.transport(
        key=str(sshd.folder / "stranger"), certificate=str(sshd.folder / "stranger-cert.pub")
    )
    assert transport.run(("sdiag",), 5).returncode == 0


# --- a way that breaks


def test_a_lost_connection_is_one_sentence_and_comes_back(sshd, monkeypatch):
    transport = sshd.transport()
    scheduler = open_scheduler("slurm", "", "", 5, transport)
    assert transport.run(("scontrol", "ping"), 5).returncode == 0
    sshd.stop()
    ends = time.monotonic() + 120
    while transport._socket.exists():  # until our own end has seen it; who asks earlier is told that it broke
        assert time.monotonic() < ends, "ssh keeps a connection to nobody"
        time.sleep(0.02)
    with pytest.raises(Unreachable) as first:
        scheduler.ping()
    assert re.fullmatch(
        rf"root@127\.0\.0\.1 port {sshd.port} cannot be connected to: .*refused\.", first.value.reason
    )
    before = transport._retry_at - 0.1  # the clock stands: twenty commands may take longer than the pause
    with monkeypatch.context() as standing:
        standing.setattr("schedulers.ssh_transport.time.monotonic", lambda: before)
        standing.setattr("schedulers.ssh_transport.run_bounded", lambda *_words, **_more: pytest.fail("it knocks"))
        for _ in range(20):
            with pytest.raises(NotConnected, match="refused; the next try comes soon"):
                transport.run(("sdiag",), 5)
    sshd.start()
    ends = time.monotonic() + 120
    while time.monotonic() < ends:
        try:
            assert transport.run(("scontrol", "ping"), 5).returncode == 0
            return
        except NotConnected:
            time.sleep(0.1)
    raise AssertionError("it did not come back")


def test_pauses_between_tries_grow_and_differ(shared, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("schedulers.ssh_transport.time.monotonic", lambda: now[0])
    pauses = []
    for _ in range(2):
        transport = SshTransport(shared.place)
        for _ in range(6):
            transport._put_off("away")
            pauses.append(transport._retry_at - now[0])
    first, second = pauses[:6], pauses[6:]
    assert all(limit / 2 <= pause <= limit for pause, limit in zip(first, (1, 2, 4, 8, 10, 10), strict=True))
    assert first != second


def test_a_connection_that_breaks_under_an_action_leaves_it_unclear(sshd, bin_folder):
    transport = sshd.transport()
    assert transport.run(("sdiag",), 5).returncode == 0
    (bin_folder / "scontrol").write_text(f"#!/bin/sh\n/bin/kill -9 {sshd.sessions()[0]}\n/bin/sleep 3\n")
    with pytest.raises(Lost, match=r"^The connection to root@.* broke: "):
        transport.run(("scontrol", "release", "7"), 10)


def test_what_is_lost_on_the_way_is_unclear_for_an_action_and_unknown_for_a_question():
    class Breaking:
        """Answers the listing, loses everything else."""

        def run(self, argv: tuple[str, ...], seconds: float):
            raise Lost("The connection to there broke: closed.")

    scheduler = open_scheduler("slurm", "", "", 5, Breaking())
    with pytest.raises(Unreachable):
        scheduler.jobs()
    slurm = open_scheduler("slurm", "", "", 5, Breaking())
    slurm._row = lambda number: type("Row", (), {"array_job": None, "number": number})()
    with pytest.raises(Unclear):
        slurm.release(7)


def test_a_host_that_never_answers_costs_one_limit(monkeypatch, short_folder):
    (short_folder / "ssh").write_text("#!/bin/sh\nexec /bin/sleep 60\n")
    (short_folder / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(short_folder))
    monkeypatch.setattr("schedulers.ssh_transport.CONNECT_SECONDS", 0.5)
    place = SshPlace("login", "rekindle", 22, known_hosts="/k", key="/k", folder=str(short_folder / "run"))
    with pytest.raises(NotConnected, match=r"^rekindle@login does not answer within 0\.5 s\.$"):
        SshTransport(place).run(("sdiag",), 5)


# --- places


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"host": "-oProxyCommand=id"}, "no name of a host"),
        ({"host": "a b"}, "no name of a host"),
        ({"host": ""}, "no name of a host"),
        ({"user": "-l"}, "no name of an account"),
        ({"user": "root;id"}, "no name of an account"),
        ({"port": 0}, "no port"),
        ({"port": 70000}, "no port"),
        ({"known_hosts": ""}, "known host keys is required"),
        ({"known_hosts": "known"}, "no absolute path"),
        ({"key": "/a b"}, "no absolute path"),
        ({"folder": "/%h"}, "no absolute path"),
    ],
)
def test_a_place_that_could_be_read_otherwise_is_refused(changes, sentence):
    good = {"host": "login", "user": "rekindle", "port": 22, "known_hosts": "/k"}
    SshPlace(**good)
    with pytest.raises(ValueError, match=sentence):
        SshPlace(**{**good, **changes})


def test_addresses_are_read():
    assert read_address("rekindle@login01") == ("rekindle", "login01", 22)
    assert read_address("rekindle@login01:2222") == ("rekindle", "login01", 2222)
    assert read_address("r@[2001:db8::1]:22") == ("r", "2001:db8::1", 22)
    for text in ("login01", "@login", "a@b:0", "a@b:99999", "a@-b", "a@b c", "a@b\n", "", "a@b@c", "a@[x]"):
        with pytest.raises(ValueError, match=r"no address|no port"):
            read_address(text)


def test_a_folder_that_others_could_own_is_refused(shared, tmp_path, short_folder):
    (short_folder / "open").mkdir(mode=0o755)
    (short_folder / "link").symlink_to(shared.folder / "run")
    for folder in (short_folder / "open", short_folder / "link"):
        with pytest.raises(NotConnected, match="must be ours alone"):
            shared.transport(folder=str(folder)).run(("sdiag",), 5)
    with pytest.raises(NotConnected, match="too long"):
        shared.transport(folder=str(short_folder / ("x" * 90))).run(("sdiag",), 5)


def test_the_forced_command_is_plain_enough_for_an_old_python():
    ast.parse(FORCED.read_text(), feature_version=(3, 7))
    assert os.access(FORCED, os.X_OK)


def test_who_sends_no_request_keeps_no_process(bin_folder):
    """Of a key that may do nothing else, thousands of processes on the login host would be a way to end it."""
    source = FORCED.read_text()
    quick = bin_folder / "forced_command.py"
    quick.write_text(source.replace("REQUEST_SECONDS = 20", "REQUEST_SECONDS = 1"))
    with subprocess.Popen(
        [sys.executable, "-I", str(quick)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"SSH_ORIGINAL_COMMAND": WORD},
    ) as waiting:
        assert waiting.wait(120) == 64
        assert b"did not come within 1 s" in waiting.stderr.read()
