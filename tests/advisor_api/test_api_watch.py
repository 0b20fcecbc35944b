"""Is somebody who waits for advice told at once, and does nobody wait for ever or for others?"""

import asyncio
import time
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient
from django.utils import timezone

from advisor_api.models import Advice, ApiToken, Pause
from advisor_api.views import watch
from tests.advisor_api.conftest import Api
from tests.advisor_api.world import an_advice
from workloads.models import Cluster

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "/v1/advice:watch"


async def ask(api: Api, seen: str, seconds: int = 30, member: str = "controller") -> tuple[int, Any, float]:
    """Status, body, and the seconds that it took."""
    began = time.monotonic()
    headers = {"Authorization": f"Bearer {api.secrets[member]}"}
    found = await AsyncClient().get(f"{PATH}?seen={seen}&waitSeconds={seconds}", headers=headers)
    return found.status_code, found.json(), time.monotonic() - began


def seen_by(api: Api) -> str:
    mark: str = api.get(PATH, "controller").json["seen"]
    return mark


def new_advice(api: Api) -> None:
    an_advice(api.cluster, 7, timezone.now())


def approved(api: Api) -> None:
    Advice.objects.update(state="converged")


def switched(api: Api) -> None:
    Cluster.objects.filter(pk=api.cluster.pk).update(mode="monitor", mode_version=9)


def paused(api: Api) -> None:
    now = timezone.now()
    Pause.objects.create(
        cluster=api.cluster, scope="cluster", reason="r", owner="o", since=now, until=now + timedelta(hours=1)
    )


@pytest.mark.parametrize("change", [new_advice, approved, switched, paused])
async def test_who_waits_is_told_of_what_changes(api: Api, change: Any) -> None:
    await sync_to_async(an_advice)(api.cluster, 3, timezone.now())
    mark = await sync_to_async(seen_by)(api)
    waiting = asyncio.create_task(ask(api, mark))
    await asyncio.sleep(0.6)
    assert not waiting.done()
    await sync_to_async(change)(api)
    status, body, seconds = await waiting
    assert (status, body["changed"]) == (200, True)
    assert body["seen"] != mark
    assert seconds < 20, "told by the change and not by the end of the time"


async def test_without_a_mark_or_with_another_one_the_answer_comes_at_once(api: Api) -> None:
    for seen in ("", "0" * 32):
        status, body, seconds = await ask(api, seen)
        assert (status, body["changed"]) == (200, True)
        assert seconds < 5


async def test_the_time_ends_a_wait(api: Api) -> None:
    mark = await sync_to_async(seen_by)(api)
    status, body, seconds = await ask(api, mark, seconds=1)
    assert (status, body) == (200, {"seen": mark, "changed": False})
    assert seconds >= 1


async def test_what_happens_on_another_cluster_wakes_nobody(api: Api) -> None:
    await sync_to_async(an_advice)(
        api.cluster, 3, timezone.now()
    )  # the first one activates a policy of all clusters
    mark = await sync_to_async(seen_by)(api)
    waiting = asyncio.create_task(ask(api, mark, seconds=2))
    await asyncio.sleep(0.3)
    await sync_to_async(an_advice)(api.other, 8, timezone.now())
    assert (await waiting)[1] == {"seen": mark, "changed": False}


async def test_a_token_that_is_taken_back_meanwhile_is_told_so(api: Api) -> None:
    mark = await sync_to_async(seen_by)(api)
    waiting = asyncio.create_task(ask(api, mark, seconds=2))
    await asyncio.sleep(0.5)
    await sync_to_async(ApiToken.objects.filter(name="controller").update)(revoked_at=timezone.now())
    assert (await waiting)[0] == 401


async def test_questions_that_wait_are_bounded_for_each_caller(api: Api) -> None:
    mark = await sync_to_async(seen_by)(api)
    waiting = [asyncio.create_task(ask(api, mark, seconds=4)) for _ in range(watch.HELD_BY_ONE)]
    while watch._waiting.total() < watch.HELD_BY_ONE:
        await asyncio.sleep(0.05)
    status, body, _ = await ask(api, mark)
    assert (status, body["code"]) == (429, 8)
    assert (await ask(api, mark, seconds=1, member="viewer"))[0] == 200, "others have a share of their own"
    assert {status for status, _, _ in await asyncio.gather(*waiting)} == {200}
    assert not watch._waiting


async def test_who_goes_away_gives_the_place_back(api: Api) -> None:
    mark = await sync_to_async(seen_by)(api)
    waiting = asyncio.create_task(ask(api, mark))
    while not watch._waiting:
        await asyncio.sleep(0.05)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    for _ in range(100):
        if not watch._waiting:
            break
        await asyncio.sleep(0.05)
    assert not watch._waiting


def test_a_server_with_a_thread_for_each_request_answers_at_once(api: Api) -> None:
    began = time.monotonic()
    answer = api.get(f"{PATH}?seen={seen_by(api)}&waitSeconds=30")
    assert (answer.status, answer.json["changed"]) == (200, False)
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("query", ["waitSeconds=31", "waitSeconds=-1", "waitSeconds=x", "seen=zz", "seen=%00"])
def test_what_is_asked_wrongly_is_refused(api: Api, query: str) -> None:
    assert api.get(f"{PATH}?{query}").status == 400
