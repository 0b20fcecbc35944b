"""Do both programs refuse to start where they must, with one sentence, and against the real things?"""

import contextlib
import json
import re
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from advisor_api.models import ApiToken
from advisor_api.token_role import TokenRole
from advisor_api.tokens import issue
from audit.actor_kind import ActorKind
from audit.models import AuditEvent
from audit.trail import Actor
from controller import exposing
from controller.acts import Acts
from controller.exposing import exposed
from controller.measuring import Counting, Tally
from controller.plain import Voice
from controller.starting import BadStart, check_clock
from lab.parts.ports import free_port
from lab.slurm.cluster import SlurmCluster
from schedulers.transport import LocalTransport, TimedOut
from tests.controller.conftest import write_config
from tests.controller.scripted import START, ScriptedClock, ScriptedScheduler
from workloads.models import Cluster

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("run", "watchdog")
NOBODY = "http://127.0.0.1:9"


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """A scheduler that answers with an empty listing, and tells this machine's time."""
    folder = tmp_path / "bin"
    folder.mkdir()
    commands = {"squeue": "exit 0", "scontrol": "echo Slurmctld is UP", "sdiag": sdiag(0)}
    for name, body in commands.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    return folder


def sdiag(ahead: int) -> str:
    return f'echo "sdiag output at now ($(($(date +%s) + {ahead})))"'


def start(config: Path, program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "controller", program, "--once", "--config", str(config)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180, check=False)


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The only line that a program said which did not start."""
    assert done.returncode == 2 and done.stdout == "", done
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.fixture
def config(tmp_path: Path, token_file: Path, bin_folder: Path) -> Path:
    return write_config(tmp_path, NOBODY, token_file, scheduler_path=f'"{bin_folder}"')


@pytest.mark.parametrize("program", PROGRAMS)
def test_with_everything_right_it_starts_also_while_the_advisor_is_away(config: Path, program: str) -> None:
    done = start(config, program)
    assert done.returncode == 0 and "started" in done.stderr, done


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("mode", [0o660, 0o602, 0o666])
def test_a_configuration_that_others_may_write_is_refused(config: Path, program: str, mode: int) -> None:
    config.chmod(mode)
    said = sentence(start(config, program))
    assert said == (
        f"{config}:1: others may write the file (mode {mode:o}); use chmod 640: whoever writes this file says what "
        "may be done to jobs.\n"
    )


def test_a_configuration_of_somebody_else_and_one_that_is_no_file_are_refused(config: Path, tmp_path: Path) -> None:
    subprocess.run(["chown", "nobody", str(config)], timeout=180, check=True)
    assert "belongs to somebody else" in sentence(start(config, "watchdog"))
    subprocess.run(["mkfifo", "-m", "600", str(tmp_path / "pipe")], timeout=180, check=True)
    assert "this is no file" in sentence(start(tmp_path / "pipe", "run"))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("ahead", [90, -90])
def test_a_clock_that_is_off_is_refused(config: Path, bin_folder: Path, program: str, ahead: int) -> None:
    (bin_folder / "sdiag").write_text(f"#!/bin/sh\n{sdiag(ahead)}\n")
    said = sentence(start(config, program))
    assert re.search(r"does not start: this machine's clock is (89|9[0-2]) s ", said), said
    assert ("behind" if ahead > 0 else "ahead of") in said and "set it right first" in said


@pytest.mark.slurm
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_clock_of_a_real_slurm_is_compared(
    tmp_path: Path, token_file: Path, real_slurm: SlurmCluster, program: str
) -> None:
    folder = tmp_path / "real"
    folder.mkdir()
    conf = str(real_slurm.layout.conf)
    config = write_config(tmp_path, NOBODY, token_file, scheduler_path=f'"{folder}"\nconfig = "{conf}"')
    assert start(config, program).returncode == 0
    shift = (
        "import re,sys;print(re.sub(r'\\((\\d+)\\)', lambda f: f'({int(f[1]) + 75})', sys.stdin.read(), count=1))"
    )
    (folder / "sdiag").write_text(f'#!/bin/sh\n/usr/bin/sdiag | {sys.executable} -c "{shift}"\n')
    (folder / "sdiag").chmod(0o755)
    assert "behind the scheduler's" in sentence(start(config, program))


def test_a_scheduler_that_is_away_is_asked_until_it_answers(
    scheduler: ScriptedScheduler, clock: ScriptedClock
) -> None:
    said: list[str] = []
    scheduler.down = True
    check_clock(scheduler, clock, Voice(said.append), wait=False)
    assert len(said) == 1 and "its clock is not known yet" in said[0]
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        scheduler.down = len(slept) < 8

    clock.sleep = sleep  # type: ignore[method-assign]
    check_clock(scheduler, clock, Voice(said.append), wait=True)
    assert len(slept) == 8 and slept[0] <= 1 and 15 <= slept[-1] <= 30


@pytest.mark.parametrize(("off", "well"), [(60, True), (-60, True), (61, False), (-61, False)])
def test_a_minute_is_the_border(scheduler: ScriptedScheduler, clock: ScriptedClock, off: int, well: bool) -> None:
    at = clock.now()
    scheduler.now = lambda: at + timedelta(seconds=off)  # type: ignore[method-assign]
    if well:
        check_clock(scheduler, clock, Voice(print), wait=True)
        return
    with pytest.raises(BadStart, match="61 s"):
        check_clock(scheduler, clock, Voice(print), wait=True)


@pytest.fixture
def secret(transactional_db: None) -> str:
    """A controller's token for a cluster of the real API."""
    cluster = Cluster.objects.create(name="demo", environment="demo")
    actor = Actor(ActorKind.PERSON, "somebody")
    return issue("controller", TokenRole.CONTROLLER, [cluster], now=datetime.now(UTC), actor=actor)


@pytest.fixture
def real_config(tmp_path: Path, bin_folder: Path, live_server: object, secret: str) -> Path:
    (tmp_path / "real-token").touch(mode=0o600)
    (tmp_path / "real-token").write_text(secret)
    url = str(live_server.url)  # type: ignore[attr-defined]
    return write_config(tmp_path, url, tmp_path / "real-token", scheduler_path=f'"{bin_folder}"')


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_token_that_has_expired_is_refused(real_config: Path, program: str) -> None:
    assert start(real_config, program).returncode == 0
    ApiToken.objects.update(expires_at=datetime.now(UTC) - timedelta(minutes=1))
    said = sentence(start(real_config, program))
    assert "does not start: advisor.token_file: the Advisor does not take this token: This token expired at" in said


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_token_file_that_others_may_read_is_refused(config: Path, token_file: Path, program: str) -> None:
    token_file.chmod(0o640)
    assert "is open to others (mode 640); use chmod 600" in sentence(start(config, program))


def test_what_the_watchdog_did_reaches_the_real_trail_once(real_config: Path, tmp_path: Path) -> None:
    acts = Acts(tmp_path / "journal.jsonl.watchdog")
    for outcome in ("sent", "accepted"):
        acts.write(12, 1, generation=3, outcome=outcome, sentence=f"job 12-1 {outcome}", at=datetime.now(UTC))
    command = [sys.executable, "-m", "controller", "hand-over", "--config", str(real_config)]
    said = [
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180, check=True).stderr
        for _ in range(2)
    ]
    assert said == ["The trail has got 2 acts of the watchdog.\n", ""]
    acts.set_told(0)  # a kill before it was remembered
    subprocess.run(command, cwd=ROOT, capture_output=True, timeout=180, check=True)
    events = AuditEvent.objects.filter(actor_kind=ActorKind.WATCHDOG.value)
    assert [event.sentence for event in events.order_by("pk")] == [
        "watchdog: action: job 12-1 sent.",
        "watchdog: action: job 12-1 accepted.",
    ]


# --- the file of acts


def test_acts_are_kept_in_their_order_and_a_torn_line_costs_itself_alone(tmp_path: Path) -> None:
    acts = Acts(tmp_path / "acts")
    assert not acts.waiting
    acts.write(1, 0, generation=0, outcome="sent", sentence="first", at=START)
    with acts.path.open("ab") as file:
        file.write(b'{"key": "half a li')
    acts.write(2, 0, generation=0, outcome="sent", sentence="second", at=START)
    with acts.path.open("ab") as file:
        file.write(b'\x00\xff\n{"key": 1}\n[]\n' + b"[" * 5000 + b"\n" + b"no end")
    found = acts.untold()
    assert [act.sentence for act, _ in found if act] == ["first", "second"]
    assert acts.path.stat().st_mode & 0o777 == 0o600
    acts.set_told(found[0][1])
    assert [act.sentence for act, _ in acts.untold() if act] == ["second"]
    acts.path.unlink()
    acts.write(3, 0, generation=0, outcome="sent", sentence="a", at=START)
    assert [act.job for act, _ in acts.untold() if act] == [3]


def test_acts_are_written_through_no_link(tmp_path: Path) -> None:
    (tmp_path / "acts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic link"):
        Acts(tmp_path / "acts").write(1, 0, generation=0, outcome="sent", sentence="x", at=START)


# --- numbers


def ask(port: int, request: bytes) -> tuple[bytes, bytes]:
    """Head and body of the answer to raw bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=180) as client:
        client.sendall(request)
        client.shutdown(socket.SHUT_WR)
        answer = b""
        while more := client.recv(65536):
            answer += more
    head, _, body = answer.partition(b"\r\n\r\n")
    return head, body


def test_numbers_are_read_by_prometheus_and_health_follows_the_passes() -> None:
    tally, port, now = Tally(), free_port(), [100.0]
    transport = Counting(LocalTransport("", ""), tally, lambda: now[0])
    transport.run(("true",), 5)
    transport.run(("false",), 5)
    with pytest.raises(TimedOut):
        transport.run(("sleep", "30"), 0.05)
    tally.add("rekindle_watchdog_releases_total", outcome='a"b\nc\\')
    with exposed("127.0.0.1", port, tally, lambda: now[0], 60):
        assert ask(port, b"GET /healthz HTTP/1.1\r\n\r\n")[0].startswith(b"HTTP/1.1 503 ")
        tally.passed(100.0)
        now[0] = 130.0
        head, body = ask(port, b"GET /healthz HTTP/1.0\r\nHost: x\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ") and body == b"last pass 30 s ago\n"
        _, text = ask(port, b"GET /metrics HTTP/1.1\r\n\r\n")
        now[0] = 161.0
        assert ask(port, b"GET /healthz HTTP/1.1\r\n\r\n")[0].startswith(b"HTTP/1.1 503 ")
    samples = {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }
    assert samples["rekindle_commands_total", "done", "true"] == 1
    assert samples["rekindle_commands_total", "failed", "false"] == 1
    assert samples["rekindle_commands_total", "sleep", "timedout"] == 1
    assert samples["rekindle_passes_total",] == 1
    assert samples["rekindle_pass_age_seconds",] == 30
    assert samples["rekindle_watchdog_releases_total", "a'b c/"] == 1


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /metrics/../etc HTTP/1.1\r\n\r\n", 404),
        (b"POST /metrics HTTP/1.1\r\n\r\n", 405),
        (b"\r\n\r\n", 400),
        (b"", 400),
        (b"\x16\x03\x01\x02\x00", 400),
        (b"GET " + b"x" * 100_000, 400),
        (b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 5000 + b"\r\n", 200),
    ],
    ids=["another path", "a write", "no request", "nothing", "TLS", "a long line", "a long head"],
)
def test_a_strange_request_is_answered_and_harms_nobody(request_: bytes, status: int) -> None:
    port = free_port()
    with exposed("127.0.0.1", port, Tally(), lambda: 0.0, 60):
        try:
            head, _ = ask(port, request_)
            assert head.startswith(b"HTTP/1.1 %d " % status)
        except (ConnectionResetError, BrokenPipeError):
            assert len(request_) > 8192  # closed before all of it was sent
        assert ask(port, b"GET /metrics HTTP/1.1\r\n\r\n")[0].startswith(b"HTTP/1.1 200 ")


def test_clients_that_say_nothing_do_not_keep_others_out_for_long() -> None:
    port = free_port()
    with exposed("127.0.0.1", port, Tally(), lambda: 0.0, 60):
        idle = [socket.create_connection(("127.0.0.1", port), timeout=180) for _ in range(15)]
        assert ask(port, b"GET /metrics HTTP/1.1\r\n\r\n")[0].startswith(b"HTTP/1.1 200 ")
        for client in idle:
            client.close()


def test_a_port_that_is_taken_ends_the_start(config: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        config.write_text(config.read_text().replace("[watchdog]\n", f"[watchdog]\nmetrics_port = {port}\n"))
        assert f"metrics cannot be served at 127.0.0.1 port {port}: " in sentence(start(config, "watchdog"))


def test_a_log_of_json_is_an_object_a_line(config: Path) -> None:
    config.write_text(config.read_text() + '[log]\nformat = "json"\n')

    for program in PROGRAMS:
        lines = [json.loads(line) for line in start(config, program).stderr.splitlines()]
        assert lines and all(set(line) == {"at", "program", "cluster", "message"} for line in lines)


def test_who_sends_one_byte_now_and_then_keeps_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exposing, "SECONDS", 0.5)
    port = free_port()
    with (
        exposed("127.0.0.1", port, Tally(), lambda: 0.0, 60),
        socket.create_connection(("127.0.0.1", port)) as slow,
    ):
        began = time.monotonic()
        with contextlib.suppress(OSError):
            while time.monotonic() - began < 60:
                slow.sendall(b"G")
                time.sleep(0.1)
        assert time.monotonic() - began < 40
