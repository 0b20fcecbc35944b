"""Does what is old go, and nothing that something still rests on?"""

import hashlib
import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor_api.deciding import decide
from advisor_api.models import Advice, Exclusion, LeftAlone, Sequence
from advisor_api.retention import Ages, forget
from audit.models import AuditEvent
from detectors import retention
from detectors.attribution.attributing import attribute
from detectors.attribution.replaying import read_facts
from detectors.judging import judge
from detectors.models import Anomaly, Excerpt, HealthEvent, Observation, Verdict, Watch
from detectors.reading import read_attempt
from detectors.retention import DETAILS, Spared, forget_details, forget_health
from detectors.told_models import ToldLine
from schedulers.states import JobState
from tests.advisor_api.world import NOW, a_cluster, a_job, a_verdict, an_advice, an_attempt
from tests.detectors.rows import ECC, Log, again, end, make_attempt, make_cluster, make_nodes, megatron
from workloads.models import Attempt, Cluster, Job

pytestmark = pytest.mark.django_db
DAYS = timedelta(days=1)
AGES = Ages(details=90 * DAYS, health=90 * DAYS)
LATER = NOW + 91 * DAYS


def details(attempt: Attempt) -> None:
    """One of each, of an attempt that ended at NOW and whose job the scheduler has forgotten."""
    Excerpt.objects.create(attempt=attempt, stream="a.log", offset=0, text="x", why="end", kept_at=NOW)
    Observation.objects.create(attempt=attempt, topic="rank_hosts", key="all", value={"0": "n01"}, at=NOW)
    ToldLine.objects.create(attempt=attempt, key="k", offset=0, text="step 1", told_at=NOW, told_by="ingest")
    Watch.objects.create(attempt=attempt, detector="hang", catalogue="c", state={})
    Attempt.objects.filter(pk=attempt.pk).update(settled_at=NOW, ended_at=NOW, read_due_at=None, judge_due_at=None)
    Job.objects.filter(pk=attempt.job_id).update(live=False)


def kept() -> list[int]:
    return [model._default_manager.count() for model in DETAILS]


@pytest.fixture
def attempt() -> Attempt:
    attempt = an_attempt(a_job(a_cluster()), 0, JobState.FAILED)
    details(attempt)
    return attempt


def test_details_stay_as_long_as_they_are_kept(attempt: Attempt) -> None:
    forget(AGES, NOW + 90 * DAYS)
    assert kept() == [1] * 4
    assert forget(AGES, LATER) == 1
    assert kept() == [0] * 4
    assert Attempt.objects.get(pk=attempt.pk).settled_at is None
    assert forget(AGES, LATER) == 0


STILL_NEEDED: list[tuple[str, Callable[[Attempt], Any]]] = [
    ("it is to be read", lambda one: Attempt.objects.update(read_due_at=NOW)),
    ("it is to be judged", lambda one: Attempt.objects.update(judge_due_at=NOW)),
    ("its job is still listed", lambda one: Job.objects.update(live=True)),
    ("its log was never read to its end", lambda one: Attempt.objects.update(settled_at=None)),
]


@pytest.mark.parametrize("change", [case[1] for case in STILL_NEEDED], ids=[case[0] for case in STILL_NEEDED])
def test_what_is_still_needed_stays(attempt: Attempt, change: Callable[[Attempt], Any]) -> None:
    change(attempt)
    forget(AGES, LATER)
    assert kept() == [1] * 4


def test_an_attempt_that_is_made_due_meanwhile_keeps_its_details(
    attempt: Attempt, monkeypatch: pytest.MonkeyPatch
) -> None:
    def due(**_words: Any) -> Any:
        Attempt.objects.update(judge_due_at=NOW)
        return transaction_atomic(**_words)

    transaction_atomic = retention.transaction.atomic
    monkeypatch.setattr(retention.transaction, "atomic", due)
    assert forget_details(90 * DAYS, Spared(), LATER) == 0
    assert kept() == [1] * 4


def test_an_open_recovery_spares_the_whole_job() -> None:
    advice = an_advice(a_cluster())
    job = advice.attempt.job
    details(advice.attempt)
    details(an_attempt(job, 1, JobState.FAILED))
    forget(AGES, LATER)
    assert kept() == [2] * 4
    Sequence.objects.update(closed_at=NOW)
    assert forget(AGES, LATER) == 2
    assert kept() == [0] * 4


def test_an_exclusion_spares_the_evidence_behind_it_while_it_holds() -> None:
    advice = an_advice(a_cluster())
    details(advice.attempt)
    Sequence.objects.update(closed_at=NOW)
    exclusion(advice, until=LATER + DAYS)
    health(advice.attempt.job.cluster, "n01", cleared_at=NOW)
    forget(AGES, LATER)
    assert (kept(), HealthEvent.objects.count()) == ([1] * 4, 1)
    Exclusion.objects.update(lifted_at=NOW)
    forget(AGES, LATER)
    assert (kept(), HealthEvent.objects.count()) == ([0] * 4, 0)


def exclusion(advice: Advice, until: datetime) -> None:
    Exclusion.objects.create(
        cluster=advice.attempt.job.cluster,
        node="n01",
        reason="broken",
        owner="policy",
        verdict_id=advice.verdict.uuid if advice.verdict else None,
        since=NOW,
        until=until,
    )


def health(cluster: Cluster, node: str = "n01", at: datetime = NOW, **changes: Any) -> HealthEvent:
    key = hashlib.sha256(uuid.uuid4().bytes).hexdigest()
    values = {"check_name": "GpuXidError", "fatal": True, "source": "nvsentinel", "received_from": "nodes"}
    return HealthEvent.objects.create(
        cluster=cluster, node=node, key=key, happened_at=at, received_at=at, **{**values, **changes}
    )


EVENTS: list[tuple[str, dict[str, Any], bool]] = [
    ("healthy", {"healthy": True}, True),
    ("fatal and cleared long ago", {"cleared_at": NOW}, True),
    ("fatal and cleared lately", {"cleared_at": LATER - DAYS}, False),
    ("fatal and open: its node is still broken", {}, False),
    ("a warning that nobody cleared", {"fatal": False}, True),
    ("told of lately", {"healthy": True, "received_at": LATER - DAYS}, False),
    ("happened lately", {"healthy": True, "happened_at": LATER - DAYS}, False),
]


@pytest.mark.parametrize(("changes", "goes"), [case[1:] for case in EVENTS], ids=[case[0] for case in EVENTS])
def test_health_events(changes: dict[str, Any], goes: bool) -> None:
    event = health(a_cluster())
    HealthEvent.objects.filter(pk=event.pk).update(**changes)
    forget(AGES, LATER)
    assert HealthEvent.objects.exists() is not goes


def test_a_tick_is_bounded_and_does_the_oldest_first(attempt: Attempt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "ATTEMPTS", 2)
    monkeypatch.setattr(retention, "EVENTS", 2)
    for index in (1, 2, 3):
        details(an_attempt(attempt.job, index, JobState.FAILED))
        health(attempt.job.cluster, at=NOW - index * DAYS, healthy=True)
    assert forget_details(90 * DAYS, Spared(), LATER) == 2
    assert forget_health(90 * DAYS, Spared(), LATER) == 2
    assert kept() == [2] * 4
    assert HealthEvent.objects.get().happened_at == NOW - DAYS


def test_a_tick_is_a_fixed_number_of_queries(attempt: Attempt) -> None:
    with CaptureQueriesContext(connection) as nothing_old:
        forget(AGES, NOW)
    assert len(nothing_old) <= 7
    for index in range(1, 30):
        details(an_attempt(attempt.job, index, JobState.FAILED))
    with CaptureQueriesContext(connection) as queries:
        assert forget(AGES, LATER) == 30
    assert len(queries) <= 15


def test_a_verdict_is_computed_again_when_all_else_has_gone(tmp_path: Any) -> None:
    attempt = make_attempt(make_cluster(tmp_path))
    make_nodes(attempt.job.cluster)
    start = attempt.started_at or NOW
    Log.of(attempt).write(*(megatron(n, start + timedelta(seconds=n)) for n in range(1, 6)), ECC)
    read_attempt(again(attempt), start + timedelta(seconds=8))
    ended = end(again(attempt), at=start + timedelta(seconds=9))
    for seconds in (10, 20, 30, 400):
        read_attempt(again(ended), start + timedelta(seconds=seconds))
    verdict = judge(again(ended), start + timedelta(seconds=401))
    assert verdict is not None and Excerpt.objects.exists() and Watch.objects.exists()
    assert Attempt.objects.get().settled_at is not None
    Job.objects.update(live=False)
    trail = AuditEvent.objects.count()
    assert forget(AGES, start + 91 * DAYS) == 1
    assert kept() == [0] * 4
    stored = Verdict.objects.get()
    assert attribute(read_facts(stored.body["inputs"]), stored.judged_at).input_hash == stored.input_hash
    assert (Anomaly.objects.exists(), AuditEvent.objects.count()) == (True, trail)


def test_decisions_without_advice_go_when_they_are_old_and_those_with_advice_stay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = a_cluster()
    an_advice(cluster, 1)
    for number in range(2, 5):
        decide(a_verdict(an_attempt(a_job(cluster, number), state=JobState.CANCELLED)), NOW)
    assert LeftAlone.objects.count() == 3
    forget(AGES, NOW + 90 * DAYS)
    assert LeftAlone.objects.count() == 3
    monkeypatch.setattr("advisor_api.retention.DECISIONS", 2)
    assert [forget(AGES, LATER) for _ in range(3)] == [2, 1, 0]
    assert (LeftAlone.objects.count(), Advice.objects.count()) == (0, 1)
