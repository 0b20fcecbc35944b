"""Do health events get to the attempts that they bear on, once each, and whatever the order they come in?"""

import hashlib
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.models import AuditEvent
from audit.trail import Actor
from detectors.attribution.attributing import attribute
from detectors.attribution.replaying import read_facts
from detectors.catalogue.kind import AnomalyKind
from detectors.health_events import TakenIn, Told, take_in
from detectors.judging import collect_facts, judge
from detectors.models import Anomaly, HealthEvent, Verdict
from detectors.reading import read_attempt, read_attempts
from schedulers.states import JobState
from tests.detectors.rows import Log, again, end, make_attempt, make_cluster, make_nodes, megatron
from workloads.models import Attempt, Cluster, Node

pytestmark = pytest.mark.django_db
ACTOR = Actor(ActorKind.TOKEN, "nodes")


def now() -> datetime:
    return datetime.now(UTC)


def event(node: str = "n02", at: datetime | None = None, **changes: Any) -> Told:
    """A GPU that is lost on a node."""
    values: dict[str, Any] = {
        "node": node,
        "check": "GpuXidError",
        "happened_at": at or now(),
        "source": "nvsentinel",
        "component": "GPU",
        "fatal": True,
        "codes": ("79",),
    }
    values.update(changes)
    what = f"{node}:{values['check']}:{values['happened_at']}:{values.get('healthy')}"
    values.setdefault("key", hashlib.sha256(what.encode()).hexdigest())
    return Told(**values)


def tell(cluster: Cluster, *events: Told, at: datetime | None = None) -> TakenIn:
    with transaction.atomic():
        return take_in(cluster, events, ACTOR, at or now())


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    attempt = make_attempt(make_cluster(tmp_path), started_at=now() - timedelta(minutes=30))
    make_nodes(attempt.job.cluster)
    return attempt


def train(attempt: Attempt) -> None:
    start = now() - timedelta(seconds=8)
    Log.of(attempt).write(*(megatron(n, start + timedelta(seconds=n)) for n in range(1, 6)))
    read_attempt(again(attempt), now())


def fail(attempt: Attempt) -> Verdict:
    end(attempt)
    at = now()
    for seconds in (0.5, 1.5, 6):
        read_attempt(again(attempt), at + timedelta(seconds=seconds))
    verdict = judge(again(attempt), at + timedelta(seconds=7))
    assert verdict is not None
    return verdict


def excluded(verdict: Verdict) -> list[str]:
    return [one["host"] for one in verdict.implicated if one["excludable"]]


def test_a_failure_without_a_word_is_joined_with_what_was_told_of_its_node(attempt: Attempt) -> None:
    train(attempt)
    tell(attempt.job.cluster, event("n02"))
    verdict = fail(attempt)
    assert (verdict.action, excluded(verdict), verdict.signature) == ("restart_exclude", ["n02"], "xid.79")
    assert attribute(read_facts(verdict.body["inputs"]), verdict.judged_at).body == verdict.body


def test_what_is_told_after_the_verdict_makes_another_one(attempt: Attempt) -> None:
    train(attempt)
    first = fail(attempt)
    assert excluded(first) == []
    tell(attempt.job.cluster, event("n02"))
    second = judge(again(attempt), now())
    assert second is not None
    assert (second.supersedes, excluded(second)) == (first, ["n02"])


def test_an_event_of_other_nodes_or_times_or_ends_makes_nothing_due(attempt: Attempt) -> None:
    cluster = attempt.job.cluster
    train(attempt)
    fail(attempt)
    last_look_at = again(attempt).judge_due_at
    tell(cluster, event("n99"), event("n02", now() - timedelta(minutes=20)), event("n02", fatal=False))
    assert again(attempt).judge_due_at == last_look_at
    Attempt.objects.filter(pk=attempt.pk).update(state=JobState.CANCELLED.value)
    tell(cluster, event("n02", now() - timedelta(seconds=1)))
    assert again(attempt).judge_due_at == last_look_at


def test_a_node_that_the_scheduler_does_not_know_is_kept_and_blamed_for_nothing(attempt: Attempt) -> None:
    Node.objects.filter(name="n02").delete()
    train(attempt)
    taken = tell(attempt.job.cluster, event("n02"))
    assert (taken.stored, taken.unknown_nodes) == (1, 1)
    read_attempt(again(attempt), now())
    assert not Anomaly.objects.filter(attempt=attempt, kind=AnomalyKind.EARLY_WARNING.value).exists()
    assert excluded(fail(attempt)) == []


def test_a_full_name_is_the_schedulers_short_one(attempt: Attempt) -> None:
    tell(attempt.job.cluster, event("n02.cluster.local"))
    assert HealthEvent.objects.get().node == "n02"


def test_a_verdict_asks_once_whatever_the_number_of_events(attempt: Attempt) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            collect_facts(again(attempt))
        return len(seen)

    before = queries()
    tell(attempt.job.cluster, *(event("n02", now() - timedelta(seconds=n)) for n in range(50)))
    assert queries() == before
    assert len(collect_facts(again(attempt)).health) == 50


def test_a_flood_of_harmless_events_does_not_hide_the_fatal_one(attempt: Attempt) -> None:
    train(attempt)
    noise = [event("n02", now() - timedelta(seconds=n), fatal=False, check=f"c{n}") for n in range(300)]
    tell(attempt.job.cluster, *noise, event("n02"))
    assert excluded(fail(attempt)) == ["n02"]


def warnings(attempt: Attempt) -> list[Anomaly]:
    return list(Anomaly.objects.filter(attempt=attempt, kind=AnomalyKind.EARLY_WARNING.value))


def test_a_live_attempt_is_warned_once_and_the_warning_ends_with_the_fault(attempt: Attempt) -> None:
    cluster = attempt.job.cluster
    train(attempt)
    tell(cluster, event("n02"))
    for _turn in range(2):
        read_attempt(again(attempt), now())
    (warning,) = warnings(attempt)
    assert (warning.nodes, warning.basis, warning.signature) == (["n02"], "event", "xid.79")
    verdict = judge(again(attempt), now())
    assert verdict is not None
    assert (verdict.kind, verdict.action, excluded(verdict)) == ("early_warning", "ask", ["n02"])
    tell(cluster, event("n02", healthy=True, fatal=False))
    for _turn in range(2):
        read_attempt(again(attempt), now())
    assert warnings(attempt)[0].refuted_at is not None
    over = judge(again(attempt), now())
    assert over is not None
    assert (over.action, excluded(over)) == ("none", [])
    assert AuditEvent.objects.filter(type=EventType.ANOMALY.value).count() == 2


NO_WARNING = [
    ("it is not fatal", {"fatal": False}, {}),
    ("it is no hardware", {"check": "Kubelet", "component": "Kubelet", "codes": ()}, {}),
    ("it was there long before", {"at": -3600}, {}),
    ("the node is not its own", {"node": "n09"}, {}),
    ("the attempt waits", {}, {"state": JobState.PENDING.value}),
    ("the attempt is over", {}, {"state": JobState.COMPLETED.value}),
]


@pytest.mark.parametrize(("why", "fields", "changes"), NO_WARNING, ids=[row[0] for row in NO_WARNING])
def test_nobody_is_warned(attempt: Attempt, why: str, fields: dict[str, Any], changes: dict[str, Any]) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(**changes)
    moment = now() + timedelta(seconds=fields.get("at", 0))
    tell(attempt.job.cluster, event(**{**fields, "at": moment}))
    read_attempt(again(attempt), now())
    assert warnings(attempt) == [], why


def test_a_machine_that_has_started_since_is_not_warned_of(attempt: Attempt) -> None:
    tell(attempt.job.cluster, event("n02", now() - timedelta(minutes=5)))
    Node.objects.filter(name="n02").update(booted_at=now() - timedelta(minutes=1))
    read_attempt(again(attempt), now())
    assert warnings(attempt) == []


def test_a_check_that_flaps_does_not_fill_the_page(attempt: Attempt) -> None:
    tell(attempt.job.cluster, *(event("n02", now() - timedelta(seconds=n)) for n in range(60)))
    for _turn in range(3):
        read_attempt(again(attempt), now())
    assert len(warnings(attempt)) == 20


def test_warnings_of_a_batch_cost_the_same_for_many_attempts(attempt: Attempt) -> None:
    cluster = attempt.job.cluster
    attempts = [attempt, *(make_attempt(cluster, started_at=attempt.started_at) for _n in range(4))]
    tell(cluster, event("n02"))

    def asked(some: list[Attempt]) -> int:
        with CaptureQueriesContext(connection) as seen:
            read_attempts([again(one) for one in some], now())
        return sum(
            'FROM "detectors_healthevent"' in q["sql"] or "`detectors_healthevent`" in q["sql"] for q in seen
        )

    assert asked(attempts) == asked(attempts[:1]) == 1


def test_the_same_event_is_stored_once(attempt: Attempt) -> None:
    one = event("n02", fatal=False)
    assert tell(attempt.job.cluster, one, one).stored == 1
    assert tell(attempt.job.cluster, one).stored == 0
    assert HealthEvent.objects.count() == AuditEvent.objects.filter(type=EventType.HEALTH.value).count() == 1


def test_the_order_of_arrival_does_not_matter(attempt: Attempt) -> None:
    cluster, start = attempt.job.cluster, now() - timedelta(minutes=20)
    fault, again_later = event("n02", start), event("n02", start + timedelta(minutes=10))
    healthy = event("n02", start + timedelta(minutes=5), healthy=True, fatal=False)
    story = [fault, healthy, again_later]
    for seed in range(6):
        HealthEvent.objects.all().delete()
        random.Random(seed).shuffle(story)
        together = seed % 2
        for some in [story] if together else [[one] for one in story]:
            tell(cluster, *some)
        ends = {row.happened_at: row.cleared_at for row in HealthEvent.objects.filter(healthy=False)}
        assert ends == {start: healthy.happened_at, again_later.happened_at: None}


def test_a_part_that_is_healthy_clears_only_itself(attempt: Attempt) -> None:
    cluster = attempt.job.cluster
    tell(cluster, event("n02", entity="GPU 1", key="1"), event("n02", entity="GPU 2", key="2"))
    tell(cluster, event("n02", entity="GPU 1", healthy=True, fatal=False))
    assert [row.entity for row in HealthEvent.objects.filter(healthy=False, cleared_at=None)] == ["GPU 2"]
    tell(cluster, event("n03", healthy=True, fatal=False), event("n02", check="Other", healthy=True, fatal=False))
    assert HealthEvent.objects.filter(healthy=False, cleared_at=None).count() == 1
    taken = tell(cluster, event("n02", healthy=True, fatal=False))
    assert [row.entity for row in taken.cleared] == ["GPU 2"]
    assert AuditEvent.objects.filter(type=EventType.HEALTH.value, action="cleared").count() == 2


def test_many_events_at_once_cost_a_fixed_number_of_queries(attempt: Attempt) -> None:
    def cost(count: int, offset: int) -> int:
        moments = [now() - timedelta(seconds=offset + n) for n in range(count)]
        events = [event("n02", moment, check=f"c{n}") for n, moment in enumerate(moments)]
        with CaptureQueriesContext(connection) as seen:
            tell(attempt.job.cluster, *events)
        return len(seen)

    assert cost(20, 0) == cost(2, 1000)
