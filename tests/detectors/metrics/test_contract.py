"""Is every answer of a real Prometheus understood, and nothing believed that is no answer? Recorded answers."""

import json
from pathlib import Path

import pytest

from detectors.metrics import SOURCES
from detectors.metrics.families import UTIL, XID, Labels, queries
from detectors.metrics.snapshot import Snapshot, Sorting
from detectors.metrics.source import Sample
from detectors.stores.store import Answer, StoreTrouble

FOLDER = Path(__file__).parent / "recordings" / "prometheus-2.42"
SOURCE = SOURCES[0]
LABELS = Labels("Hostname", "gpu", "instance", "device", "port")


def recorded(name: str) -> Answer:
    response = json.loads((FOLDER / f"{name}.json").read_text())["response"]
    return Answer(response["status"], response["body"].encode())


def samples(name: str) -> list[Sample]:
    return list(SOURCE.samples(recorded(name)))


def told(**changes: object) -> Answer:
    row = {"metric": {"__name__": UTIL, "Hostname": "n01", "gpu": "0"}, "value": [10.0, "5"]}
    body = {"status": "success", "data": {"resultType": "vector", "result": [row]}, **changes}
    return Answer(200, json.dumps(body).encode())


def test_every_series_is_a_sample_with_its_labels_and_value() -> None:
    found = samples("query_instant")
    assert {(one.labels["Hostname"], one.labels["gpu"]) for one in found} >= {("gpu-n01", "0"), ("gpu-n02", "0")}
    assert {one.name for one in found} == {XID} and {one.value for one in found} == {0.0}


def test_an_xid_is_its_number() -> None:
    (one,) = samples("query_xid_seen")
    assert (one.labels["Hostname"], one.labels["gpu"], one.value) == ("gpu-n01", "1", 79.0)


def test_what_is_not_a_number_is_absent() -> None:
    everything = json.loads(recorded("query_nan").body)["data"]["result"]
    assert len(samples("query_nan")) == len(everything) - 1
    assert samples("query_inf") == []


@pytest.mark.parametrize(
    "name", ["query_unknown_metric", "query_unknown_label", "down_series_stale", "query_vanished_series"]
)
def test_nothing_found_is_no_sample_and_no_trouble(name: str) -> None:
    assert samples(name) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("auth_missing", "answered 401 .its credential"),
        ("auth_wrong", "answered 401"),
        ("error_parse", "answered 400: .*parse error"),
        ("error_bad_regex", "answered 400"),
        ("error_max_samples", "answered 422: .*too many samples"),
        ("error_many_to_many", "answered 422"),
        ("error_timeout", "answered 503: .*timed out"),
        ("error_not_found", "answered 404"),
        ("error_method", "answered 405"),
        ("error_admin_off", "answered 500"),
    ],
)
def test_an_error_is_a_trouble_that_says_what_the_server_said(name: str, said: str) -> None:
    with pytest.raises(StoreTrouble, match=said):
        samples(name)


@pytest.mark.parametrize(
    "name",
    ["query_scalar", "query_string", "query_range", "query_range_vector_raw", "label_values", "exporter_page"],
)
def test_an_answer_of_another_kind_is_no_answer(name: str) -> None:
    with pytest.raises(StoreTrouble, match="cannot be understood"):
        samples(name)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, b""),
        Answer(200, b"[]"),
        Answer(200, b"null"),
        Answer(200, b"<html>down for maintenance</html>"),
        Answer(200, b"[" * 100_000),
        Answer(200, b'{"status":"success"}'),
        Answer(200, b'{"status":"success","data":{"resultType":"vector","result":[{}]}}'),
        Answer(200, b'{"status":"success","data":{"resultType":"vector","result":[7]}}'),
        told(data={"resultType": "vector", "result": [{"metric": {}, "value": [1, 5]}]}),
        told(data={"resultType": "vector", "result": [{"metric": {}, "value": [1, "five"]}]}),
        told(data={"resultType": "vector", "result": {"metric": {}}}),
        told(status="error", error="no such thing"),
        told(status="partial"),
        told(warnings=["a store did not answer"]),
        told(isPartial=True),
    ],
    ids=range(15),
)
def test_a_server_that_lies_gives_nothing(answer: Answer) -> None:
    """200 with an error, half an answer, or anything else that is none (trap 3)."""
    with pytest.raises(StoreTrouble):
        list(SOURCE.samples(answer))


def test_the_honest_form_of_it_is_read() -> None:
    assert [one.value for one in SOURCE.samples(told())] == [5.0]


def test_the_queries_are_four_however_many_nodes_there_are() -> None:
    wanted = queries(LABELS, 'cluster="a"')
    assert list(wanted) == ["ages", "states", "activity", "host"]
    assert all('cluster="a"' in query for query in wanted.values())
    assert all("," not in query.partition("{")[2].partition("}")[0].rstrip('"')[-1:] for query in wanted.values())


def snapshot(answers: dict[str, list[Sample]], labels: Labels, nodes: list[str]) -> Snapshot:
    sorting = Sorting(labels, nodes)
    for query in queries(labels, ""):
        sorting.take(query, answers.get(query, []))
    return sorting.seen


def sample(value: float, at: float = 100.0, name: str = UTIL, **labels: str) -> Sample:
    return Sample(name, labels, value, at)


def test_nodes_are_found_by_their_name_however_it_is_written() -> None:
    seen = snapshot(
        {
            "activity": [
                sample(1, Hostname="n01:9400", gpu="0"),
                sample(2, Hostname="N02.cluster.local", gpu="0"),
                sample(3, Hostname="10.0.0.7:9400", gpu="0"),
                sample(4, Hostname="n01", gpu=""),
                sample(5, gpu="0"),
            ]
        },
        LABELS,
        ["n01", "n02"],
    )
    assert {name: list(host.gpus) for name, host in seen.hosts.items()} == {"n01": ["0"], "n02": ["0"]}
    assert seen.strangers == {"10.0.0.7:9400"}


def test_values_whose_scrape_is_too_long_ago_are_absent() -> None:
    """Series with time stamps of their own are answered for five minutes after their target is gone."""
    seen = snapshot(
        {
            "activity": [sample(1, Hostname="n01", gpu="0"), sample(2, Hostname="n01", gpu="1")],
            "ages": [sample(5.0, Hostname="n01", gpu="0"), sample(50.0, Hostname="n01", gpu="1")],
        },
        LABELS,
        ["n01"],
    )
    assert list(seen.hosts["n01"].gpus) == ["1"]


def test_hostile_labels_become_short_and_plain_and_are_bounded() -> None:
    odd = [sample(1, Hostname="n01", gpu=f"<b>|{'x' * 500}{number}") for number in range(5)]
    many = [sample(1, Hostname="n01", gpu=str(number)) for number in range(500)]
    seen = snapshot({"activity": [*odd, *many]}, LABELS, ["n01"])
    assert len(seen.hosts["n01"].gpus) == 64
    assert all(len(name) <= 64 and "|" not in name and "<" not in name for name in seen.hosts["n01"].gpus)
