"""Does a clock that is set back by hours leave anything undone until it has caught up?"""

from datetime import UTC, datetime, timedelta

import pytest
from django.apps import apps
from django.db.models import DateTimeField
from django.utils import timezone

from advisor_api.leasing import LEASE_SECONDS, take_lease
from advisor_api.refusals import Stale
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.models import AuditEvent
from audit.trail import Actor
from recovery_site.tasks import set_timers_right
from recovery_site.timers import SLACK, set_right, timers
from schedulers.states import JobState
from workloads.models import Attempt, Cluster, Job
from workloads.turns import claim_due

NOW = datetime(2026, 5, 1, 8, 0, tzinfo=UTC)
HOURS = timedelta(hours=2)
COMMAND = timedelta(seconds=35)
ROOMS = ("audit", "workloads", "detectors", "advisor_api", "console")
SOMEBODY = Actor(ActorKind.CONTROLLER, "test")


@pytest.fixture
def cluster(db: None) -> Cluster:
    return Cluster.objects.create(name="north", environment="north")


def attempt(cluster: Cluster, **due: datetime) -> Attempt:
    job = Job.objects.create(cluster=cluster, number=1, epoch=0, name="train", created_at=NOW, seen_at=NOW)
    row = Attempt(
        job=job, index=0, state=JobState.RUNNING.value, first_seen_at=NOW, changed_at=NOW, heimdall_id=None, **due
    )
    row.heimdall_id = f"{0:032x}"
    row.save()
    return row


@pytest.mark.django_db
def test_every_due_column_of_the_site_is_among_the_timers() -> None:
    there = {
        (model, field.name)
        for room in ROOMS
        for model in apps.get_app_config(room).get_models()
        for field in model._meta.get_fields()
        if isinstance(field, DateTimeField) and field.name.endswith(("due_at", "retry_at"))
    }
    assert len(there) > 8
    assert there <= {(timer.model, timer.column) for timer in timers()}


def test_what_is_due_in_hours_by_a_clock_that_went_back_is_due_now(cluster: Cluster) -> None:
    row = attempt(cluster, read_due_at=NOW + HOURS, judge_due_at=NOW + HOURS)
    assert claim_due(NOW + HOURS, COMMAND)
    assert claim_due(NOW, COMMAND) == []
    assert set_right(NOW) == 3
    row.refresh_from_db()
    assert (row.read_due_at, row.judge_due_at) == (NOW, NOW)
    assert len(claim_due(NOW, COMMAND)) == 1


def test_nothing_is_moved_that_was_written_by_a_clock_of_another_machine(cluster: Cluster) -> None:
    for timer in timers():
        latest = NOW + timer.longest + SLACK
        if timer.model is Cluster:
            Cluster.objects.update(**{timer.column: latest})
    row = attempt(cluster, read_due_at=NOW + timedelta(seconds=20))
    assert set_right(NOW) == 0
    row.refresh_from_db()
    assert row.read_due_at == NOW + timedelta(seconds=20)


def test_it_is_told_once_with_the_amount(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    Cluster.objects.update(observe_due_at=NOW + HOURS)
    set_right(NOW)
    set_right(NOW + timedelta(seconds=5))
    (told,) = AuditEvent.objects.filter(type=EventType.BLIND.value)
    assert "set back by about 118 to 120 min" in told.sentence
    assert told.cluster == "north"
    assert caplog.text.count("set back") == 1


def test_a_cluster_that_is_not_watched_is_not_told_of(cluster: Cluster) -> None:
    Cluster.objects.update(observe_due_at=NOW + HOURS, enabled=False)
    set_right(NOW)
    assert not AuditEvent.objects.exists()


def test_a_lease_lasts_no_longer_than_its_length_from_now_on(cluster: Cluster) -> None:
    lease = take_lease(cluster, "one", 0, SOMEBODY, NOW + HOURS)
    set_right(NOW)
    with pytest.raises(Stale):  # whoever has it may still act for as long
        take_lease(cluster, "two", 0, SOMEBODY, NOW + timedelta(seconds=LEASE_SECONDS - 1))
    taken = take_lease(cluster, "two", 0, SOMEBODY, NOW + timedelta(seconds=LEASE_SECONDS))
    assert taken.fence == lease.fence + 1


def test_the_task_reads_the_clock(cluster: Cluster) -> None:
    Cluster.objects.update(observe_due_at=timezone.now() + HOURS)
    set_timers_right()
    assert Cluster.objects.get().observe_due_at <= timezone.now()
