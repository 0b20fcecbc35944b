"""Do both adapters write one question, and read what may come back, whatever it is?"""

import dataclasses
import json
import socket
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detectors.attribution.answers import Answer, Place, read_answer
from detectors.providers import ADAPTERS
from detectors.providers.contract import Contract
from detectors.providers.posting import BODY_LIMIT, post
from detectors.providers.provider import Asked, Cause, Evidence, NoAnswer, NothingYet, Provider, Suspected
from detectors.providers.told import read_object
from detectors.providers.webhook import Webhook
from tests.detectors.providers.conftest import Outside

PATIENCE = 60.0  # seconds that who answers may take; he needs milliseconds
SHORT = 1.0  # seconds that who does not answer is given
AT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
ASKED = Asked(
    workload_id="11111111-2222-3333-4444-555555555555",
    verdict_id="66666666-7777-8888-9999-000000000000",
    fingerprint="f00d",
    cluster="demo",
    job="1042",
    attempt=0,
    phase="fast",
    kind="crash",
    signal="cuda.ecc",
    sentence="Uncorrectable ECC error on n03",
    state="failed",
    exit_code=1,
    exit_signal=0,
    happened_at=AT,
    started_at=AT - timedelta(minutes=30),
    ended_at=AT + timedelta(seconds=4),
    nodes=("n01", "n02", "n03"),
    suspects=(Suspected("n03", "culprit", 5, 0.97),),
    causes=(Cause("hardware.gpu", "cuda.ecc", 0.97),),
    evidence=(Evidence("app_log", "1042.out", "an ECC error", host="n03", rank=5, signature="cuda.ecc"),),
    confidence=0.97,
    seconds=10.0,
)


def test_the_request_of_the_contract_has_its_fields() -> None:
    sent = Contract().write(ASKED)
    assert set(sent) == {
        "schema_version",
        "workload_id",
        "phase",
        "failure_context",
        "scope",
        "workload_context",
        "timeout_ms",
        "continue_session",
        "user_id",
    }
    assert (sent["phase"], sent["timeout_ms"], sent["continue_session"]) == ("fast", 10_000, False)
    assert sent["failure_context"]["detection_signal"] == "cuda.ecc"
    assert sent["failure_context"]["evidence"][0]["line"] == "an ECC error"
    assert (sent["scope"]["nodes"], sent["scope"]["ranks"]) == (["n01", "n02", "n03"], [5])
    assert sent["workload_context"]["job_end_time"] == "2026-11-29T12:00:04+00:00"


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_a_question_is_json(adapter: Provider) -> None:
    assert json.loads(json.dumps(adapter.write(ASKED), allow_nan=False))
    assert json.loads(json.dumps(adapter.write(dataclasses.replace(ASKED, ended_at=None, evidence=()))))


IDS = {"question": ASKED.verdict_id, "workload_id": ASKED.workload_id}
READ: dict[str, tuple[Provider, dict[str, Any], dict[str, Any]]] = {
    "a webhook's whole answer": (
        Webhook(),
        {
            "layer": "Hardware.GPU",
            "confidence": 0.61234,
            "nodes": [{"host": "n03", "rank": 5, "gpu": 1}],
            "sentence": " a\nb ",
        },
        {
            "layer": "hardware.gpu",
            "confidence": 0.6123,
            "hosts": ("n03",),
            "places": (Place("n03", 5, 1),),
            "sentence": "a b",
        },
    ),
    "a webhook that says nothing": (Webhook(), {}, {}),
    "parts of another shape": (
        Webhook(),
        {"layer": 7, "nodes": "n03", "sentence": ["x"], "signature": None, "more": {}},
        {},
    ),
    "ranks that are none": (
        Webhook(),
        {"nodes": [{"host": "n03", "rank": -1, "gpu": 999}, {"host": "n02", "rank": True}, {"rank": 3}, 7, ""]},
        {"hosts": ("n03", "n02")},
    ),
    "the contract's five parts": (
        Contract(),
        {
            "outcome": {"domain": "hardware", "label": "x"},
            "root_cause": {"signature_id": "cuda.ecc", "text": "ECC", "confidence": 0.9},
            "affected_nodes": ["n03"],
        },
        {"layer": "hardware", "signature": "cuda.ecc", "confidence": 0.9, "hosts": ("n03",), "sentence": "ECC"},
    ),
    "the contract's parts as plain text": (
        Contract(),
        {"outcome": "network", "root_cause": "a port went down", "nodes": [{"name": "n02"}]},
        {"layer": "network", "hosts": ("n02",), "sentence": "a port went down"},
    ),
    "text with control characters": (Webhook(), {"sentence": "a\0b\ud800\x1b[31m" + "x" * 9999}, None),
}


@pytest.mark.parametrize(("adapter", "told", "read"), READ.values(), ids=READ.keys())
def test_an_answer_is_read(adapter: Provider, told: dict[str, Any], read: dict[str, Any] | None) -> None:
    answer = adapter.read({**IDS, **told}, ASKED, "acme")
    if read is None:
        assert len(answer.sentence) <= 500 and "\0" not in answer.sentence and "\ud800" not in answer.sentence
    else:
        assert answer == Answer("acme", about="f00d", **read)
    assert read_answer(json.loads(json.dumps(dataclasses.asdict(answer)))) == answer


REFUSED: dict[str, tuple[Provider, dict[str, Any], str]] = {
    "another question": (Webhook(), {"question": "else"}, "another question: 'else'"),
    "no question": (Webhook(), {"question": None}, "names no question"),
    "another workload": (Contract(), {"workload_id": "else"}, "another workload: 'else'"),
    "nothing of the contract": (Contract(), {"status": "ok"}, "none of the parts"),
    "a confidence of 2": (Webhook(), {"confidence": 2}, "between 0 and 1"),
    "a confidence below 0": (Webhook(), {"confidence": -0.1}, "between 0 and 1"),
    "a confidence in words": (Webhook(), {"confidence": "high"}, "no number: 'high'"),
    "a confidence of many digits": (Webhook(), {"confidence": 10**400}, "between 0 and 1"),
    "a confidence that is a truth": (Webhook(), {"confidence": True}, "no number"),
}


@pytest.mark.parametrize(("adapter", "told", "why"), REFUSED.values(), ids=REFUSED.keys())
def test_an_answer_is_refused(adapter: Provider, told: dict[str, Any], why: str) -> None:
    with pytest.raises(NoAnswer, match=why):
        adapter.read({**IDS, **told}, ASKED, "acme")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["host", "layer"]), inner),
    max_leaves=4,
)
FIELDS = (
    "layer",
    "signature",
    "confidence",
    "nodes",
    "affected_nodes",
    "sentence",
    "outcome",
    "root_cause",
    "summary",
    "workload_id",
)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(ADAPTERS), st.dictionaries(st.sampled_from(FIELDS), json_values))
def test_whatever_comes_is_an_answer_or_none(adapter: Provider, told: dict[str, Any]) -> None:
    try:
        answer = adapter.read({**IDS, **told}, ASKED, "acme")
    except NoAnswer as no_answer:
        assert str(no_answer)
        return
    stored = json.dumps(dataclasses.asdict(answer), allow_nan=False)
    assert len(stored) < 60_000 and read_answer(json.loads(stored)) == answer


@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_a_provider_answers_over_the_network(adapter: Provider, outside: Outside) -> None:
    outside.replies(outcome={"layer": "hardware.gpu"}, layer="hardware.gpu", nodes=["n03"])
    question = json.dumps(adapter.write(ASKED)).encode()
    came = post(outside.at("right") + adapter.path(), question, "Bearer abc", None, PATIENCE)
    answer = adapter.read(read_object(came), ASKED, "acme")
    assert (answer.layer, answer.hosts) == ("hardware.gpu", ("n03",))
    (seen,) = outside.seen()
    assert seen["authorization"] == "Bearer abc" and seen["path"] == "/right" + adapter.path()


NEVER: dict[str, tuple[str, type[NoAnswer], str]] = {
    "silent": ("silent", NothingYet, f"within {SHORT:g} s"),
    "dripping": ("dripping", NothingYet, f"within {SHORT:g} s"),
    "dripping headers": ("dripping_headers", NothingYet, f"within {SHORT:g} s"),
    "100 MB announced": ("huge", NoAnswer, f"more than {BODY_LIMIT >> 10} KB"),
    "100 MB without a length": ("endless", NoAnswer, f"more than {BODY_LIMIT >> 10} KB"),
    "a redirect": ("redirect", NoAnswer, "answered 307: where it points to is not followed"),
    "broken": ("broken", NothingYet, "answered 500: 'it is broken'"),
    "refusing": ("refusing", NoAnswer, "answered 401: 'who are you[?]'"),
    "gone": ("gone", NothingYet, "broke off its answer|cannot be reached"),
}


@pytest.mark.parametrize(("mode", "kind", "why"), NEVER.values(), ids=NEVER.keys())
def test_what_is_no_answer_over_the_network(outside: Outside, mode: str, kind: type[NoAnswer], why: str) -> None:
    with pytest.raises(NoAnswer, match=why) as caught:
        post(outside.at(mode), b"{}", "", None, SHORT if why.startswith("within") else PATIENCE)
    assert type(caught.value) is kind
    assert len(outside.seen()) == 1


def test_the_time_it_takes_to_find_the_place_counts(outside: Outside, monkeypatch: pytest.MonkeyPatch) -> None:
    """While names are resolved there is no connection that could be cut; what drips afterwards may not go on."""
    find = socket.getaddrinfo

    def slowly(*names: Any, **more: Any) -> Any:
        time.sleep(0.6)
        return find(*names, **more)

    monkeypatch.setattr(socket, "getaddrinfo", slowly)
    begun = time.monotonic()
    with pytest.raises(NothingYet, match=r"within 0\.3 s"):
        post(outside.at("dripping"), b"{}", "", None, 0.3)
    assert time.monotonic() - begun < 50  # of a hundred seconds that it drips


@pytest.mark.parametrize("mode", ["text", "binary", "list", "deep", "nan", "number", "half", "empty"])
@pytest.mark.parametrize("adapter", ADAPTERS, ids=lambda adapter: adapter.name)
def test_garbage_is_refused_with_a_sentence(adapter: Provider, mode: str, outside: Outside) -> None:
    with pytest.raises(NoAnswer) as caught:
        adapter.read(read_object(post(outside.at(mode), b"{}", "", None, PATIENCE)), ASKED, "acme")
    assert 10 < len(str(caught.value)) < 300 and type(caught.value) is NoAnswer


def test_nobody_is_there() -> None:
    with pytest.raises(NothingYet, match="cannot be reached"):
        post("http://127.0.0.1:1/x", b"{}", "", None, 1)
