"""Does the client keep to the contract with a real HTTP server, whatever that answers?"""

import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from controller import client
from controller.advice import Disposition, Mode, Operation, Reason, read_advice
from controller.client import Advisor, Rejected, Unreachable
from tests.controller.advisor import TOKEN, Server, SmallAdvisor, advice, send, wire
from tests.controller.scripted import START


@pytest.fixture
def ask(server: Server, token_file: Path) -> Advisor:
    return Advisor(server.url, "demo", token_file, seconds=60.0)


def test_the_cluster_with_its_gates(ask: Advisor, advisor: SmallAdvisor) -> None:
    advisor.cluster["pauses"] = [{"scope": "user", "value": "me", "until": wire(START), "reason": "holiday"}]
    cluster = ask.cluster()
    assert (cluster.name, cluster.mode, cluster.acknowledged) == ("demo", Mode.ACTION, True)
    assert cluster.pauses[0].value == "me"


def test_advice_over_several_pages(ask: Advisor, advisor: SmallAdvisor) -> None:
    advisor.advice = [advice(number) for number in range(1, 251)]
    answer = ask.advice()
    assert [item.job for item in answer.advice] == list(range(1, 251))
    assert answer.advice[0].operation is Operation.RESTART
    assert answer.advice[0].excluded_nodes == ("n03",)
    assert sum(path == "/v1/advice" for _, path, _ in advisor.requests) == 3


BAD_ADVICE = {
    "a path as id": {"heimdallJobId": "../../clusters"},
    "a job number that is none": {"jobId": "12; scancel 13"},
    "a negative job number": {"jobId": "-1"},
    "a huge job number": {"jobId": "9" * 400},
    "an operation nobody knows": {"operation": "RECOVERY_OPERATION_ERASE"},
    "a WAIT": {"operation": "RECOVERY_OPERATION_WAIT"},
    "a node that is an option": {"nodeConstraints": {"excludedNodes": ["--all"]}},
    "a node with a comma": {"nodeConstraints": {"excludedNodes": ["n01,n02"]}},
    "a node that is a number": {"nodeConstraints": {"excludedNodes": [7]}},
    "too many nodes": {"nodeConstraints": {"excludedNodes": ["n1"] * 5000}},
    "a time without a zone": {"holdUntil": "2026-11-29T12:00:00"},
    "no time": {"expiresAt": None},
    "a time at the end of all times": {"notBefore": "9999-12-31T23:59:59-12:00"},
    "generation zero": {"generation": "0"},
    "no mode": {"modeAtDecision": ""},
    "a number as a user": {"user": 5},
    "a list as observed state": {"observedState": [1]},
}


@pytest.mark.parametrize("name", BAD_ADVICE)
def test_an_advice_that_cannot_be_understood_is_left_out(ask: Advisor, advisor: SmallAdvisor, name: str) -> None:
    advisor.advice = [advice(1, **BAD_ADVICE[name]), advice(2)]
    answer = ask.advice()
    assert [item.job for item in answer.advice] == [2]
    assert len(answer.unreadable) == 1


def test_may_be_acted_on_means_true_and_nothing_like_it(ask: Advisor, advisor: SmallAdvisor) -> None:
    advisor.advice = [advice(1, mayBeActedOn="true"), advice(2, mayBeActedOn=1), advice(3, mayBeActedOn=True)]
    assert [item.may_be_acted_on for item in ask.advice().advice] == [False, False, True]


def test_the_lease_is_taken_extended_and_refused(ask: Advisor, advisor: SmallAdvisor) -> None:
    first = ask.take_lease("host-1", 0)
    assert (first.fence, first.seconds) == (1, 60.0)
    assert ask.take_lease("host-1", 1).fence == 1
    with pytest.raises(Rejected, match="held by host-1") as caught:
        ask.take_lease("host-2", 0)
    assert caught.value.status == 409


def test_writes_say_what_the_contract_says(ask: Advisor, advisor: SmallAdvisor) -> None:
    item = read_advice(advice())
    advisor.advice = [advice()]
    ask.milestone(item, "SLURM_RELEASE", key="k1", done_at=START)
    ask.milestone(item, "SLURM_RELEASE", key="k1", done_at=START)
    ask.record(item, ("intent", "info"), {"action": "release"}, key="k2", at=START)
    ask.reconcile(item, Disposition.CONVERGED, Reason.DESIRED_STATE_OBSERVED)
    ask.reconcile(item, Disposition.CONVERGED, Reason.DESIRED_STATE_OBSERVED)
    assert advisor.milestones["k1"]["action"] == "RECOVERY_SCHEDULER_ACTION_SLURM_RELEASE"
    assert advisor.milestones["k1"]["time"] == "2026-11-29T12:00:00Z"
    event = advisor.events["k2"]
    assert (event["eventProducer"], event["eventType"], event["eventLevel"]) == ("controller", "intent", "info")
    assert event["payload"] == {"generation": "1", "action": "release"}
    assert event["eventProducedAt"] == str(int(START.timestamp()) * 1_000_000)
    assert advisor.reports == [(item.advice_id, "CONVERGED", "DESIRED_STATE_OBSERVED")]


@pytest.mark.parametrize(
    "answer",
    [{"accepted": 0, "rejected": [{"index": 0, "message": "no"}]}, {"partialSuccess": {"rejected": [{}]}}],
)
def test_an_event_that_was_not_stored_is_a_refusal(
    ask: Advisor, advisor: SmallAdvisor, answer: dict[str, Any]
) -> None:
    advisor.store = lambda body: answer  # type: ignore[method-assign]
    with pytest.raises(Rejected):
        ask.record(read_advice(advice()), ("intent", "info"), {}, key="k", at=START)


def test_an_event_that_may_not_be_stored_is_unknown(ask: Advisor, advisor: SmallAdvisor) -> None:
    advisor.store = lambda body: {}  # type: ignore[method-assign]
    with pytest.raises(Unreachable):
        ask.record(read_advice(advice()), ("intent", "info"), {}, key="k", at=START)


@pytest.mark.parametrize("status", [400, 403, 404, 409, 413])
def test_refusals_carry_status_and_message(ask: Advisor, advisor: SmallAdvisor, status: int) -> None:
    advisor.refuse["clusters"] = status
    with pytest.raises(Rejected, match="refused by the test") as caught:
        ask.cluster()
    assert caught.value.status == status
    assert len(advisor.requests) == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_no_usable_answer_is_tried_again_for_reads_only(ask: Advisor, advisor: SmallAdvisor, status: int) -> None:
    advisor.refuse["v1"] = status
    with pytest.raises(Unreachable, match=str(status)):
        ask.cluster()
    assert len(advisor.requests) == 2
    with pytest.raises(Unreachable):
        ask.take_lease("host-1", 0)
    assert len(advisor.requests) == 3


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_not_followed(ask: Advisor, advisor: SmallAdvisor, status: int) -> None:
    seen: list[str] = []

    def elsewhere(door: BaseHTTPRequestHandler) -> None:
        seen.append(door.path)
        send(door, status, b"{}", Location="/v1/elsewhere")

    advisor.answer_instead = elsewhere
    with pytest.raises(Rejected, match="redirects are not followed"):
        ask.cluster()
    assert len(seen) == 1


def _garbage(door: BaseHTTPRequestHandler) -> None:
    send(door, 200, b"<html>a proxy says hello</html>")


def _list(door: BaseHTTPRequestHandler) -> None:
    send(door, 200, b"[]")


def _nested(door: BaseHTTPRequestHandler) -> None:
    send(door, 200, b"[" * 100_000)


def _empty(door: BaseHTTPRequestHandler) -> None:
    send(door, 204, b"")


def _no_http(door: BaseHTTPRequestHandler) -> None:
    door.wfile.write(b"SSH-2.0-OpenSSH_9.2\r\n")


def _hangs_up(door: BaseHTTPRequestHandler) -> None:
    door.close_connection = True


def _short(door: BaseHTTPRequestHandler) -> None:
    door.send_response(200)
    door.send_header("Content-Length", "1000")
    door.end_headers()
    door.wfile.write(b"{")


def _announces_much(door: BaseHTTPRequestHandler) -> None:
    door.send_response(200)
    door.send_header("Content-Length", str(10**12))
    door.end_headers()


def _endless(door: BaseHTTPRequestHandler) -> None:
    door.send_response(200)
    door.end_headers()
    try:
        while True:
            door.wfile.write(b" " * 65536)
    except OSError:
        return


def _many_headers(door: BaseHTTPRequestHandler) -> None:
    door.send_response(200)
    for number in range(1000):
        door.send_header(f"X-{number}", "x")
    door.end_headers()


@pytest.mark.parametrize(
    "answer",
    [_garbage, _list, _nested, _empty, _no_http, _hangs_up, _short, _announces_much, _endless, _many_headers],
    ids=lambda answer: answer.__name__,
)
def test_strange_answers_are_no_answer(
    ask: Advisor, advisor: SmallAdvisor, answer: Callable[[BaseHTTPRequestHandler], None]
) -> None:
    advisor.answer_instead = answer
    with pytest.raises(Unreachable):
        ask.cluster()


@pytest.mark.parametrize("part", ["before the status", "in the headers", "in the body"])
def test_a_slow_answer_ends_at_the_limit(
    server: Server, token_file: Path, advisor: SmallAdvisor, part: str
) -> None:
    ask = Advisor(server.url, "demo", token_file, seconds=1.0)
    tries: list[str] = []

    def drip(door: BaseHTTPRequestHandler) -> None:
        tries.append(door.path)
        head = {"before the status": b"", "in the headers": b"HTTP/1.1 200 OK\r\nX-Slow: ", "in the body": b""}[
            part
        ]
        if part == "in the body":
            head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
        try:
            door.wfile.write(head)
            for _ in range(600 if head else 0):
                door.wfile.write(b" ")
                time.sleep(0.1)
            time.sleep(60.0)
        except OSError:
            return

    advisor.answer_instead = drip
    began = time.monotonic()
    with pytest.raises(Unreachable):
        ask.cluster()
    assert time.monotonic() - began < 30.0  # of a minute that it goes on
    assert len(tries) == 1, "a hung Advisor costs its time once"


def test_nobody_listens(token_file: Path) -> None:
    with pytest.raises(Unreachable, match="no answer"):
        Advisor("http://127.0.0.1:9", "demo", token_file).cluster()


def test_a_cluster_that_cannot_be_understood(ask: Advisor, advisor: SmallAdvisor) -> None:
    for change in ({"mode": "wild"}, {"pauses": "none"}, {"partitions": [1]}):
        advisor.cluster = {"name": "demo", "environment": "demo", "mode": "action"} | change
        with pytest.raises(Unreachable, match="cannot be understood"):
            ask.cluster()


def test_pages_without_end(ask: Advisor, advisor: SmallAdvisor) -> None:
    advisor.list_advice = lambda query: {"advice": [], "nextPageToken": "again"}  # type: ignore[method-assign]
    with pytest.raises(Unreachable, match="does not end"):
        ask.advice()


def test_a_rotated_token_is_read_again(ask: Advisor, advisor: SmallAdvisor, token_file: Path) -> None:
    advisor.tokens = {"new-token"}
    with pytest.raises(Rejected) as caught:
        ask.cluster()
    assert caught.value.status == 401
    token_file.write_text("new-token")
    assert ask.cluster().name == "demo"
    advisor.tokens = {"newest"}
    token_file.write_text("newest")
    assert ask.take_lease("host-1", 0).fence == 1


def test_a_token_file_that_became_open_to_others_is_not_used(
    ask: Advisor, advisor: SmallAdvisor, token_file: Path
) -> None:
    advisor.tokens = {"new-token"}
    token_file.write_text("new-token")
    token_file.chmod(0o644)
    with pytest.raises(Rejected):
        ask.cluster()


def test_no_error_holds_the_token(ask: Advisor, advisor: SmallAdvisor) -> None:
    advisor.tokens = set()
    with pytest.raises(Rejected) as caught:
        ask.cluster()
    assert TOKEN not in repr(caught.value) + str(caught.value)


def test_environment_proxies_are_not_used(
    ask: Advisor, advisor: SmallAdvisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert ask.cluster().name == "demo"


def test_a_certificate_nobody_vouches_for_is_refused(tmp_path: Path, token_file: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True, timeout=180,
    )  # fmt: skip
    seen: list[str] = []

    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            send(self, 200, b'{"name": "demo", "environment": "demo", "mode": "action"}')

        def log_message(self, *_: Any) -> None:
            return

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with HTTPServer(("127.0.0.1", 0), Door) as server:
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        url = f"https://127.0.0.1:{server.server_port}"
        with pytest.raises(Unreachable, match="certificate"):
            Advisor(url, "demo", token_file).cluster()
        assert seen == []
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("SSL_CERT_FILE", str(certificate))
            assert Advisor(url, "demo", token_file).cluster().name == "demo"
        server.shutdown()


def test_a_prefix_in_the_address(server: Server, advisor: SmallAdvisor, token_file: Path) -> None:
    with pytest.raises(Rejected):
        Advisor(server.url + "/rekindle/", "demo", token_file).cluster()
    assert advisor.requests[-1][1] == "/rekindle/v1/clusters/demo"


def test_the_limits_leave_room_for_the_lease() -> None:
    assert 3 * 2 * client.SECONDS < 60
