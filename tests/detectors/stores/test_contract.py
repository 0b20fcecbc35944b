"""Does each store understand what a real one answered? The same table for both, from recorded answers."""

from collections.abc import Callable

import pytest

from detectors.stores import STORES
from detectors.stores.store import Answer, Filter, Line, Question, Store, StoreTrouble, TooMany, TooSlow
from tests.detectors.stores.pretend import Pretend, recorded_rows
from tests.detectors.stores.recorded import T0, VERSIONS, answer, case

BY_NAME = {store.name: store for store in STORES}
SECOND = 1_000_000_000


def lines(store: str, name: str) -> list[Line]:
    return list(BY_NAME[store].lines(answer(store, name)))


def both(names: dict[str, str]) -> pytest.MarkDecorator:
    """One test for each store, with the name of its recorded case."""
    assert set(names) == set(VERSIONS)
    return pytest.mark.parametrize(("store", "name"), names.items(), ids=list(names))


@both({"loki": "query_empty_result", "victorialogs": "query_empty_result"})
def test_nothing_found_is_no_line_and_no_trouble(store: str, name: str) -> None:
    assert lines(store, name) == []


@both({"loki": "query_categorized_labels", "victorialogs": "query_field_filter"})
def test_labels_and_fields_are_read_alike(store: str, name: str) -> None:
    (warned, *_others) = (line for line in lines(store, name) if line.labels.get("rank") == "9")
    assert warned.ns == T0 + 40 * SECOND + 1 and "NCCL WARN NET/IB" in warned.text
    assert {"job_id": "4101", "node": "gpu-n02", "pid": "918273"}.items() <= warned.labels.items()


@both({"loki": "query_out_of_order", "victorialogs": "query_out_of_order"})
def test_lines_come_in_the_order_of_time(store: str, name: str) -> None:
    stamps = [line.ns for line in lines(store, name)]
    assert len(stamps) >= 3 and stamps == sorted(stamps)


@both({"loki": "burst_page1", "victorialogs": "burst_page1"})
def test_a_page_over_several_streams_is_one_list(store: str, name: str) -> None:
    found = lines(store, name)
    assert len(found) == 10 and [line.ns for line in found] == sorted(line.ns for line in found)
    assert found[0].text == "before 1"


@pytest.mark.parametrize(("store", "copies"), [("loki", 1), ("victorialogs", 4)])
def test_equal_lines_of_one_instant(store: str, copies: int) -> None:
    """Loki keeps one, VictoriaLogs all of them: both are what the store says, and the key tells they are equal."""
    first = [line for line in lines(store, "query_duplicates") if line.ns == T0 + 150 * SECOND]
    same = [line for line in first if line.text == "same text"]
    assert len(same) == copies and len({line.key for line in same}) == 1
    assert len({line.key for line in first}) == 2


@both({"loki": "push_odd_lines", "victorialogs": "insert_odd_lines"})
def test_odd_lines_come_back_as_they_were_written(store: str, name: str) -> None:
    pushed = {row.ns: row.text for row in recorded_rows(store) if row.labels.get("job_id") == "4102"}
    found = lines(store, "query_odd_lines")
    assert len(found) > 10 and any(line.text == "" for line in found)
    assert all(line.text == pushed[line.ns] for line in found)
    assert case(store, name)["request"]["method"] == "POST"


@both({"loki": "error_parse", "victorialogs": "error_parse"})
def test_a_wrong_query_is_a_trouble_that_says_what_the_store_said(store: str, name: str) -> None:
    with pytest.raises(StoreTrouble, match=r"answered 400: .*parse"):
        lines(store, name)


@both({"loki": "tenant_query_missing_header", "victorialogs": "auth_missing"})
def test_whoever_may_not_read_is_told_to_look_at_the_credential(store: str, name: str) -> None:
    with pytest.raises(StoreTrouble, match=r"answered 401 \(its credential or tenant is missing or wrong\)"):
        lines(store, name)


@both({"loki": "limit_query_timeout", "victorialogs": "error_timeout_arg"})
def test_a_query_that_takes_the_store_too_long_may_be_asked_in_halves(store: str, name: str) -> None:
    with pytest.raises(TooSlow):
        lines(store, name)


@both({"loki": "limit_ingestion_rate", "victorialogs": "limit_too_many_queries"})
def test_a_busy_store_is_asked_later(store: str, name: str) -> None:
    with pytest.raises(StoreTrouble) as caught:
        lines(store, name)
    assert type(caught.value) is StoreTrouble


@both({"loki": "error_not_found", "victorialogs": "loki_query_unknown"})
def test_the_address_of_something_else_is_a_trouble(store: str, name: str) -> None:
    with pytest.raises(StoreTrouble, match=r"answered 40[04]"):
        lines(store, name)


@both({"loki": "metric_query_matrix", "victorialogs": "killed_mid_stream"})
def test_an_answer_that_is_no_list_of_whole_lines_is_a_trouble(store: str, name: str) -> None:
    with pytest.raises(StoreTrouble):
        lines(store, name)


@pytest.mark.parametrize("store", STORES, ids=lambda store: store.name)
@pytest.mark.parametrize(
    "body", [b"<html>sign in</html>", b"[]\n", b'{"status":"success"}\n', b"{" * 5000 + b"\n", b"\xff\n"]
)
def test_a_page_of_somebody_else_is_a_trouble(store: Store, body: bytes) -> None:
    with pytest.raises(StoreTrouble):
        store.lines(Answer(200, body))


@pytest.mark.parametrize(("name", "limit"), [("error_limit_over_max", 5000), ("limit_max_entries_small", 50)])
def test_the_largest_limit_is_read_from_the_refusal(name: str, limit: int) -> None:
    with pytest.raises(TooMany) as caught:
        lines("loki", name)
    assert caught.value.limit == limit


@both({"loki": "query_traceback_split", "victorialogs": "query_traceback_split"})
def test_lines_of_one_instant_are_all_there_in_any_order(store: str, name: str) -> None:
    found = lines(store, name)
    assert len({line.key for line in found}) == 6 and len({line.ns for line in found}) == 1


def test_the_requests_say_the_window_as_each_store_reads_it() -> None:
    question = Question(T0 + 5, T0 + SECOND, 7, (Filter("1", True), Filter("2", False)))
    loki = BY_NAME["loki"].request('{a="b"}', "team-a", question)
    assert loki.path == "/loki/api/v1/query_range"
    assert loki.params == {
        "query": '{a="b"} |= "1" != "2"',
        "start": str(T0 + 5),
        "end": str(T0 + SECOND),
        "limit": "7",
        "direction": "forward",
    }
    assert loki.headers["X-Scope-OrgID"] == "team-a" and loki.headers["Cache-Control"] == "no-cache"
    victoria = BY_NAME["victorialogs"].request('{a="b"}', "12:34", question)
    assert victoria.path == "/select/logsql/query"
    assert victoria.params["query"] == (
        '{a="b"} _time:[2026-11-29T14:00:00.000000005Z, 2026-11-29T14:00:01.000000000Z)'
        ' ~"1" !~"2" | sort by (_time, _stream_id, _msg) limit 7'
    )
    assert victoria.headers == {"AccountID": "12", "ProjectID": "34"}
    assert BY_NAME["victorialogs"].request("*", "12", question).headers["ProjectID"] == "0"
    either = BY_NAME["victorialogs"].request('{a="b"} or {a="c"}', "", question)
    assert either.params["query"].startswith('({a="b"} or {a="c"}) _time:') and either.headers == {}


AGAIN: list[tuple[str, str, str, int, int, int]] = [
    ("loki", "burst_page1", '{cluster="demo-a",job_id="4103"}', 100, 200, 10),
    ("loki", "query_out_of_order", '{job_id="4104"}', 0, 600, 10),
    ("loki", "query_duplicates", '{job_id="4105"}', 0, 600, 10),
    ("loki", "query_forward_page1", '{cluster="demo-a",job_id="4101",node="gpu-n01"}', 0, 600, 12),
    ("victorialogs", "burst_page1", '{cluster="demo-a",job_id="4103"}', 100, 200, 10),
    ("victorialogs", "query_out_of_order", '{job_id="4104"}', 0, 600, 100),
    ("victorialogs", "query_duplicates", '{job_id="4105"}', 0, 600, 100),
    ("victorialogs", "query_sort_limit_page1", '{cluster="demo-a",job_id="4101",node="gpu-n01"}', 0, 600, 12),
]


@pytest.mark.parametrize("asked", AGAIN, ids=lambda asked: f"{asked[0]}-{asked[1]}")
def test_the_pretended_store_answers_as_the_real_one_did(asked: tuple[str, str, str, int, int, int]) -> None:
    """Time and number of lines; and which, but for an instant that the page cuts: there no store keeps an order."""
    kind, name, selector, start, end, limit = asked
    store = BY_NAME[kind]
    pretend = Pretend(kind, recorded_rows(kind))
    request = store.request(selector, "", Question(T0 + start * SECOND, T0 + end * SECOND, limit))
    real, ours = lines(kind, name), store.lines(pretend.answer(request))
    assert [line.ns for line in ours] == [line.ns for line in real]
    whole: Callable[[Line], bool] = lambda line: len(real) < limit or line.ns < real[-1].ns  # noqa: E731
    assert sorted(line.text for line in ours if whole(line)) == sorted(line.text for line in real if whole(line))


@both({"loki": "labels", "victorialogs": "field_names"})
def test_labels_are_listed_without_the_stores_own(store: str, name: str) -> None:
    found = BY_NAME[store].names(answer(store, name))
    assert {"cluster", "filename", "job_id", "node"} <= set(found)
    assert not {"service_name", "_msg", "_time", "_stream", "_stream_id"} & set(found)


@pytest.mark.parametrize(
    ("store", "name", "values"),
    [
        ("loki", "label_values_job_id", ["4101", "4102", "4103", "4104", "4105"]),
        ("loki", "label_values_unknown", []),
        ("victorialogs", "field_values", ["9", "10"]),
        ("victorialogs", "field_values_unknown", []),
    ],
)
def test_values_of_a_label_are_listed_without_the_empty_one(store: str, name: str, values: list[str]) -> None:
    assert BY_NAME[store].values(answer(store, name)) == values


def test_a_store_that_is_empty_has_no_labels() -> None:
    assert BY_NAME["loki"].names(answer("loki", "labels_empty_store")) == []


@both({"loki": "tenant_labels_missing_header", "victorialogs": "auth_missing"})
def test_whoever_may_not_list_labels_is_told(store: str, name: str) -> None:
    with pytest.raises(StoreTrouble, match="answered 401"):
        BY_NAME[store].names(answer(store, name))


@pytest.mark.parametrize("store", STORES, ids=lambda store: store.name)
@pytest.mark.parametrize("body", [b"<html>", b"[1]", b'{"data":[{"no":1}],"values":[{"no":1}]}', b"{" * 5000])
def test_a_list_of_somebody_else_is_a_trouble(store: Store, body: bytes) -> None:
    with pytest.raises(StoreTrouble):
        store.names(Answer(200, body))


@pytest.mark.parametrize(
    ("store", "asked", "listed"),
    [
        ("loki", "labels", "names"),
        ("loki", "label_values_job_id", "job_id"),
        ("victorialogs", "field_names", "names"),
        ("victorialogs", "field_values", "rank"),
    ],
)
def test_labels_are_asked_for_as_was_recorded(store: str, asked: str, listed: str) -> None:
    """The same path and the same window; VictoriaLogs is asked about all lines, and for a bounded number."""
    recorded, own = case(store, asked)["request"], BY_NAME[store]
    start, end = T0, T0 + 600 * SECOND
    request = own.names_request("", start, end) if listed == "names" else own.values_request(listed, "", start, end)
    assert request.path == recorded["path"]
    mine = {name: value for name, value in request.params.items() if name not in ("query", "limit")}
    assert mine == {name: value for name, value in recorded["params"].items() if name != "query"}


@pytest.mark.parametrize("kind", list(VERSIONS))
def test_the_pretended_store_lists_labels_as_the_real_one(kind: str) -> None:
    own, pretend = BY_NAME[kind], Pretend(kind, recorded_rows(kind))
    name = "labels" if kind == "loki" else "field_names"
    listed = set(own.names(pretend.answer(own.names_request("", T0, T0 + 600 * SECOND))))
    assert set(own.names(answer(kind, name))) <= listed
    if kind == "loki":
        request = own.values_request("job_id", "", T0, T0 + 600 * SECOND)
        real = own.values(answer("loki", "label_values_job_id"))  # before the last lines were pushed
        assert set(real) <= set(own.values(pretend.answer(request)))
