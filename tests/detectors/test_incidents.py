"""Which failures are one incident? Across attempts, jobs, users and nodes; shared causes; two workers at once."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.event_type import EventType
from audit.models import AuditEvent
from detectors.fate import Fate
from detectors.incidents import OVER_AFTER, end_quiet
from detectors.judging import collect_facts, judge
from detectors.models import Anomaly, Incident, Stay, Verdict
from detectors.stays import leave_unharmed
from schedulers.states import JobState
from tests.detectors.rows import again, make_attempt, make_cluster
from workloads.models import Attempt, Cluster, Job, Node

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
STALE = {"signature": "fs.stale", "layer": "system.filesystem", "fingerprint": "stale", "confidence": 0.9}
FULL = {**STALE, "signature": "fs.enospc", "fingerprint": "full"}
READ_ONLY = {**STALE, "signature": "fs.erofs", "fingerprint": "read-only"}
ECC = {"signature": "cuda.ecc", "layer": "hardware.gpu", "fingerprint": "ecc", "confidence": 0.97}
BUG = {"signature": "py.exception", "layer": "application", "fingerprint": "bug", "confidence": 0.9}


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def failed(cluster: Cluster, *nodes: str, at: datetime = NOW, job: Job | None = None, **changes: Any) -> Attempt:
    """An attempt of a job of its own that ran for an hour on some nodes and has failed."""
    for node in nodes:
        Node.objects.get_or_create(cluster=cluster, name=node, defaults={"state": "idle", "seen_at": at})
    number = Job.objects.count() + 1
    job = job or Job.objects.create(
        cluster=cluster,
        number=number,
        name=f"train-{number}",
        user="u",
        node_count=len(nodes),
        created_at=at,
        seen_at=at,
    )
    values: dict[str, Any] = {
        "state": JobState.FAILED.value,
        "nodes": list(nodes),
        "started_at": at - timedelta(hours=1),
        "ended_at": at,
        "exit_code": 1,
        "exit_signal": 0,
        "read_due_at": None,
        "judge_due_at": at,
    }
    return make_attempt(cluster, job, **{**values, **changes})


def told(attempt: Attempt, *nodes: str, **values: Any) -> Attempt:
    """The attempt with one anomaly, named by some nodes, two seconds before its end."""
    at = (attempt.ended_at or NOW) - timedelta(seconds=2)
    Anomaly.objects.create(
        attempt=attempt,
        kind="crash",
        role="root",
        sentence=str(values["signature"]),
        nodes=list(nodes),
        happened_at=at,
        detected_at=at,
        basis="line",
        **{"key": values["signature"], **values},
    )
    return attempt


def judged(attempt: Attempt, after: float = 5.0) -> Verdict:
    """Its verdict, made some seconds after its end."""
    verdict = judge(again(attempt), (attempt.ended_at or NOW) + timedelta(seconds=after))
    assert verdict is not None
    return verdict


def newest(attempt: Attempt) -> Verdict:
    return Verdict.objects.get(attempt=attempt, newer=None)


def events(what: str) -> int:
    return AuditEvent.objects.filter(type=EventType.INCIDENT, action=what).count()


class TestJoining:
    def test_the_same_cause_in_two_jobs_and_on_two_nodes_is_one_incident(self, cluster: Cluster) -> None:
        first = judged(told(failed(cluster, "n1"), "n1", **ECC))
        second = judged(told(failed(cluster, "n2", at=NOW + timedelta(hours=1)), "n2", **ECC))
        incident = Incident.objects.get()
        assert first.incident == second.incident == incident
        assert (incident.shared, incident.sentence, incident.layer) == (False, "cuda.ecc", "hardware.gpu")
        assert list(incident.nodes.values_list("node", flat=True)) == ["n1", "n2"]
        assert incident.last_seen_at - incident.first_seen_at == timedelta(hours=1)
        assert (events("opened"), events("joined")) == (1, 1)
        assert all(any(one["excludable"] for one in verdict.implicated) for verdict in (first, second))

    def test_different_causes_and_clusters_are_different_incidents(self, cluster: Cluster) -> None:
        judged(told(failed(cluster, "n1"), "n1", **ECC))
        judged(told(failed(cluster, "n2", at=NOW + timedelta(hours=1)), "n2", **BUG))
        judged(told(failed(make_cluster(), "n1"), "n1", **ECC))
        assert Incident.objects.count() == 3

    def test_what_nobody_can_explain_is_the_same_again_in_one_job_only(self, cluster: Cluster) -> None:
        first = failed(cluster, "n1")
        judged(first)
        judged(failed(cluster, "n1", at=NOW + timedelta(hours=1), job=first.job, index=1))
        judged(failed(cluster, "n2", at=NOW + timedelta(hours=2)))
        assert sorted(row.verdicts.count() for row in Incident.objects.all()) == [1, 2]

    def test_a_restart_that_dies_without_a_word_joins_the_incident_of_its_job(self, cluster: Cluster) -> None:
        first = told(failed(cluster, "n1"), "n1", **ECC)
        judged(first)
        again_failed = judged(failed(cluster, "n1", at=NOW + timedelta(minutes=10), job=first.job, index=1))
        assert again_failed.incident == newest(first).incident

    def test_a_wish_is_no_incident(self, cluster: Cluster) -> None:
        verdict = judged(failed(cluster, "n1", state=JobState.CANCELLED.value))
        assert verdict.incident is None and not Incident.objects.exists()

    def test_a_later_verdict_renames_an_incident_that_is_its_own(self, cluster: Cluster) -> None:
        attempt = failed(cluster, "n1")
        judged(attempt)
        told(attempt, "n1", **ECC)
        Attempt.objects.filter(pk=attempt.pk).update(judge_due_at=NOW)
        later = judged(attempt, 30)
        assert (later.speed, Incident.objects.get().sentence) == ("slow", "cuda.ecc")
        assert later.incident == Incident.objects.get()

    def test_a_later_verdict_moves_to_the_incident_that_is_there(self, cluster: Cluster) -> None:
        known = judged(told(failed(cluster, "n2", at=NOW - timedelta(hours=1)), "n2", **ECC)).incident
        attempt = failed(cluster, "n1")
        own = judged(attempt).incident
        told(attempt, "n1", **ECC)
        Attempt.objects.filter(pk=attempt.pk).update(judge_due_at=NOW)
        assert judged(attempt, 30).incident == known != own
        assert own is not None
        own.refresh_from_db()
        assert own.ended_at == NOW + timedelta(seconds=30)
        assert events("ended") == 1


class TestShared:
    def test_storage_of_four_jobs_is_one_incident_that_blames_nobody(self, cluster: Cluster) -> None:
        attempts = [
            told(failed(cluster, f"n{number}", at=NOW + timedelta(seconds=10 * number)), f"n{number}", **STALE)
            for number in range(4)
        ]
        for attempt in attempts:
            judged(attempt)
        assert not newest(attempts[0]).shared
        for attempt in Attempt.objects.filter(judge_due_at__isnull=False):
            judge(again(attempt), NOW + timedelta(minutes=2))
        verdicts = [newest(attempt) for attempt in attempts]
        assert all(verdict.shared for verdict in verdicts)
        assert [verdict.speed for verdict in verdicts] == ["slow", "fast", "fast", "fast"]
        incident = Incident.objects.get(ended_at=None)
        assert {verdict.incident for verdict in verdicts} == {incident}
        assert incident.shared and incident.sentence == "Shared storage is in trouble"
        assert set(incident.nodes.values_list("node", flat=True)) == {"n0", "n1", "n2", "n3"}
        assert not any(one["excludable"] for verdict in verdicts for one in verdict.implicated)
        assert not Attempt.objects.filter(judge_due_at__isnull=False).exists()

    def test_a_full_disk_and_a_read_only_one_are_two_incidents_each_with_jobs_of_its_own(
        self, cluster: Cluster
    ) -> None:
        kinds = (FULL, READ_ONLY, FULL, READ_ONLY)
        attempts = [told(failed(cluster, f"n{n}"), f"n{n}", **kind) for n, kind in enumerate(kinds)]
        for attempt in attempts[:2]:
            judged(attempt)
            assert not newest(attempt).shared
        for attempt in attempts[2:]:
            judged(attempt)
        for attempt in Attempt.objects.filter(judge_due_at__isnull=False):
            judge(again(attempt), NOW + timedelta(minutes=2))
        incidents = [newest(attempt).incident for attempt in attempts]
        assert all(newest(attempt).shared for attempt in attempts)
        assert incidents[0] == incidents[2] != incidents[1] == incidents[3]

    def test_three_jobs_that_die_within_a_minute_are_told_when_the_third_is_seen(self, cluster: Cluster) -> None:
        attempts = [failed(cluster, f"n{number}", at=NOW + timedelta(seconds=number)) for number in range(3)]
        for attempt in attempts:
            judged(attempt)
        assert [newest(one).shared for one in attempts] == [False, False, True]
        for attempt in Attempt.objects.filter(judge_due_at__isnull=False):
            judge(again(attempt), NOW + timedelta(minutes=2))
        assert all(newest(one).shared for one in attempts)
        assert Incident.objects.filter(ended_at=None).count() == 1

    def test_three_jobs_that_die_on_one_node_within_a_minute_share_no_cause(self, cluster: Cluster) -> None:
        attempts = [failed(cluster, "n1", at=NOW + timedelta(seconds=number)) for number in range(3)]
        for attempt in attempts:
            judged(attempt)
        assert not any(newest(one).shared for one in attempts)
        assert [one["host"] for one in newest(attempts[2]).implicated if one["excludable"]] == ["n1"]


class TestEnding:
    def test_an_incident_ends_when_nothing_new_comes(self, cluster: Cluster) -> None:
        incident = judged(told(failed(cluster, "n1"), "n1", **ECC)).incident
        assert incident is not None
        assert end_quiet(NOW + OVER_AFTER - timedelta(seconds=10)) == 0
        at = NOW + OVER_AFTER + timedelta(seconds=10)
        assert (end_quiet(at), end_quiet(at)) == (1, 0)
        incident.refresh_from_db()
        assert (incident.ended_at, incident.open_key) == (at, None)
        assert events("ended") == 1

    def test_what_comes_after_the_end_opens_another_one(self, cluster: Cluster) -> None:
        first = judged(told(failed(cluster, "n1"), "n1", **ECC)).incident
        end_quiet(NOW + OVER_AFTER * 2)
        later = judged(told(failed(cluster, "n1", at=NOW + OVER_AFTER * 2), "n1", **ECC)).incident
        assert first != later
        assert Incident.objects.filter(ended_at=None).count() == 1


class TestHistory:
    def test_the_node_that_kills_job_after_job_is_named(self, cluster: Cluster) -> None:
        quiet = [failed(cluster, f"n{n}", "n9", state=JobState.COMPLETED.value) for n in range(3)]
        leave_unharmed(quiet, NOW)
        judged(failed(cluster, "n1", "n2", at=NOW + timedelta(hours=1)))
        last = failed(cluster, "n1", "n3", at=NOW + timedelta(hours=3))
        assert collect_facts(again(last)).around.deaths[0].nodes == ("n1",)
        verdict = judged(last)
        assert [one["host"] for one in verdict.implicated if one["excludable"]] == ["n1"]
        assert verdict.layer == "hardware.host"
        assert verdict.body["history"]["nodes"]["n1"]["incidents_30d"] == 1
        assert Stay.objects.get(attempt=last, node="n1").fate == Fate.UNEXPLAINED

    def test_a_popular_node_on_which_programs_fail_by_themselves_is_not(self, cluster: Cluster) -> None:
        for hour in range(6):
            judged(told(failed(cluster, "n1", "n2", at=NOW + timedelta(hours=hour)), "n1", **BUG))
        assert not Stay.objects.exclude(fate=Fate.UNHARMED).exists()
        verdict = judged(failed(cluster, "n1", "n3", at=NOW + timedelta(hours=7)))
        assert not [one for one in verdict.implicated if one["excludable"]]

    def test_what_happened_before_the_node_was_started_is_another_machine(self, cluster: Cluster) -> None:
        judged(failed(cluster, "n1", "n2"))
        last = failed(cluster, "n1", "n3", at=NOW + timedelta(hours=3))
        Node.objects.filter(cluster=cluster, name="n1").update(booted_at=NOW + timedelta(hours=1))
        assert not collect_facts(again(last)).around.deaths
        Node.objects.filter(cluster=cluster, name="n1").update(booted_at=NOW - timedelta(hours=1))
        assert collect_facts(again(last)).around.deaths

    def test_a_work_that_dies_everywhere_is_known_as_such(self, cluster: Cluster) -> None:
        first = failed(cluster, "n1", "n2")
        judged(first)
        judged(failed(cluster, "n5", at=NOW + timedelta(hours=1), job=first.job, index=1))
        last = failed(cluster, "n1", "n3", at=NOW + timedelta(hours=3))
        assert [death.elsewhere for death in collect_facts(again(last)).around.deaths] == [True]

    def test_a_completed_attempt_leaves_its_nodes_unharmed_once(self, cluster: Cluster) -> None:
        attempt = failed(cluster, "n1", "n2", state=JobState.COMPLETED.value)
        leave_unharmed([attempt], NOW)
        leave_unharmed([attempt], NOW)
        assert [(stay.fate, stay.seconds) for stay in Stay.objects.all()] == [("unharmed", 3600.0)] * 2


def test_news_from_elsewhere_that_change_nothing_make_no_new_verdict(cluster: Cluster) -> None:
    attempt = told(failed(cluster, "n1"), "n1", **ECC)
    judged(attempt)
    judged(told(failed(cluster, "n2", at=NOW + timedelta(seconds=30)), "n2", **BUG))
    Attempt.objects.filter(pk=attempt.pk).update(judge_due_at=NOW)
    assert collect_facts(again(attempt)).around.neighbours
    assert judge(again(attempt), NOW + timedelta(minutes=5)) is None


def test_a_verdict_costs_the_same_beside_many_incidents(cluster: Cluster, tmp_path: Path) -> None:
    def cost(at: datetime) -> int:
        attempt = told(failed(cluster, "n1", at=at), "n1", **ECC)
        with CaptureQueriesContext(connection) as queries:
            judged(attempt)
        return len(queries)

    cost(NOW)
    few = cost(NOW + timedelta(hours=2))
    for number in range(40):
        judged(told(failed(cluster, f"m{number}", at=NOW + timedelta(hours=2)), f"m{number}", **ECC))
    assert cost(NOW + timedelta(hours=4)) == few
