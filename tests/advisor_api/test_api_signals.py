"""Does the endpoint give the report that the command prints?"""

from collections.abc import Iterator

import pytest
from django.utils import timezone

from detectors.signal_keeping import Busy, looks
from detectors.signals.report import Report, as_json
from schedulers.states import JobState
from tests.advisor_api.conftest import Api
from tests.advisor_api.world import a_job, an_attempt

PATH = "/v1/clusters/demo/signals"


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    looks.forget()
    yield
    looks.forget()


def test_it_is_the_report_of_the_command(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    an_attempt(a_job(api.cluster, 7), state=JobState.RUNNING, now=timezone.now())
    found: list[Report] = []
    get = looks.get
    monkeypatch.setattr(looks, "get", lambda *asked: found.append(get(*asked)) or found[-1])
    answer = api.get(PATH)
    assert answer.status == 200
    assert answer.json == as_json(found[0])
    assert [job["jobId"] for job in answer.json["jobs"]] == ["7"]
    assert answer.json["grade"] == "wrong"


def test_one_job(api: Api) -> None:
    for number in (7, 8):
        an_attempt(a_job(api.cluster, number), state=JobState.RUNNING, now=timezone.now())
    assert [job["jobId"] for job in api.get(f"{PATH}?job=8").json["jobs"]] == ["8"]
    assert [job["jobId"] for job in api.get(f"{PATH}?attempts=1").json["jobs"]] == ["8"]
    missing = api.get(f"{PATH}?job=9")
    assert (missing.status, missing.message) == (404, "demo has no job 9.")


@pytest.mark.parametrize("query", ["job=x", "job=-1", "job=99999999999999999999", "attempts=0", "attempts=201"])
def test_what_cannot_be_asked_is_400(query: str, api: Api) -> None:
    assert api.get(f"{PATH}?{query}").status == 400


def test_too_many_at_once_are_told_to_come_again(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_asked: object) -> Report:
        raise Busy("Other clusters are looked at right now; ask again.")

    monkeypatch.setattr(looks, "get", busy)
    answer = api.get(PATH)
    assert (answer.status, answer.message) == (503, "Other clusters are looked at right now; ask again.")
