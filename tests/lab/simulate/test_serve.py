"""Does a served cluster answer other processes, and does it survive them?"""

import contextlib
import json
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.parts.running import end_process
from tests.lab.simulate.served import ROOT, ServedCluster


@pytest.fixture
def serve(tmp_path) -> Iterator[Callable[[], ServedCluster]]:
    """Serves the folder `lab`, again if it is called again; what still runs is stopped at the end."""
    served: list[ServedCluster] = []

    def start() -> ServedCluster:
        served.append(ServedCluster(tmp_path / "lab"))
        return served[-1]

    yield start
    for one in served:
        if one.process.poll() is None:
            assert one.stop() == 0


@pytest.fixture
def cluster(serve) -> ServedCluster:
    return serve()


def speak(folder: Path) -> socket.socket:
    """A bare connection."""
    line = socket.socket(socket.AF_UNIX)
    line.connect(str(folder / "socket"))
    return line


def until(look, seconds: float = 60.0) -> None:
    ends = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < ends, "never came"
        time.sleep(0.05)


def module(*words: str) -> subprocess.CompletedProcess[str]:
    """`python -m lab.simulate …` as a person types it."""
    return subprocess.run(
        [sys.executable, "-m", "lab.simulate", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_job_runs_fails_and_comes_back_without_its_node(cluster):
    number = cluster.play(
        {
            "name": "llama",
            "nodes": 2,
            "output": "%x_%j.log",
            "steps": 10,
            "step_seconds": 0.05,
            "checkpoint_every": 2,
            "startup_seconds": 0.1,
            "faults": [{"kind": "ecc", "attempt": 0, "step": 6, "node": 1}],
        }
    )
    log = cluster.folder / "logs" / f"llama_{number}.log"

    def state() -> list[str]:
        return cluster.run("squeue", "-h", "-t", "all", "-j", str(number), "-O", "State:|,NodeList:").stdout.split(
            "|"
        )

    until(lambda: state()[0] == "FAILED")
    assert "n02: NVRM: Xid (PCI:0000:4e:00): 48" in log.read_text()
    assert (cluster.folder / "logs" / f"llama_{number}.log.checkpoint").read_text() == "4\n"
    cluster.run("scontrol", "requeuehold", str(number))
    cluster.run("scontrol", "update", f"JobId={number}", "ExcNodeList=n02")
    cluster.run("scontrol", "release", str(number))
    until(lambda: state()[0] == "COMPLETED")
    assert state()[1] == "n[01,03]\n"
    text = log.read_text()
    assert "at iteration 4\n" in text and "NVRM" not in text
    assert log.stat().st_uid == os.getuid()
    assert cluster.run("squeue", "-h", "-t", "all", "-O", "UserID:").stdout == f"{os.getuid()}\n"


def test_return_codes_and_both_outputs_come_through(cluster):
    refused = cluster.run("scontrol", "requeue", "99999", check=False)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr == "Invalid job id specified for job 99999\n"
    half = cluster.run("squeue", "-O", "Bogus:9,JobID:")
    assert (half.stdout, half.stderr) == ("JOBID\n", "squeue: error: Invalid job format specification: Bogus\n")


def test_arguments_come_through_byte_by_byte(cluster):
    number = str(cluster.submit())
    for text in ("two words", "a\nb", "", "é ✓", "--help", "$HOME `id` ; '\"", "\udcff"):
        cluster.run("scontrol", "update", f"JobId={number}", f"AdminComment={text}")
        answer = (
            cluster.run("squeue", "-h", "-j", number, "-O", "admin_comment:\x1e", check=True)
            if text != "\udcff"
            else None
        )
        if answer:
            assert answer.stdout == f"{text}\x1e\n"


def test_the_time_format_is_the_clients_own(cluster):
    cluster.submit()
    epoch = cluster.run("squeue", "-h", "-O", "SubmitTime:").stdout
    assert abs(int(epoch) - time.time()) < 30
    assert "T" in cluster.run("squeue", "-h", "-O", "SubmitTime:", SLURM_TIME_FORMAT="standard").stdout


def test_every_command_is_noted_and_what_the_lab_does_is_not(cluster):
    number = str(cluster.submit())
    cluster.run("squeue", "-h")
    cluster.run("scontrol", "update", f"JobId={number}", "Comment=two words\n")
    cluster.run("scontrol", "bogus", check=False)
    noted = [json.loads(line) for line in (cluster.folder / "commands.jsonl").read_text().splitlines()]
    assert noted == [
        ["squeue", "-h"],
        ["scontrol", "update", f"JobId={number}", "Comment=two words\n"],
        ["scontrol", "bogus"],
    ]


def test_nobody_else_may_speak_to_it(cluster):
    mode = (cluster.folder / "socket").stat().st_mode
    assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o600


GARBAGE = [
    pytest.param(b"", id="nothing"),
    pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="http"),
    pytest.param(b"\x00\xff" * 5000, id="noise"),
    pytest.param(b"99999999999\n", id="a_huge_promise"),
    pytest.param(b"-1\nx", id="a_negative_promise"),
    pytest.param(b"0\n", id="an_empty_promise"),
    pytest.param(b"500\nsqueue", id="half_a_request"),
    pytest.param(b"1\n\x00", id="an_empty_word"),
    pytest.param(b"4\n\x00lab", id="a_verb_without_words"),
    pytest.param(b"13\n\x00lab\x00submit\x00{", id="half_a_play"),
    pytest.param(b"9\n\xff\xfe\x00\xc3\x28\x00\x00\x00-", id="no_utf8"),
]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_and_hang_ups_do_no_harm(cluster, garbage):
    for linger in (False, True):
        with speak(cluster.folder) as line:
            line.sendall(garbage)
            if linger:
                line.settimeout(0.3)
                with contextlib.suppress(TimeoutError, ConnectionResetError):
                    line.recv(100)
    assert cluster.run("scontrol", "ping").returncode == 0


def test_a_silent_client_is_hung_up_on_and_disturbs_nobody(cluster):
    lines = [speak(cluster.folder) for _ in range(100)]
    assert cluster.run("scontrol", "ping").returncode == 0
    lines[0].settimeout(120)
    assert lines[0].recv(1) == b""
    for line in lines:
        line.close()
    assert cluster.run("scontrol", "ping").returncode == 0


def test_many_commands_at_once(cluster):
    cluster.submit()
    waiting = [
        subprocess.Popen([cluster.folder / "bin" / "squeue", "-h"], stdout=subprocess.PIPE, text=True)
        for _ in range(30)
    ]
    assert {process.communicate(timeout=120)[0].split()[0] for process in waiting} == {"1"}


def test_a_stopped_controller_and_a_dead_server_look_like_a_dead_slurmctld(cluster):
    number = str(cluster.submit())
    until(lambda: "RUNNING" in cluster.run("squeue", "-h", "-O", "State:").stdout)
    cluster.stop_scheduler()
    asked = [
        ("squeue", "-h"),
        ("scontrol", "ping"),
        ("scontrol", "requeue", number),
        ("scancel", number),
        ("sdiag",),
    ]
    answers = [cluster.run(*words, check=False) for words in asked]
    assert [answer.returncode for answer in answers] == [1, 1, 1, 8, 255]
    cluster.start_scheduler()
    assert cluster.run("squeue", "-h", "-O", "RestartCnt:,State:").stdout == "0RUNNING\n"
    assert cluster.stop() == 0
    again = [cluster.run(*words, check=False) for words in asked]
    assert [(a.returncode, a.stdout, a.stderr) for a in again] == [
        (a.returncode, a.stdout, a.stderr) for a in answers
    ]


def test_sigterm_ends_it_and_removes_the_socket(cluster):
    assert (cluster.folder / "ready").read_text() == f"{cluster.process.pid}\n"
    assert cluster.stop() == 0
    assert not (cluster.folder / "socket").exists() and not (cluster.folder / "ready").exists()


def test_a_killed_server_leaves_a_socket_that_does_not_hinder_the_next_whose_jobs_have_new_numbers(serve):
    first = serve()
    number = first.submit(name="old")
    until(lambda: list((first.folder / "logs").iterdir()))
    first.process.kill()
    first.process.wait(60)
    (first.folder / "ready").unlink()
    second = serve()
    assert second.run("squeue", "-h").stdout == ""
    assert second.submit() == number + 1
    assert not (second.folder / "logs" / f"slurm-{number}.out").exists()


def test_a_folder_is_served_once(cluster):
    refused = module("serve", str(cluster.folder))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == f"{cluster.folder} is already served by another process.\n"
    assert cluster.run("scontrol", "ping").returncode == 0


def test_one_process_serves_several_clusters_even_in_a_deep_folder(tmp_path):
    deep = tmp_path / ("deep folder " * 8) / "east"
    west = tmp_path / "west"
    process = subprocess.Popen([sys.executable, "-m", "lab.simulate", "serve", str(deep), str(west)], cwd=ROOT)
    try:
        until(lambda: (deep / "ready").exists() and (west / "ready").exists())
        play = tmp_path / "play.json"
        play.write_text('{"name": "x"}')
        assert module("submit", str(deep), "--play", str(play)).stdout == "1\n"
        listed = [
            subprocess.run([folder / "bin/squeue", "-h"], capture_output=True, text=True, check=True).stdout
            for folder in (deep, west)
        ]
        assert len(listed[0].splitlines()) == 1 and listed[1] == ""
    finally:
        status = end_process(process)
    assert status == 0


def test_the_verbs_of_the_shell(cluster, tmp_path):
    folder, play = str(cluster.folder), tmp_path / "play.json"
    play.write_text('{"name": "llama", "nodes": 2}')
    assert module("submit", folder, "--play", str(play)).stdout == "1\n"
    assert module("node", folder, "n05", "drain").returncode == 0
    until(lambda: "n05 drained" in cluster.run("sinfo", "-h", "-N", "-o", "%N %T").stdout)
    assert module("node", folder, "n05", "resume").returncode == 0
    until(lambda: "n05 idle\n" in cluster.run("sinfo", "-h", "-N", "-o", "%N %T").stdout)
    assert module("node", folder, "n01", "down").returncode == 0
    until(lambda: "n01 down*" in cluster.run("sinfo", "-h", "-N", "-o", "%N %T").stdout)
    until(lambda: cluster.run("squeue", "-h", "-O", "RestartCnt:").stdout == "1\n")
    assert module("stop-controller", folder).returncode == 0
    assert cluster.run("squeue", check=False).returncode == 1
    assert module("start-controller", folder).returncode == 0
    assert cluster.run("squeue").returncode == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("submit", "DIR", "--play", "none.json"), "none.json cannot be read: "),
        (("submit", "DIR", "--play", "BAD"), "The play: 'nodes' must be a whole number from 1 to 9999.\n"),
        (("node", "DIR", "n99", "down"), "There is no node 'n99'.\n"),
        (("node", "NOWHERE", "n01", "down"), "No simulated cluster is served in "),
        (("serve", "NEW", "--scenario", "none"), "There is no scenario 'none' "),
        (("serve", "/dev/null/x"), "/dev/null/x cannot be used: Not a directory.\n"),
    ],
)
def test_a_mistake_gets_one_sentence(cluster, tmp_path, words, sentence):
    (tmp_path / "bad.json").write_text('{"nodes": 0}')
    places = {
        "DIR": cluster.folder,
        "BAD": tmp_path / "bad.json",
        "NOWHERE": tmp_path / "no",
        "NEW": tmp_path / "new",
    }
    refused = module(*(str(places.get(word, word)) for word in words))
    assert refused.returncode in (1, 2)
    assert refused.stderr.startswith(sentence)
    assert refused.stderr.count("\n") == 1
    assert not Path(tmp_path / "new").exists()


def test_it_stays_small(cluster):
    for _ in range(20):
        cluster.play({"nodes": 5, "step_seconds": 0.02, "steps": 100_000, "checkpoint_every": 5})
    time.sleep(3)
    status = Path(f"/proc/{cluster.process.pid}/status").read_text()
    resident = int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1])
    assert resident < 30_000  # kB
