"""Is whoever asks too often told when to come back, and nobody else?"""

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.test import Client

from advisor_api.rates import CallerRate
from advisor_api.wrong_tokens import WrongTokenRate
from tests.advisor_api.conftest import Api

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nobody_asked_before() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def test_one_who_asks_too_often_comes_back_later(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CallerRate, "get_rate", lambda self: "3/min")
    assert [api.get("/v1/clusters").status for _ in range(4)] == [200, 200, 200, 429]
    answer = api.get("/v1/clusters")
    assert answer.json["code"] == 8
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert api.get("/v1/clusters", "controller").status == 200, "each caller has a share of its own"


def test_wrong_tokens_are_counted_by_address_and_right_ones_pass(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WrongTokenRate, "rate", "3/min")
    api.secrets["guess"] = "rekindle_guess"
    assert [api.get("/v1/clusters", "guess").status for _ in range(4)] == [401, 401, 401, 429]
    assert "wrong tokens" in api.get("/v1/clusters", "guess").message
    assert api.get("/v1/clusters").status == 200


def test_an_answer_that_was_seen_is_not_sent_again(api: Api) -> None:
    first = api.get("/v1/clusters")
    tag = first.headers["ETag"]

    headers = {"Authorization": f"Bearer {api.secrets['viewer']}", "If-None-Match": tag}
    again = Client().get("/v1/clusters", headers=headers)
    assert (again.status_code, again.content) == (304, b"")
    headers["If-None-Match"] = '"other"'
    assert Client().get("/v1/clusters", headers=headers).status_code == 200
    stranger = {"Authorization": f"Bearer {api.secrets['stranger']}", "If-None-Match": tag}
    assert Client().get("/v1/clusters", headers=stranger).status_code == 200
