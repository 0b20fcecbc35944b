"""What of a pushed listing is believed, and what is refused and changes nothing?"""

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client

from advisor_api.parsing import LISTING_LIMIT
from schedulers.observation import Observation, Unseen, written
from schedulers.port import JobRow
from schedulers.states import JobState
from tests.advisor_api.conftest import Api
from tests.workloads.scripted import LIMITS, ScriptedScheduler, a_row, after, failed
from workloads.models import Attempt, Cluster, Job, Node

pytestmark = pytest.mark.django_db
PATH = "/v1/clusters/demo/observation"
ROW = a_row()


@pytest.fixture
def pushed(api: Api, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """The cluster of the tests is pushed; call it with the second of the story that it is."""
    Cluster.objects.filter(pk=api.cluster.pk).update(scheduler_transport="push", poll_seconds=15.0, seen_at=None)
    api.cluster.refresh_from_db()

    def at(seconds: float) -> None:
        monkeypatch.setattr("advisor_api.views.observation.clock", lambda: after(seconds))

    at(5)
    return at


def listing(sequence: int, seconds: float, *rows: JobRow, **facts: Any) -> dict[str, Any]:
    told = Observation(sequence, after(seconds), rows, ScriptedScheduler().node_rows, LIMITS, answers=True)
    return written(replace(told, **facts))


def put(api: Api, body: Any, status: int = 200) -> Any:
    answer = api.ask("PUT", PATH, "controller", body)
    assert answer.status == status, answer
    return answer.json


def states() -> list[str]:
    return list(Attempt.objects.order_by("pk").values_list("state", flat=True))


def cluster() -> Cluster:
    return Cluster.objects.get(name="demo")


def test_a_listing_is_observed_once_by_its_sequence(api: Api, pushed: Callable[[float], None]) -> None:
    assert put(api, listing(10, 4, ROW)) == {"stored": True, "sequence": "10", "wanted": []}
    assert (states(), Node.objects.get(cluster=api.cluster, name="n03").state) == (["running"], "gone")
    pushed(20)
    assert put(api, listing(10, 19, failed(ROW, after(18))))["stored"]
    assert (states(), cluster().seen_at) == (["running"], after(5))
    put(api, listing(11, 19, failed(ROW, after(18))))
    assert (states(), cluster().seen_at) == (["failed"], after(20))
    assert "is older than 11" in put(api, listing(9, 20, ROW), 409)["message"]
    assert states() == ["failed"]
    assert api.get(PATH, "controller").json == {
        "sequence": "11",
        "schedulerTime": "2026-11-29T12:00:19Z",
        "seenAt": "2026-11-29T12:00:20Z",
        "wanted": [],
    }


def test_only_a_cluster_that_is_pushed_takes_it(api: Api) -> None:
    sentence = "The scheduler of demo is asked from here; nothing is pushed for it."
    answers = api.ask("PUT", PATH, "controller", listing(1, 0, ROW)), api.get(PATH, "controller")
    assert [(answer.status, answer.message) for answer in answers] == [(409, sentence), (404, sentence)]
    Cluster.objects.filter(name="demo").update(scheduler_transport="push", enabled=False, seen_at=None)
    assert put(api, listing(1, 0, ROW), 409)["message"] == "demo is not watched."
    assert (states(), cluster().seen_at) == ([], None)


STALE = {
    "the same time again": (20, 4, "did not move on"),
    "an earlier time": (20, 3, "did not move on"),
    "too old": (200, 79, "is 121 s ago"),
    "in the future": (20, 141, "is 121 s in the future"),
}


@pytest.mark.parametrize("case", STALE)
def test_a_listing_that_is_no_new_look_is_refused(api: Api, pushed: Callable[[float], None], case: str) -> None:
    put(api, listing(10, 4, ROW))
    now, then, sentence = STALE[case]
    pushed(now)
    assert sentence in put(api, listing(11, then), 409)["message"]
    assert (states(), cluster().seen_at, cluster().pushed_sequence) == (["running"], after(5), 10)


def test_a_sequence_that_would_end_all_pushing_is_refused(api: Api, pushed: Callable[[float], None]) -> None:
    put(api, listing(int(after(80_000).timestamp() * 1000), 4, ROW))
    assert "no number of milliseconds" in put(api, listing(2**63 - 1, 4, ROW), 409)["message"]


def test_an_empty_list_is_believed_only_of_a_scheduler_that_answers(
    api: Api, pushed: Callable[[float], None]
) -> None:
    put(api, listing(10, 4, ROW))
    pushed(20)
    assert put(api, listing(11, 19, answers=False)) == {"stored": False, "sequence": "10", "wanted": []}
    assert (states(), Job.objects.get().missing_listings) == (["running"], 0)
    assert "answers nothing else" in cluster().cannot_see_reason
    pushed(35)
    assert put(api, listing(12, 34)) == {"stored": True, "sequence": "12", "wanted": [12345]}
    assert (states(), cluster().cannot_see_since) == (["running"], None)


def test_what_the_controller_cannot_see_is_unseen_at_once(api: Api, pushed: Callable[[float], None]) -> None:
    put(api, listing(10, 4, ROW))
    pushed(20)
    put(api, written(Unseen(11, "squeue did not answer.", "slurm_load_jobs error")))
    row = cluster()
    assert (row.cannot_see_since, row.cannot_see_reason) == (after(20), "squeue did not answer.")
    assert (row.raw_answer, row.seen_at, states()) == ("slurm_load_jobs error", after(5), ["running"])
    assert "is older than 11" in put(api, listing(9, 19, failed(ROW, after(18))), 409)["message"]
    assert states() == ["running"]


BAD: dict[str, tuple[Callable[[], bytes], str, int, str]] = {
    "no gzip": (lambda: b"{}", "gzip", 400, "The body is no gzip."),
    "half a gzip": (lambda: gzip.compress(b"{}" * 999)[:-9], "gzip", 400, "The gzip of the body ends too soon."),
    "another coding": (lambda: b"{}", "br", 415, "Content-Encoding is gzip, or left out."),
    "a bomb": (
        lambda: gzip.compress(b" " * (LISTING_LIMIT + 1)),
        "gzip",
        413,
        f"The body is larger than {LISTING_LIMIT} bytes once unpacked.",
    ),
    "too large": (lambda: b" " * (LISTING_LIMIT + 1), "", 413, f"The body is larger than {LISTING_LIMIT} bytes."),
    "too deep": (
        lambda: b'{"a":' + b"[" * 99 + b"]" * 99 + b"}",
        "",
        413,
        "The body is nested deeper than 32 levels.",
    ),
    "another version": (lambda: b'{"version": 2}', "", 400, "version: only 1 is understood."),
    "no object": (lambda: b"[]", "", 400, "The body must be a JSON object."),
}


@pytest.mark.parametrize("case", BAD)
def test_a_hostile_body_changes_nothing(api: Api, pushed: Callable[[float], None], case: str) -> None:
    content, coding, status, sentence = BAD[case]
    headers = {"Authorization": f"Bearer {api.secrets['controller']}"} | (
        {"Content-Encoding": coding} if coding else {}
    )
    answer = Client().generic("PUT", PATH, content(), "application/json", headers=headers)
    assert (answer.status_code, json.loads(answer.content)["message"]) == (status, sentence)
    assert (cluster().seen_at, cluster().pushed_sequence) == (None, 0)


def test_hostile_values_are_stored_as_of_a_poll(api: Api, pushed: Callable[[float], None]) -> None:
    huge = 2**63 - 1
    rows = (
        a_row(1, name="\0\ud800" * 200, exit_code=huge, node_count=huge, user_id=huge, array_task=-5),
        a_row(2, restarts=huge),
        a_row(-3),
        a_row(4, JobState.UNKNOWN, comment="x" * 5000, nodes=("n" * 999,)),
    )
    put(api, listing(10, 4, *rows))
    assert list(Job.objects.order_by("number").values_list("number", flat=True)) == [1, 4]


def test_listings_larger_than_other_bodies_are_taken(api: Api, pushed: Callable[[float], None]) -> None:
    rows = [replace(ROW, number=number, batch=False, comment="x" * 1024) for number in range(1, 5000)]
    body = json.dumps(listing(10, 4, ROW, *rows)).encode()
    assert len(body) > 5 << 20
    answer = api.ask("PUT", PATH, "controller", raw=body)
    assert (answer.status, states()) == (200, ["running"])
