"""Are exclusions weighed, renewed by evidence, withdrawn one by one, and lifted by the event that clears them?"""

from datetime import timedelta
from typing import Any

import pytest

from advisor_api.clearing import faults_under, lift_cleared
from advisor_api.deciding import decide
from advisor_api.excluding import end, exclude, exclude_named, lift
from advisor_api.gathering import active_exclusions
from advisor_api.models import Advice, Exclusion
from advisor_api.policy.caps import kept_out
from advisor_api.policy.facts import Excluded, Facts
from advisor_api.policy.weights import weight
from advisor_api.refusals import Stale
from audit.event_type import EventType
from audit.models import AuditEvent
from detectors.models import HealthEvent, Verdict
from schedulers.states import JobState
from tests.advisor_api.world import NOW, OPERATOR, a_cluster, a_job, a_policy, a_verdict, an_attempt, culprit
from workloads.models import Cluster

HOUR = timedelta(hours=1)
WEIGHTS = [
    ("new", 0.9, timedelta(0), 0.9),
    ("half a day", 0.9, 12 * HOUR, 0.45),
    ("a day", 0.8, 24 * HOUR, 0.2),
    ("from a clock that is ahead", 0.8, -HOUR, 0.8),
]


@pytest.mark.parametrize(("name", "sure", "age", "expected"), WEIGHTS)
def test_the_weight_is_halved_every_twelve_hours(name: str, sure: float, age: timedelta, expected: float) -> None:
    assert weight(sure, NOW - age, NOW) == expected


def test_the_weakest_gives_way_first_and_of_equal_ones_the_older() -> None:
    excluded = (Excluded("weak", weight=0.3), Excluded("newer", weight=0.5), Excluded("older", weight=0.5))
    facts = Facts(label="1-0", state=JobState.FAILED, excluded=excluded, node_count=2, partition_available=5)
    kept = [kept_out(Facts(**{**vars(facts), "node_count": need})) for need in (2, 3, 4, 5)]
    assert kept == [("newer", "older", "weak"), ("newer", "older"), ("newer",), ()]


def restart(cluster: Cluster, number: int, at: Any = NOW, host: str = "n03") -> Advice:
    attempt = an_attempt(a_job(cluster, number), now=at)
    advice = decide(a_verdict(attempt, at, implicated=[culprit(host)]), at)
    assert advice is not None
    return advice


def sentences() -> list[str]:
    return list(
        AuditEvent.objects.filter(type=EventType.EXCLUSION.value).order_by("id").values_list("action", flat=True)
    )


@pytest.mark.django_db
class TestRenewing:
    def test_another_failure_renews_and_each_is_withdrawn_alone(self) -> None:
        cluster = a_cluster(nodes=60)
        first = restart(cluster, 1)
        later = NOW + 6 * HOUR
        restart(cluster, 2, later)
        old, new = Exclusion.objects.order_by("id")
        assert (old.confidence, new.weight_at(later)) == (0.95, 0.95)
        assert old.weight_at(later) < new.weight_at(later)
        assert new.until == later + 24 * HOUR
        assert end(new, OPERATOR, later)
        assert [row.pk for row in active_exclusions(cluster, later)] == [old.pk]
        assert end(old, OPERATOR, later) and not end(old, OPERATOR, later)
        assert sentences() == ["exclude", "renew", "lift", "lift"]
        assert exclude_named(first, ["n03"], later)  # nothing holds any more

    def test_the_same_failure_renews_nothing(self) -> None:
        cluster = a_cluster(nodes=60)
        advice = restart(cluster, 1)
        assert exclude_named(advice, ["n03"], NOW + HOUR) == []
        assert Exclusion.objects.count() == 1

    def test_a_person_gives_the_whole_node_back(self) -> None:
        cluster = a_cluster(nodes=60)
        restart(cluster, 1)
        row = exclude(cluster, "n03", reason="fan", until=NOW + HOUR, actor=OPERATOR, now=NOW)
        assert row.weight_at(NOW + 40 * HOUR) == 1.0
        lift(row, OPERATOR, NOW)
        assert not active_exclusions(cluster, NOW).exists()
        with pytest.raises(Stale):
            lift(row, OPERATOR, NOW)


def fault(cluster: Cluster, **changes: Any) -> HealthEvent:
    values = {
        "cluster": cluster,
        "node": "n03",
        "check_name": "GpuXidError",
        "entity": "GPU 3",
        "fatal": True,
        "source": "nvsentinel",
        "key": str(HealthEvent.objects.count()),
        "happened_at": NOW - timedelta(minutes=1),
        "received_at": NOW,
        "received_from": "nodes",
        **changes,
    }
    return HealthEvent.objects.create(**values)


def body(*quotes: dict[str, Any]) -> dict[str, Any]:
    rows = [{"id": f"e{i}", "host": "n03", "signature_id": "xid.79", **quote} for i, quote in enumerate(quotes)]
    return {"evidence": rows, "implicated": [{"host": "n03", "role": "culprit", "evidence": ["e0"]}]}


LOG = {"file": "/logs/1.out", "offset": 7}


def told(row: HealthEvent) -> dict[str, Any]:
    return {"file": "health event: nvsentinel", "offset": row.pk}


RESTS = [
    ("a log line and an event say the same", body(LOG, {"file": "health event: x", "offset": 5}), {5}),
    ("a log line alone", body(LOG), set()),
    (
        "an event with another meaning",
        body(LOG, {"file": "health event: x", "offset": 5, "signature_id": "b"}),
        set(),
    ),
    ("an event of another node", body(LOG, {"file": "health event: x", "offset": 5, "host": "n04"}), set()),
    ("a metric that fell", body({"file": "metric: temp", "offset": 5}), set()),
    ("nonsense", {"evidence": "x", "implicated": [1, {"host": "n03", "role": "culprit", "evidence": None}]}, set()),
]


@pytest.mark.parametrize(("name", "stored", "keys"), RESTS)
def test_what_an_exclusion_rests_on(name: str, stored: dict[str, Any], keys: set[int]) -> None:
    assert faults_under(stored, "n03") == keys


@pytest.mark.django_db
class TestClearing:
    def excluded(self) -> tuple[Cluster, HealthEvent]:
        cluster = a_cluster(nodes=60)
        row = fault(cluster)
        advice = restart(cluster, 1)
        assert advice.verdict is not None
        Verdict.objects.filter(pk=advice.verdict.pk).update(body=body(told(row)))
        return cluster, row

    def heal(self, row: HealthEvent, said: bool = True) -> None:
        at = NOW + HOUR
        HealthEvent.objects.filter(pk=row.pk).update(cleared_at=at)
        if said:
            fault(row.cluster, fatal=False, healthy=True, happened_at=at, entity="")

    def lifted(self, cluster: Cluster) -> int:
        return len(lift_cleared(cluster, {"n03"}, OPERATOR, NOW + HOUR))

    def test_the_event_that_clears_the_fault_lifts_it_once(self) -> None:
        cluster, row = self.excluded()
        self.heal(row)
        assert (self.lifted(cluster), self.lifted(cluster)) == (1, 0)
        event = AuditEvent.objects.filter(type=EventType.EXCLUSION.value).latest("id")
        assert event.sentence == "n03 may be used again: what it was excluded for is cleared (GpuXidError)."

    def test_an_alarm_that_only_stopped_lifts_nothing(self) -> None:
        cluster, row = self.excluded()
        self.heal(row, said=False)
        assert self.lifted(cluster) == 0

    def test_a_fault_that_is_open_keeps_it_out(self) -> None:
        cluster, row = self.excluded()
        self.heal(row)
        fault(cluster, check_name="GpuNvlink")
        assert self.lifted(cluster) == 0

    def test_another_fault_that_is_cleared_lifts_nothing(self) -> None:
        cluster, _row = self.excluded()
        self.heal(fault(cluster, check_name="Disk"))
        assert self.lifted(cluster) == 0

    def test_what_was_healthy_before_the_failure_lifts_nothing(self) -> None:
        cluster, row = self.excluded()
        at = NOW - timedelta(seconds=30)
        HealthEvent.objects.filter(pk=row.pk).update(cleared_at=at)
        fault(cluster, fatal=False, healthy=True, happened_at=at)
        Verdict.objects.update(happened_at=NOW)
        assert self.lifted(cluster) == 0

    def test_a_person_s_exclusion_is_theirs(self) -> None:
        cluster, row = self.excluded()
        exclude(cluster, "n03", reason="fan", until=NOW + 2 * HOUR, actor=OPERATOR, now=NOW)
        self.heal(row)
        assert self.lifted(cluster) == 1
        assert [one.owner for one in active_exclusions(cluster, NOW + HOUR)] == ["olga"]


@pytest.mark.django_db
class TestWhatLogsAloneSay:
    """A job writes its own log: what only that says takes a share of the nodes, and no more."""

    HEALTH = {"id": "e1", "source": "health_event", "host": "n03", "file": "health event: X", "signature_id": "x"}

    def decided(self, cluster: Cluster, number: int, node: str, evidence: Any = (), user: str = "tess") -> Advice:
        attempt = an_attempt(a_job(cluster, number, user=user), nodes=["n01", "n02", node])
        verdict = a_verdict(attempt, implicated=[culprit(node)], decide_due_at=NOW)
        verdict.body = {"evidence": [{**row, "host": node} for row in evidence]}
        verdict.save()
        advice = decide(verdict, NOW)
        assert advice is not None
        return advice

    def test_one_users_logs_fill_half_of_what_may_be_excluded(self) -> None:
        cluster = a_cluster(nodes=80)  # four may be excluded
        a_policy({"storm_restarts": 99, "max_user_restarts": 99})
        rules = [self.decided(cluster, number, f"n{10 + number}").rule for number in range(3)]
        assert rules == ["named_node", "named_node", "cap_reached"]
        assert set(Exclusion.objects.values_list("user", "by_log_alone")) == {("tess", True)}
        told = self.decided(cluster, 20, "n40", [self.HEALTH])
        assert (told.rule, told.excluded_nodes) == ("named_node", ["n10", "n11", "n40"])
        assert self.decided(cluster, 21, "n41", user="tom").rule == "named_node"

    @pytest.mark.parametrize(
        ("row", "alone"),
        [
            ({"source": "app_log"}, True),
            ({"source": "kernel", "file": "slurm-1.out"}, True),  # printed by the job
            ({"source": "metric"}, False),
            ({"source": "scheduler"}, False),
            ({"source": "health_event"}, False),
            ({"source": "kernel", "file": 'http://loki {unit="kernel"}'}, False),
            ({"source": "kernel", "file": 'http://loki {job_id!=""}'}, True),
        ],
        ids=str,
    )
    def test_what_is_a_witness(self, row: dict[str, str], alone: bool) -> None:
        store = {
            "log_store": "loki",
            "log_store_address": "http://loki",
            "log_store_job_lines": '{job_id!=""}',
            "log_store_node_lines": '{unit="kernel"}',
        }
        self.decided(a_cluster(**store), 1, "n03", [row])
        assert Exclusion.objects.get().by_log_alone is alone

    def test_a_node_that_died_under_the_job_needs_no_line(self) -> None:
        attempt = an_attempt(a_job(a_cluster()), state=JobState.NODE_FAIL, ended_at=NOW)
        assert decide(a_verdict(attempt), NOW) is not None
        assert Exclusion.objects.get().by_log_alone is False

    def test_a_second_witness_takes_the_node_out_of_the_share(self) -> None:
        cluster = a_cluster(nodes=40)  # two may be excluded, one by logs of one user
        a_policy({"storm_restarts": 99, "max_user_restarts": 99})
        assert self.decided(cluster, 1, "n10").rule == "named_node"
        exclude(cluster, "n10", reason="seen", until=NOW + HOUR, actor=OPERATOR, now=NOW)
        assert self.decided(cluster, 2, "n11").rule == "named_node"


@pytest.mark.django_db
def test_the_half_life_is_the_policys_and_stays_with_the_exclusion() -> None:
    cluster = a_cluster()
    a_policy({"exclusion_half_life_seconds": 3600})
    assert decide(a_verdict(an_attempt(a_job(cluster))), NOW) is not None
    row = Exclusion.objects.get()
    a_policy({"exclusion_half_life_seconds": 0})
    assert (row.weight_at(NOW), row.weight_at(NOW + HOUR)) == (0.95, 0.475)
    assert weight(0.95, NOW, NOW + 99 * HOUR, 0) == 0.95
