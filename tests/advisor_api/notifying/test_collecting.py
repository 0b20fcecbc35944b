"""Is everybody told of what happened, once, and of a storm in one message?"""

from datetime import datetime, timedelta
from typing import Any

import pytest

from advisor_api.deciding import decide
from advisor_api.models import Advice
from advisor_api.notification_models import Delivery, ToldSubject, TrailPosition
from advisor_api.notifying import collecting
from advisor_api.notifying.collecting import collect
from advisor_api.notifying.gathering_up import LONGEST_WAIT, QUIET, STORM_PAUSE
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from advisor_api.policy.scheduler_action import SchedulerAction
from advisor_api.reporting import Done, milestone
from advisor_api.states import Move, move
from audit.event_type import EventType
from audit.level import Level
from audit.models import AuditChain
from detectors.models import Incident
from tests.advisor_api.notifying.world import AGE, a_route, an_event, blind, only, tell
from tests.advisor_api.world import CONTROLLER, NOW, a_cluster, a_job, a_verdict, an_attempt, culprit, seconds
from workloads.models import Cluster

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


def advice_in(mode: str, **values: Any) -> Advice:
    cluster = a_cluster(mode=mode)
    verdict = a_verdict(an_attempt(a_job(cluster)), implicated=[culprit("n03")], **values)
    decide(verdict, NOW)
    return Advice.objects.get()


class TestAdvice:
    def test_in_approve_mode_a_person_is_asked(self) -> None:
        a_route()
        advice_in("approve")
        assert tell() == 1
        row = only()
        assert (row.topic, row.level, row.would) == ("approval", "warning", False)
        assert row.title.startswith("[demo] Somebody is asked: Restart 100-0 without n03: ")
        assert row.text.count("http://127.0.0.1:8000/approvals") == 2
        assert row.due_at == NOW + QUIET

    def test_in_monitor_mode_it_says_would(self) -> None:
        a_route()
        advice_in("monitor")
        tell()
        row = only()
        assert (row.topic, row.level, row.would) == ("action", "info", True)
        assert row.title.startswith("[demo] Monitor mode: Would restart 100-0 without n03: ")
        assert "http://127.0.0.1:8000/jobs/demo/100/0" in row.text

    def test_in_action_mode_it_is_told_when_it_is_done_and_once(self) -> None:
        a_route()
        advice = advice_in("action")
        assert tell() == 0
        for number, action in enumerate((SchedulerAction.SLURM_REQUEUE_HOLD, SchedulerAction.SLURM_RELEASE)):
            done = Done(f"k{number}", Operation.RESTART, action, NOW + seconds(1))
            milestone(advice.sequence, done, CONTROLLER, NOW + seconds(2))
        assert tell(now=NOW + seconds(3)) == 1
        row = only()
        assert row.topic == "action"
        assert row.items[0]["sentence"].startswith("Requeued and held: 100-0. Restart 100-0 without n03: ")
        assert row.items[0]["advice_generation"] == 1

    def test_what_the_scheduler_refused_is_a_failed_action(self) -> None:
        a_route(least_level="error")
        advice = advice_in("action")
        step = Move(AdviceState.ABANDONED, ReconciliationReason.REFUSED_BY_SCHEDULER, CONTROLLER)
        move(advice, step, NOW)
        tell()
        assert (only().topic, only().level) == ("failed", "error")

    def test_nobody_is_asked_what_cannot_be_answered_any_more(self) -> None:
        a_route()
        advice_in("approve")
        assert tell(now=NOW + timedelta(hours=2)) == 0


def test_an_incident_is_told_once_it_is_shared_and_once() -> None:
    cluster = a_cluster()
    a_route()
    row = Incident.objects.create(
        cluster=cluster, open_key="k", fingerprint="f", layer="unknown", sentence="Storage is in trouble",
        first_seen_at=NOW, last_seen_at=NOW,
    )  # fmt: skip

    def joins() -> int:
        payload = {"incident": str(row.uuid), "shared": False}
        return tell(an_event(cluster, EventType.INCIDENT, "x", action="joined", payload=payload))

    assert joins() == 0
    Incident.objects.update(shared=True)
    assert (joins(), joins()) == (1, 0)
    assert only().title == "[demo] Shared cause: Storage is in trouble (0 jobs of 0 users so far)"
    assert f"/incidents/{row.uuid}" in only().text


class TestStorm:
    def attempts(self, cluster: Cluster, number: int, first: int = 1000) -> list[Any]:
        return [an_attempt(a_job(cluster, first + one)) for one in range(number)]

    def test_a_thousand_failures_are_one_message_with_a_count(self) -> None:
        cluster = a_cluster()
        a_route()
        failed = [
            an_event(cluster, EventType.RECOVERY_FAILED, f"The recovery of {n} failed.", action="restart",
                     advice_generation=n, level=Level.ERROR)
            for n in range(1000)
        ]  # fmt: skip
        assert tell(*failed) == 1000
        row = only()
        assert (row.count, len(row.items), ToldSubject.objects.count()) == (1000, 10, 1000)
        assert row.title == "[demo] 1000 actions or recoveries failed"
        assert "… and 990 more" in row.text
        assert len(row.text) < 3000

    def test_what_follows_joins_until_it_is_quiet_and_a_minute_at_most(self) -> None:
        cluster = a_cluster()
        a_route()
        ends = []
        for number, attempt in enumerate(self.attempts(cluster, 30)):
            now = NOW + number * seconds(4)
            tell(blind(attempt), now=now)
            ends.append(Delivery.objects.order_by("id")[0].due_at)
            if now >= ends[-1]:
                break
        first = Delivery.objects.order_by("id")[0]
        assert first.due_at == NOW + LONGEST_WAIT
        assert first.count > 10

    def test_after_a_storm_the_next_gathers_for_five_minutes(self) -> None:
        cluster = a_cluster()
        a_route()
        tell(*(blind(one) for one in self.attempts(cluster, 20)))
        Delivery.objects.update(outcome="sent", due_at=None, over_at=NOW + QUIET, tries=1)
        tell(*(blind(one) for one in self.attempts(cluster, 2, 2000)), now=NOW + MINUTE)
        assert Delivery.objects.order_by("-id")[0].due_at == NOW + STORM_PAUSE

    def test_nothing_joins_what_is_being_sent(self) -> None:
        cluster = a_cluster()
        a_route()
        one, other = self.attempts(cluster, 2)
        tell(blind(one))
        Delivery.objects.update(tries=1)
        tell(blind(other))
        assert list(Delivery.objects.values_list("count", flat=True)) == [1, 1]

    def test_a_source_that_flaps_is_told_once_an_hour(self) -> None:
        cluster = a_cluster()
        a_route()
        (attempt,) = self.attempts(cluster, 1)
        told = [tell(blind(attempt), now=NOW + number * MINUTE) for number in (0, 1, 30, 61, 62)]
        assert told == [1, 0, 0, 1, 0]


class TestRoutes:
    @pytest.mark.parametrize(
        ("values", "told"),
        [
            ({}, 1),
            ({"least_level": "warning"}, 1),
            ({"least_level": "error"}, 0),
            ({"topics": ["approval"]}, 0),
            ({"topics": ["approval", "blind"]}, 1),
            ({"enabled": False}, 0),
        ],
    )
    def test_by_severity_and_topic(self, values: dict[str, Any], told: int) -> None:
        cluster = a_cluster()
        a_route(cluster, **values)
        assert tell(blind(an_attempt(a_job(cluster)))) == told

    def test_by_cluster_and_each_route_for_itself(self) -> None:
        cluster, other = a_cluster(), a_cluster("other")
        a_route(other)
        a_route(cluster, name="own")
        a_route(None, name="all")
        tell(blind(an_attempt(a_job(cluster))))
        assert sorted(Delivery.objects.values_list("name", flat=True)) == ["all", "own"]

    def test_what_happened_before_the_route_is_not_told(self) -> None:
        cluster = a_cluster()
        route = a_route(cluster)
        type(route).objects.update(since=NOW + MINUTE)
        assert tell(blind(an_attempt(a_job(cluster)))) == 0

    def test_own_templates(self) -> None:
        cluster = a_cluster()
        a_route(cluster, title="$count: ${topic} ($cluster)", text="Look: $link $$ $first")
        tell(blind(an_attempt(a_job(cluster)), why="$route {{ x }} %s"))
        assert only().title == "1: blind (demo)"
        assert only().text.startswith(
            "Look: http://127.0.0.1:8000/jobs/demo/100/0 $ Blind on attempt 100-0: $route {{"
        )


class TestTrail:
    def test_what_came_while_no_worker_ran_is_told_and_what_is_old_is_not(self) -> None:
        cluster = a_cluster()
        a_route()
        times = (NOW - timedelta(hours=7), NOW - timedelta(hours=5), NOW)
        for number, at in enumerate(times):
            tell_later(blind(an_attempt(a_job(cluster, 100 + number))), at)
        assert tell() == 2
        assert tell() == 0

    def test_a_long_trail_is_not_walked_from_its_beginning(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(collecting, "AT_ONCE", 3)
        cluster = a_cluster()
        old = [an_event(cluster, EventType.CANNOT_SEE, f"old {n}") for n in range(40)]
        tell(*old, now=NOW - timedelta(days=2))
        a_route()
        reads: list[int] = []
        real = collecting._read
        monkeypatch.setattr(collecting, "_read", lambda numbers, turn: reads.append(1) or real(numbers, turn))
        assert tell(blind(an_attempt(a_job(cluster)))) == 1
        assert len(reads) == 1
        assert TrailPosition.objects.get().seq == AuditChain.objects.get(cluster="demo").seq

    def test_a_long_outage_is_read_in_rounds(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(collecting, "AT_ONCE", 2)
        cluster = a_cluster()
        a_route()
        rows = [blind(an_attempt(a_job(cluster, 100 + n))) for n in range(15)]
        assert tell(*rows) == 10
        assert (collect(AGE, NOW), collect(AGE, NOW)) == (5, 0)
        assert only().count == 15

    def test_a_new_cluster_is_read_from_its_first_event(self) -> None:
        a_route()
        assert tell(blind(an_attempt(a_job(a_cluster("fresh"))))) == 1


def tell_later(entry: Any, at: datetime) -> None:
    """Into the trail, and nobody looks."""
    from audit.sealing import seal_waiting
    from audit.trail import record

    record([entry], at)
    seal_waiting(at)
