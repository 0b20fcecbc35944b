"""Is a cluster that is pushed seen as one that is polled, and not seen when the pushes stop?

The controller's own pusher lists a scripted scheduler; what it sends goes through the API's door.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from advisor_api.deciding import decide_all_due
from advisor_api.models import Advice
from audit.event_type import EventType
from audit.models import AuditEvent
from controller.client import Rejected
from controller.client import Unreachable as NoAnswer
from controller.listing import Source
from controller.plain import Voice
from controller.push_client import PushAdvisor
from controller.pushing import Pusher
from schedulers.port import JobRow, NodeRow, SchedulerError, Unreachable
from schedulers.states import JobState
from tests.advisor_api.conftest import Api
from tests.advisor_api.world import a_verdict
from tests.workloads.scripted import ScriptedScheduler, a_row, accounted, after, failed, requeued
from workloads.models import Attempt, Cluster, Job, Node
from workloads.observing import observe
from workloads.pushes import miss
from workloads.tasks import observe_cluster

pytestmark = pytest.mark.django_db
COMMAND_SECONDS = 10.0
SILENT = "An empty listing was pushed, of a scheduler that answers nothing else."
Step = Callable[[ScriptedScheduler], None]


class Story:
    """One clock for scheduler, controller and site."""

    stopping = False

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> datetime:
        return after(self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class Timed(ScriptedScheduler):
    """A scripted scheduler whose clock is that of the story."""

    story: Story

    def now(self) -> datetime:
        self._called("now")
        return self.story.now()


class ThroughTheDoor(PushAdvisor):
    """The controller's client; its requests reach the site without a network."""

    def __init__(self, api: Api) -> None:
        self._cluster, self._api = "demo", api
        self.lost: list[str] = []  # "before" or "after" the request: what happens to the next ones

    def _ask(
        self, method: str, path: str, body: Any = None, query: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        lost = self.lost.pop(0) if self.lost else ""
        if lost == "before":
            raise NoAnswer("it got lost")
        headers = {"Authorization": f"Bearer {self._api.secrets['controller']}"}
        packed = {} if body is None else {"Content-Encoding": "gzip"}
        answer = Client().generic(method, path, body or b"", "application/json", headers=headers | packed)
        content: dict[str, Any] = json.loads(answer.content)
        if answer.status_code != 200:
            raise Rejected(answer.status_code, content["message"])
        if lost:
            raise NoAnswer("the answer got lost")
        return content


class Site:
    """A cluster in the story, with its scheduler and its pusher."""

    def __init__(self, api: Api, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
        Cluster.objects.filter(name="demo").update(scheduler_transport=way, poll_seconds=15.0, seen_at=None)
        self.story, self.scheduler, self.said = Story(), Timed(accounting={}), list[str]()
        self.scheduler.story = self.story
        self.advisor = ThroughTheDoor(api)
        source = Source(self.scheduler, self.story)
        voice = Voice(self.said.append)
        self.pusher = Pusher(self.scheduler, source, self.advisor, self.story, voice)
        monkeypatch.setattr("advisor_api.views.observation.clock", self.story.now)
        monkeypatch.setattr("django.utils.timezone.now", self.story.now)

    @property
    def cluster(self) -> Cluster:
        return Cluster.objects.get(name="demo")

    def look(self, at: float) -> float:
        self.story.seconds = at
        if self.cluster.scheduler_transport == "push":
            return self.pusher.turn()
        observe(self.cluster, self.scheduler, self.story.now())
        return 15.0

    def miss(self, at: float) -> Cluster:
        self.story.seconds = at
        miss(self.cluster, COMMAND_SECONDS, self.story.now())
        return self.cluster


def shows(*rows: JobRow, **facts: Any) -> Step:
    def step(scheduler: ScriptedScheduler) -> None:
        scheduler.rows, scheduler.fails = rows, {}
        for name, value in facts.items():
            setattr(scheduler, name, value)

    return step


def gone(call: str, error: SchedulerError) -> Step:
    return lambda scheduler: scheduler.fails.update({call: error})


ROW = a_row()
AGAIN = requeued(ROW, after(25))
OTHER = a_row(77, user="bob", comment="{a:1}")
STORIES: dict[str, Sequence[Step]] = {
    "a job fails and is requeued": [shows(ROW, OTHER), shows(failed(ROW, after(14)), OTHER), shows(AGAIN, OTHER)],
    "held, and another node state": [
        shows(ROW),
        shows(requeued(ROW, after(14), JobState.HELD), node_rows=(NodeRow("n01", ("down",), "fan", "root"),)),
    ],
    "the scheduler is away for a while": [
        shows(ROW),
        gone("jobs", Unreachable("No answer.", "raw")),
        gone("jobs", Unreachable("No answer.", "raw")),
        shows(ROW),
    ],
    "only the nodes are not told": [shows(ROW), gone("nodes", Unreachable("No answer."))],
    "an empty list of a scheduler that is starting": [
        shows(ROW),
        shows(fails={"ping": Unreachable(SILENT)}),
        shows(ROW),
    ],
    "a job vanishes, and the accounting knows": [
        shows(ROW, OTHER, accounting={12345: (accounted(ROW, JobState.COMPLETED, after(14)),)}),
        shows(OTHER),
        shows(OTHER),
        shows(OTHER),
    ],
    "all jobs vanish, and the accounting knows one": [
        shows(ROW, OTHER, accounting={77: (accounted(OTHER, JobState.FAILED, after(14), exit_code=2**40),)}),
        *[shows()] * 3,
    ],
    "a job vanishes without an accounting": [shows(ROW, OTHER, accounting=None), *[shows(OTHER)] * 3],
    "more jobs vanish than are asked about at once": [
        shows(*[a_row(number) for number in range(1, 61)], OTHER),
        *[shows(OTHER)] * 6,
    ],
    "a number goes to another job": [
        shows(ROW, accounting={12345: (accounted(ROW, JobState.COMPLETED, after(14)),)}),
        shows(replace(ROW, user="bob", submitted_at=after(16), started_at=after(17))),
    ],
}
NEVER = {"id", "uuid", "job_id", "scheduler_transport", "pushed_sequence", "pushed_clock_at"}


def everything() -> dict[str, Any]:
    """All that is stored but keys and the way it came."""
    return {
        model.__name__: [
            {name: value for name, value in row.items() if name not in NEVER}
            for row in model.objects.order_by("pk").values()
        ]
        for model in (Cluster, Node, Job, Attempt, AuditEvent)
    }


class Undo(Exception):
    """Ends a telling: nothing of it stays."""


def told(api: Api, monkeypatch: pytest.MonkeyPatch, way: str, steps: Sequence[Step]) -> list[dict[str, Any]]:
    """What is stored after each step."""
    found = []
    try:
        with transaction.atomic():
            site = Site(api, monkeypatch, way)
            for number, step in enumerate(steps):
                step(site.scheduler)
                site.look(5 + 16.0 * number)
                found.append(everything())
            raise Undo
    except Undo:
        return found


@pytest.mark.parametrize("name", STORIES)
def test_equal_rows(api: Api, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    polled = told(api, monkeypatch, "local", STORIES[name])
    pushed = told(api, monkeypatch, "push", STORIES[name])
    assert any(polled[-1][model] for model in ("Attempt", "AuditEvent"))
    for number, (one, other) in enumerate(zip(polled, pushed, strict=True)):
        assert one == other, f"step {number}"


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_push_without_an_answer_is_repeated(api: Api, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    site = Site(api, monkeypatch, "push")
    shows(ROW)(site.scheduler)
    site.advisor.lost = ["", where, where]
    assert [site.look(5), site.look(7)] == [2.0, 2.0]
    assert site.look(9) > 10
    assert (site.cluster.seen_at, site.cluster.cannot_see_since) == (after(9 if where == "before" else 5), None)
    assert site.scheduler.calls.count("jobs") == 1
    assert [event.type for event in AuditEvent.objects.all()].count(EventType.ATTEMPT_SEEN) == 1


def test_a_newer_listing_takes_the_place_of_one_that_got_lost(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(api, monkeypatch, "push")
    shows(ROW)(site.scheduler)
    site.advisor.lost = ["", "before"]
    site.look(5)
    shows(failed(ROW, after(14)))(site.scheduler)
    site.look(21)
    assert Attempt.objects.get().state == "failed"


def test_a_new_pusher_begins_above_the_last_number(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(api, monkeypatch, "push")
    shows(ROW)(site.scheduler)
    Cluster.objects.filter(name="demo").update(pushed_sequence=int(after(3600).timestamp() * 1000))
    site.look(5)
    assert site.cluster.seen_at == after(5)
    assert site.cluster.pushed_sequence == int(after(3600).timestamp() * 1000) + 1


def test_a_cluster_that_takes_no_pushes_costs_its_scheduler_nothing(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(api, monkeypatch, "local")
    assert site.pusher.turn() == 30.0
    assert site.scheduler.calls == []
    assert "nothing is pushed for it" in site.said[0]


def test_when_pushes_stop_nothing_is_seen_and_nothing_is_decided(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(api, monkeypatch, "push")
    assert site.miss(1).cannot_see_reason == "No listing was pushed yet."
    shows(ROW)(site.scheduler)
    site.look(5)
    assert site.cluster.cannot_see_since is None
    assert site.miss(32.9).cannot_see_since is None  # 15 s, a fifth more, and the time limit of a command
    row = site.miss(33)
    assert (row.cannot_see_since, row.seen_at) == (after(33), after(5))
    assert row.cannot_see_reason == "No listing was pushed since 2026-11-29 12:00:05 UTC."
    assert Attempt.objects.get().state == "running"
    site.miss(600)
    a_verdict(Attempt.objects.get(), site.story.now())
    decide_all_due(site.story.now())
    assert (
        Advice.objects.exists(),
        "the scheduler does not answer" in AuditEvent.objects.latest("pk").sentence,
    ) == (False, True)
    kinds = list(AuditEvent.objects.order_by("pk").values_list("type", flat=True))
    assert kinds.count(EventType.CANNOT_SEE.value) == 2
    site.look(610)
    assert site.cluster.cannot_see_since is None


def test_a_clock_that_is_set_back_does_not_hide_that_pushes_stopped(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = Site(api, monkeypatch, "push")
    shows(ROW)(site.scheduler)
    site.look(5)
    assert site.miss(-20).cannot_see_since is None
    assert site.miss(-3600).cannot_see_since == after(-3600)


def test_the_reason_that_the_controller_told_stays(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(api, monkeypatch, "push")
    shows(ROW)(site.scheduler)
    site.look(5)
    gone("jobs", Unreachable("squeue did not answer."))(site.scheduler)
    site.look(21)
    assert site.miss(900).cannot_see_reason == "squeue did not answer."


def test_the_beat_never_asks_the_scheduler_of_a_pushed_cluster(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(api, monkeypatch, "push")
    shows(ROW)(site.scheduler)
    site.look(5)
    monkeypatch.setattr("workloads.tasks.scheduler_of", lambda *_: pytest.fail("the scheduler was asked"))
    observe_cluster(site.cluster.pk, after(40).isoformat())
    assert (site.cluster.cannot_see_since, site.cluster.seen_at) == (None, after(5))
    site.story.seconds = 60
    observe_cluster(site.cluster.pk, after(90).isoformat())
    assert site.cluster.cannot_see_since == after(60)
