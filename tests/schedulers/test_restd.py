"""What does a slurmrestd that lies, stalls or says nothing do to whoever reads it?"""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from schedulers.observation import LATEST
from schedulers.port import Garbled, NoSuchJob, SchedulerError, Unreachable
from schedulers.slurm.rest_adapter import SlurmByRest
from schedulers.slurm.rest_place import RestPlace, read_place
from schedulers.slurm.restd import Restd
from schedulers.states import JobState
from schedulers.transport import RecordingTransport, TooLong

JOB: dict[str, Any] = {
    "account": "root",
    "admin_comment": "",
    "array_job_id": 0,
    "array_task_id": None,
    "array_task_string": "",
    "batch_flag": True,
    "comment": "",
    "current_working_directory": "/home/ann",
    "dependency": "",
    "eligible_time": 1796014896,
    "end_time": 1827550897,
    "excluded_nodes": "n05",
    "exit_code": 0,
    "het_job_id": 0,
    "job_id": 7,
    "job_resources": {"nodes": "n[01-02]", "allocated_nodes": [{"nodename": "n01", "sockets": {"0": {}}}]},
    "job_state": "RUNNING",
    "name": "train",
    "node_count": 2,
    "nodes": "n[01-02]",
    "partition": "main",
    "priority": 4294901759,
    "requeue": True,
    "required_nodes": "",
    "restart_cnt": 0,
    "standard_error": "",
    "standard_output": "",
    "start_time": 1796014897,
    "state_description": "",
    "state_reason": "None",
    "submit_time": 1796014896,
    "user_id": 1000,
    "user_name": "ann",
}


def answered(content: Any, status: int = 200) -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def listed(*jobs: dict[str, Any]) -> bytes:
    return answered({"errors": [], "jobs": list(jobs)})


@contextmanager
def told(
    folder: Path, answer: bytes | Callable[[socket.socket], None]
) -> Iterator[tuple[SlurmByRest, list[bytes]]]:
    """A scheduler whose slurmrestd gives `answer` to everything, and what it was asked."""
    asked: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(folder / "s"))
        door.listen(8)

        def serve() -> None:
            while True:
                try:
                    peer, _ = door.accept()
                except OSError:
                    return
                with peer:
                    asked.append(peer.recv(65536))
                    try:
                        if callable(answer):
                            answer(peer)
                        else:
                            peer.sendall(answer)
                    except OSError:
                        continue

        threading.Thread(target=serve, daemon=True).start()
        recorder = RecordingTransport(None)  # type: ignore[arg-type]  # no command may ever be run
        rest = Restd(RestPlace(f"unix:{folder}/s"), largest=100_000)
        yield SlurmByRest(recorder, 2.0, rest), asked
        assert recorder.calls == []
        door.shutdown(socket.SHUT_RDWR)


def changed(**fields: Any) -> dict[str, Any]:
    return {**JOB, **fields}


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in JOB.items() if key != name}


BAD: dict[str, tuple[bytes, type[SchedulerError], str]] = {
    "an error beside an empty list": (
        answered({"errors": [{"error": "Unable to contact slurm controller"}], "jobs": []}),
        Unreachable,
        "Unable to contact slurm controller",
    ),
    "an error behind a 500": (
        answered({"errors": [{"description": "Failed", "error_number": -1, "error": "Unspecified error"}]}, 500),
        Unreachable,
        "500 to /slurm/v0.0.38/jobs: Failed: Unspecified error",
    ),
    "a job that it does not know": (
        answered({"errors": [{"error_number": 2017, "error": "Invalid job id specified"}], "jobs": []}, 500),
        NoSuchJob,
        "Invalid job id",
    ),
    "an error that is no error": (answered({"errors": ["x"], "jobs": []}), Unreachable, "no word"),
    "a 500 without a word": (answered({"errors": [], "jobs": []}, 500), Unreachable, "no word"),
    "a redirect": (answered({"errors": [], "jobs": []}, 302), Unreachable, "302"),
    "nobody's user": (answered(b"Authentication failure", 401), Unreachable, "401 .*Authentication failure"),
    "another version of the API": (answered(b"Unable find requested URL.", 404), Garbled, "404"),
    "no list of errors": (answered({"jobs": []}), Garbled, "without its list of errors"),
    "no list of jobs": (answered({"errors": []}), Garbled, "no list 'jobs'"),
    "a list of jobs that is none": (answered({"errors": [], "jobs": {}}), Garbled, "no list 'jobs'"),
    "a job that is none": (answered({"errors": [], "jobs": [7]}), Garbled, "no record"),
    "no JSON": (answered(b"<html>"), Garbled, "<html>"),
    "a list": (answered([]), Garbled, "200"),
    "nothing": (answered(b""), Garbled, "nothing"),
    "endless brackets": (answered(b"[" * 90_000), Garbled, "200"),
    "a number without end": (answered(b'{"errors":[],"jobs":[{"job_id":' + b"9" * 9000 + b"}]}"), Garbled, "200"),
    "no HTTP": (b"hello\r\n\r\n", Unreachable, "does not answer"),
    "a closed door": (b"", Unreachable, "does not answer"),
    "half an answer": (answered({"errors": [], "jobs": []})[:-5], Unreachable, "does not answer"),
    "too much, as it says": (b"HTTP/1.1 200 X\r\nContent-Length: 100001\r\n\r\n", TooLong, "more than 100000"),
    "too much, and it does not say": (b"HTTP/1.1 200 X\r\n\r\n" + b" " * 200_000, TooLong, "more than 100000"),
    "too many headers": (b"HTTP/1.1 200 X\r\n" + b"A: b\r\n" * 1000 + b"\r\n", Unreachable, "does not answer"),
    "a job twice": (listed(JOB, JOB), Garbled, "job 7 twice"),
    "a job without a number": (listed(without("job_id")), Garbled, "no 'job_id'"),
    "a job without its restarts": (listed(without("restart_cnt")), Garbled, "no 'restart_cnt'"),
    "a job without a priority": (listed(without("priority")), Garbled, "no 'priority'"),
    "a job whose state is a list": (listed(changed(job_state=["RUNNING"])), Garbled, "'job_state' is no text"),
    "a number that is an object": (listed(changed(priority={"set": True, "number": 1})), Garbled, "'priority'"),
    "a flag for a number": (listed(changed(restart_cnt=True)), Garbled, "'restart_cnt'"),
    "a negative number": (listed(changed(user_id=-1)), Garbled, "'user_id'"),
    "a number of a fraction": (listed(changed(job_id=7.5)), Garbled, "'job_id'"),
    "a time beyond the calendar": (listed(changed(submit_time=2**60)), Garbled, "beyond the calendar"),
    "nodes that are none": (listed(changed(nodes="n[1-2")), Garbled, "brackets"),
    "more nodes than there are": (listed(changed(nodes="n[1-999999999]")), Garbled, "limit"),
}


NEVER = 253402300799  # the last second of 9999


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_listing_is_never_an_empty_one(short_folder: Path, name: str) -> None:
    answer, kind, sentence = BAD[name]
    with told(short_folder, answer) as (scheduler, _), pytest.raises(kind, match=sentence) as found:
        scheduler.jobs()
    assert len(found.value.reason) < 600
    assert found.value.reason.isprintable()


def test_a_good_listing_and_what_was_asked(short_folder: Path) -> None:
    with told(short_folder, listed(JOB)) as (scheduler, asked):
        (row,) = scheduler.jobs().jobs
        detail = scheduler.job(7)
    assert (row.number, row.user, row.nodes, row.state) == (7, "ann", ("n01", "n02"), JobState.RUNNING)
    assert (detail.row, detail.excluded_nodes) == (row, ("n05",))
    assert row.stdout == row.stderr == "/home/ann/slurm-7.out"
    assert [line.split(b"\r\n")[0] for line in asked] == [
        b"GET /slurm/v0.0.38/jobs HTTP/1.1",
        b"GET /slurm/v0.0.38/job/7 HTTP/1.1",
    ]
    assert b"X-SLURM" not in b"".join(asked)


def test_a_job_that_begins_at_the_end_of_all_times_is_listed(short_folder: Path) -> None:
    with told(short_folder, listed(changed(eligible_time=NEVER))) as (scheduler, _):
        assert scheduler.jobs().jobs[0].eligible_at == LATEST


def test_no_job_is_a_listing(short_folder: Path) -> None:
    with told(short_folder, listed()) as (scheduler, _):
        assert scheduler.jobs().jobs == ()


def test_a_question_for_one_job_that_brings_others_is_no_answer(short_folder: Path) -> None:
    with told(short_folder, listed(changed(job_id=8))) as (scheduler, _), pytest.raises(NoSuchJob):
        scheduler.job(7)


@pytest.mark.parametrize("number", [0, -1, 2**32])
def test_what_is_no_number_of_a_job_is_not_asked_for(short_folder: Path, number: int) -> None:
    with told(short_folder, listed(JOB)) as (scheduler, asked), pytest.raises(NoSuchJob):
        scheduler.job(number)
    assert asked == []


def test_a_slurmrestd_behind_which_nobody_is(short_folder: Path) -> None:
    gone = answered({"errors": [], "pings": [{"ping": "DOWN"}], "meta": {"Slurm": {"release": "22.05.8"}}})
    with told(short_folder, gone) as (scheduler, _), pytest.raises(Unreachable, match="no controller"):
        scheduler.ping()


def test_text_that_no_database_takes_is_replaced(short_folder: Path) -> None:
    body = json.dumps({"errors": [], "jobs": [changed(comment="a\ud800b", admin_comment="x")]}).encode()
    body = body.replace(b'"x"', b'"\xff\xfe"')
    with told(short_folder, answered(body)) as (scheduler, _):
        (row,) = scheduler.jobs().jobs
    assert (row.comment, row.admin_comment) == ("a?b", "\ufffd\ufffd")


def test_an_answer_in_drops_is_over_at_its_limit(short_folder: Path) -> None:
    def drop(peer: socket.socket) -> None:
        for sign in answered({"errors": [], "jobs": []}):
            peer.sendall(bytes([sign]))
            time.sleep(0.5)

    began = time.monotonic()
    with told(short_folder, drop) as (scheduler, _), pytest.raises(Unreachable, match="within 2 s"):
        scheduler.jobs()
    assert time.monotonic() - began < 20  # of a minute that it takes


def test_a_token_that_cannot_be_read_is_said_and_nothing_is_asked(short_folder: Path) -> None:
    def no_token() -> str:
        raise ValueError("the file /etc/token is open to others")

    for token in (no_token, lambda: "a\r\nX: y", lambda: "\u00e9"):
        with told(short_folder, listed(JOB)) as (_, asked):
            place = RestPlace(f"unix:{short_folder}/s", user="ann", token=token)
            with pytest.raises(Unreachable, match="is not asked"):
                SlurmByRest(RecordingTransport(None), 2.0, Restd(place)).jobs()  # type: ignore[arg-type]
        (short_folder / "s").unlink()
        assert asked == []


def test_a_socket_where_others_may_put_one_is_not_asked(short_folder: Path) -> None:
    short_folder.chmod(0o1777)
    with told(short_folder, listed(JOB)) as (scheduler, asked):
        with pytest.raises(Unreachable, match="others may write in"):
            scheduler.jobs()
        assert asked == []


@pytest.mark.parametrize(
    "address",
    [
        "",
        "unix:",
        "unix:s",
        "unix:/" + "a" * 120,
        "unix:/a b",
        "http://host",
        "http://host:0",
        "http://host:99999",
        "http://host:80/slurm",
        "http://user@host:80",
        "http://host:80?x",
        "http://host:80\r\n",
        "ftp://host:80",
        "https://:80",
        "http://h\u00f6st:80",
        "http://[::1:80",
    ],
)
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(ValueError, match="unix:/path"):
        read_place(address)


def test_good_addresses() -> None:
    assert read_place("unix:/run/slurmrestd/slurmrestd.socket")[1] == "/run/slurmrestd/slurmrestd.socket"
    assert read_place("http://127.0.0.1:6820") == ("http", "127.0.0.1", 6820)
    assert read_place("https://[2001:db8::1]:6820") == ("https", "2001:db8::1", 6820)
    with pytest.raises(ValueError, match="never tried"):
        RestPlace("unix:/s", "v0.0.39")
