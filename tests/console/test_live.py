"""Does a socket hear of what changed on its page, and does nobody else?"""

import asyncio
import json
import re
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from channels.layers import channel_layers
from django.contrib.auth.models import Group, Permission, User
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from audit import append_only
from audit.models import AuditEvent
from benchmarks.console_addresses import addresses
from console import consumers, tail
from console.changes import DOUBT
from console.consumers import NOT_UNDERSTOOD, SIGNED_OUT, TOO_MANY
from console.rights import mark_of, marks_of
from console.topics import is_topic, job_topic
from console.wake import push
from tests.console import sample
from tests.console.everything import make_everything
from tests.console.sample import EventType, Sample
from tests.console.sockets import SOON, Socket
from workloads.models import Cluster
from workloads.seen_by import hidden_from_each

pytestmark = pytest.mark.django_db(transaction=True)

JOB = job_topic("demo", 4711, 0)
TOPICS = re.compile(r'data-live-topics="([^"]*)"')
QUIET = 0.4  # seconds after which no frame is coming


@pytest.fixture(autouse=True)
def quick(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.REKINDLE = {**settings.REKINDLE, "REKINDLE_LIVE_SECONDS": 0.05}
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    channel_layers.backends.clear()
    monkeypatch.setattr(consumers, "FRAME_SECONDS", 0.05)


@pytest.fixture
def cookie(transactional_db: None) -> Callable[[User | None], str]:
    def sign_in(user: User | None) -> str:
        client = Client()
        if user is not None:
            client.force_login(user)
        return "; ".join(f"{name}={morsel.value}" for name, morsel in client.cookies.items())

    return sign_in


@pytest.fixture
def viewer(transactional_db: None, cookie: Callable[[User | None], str]) -> str:
    return cookie(sample.cast()["viewer"])


@pytest.fixture
def story(transactional_db: None, now: datetime) -> Sample:
    return sample.fill(now)


def socket(query: str, cookies: str = "", origin: str = "http://localhost") -> Socket:
    from recovery_site.asgi import application

    return Socket(application, "/ws/live", query, {"host": "localhost", "origin": origin, "cookie": cookies})


@asynccontextmanager
async def listening(query: str, cookies: str) -> AsyncIterator[Socket]:
    made = socket(query, cookies)
    assert await made.connect()
    yield made
    await made.leave()


async def whole(of: Socket) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(await of.text())
    assert re.fullmatch(r"(?:[0-9a-f]{16})?", said["rights"])
    return said


async def frame(of: Socket) -> dict[str, Any]:
    said = await whole(of)
    assert 0 < said.pop("spread") <= 1
    del said["rights"]
    assert abs(said.pop("at") - time.time()) < SOON
    return said


@sync_to_async
def tell(number: int = 4711, kind: EventType = EventType.VERDICT) -> int:
    of = sample.Attempt.objects.select_related("job__cluster").filter(job__number=number).first()
    return sample.event(timezone.now(), kind, of, "something").pk


@sync_to_async
def newest() -> int:
    return AuditEvent.objects.order_by("-id").first().pk


async def closed_with(query: str, cookies: str = "") -> int:
    made = socket(query, cookies)
    assert await made.connect(), "a browser learns no reason from a refused handshake"
    code = await made.close_code()
    await made.leave()
    return code


async def test_a_stranger_hears_nothing(story: Sample) -> None:
    assert await closed_with("topic=overview") == SIGNED_OUT
    assert await closed_with("topic=overview", "sessionid=forged") == SIGNED_OUT


async def test_a_closed_account_hears_nothing(viewer: str, story: Sample) -> None:
    await sync_to_async(User.objects.update)(is_active=False)
    assert await closed_with("topic=overview", viewer) == SIGNED_OUT


async def test_another_site_cannot_listen(viewer: str) -> None:
    assert not await socket("topic=overview", viewer, origin="https://evil.example").connect()


@pytest.mark.parametrize(
    "query",
    [
        "",
        "topic=",
        "topic=everything",
        "topic=overview&since=x",
        "topic=overview&since=-1",
        "since=3",
        "topic=%ff",
        "&".join(["topic=overview"] * 20),
        "&".join(f"topic=cluster:c{number}" for number in range(9)),
        "topic=cluster:demo%0A",
        "topic=job:demo/1",
        "topic=overview&topic=wake",
        "topic=" + "x" * 100_000,
        "topic=overview&rights=x",
        "topic=overview&rights=" + "a" * 17,
    ],
)
async def test_a_query_that_cannot_be_understood_is_refused(query: str, viewer: str) -> None:
    assert await closed_with(query, viewer) == NOT_UNDERSTOOD


async def test_a_socket_is_not_talked_to(viewer: str) -> None:
    async with listening("topic=overview", viewer) as one:
        await frame(one)
        await one.say('{"topics": ["everything"]}')
        assert await one.close_code() == NOT_UNDERSTOOD


async def test_a_page_hears_of_its_own_topics_only(viewer: str, story: Sample) -> None:
    last = await newest()
    async with listening(f"topic={JOB}&since={last}", viewer) as one:
        await frame(one)
        while not await one.silent(QUIET):
            await frame(one)  # what is younger than the doubt
        other = await tell(4712)
        assert await one.silent(QUIET)
        mine = await tell(4711)
        assert await frame(one) == {"topics": [JOB], "last": str(mine)}
        assert mine > other


async def test_a_burst_becomes_one_frame(viewer: str, story: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "FRAME_SECONDS", 1.0)
    async with listening("topic=overview&topic=cluster:demo", viewer) as one:
        await frame(one)
        for _ in range(20):
            last = await tell()
        frames = [await frame(one)]
        while not await one.silent(1.3):
            frames.append(await frame(one))
        assert len(frames) <= 3
        assert frames[-1]["last"] == str(last)


def made_old(at: datetime) -> None:
    append_only.remove()
    AuditEvent.objects.update(at=at)
    append_only.restore()


async def test_who_comes_back_gets_what_was_missed(viewer: str, story: Sample) -> None:
    last = await newest()
    long_ago = timezone.now() - 4 * DOUBT
    await sync_to_async(made_old)(long_ago)
    await sync_to_async(sample.Attempt.objects.update)(changed_at=long_ago)
    async with listening(f"topic={JOB}&topic=overview&since={last}", viewer) as one:
        assert await frame(one) == {"topics": [], "last": str(last)}
        assert await one.silent(QUIET)
    missed = await tell(kind=EventType.CHECKPOINT_SAVED)
    async with listening(f"topic={JOB}&topic=overview&since={last}", viewer) as one:
        await frame(one)
        assert await frame(one) == {"topics": [JOB], "last": str(missed)}


async def test_an_event_committed_below_the_newest_is_told(viewer: str, story: Sample) -> None:
    @sync_to_async
    def put(pk: int) -> None:
        AuditEvent.objects.create(
            pk=pk, at=timezone.now(), actor_kind="rule", actor="x", type="advice", sentence="x",
            cluster="demo", job_number=4711, job_epoch=0,
        )  # fmt: skip

    async with listening(f"topic={JOB}", viewer) as one:
        await frame(one)
        gap = await newest() + 1
        await put(gap + 1)
        assert (await frame(one))["topics"] == [JOB]
        await put(gap)
        assert await frame(one) == {"topics": [JOB], "last": str(gap + 1)}


async def test_many_sockets_share_one_tail_that_ends_with_the_last(viewer: str, story: Sample) -> None:
    async with listening("topic=overview", viewer) as one, listening("topic=overview", viewer) as two:
        await frame(one)
        await frame(two)
        mine = tail.tail_of_this_loop()
        assert len(mine._listeners) == 2
        assert len(mine._tasks) == 3
        await tell()
        assert (await frame(one))["topics"] == (await frame(two))["topics"] == ["overview"]
    assert not mine._tasks


async def test_a_wake_up_is_quicker_than_the_poll(viewer: str, story: Sample, settings: Any) -> None:
    settings.REKINDLE = {**settings.REKINDLE, "REKINDLE_LIVE_SECONDS": 60.0}
    async with listening("topic=overview", viewer) as one:
        await frame(one)
        await asyncio.sleep(0.2)  # the tail now waits for its next poll, a minute away
        await tell()
        assert await one.silent(QUIET)
        await asyncio.to_thread(push)
        assert (await frame(one))["topics"] == ["overview"]


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """A private Redis on a socket of its own."""
    path = tmp_path / "redis.sock"
    server = subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(tmp_path)],
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    yield f"unix://{path}"
    server.terminate()
    server.wait(60)


async def test_with_redis_another_loop_wakes_the_sockets(
    viewer: str, story: Sample, settings: Any, redis: str
) -> None:
    settings.REKINDLE = {**settings.REKINDLE, "REKINDLE_LIVE_SECONDS": 60.0}
    layer = {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": [redis]}}
    settings.CHANNEL_LAYERS = {"default": layer}
    channel_layers.backends.clear()
    async with listening("topic=overview", viewer) as one:
        await frame(one)
        await asyncio.sleep(0.3)
        await tell()
        assert await one.silent(QUIET)
        await asyncio.to_thread(push)
        assert (await frame(one))["topics"] == ["overview"]


async def test_without_the_channel_layer_polling_goes_on(
    viewer: str, story: Sample, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    layer = {"BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer", "CONFIG": {"hosts": ["unix:///nowhere"]}}
    settings.CHANNEL_LAYERS = {"default": layer}
    channel_layers.backends.clear()
    async with listening("topic=overview", viewer) as one:
        await frame(one)
        await asyncio.to_thread(push)
        await tell()
        assert (await frame(one))["topics"] == ["overview"]
    assert "could not wake the sockets" in caplog.text


async def test_a_database_that_fails_costs_latency_and_nothing_else(
    viewer: str, story: Sample, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tail, "PATIENCE_SECONDS", 0.1)
    async with listening("topic=overview", viewer) as one:
        await frame(one)
        with monkeypatch.context() as patch:
            patch.setattr("console.changes.AuditEvent.objects", None)
            await asyncio.sleep(0.3)
        await tell()
        assert (await frame(one))["topics"] == ["overview"]
    assert "the tail could not read" in caplog.text


async def test_a_socket_ends_after_its_time_and_may_come_again(
    viewer: str, story: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "LIFE_SECONDS", 0.1)
    async with listening("topic=overview", viewer) as one:
        await frame(one)
        assert await one.close_code() == consumers.COME_AGAIN


async def test_a_page_that_was_left_while_it_was_told_is_no_error(
    viewer: str, story: Sample, caplog: pytest.LogCaptureFixture
) -> None:
    said: list[str] = []
    left, over = asyncio.Event(), asyncio.Event()
    asked = iter([{"type": "websocket.connect"}])

    async def receive() -> dict[str, Any]:
        for message in asked:
            return message
        await over.wait()
        return {"type": "websocket.disconnect", "code": 1006}

    async def send(message: dict[str, Any]) -> None:
        said.append(message["type"])
        if message["type"] == "websocket.send":
            left.set()
            raise ConnectionResetError("as a server says it")

    one = socket("topic=overview", viewer)
    whole = asyncio.create_task(one.application(one.scope, receive, send))
    await asyncio.wait_for(left.wait(), SOON)
    await asyncio.sleep(QUIET)
    over.set()
    await asyncio.wait_for(whole, SOON)
    assert said == ["websocket.accept", "websocket.send"] and "could not be told" not in caplog.text


def test_a_push_without_sockets_does_nothing() -> None:
    push()


async def test_a_quiet_socket_beats(viewer: str, story: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "BEAT_SECONDS", 0.1)
    async with listening(f"topic={JOB}", viewer) as one:
        frames = [await frame(one) for _ in range(5)]
    assert frames[-1]["topics"] == frames[-2]["topics"] == []


@pytest.fixture
def quick_door(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail, "WELCOME_SECONDS", 0.1)


def closes_the_account() -> None:
    User.objects.filter(username="viewer").update(is_active=False)


def removes_the_account() -> None:
    User.objects.filter(username="viewer").delete()


def ends_the_session() -> None:
    Session.objects.all().delete()


def lets_the_session_run_out() -> None:
    Session.objects.update(expire_date=timezone.now())


def sets_a_new_password() -> None:
    person = User.objects.get(username="viewer")
    person.set_password("another long password")
    person.save()


@pytest.mark.parametrize(
    "change",
    [closes_the_account, removes_the_account, ends_the_session, lets_the_session_run_out, sets_a_new_password],
)
async def test_who_is_no_longer_let_in_is_shown_out_of_an_open_socket(
    change: Callable[[], object], viewer: str, story: Sample, quick_door: None
) -> None:
    async with listening("topic=overview", viewer) as one:
        await frame(one)
        await sync_to_async(change)()
        said = await one.receive_output(SOON)
        while said["type"] == "websocket.send":  # of what is younger than the doubt
            said = await one.receive_output(SOON)
        assert (said["type"], said["code"]) == ("websocket.close", SIGNED_OUT)
        await tell()
        assert await one.silent(QUIET)


async def test_the_others_stay(
    viewer: str, cookie: Callable[[User | None], str], story: Sample, quick_door: None
) -> None:
    other = await sync_to_async(lambda: cookie(User.objects.get(username="operator")))()
    async with listening("topic=overview", viewer) as one, listening("topic=overview", other) as two:
        await frame(one)
        await frame(two)
        await sync_to_async(closes_the_account)()
        while (said := await one.receive_output(SOON))["type"] == "websocket.send":
            pass
        assert said["code"] == SIGNED_OUT
        await tell()
        frames = [await frame(two)]
        while not await two.silent(QUIET):
            frames.append(await frame(two))
        assert ["overview"] in [said["topics"] for said in frames]


def person(name: str = "viewer") -> User:
    return User.objects.get(username=name)


def may_switch() -> Permission:
    return Permission.objects.get(codename="switch_mode")


def of_the_person() -> None:
    person().user_permissions.add(may_switch())


def of_a_group() -> None:
    group = Group.objects.create(name="who switch")
    group.permissions.add(may_switch())
    person().groups.add(group)


def of_everybody() -> None:
    User.objects.filter(username="viewer").update(is_superuser=True)


def takes_the_permission(of: str = "viewer") -> None:
    person(of).user_permissions.clear()


def takes_the_group() -> None:
    person().groups.clear()


def takes_it_from_the_group() -> None:
    Group.objects.get(name="who switch").permissions.clear()


def deletes_the_group() -> None:
    Group.objects.filter(name="who switch").delete()


def takes_all() -> None:
    User.objects.filter(username="viewer").update(is_superuser=False)


@pytest.mark.parametrize(
    ("gives", "takes"),
    [
        (of_the_person, takes_the_permission),
        (of_a_group, takes_the_group),
        (of_a_group, takes_it_from_the_group),
        (of_a_group, deletes_the_group),
        (of_everybody, takes_all),
    ],
)
async def test_a_right_that_is_taken_away_is_told_while_the_socket_is_open(
    gives: Callable[[], None], takes: Callable[[], None], viewer: str, story: Sample, quick_door: None
) -> None:
    none = await sync_to_async(lambda: mark_of(person()))()
    await sync_to_async(gives)()
    had = await sync_to_async(lambda: mark_of(person()))()
    assert had != none
    async with listening(f"topic={JOB}&rights={had}", viewer) as one:
        assert (await whole(one))["rights"] == had
        await asyncio.sleep(QUIET)  # the door has looked, and there was nothing to say
        assert await one.silent(QUIET)
        await sync_to_async(takes)()
        said = await whole(one)
        assert (said["topics"], said["rights"]) == ([], none)
        assert await one.silent(QUIET)


async def test_a_page_made_with_other_rights_is_told_as_soon_as_its_socket_is_open(
    viewer: str, story: Sample, quick_door: None
) -> None:
    now = await sync_to_async(lambda: mark_of(person()))()
    async with listening(f"topic={JOB}&rights={'0' * 16}", viewer) as one:
        assert (await whole(one))["rights"] == "0" * 16
        assert (await whole(one))["rights"] == now


@sync_to_async
def for_physics_alone() -> str:
    """Hides the cluster from whoever is not in the group; the mark of one who does not see it."""
    Group.objects.get_or_create(name="Physics")
    Cluster.objects.filter(name="demo").update(seen_by=["Physics"])
    return marks_of([person()], hidden_from_each([person()]))[person().pk]


async def test_of_a_cluster_that_one_does_not_see_nothing_is_told(
    viewer: str, cookie: Callable[[User | None], str], story: Sample
) -> None:
    await for_physics_alone()
    root = await sync_to_async(lambda: cookie(User.objects.create_superuser("root")))()
    asked = f"topic={JOB}&topic=cluster:demo&topic=gates:demo&topic=overview&since={await newest()}"
    async with listening(asked, viewer) as one, listening(asked, root) as another:
        while not await one.silent(QUIET):
            assert (await frame(one))["topics"] == [], "nor what came before"
        while not await another.silent(QUIET):
            await frame(another)
        await tell()
        assert await one.silent(QUIET)
        assert {JOB, "overview"} <= {*(await frame(another))["topics"]}


async def test_a_cluster_that_is_hidden_falls_silent_on_open_pages_and_comes_back(
    viewer: str, story: Sample, quick_door: None
) -> None:
    had = await sync_to_async(lambda: mark_of(person()))()
    async with listening(f"topic={JOB}&rights={had}", viewer) as one:
        await whole(one)
        hidden = await for_physics_alone()
        while (said := await whole(one))["rights"] != hidden:
            assert said["rights"] == had
        await tell()
        assert await one.silent(QUIET)
        await sync_to_async(lambda: person().groups.add(Group.objects.get(name="Physics")))()
        while (await whole(one))["rights"] != had:
            pass
        await tell()
        assert JOB in (await frame(one))["topics"]


async def test_the_rights_of_others_are_no_news(
    viewer: str, cookie: Callable[[User | None], str], story: Sample, quick_door: None
) -> None:
    mine = await sync_to_async(lambda: mark_of(person()))()
    async with listening(f"topic={JOB}&rights={mine}", viewer) as one:
        await whole(one)
        await sync_to_async(takes_the_permission)("operator")
        assert await one.silent(2 * QUIET)


def test_the_marks_of_many_are_those_of_each(story: Sample, django_assert_num_queries: Any) -> None:
    cast = sample.cast()
    group = Group.objects.create(name="who switch")
    group.permissions.add(may_switch())
    cast["viewer"].groups.add(group)
    cast["operator"].groups.add(group)
    root = User.objects.create_superuser("root", password=None)
    people = [User.objects.get(pk=one.pk) for one in (*cast.values(), root)]
    with django_assert_num_queries(4):
        marks = marks_of(people, hidden_from_each(people))
    assert marks == {one.pk: mark_of(one) for one in people}
    assert len(set(marks.values())) == 4


async def test_one_person_does_not_take_all_sockets(
    viewer: str, cookie: Callable[[User | None], str], story: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "SOCKETS_OF_ONE", 2)
    other = await sync_to_async(lambda: cookie(User.objects.get(username="operator")))()
    async with listening("topic=overview", viewer) as one:
        async with listening("topic=overview", viewer) as two:
            await frame(one)
            await frame(two)
            assert await closed_with("topic=overview", viewer) == TOO_MANY
            async with listening("topic=overview", other) as three:
                await frame(three)
        async with listening("topic=overview", viewer) as again:
            await frame(again)


@pytest.mark.parametrize("said", ["x", "x" * 100_000, "\0"])
async def test_the_first_word_of_a_page_is_its_last(said: str, viewer: str, story: Sample) -> None:
    async with listening("topic=overview", viewer) as one:
        await frame(one)
        for _ in range(50):
            await one.say(said)
        code = (await one.receive_output(SOON)).get("code")
        assert code == NOT_UNDERSTOOD
        await tell()
        assert await one.silent(QUIET)


def test_a_page_that_subscribes_is_for_whoever_has_signed_in(story: Sample, now: datetime) -> None:
    """No topic needs a right: each stands on a page that everybody may read."""
    root, nobody = Client(), Client()
    sample.cast()
    nobody.force_login(User.objects.get(username="viewer"))
    root.force_login(make_everything(now))
    read, subscribed = set(), set()
    for name, address in addresses():
        page = root.get(address).content.decode()
        topics = {topic for found in TOPICS.findall(page) for topic in found.split()}
        assert all(is_topic(topic) for topic in topics), name
        subscribed |= {topic.partition(":")[0] for topic in topics}
        if topics and nobody.get(address).status_code == 200:
            read |= {topic.partition(":")[0] for topic in topics}
    assert read == subscribed == {"overview", "cluster", "gates", "job"}
