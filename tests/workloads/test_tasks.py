"""Do the doors do what the beat expects of them? With real commands in a folder of their own."""

from datetime import timedelta
from pathlib import Path

import pytest
from celery import current_app
from django.utils import timezone

from workloads.models import Cluster
from workloads.tasks import observe_cluster, observe_due


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    """What was put on the queue: the broker of a test has nobody who takes it off."""
    found: list[tuple[object, ...]] = []
    monkeypatch.setattr(observe_cluster, "apply_async", lambda args, **options: found.append((args, options)))
    return found


def test_the_beat_finds_its_task() -> None:
    assert current_app.tasks["workloads.tasks.observe_due"] is not None


def test_each_due_cluster_gets_a_task_of_its_own_that_expires_with_its_claim(
    cluster: Cluster, sent: list[tuple[object, ...]]
) -> None:
    Cluster.objects.create(name="other")
    Cluster.objects.create(name="later", observe_due_at=timezone.now() + timedelta(hours=1))
    observe_due()
    observe_due()
    assert len(sent) == 2
    for args, options in sent:
        key, until = args  # type: ignore[misc]
        assert Cluster.objects.get(pk=key).observe_due_at == options["expires"]  # type: ignore[call-overload]
        assert until == options["expires"].isoformat()  # type: ignore[call-overload]


def claimed(cluster: Cluster, path: str) -> str:
    until = timezone.now() + timedelta(seconds=35)
    Cluster.objects.filter(pk=cluster.pk).update(observe_due_at=until, scheduler_path=path)
    return until.isoformat()


def test_a_scheduler_without_commands_is_cannot_see_and_due_again(cluster: Cluster, tmp_path: Path) -> None:
    observe_cluster(cluster.pk, claimed(cluster, str(tmp_path)))
    cluster.refresh_from_db()
    assert cluster.cannot_see_since is not None
    assert cluster.cannot_see_reason
    assert cluster.observe_due_at is not None
    assert timedelta(seconds=10) < cluster.observe_due_at - timezone.now() < timedelta(seconds=19)


def test_an_answer_that_is_no_listing_is_kept_for_the_operator(cluster: Cluster, tmp_path: Path) -> None:
    squeue = tmp_path / "squeue"
    squeue.write_text("#!/bin/sh\necho this is not a listing\n")
    squeue.chmod(0o755)
    observe_cluster(cluster.pk, claimed(cluster, str(tmp_path)))
    cluster.refresh_from_db()
    assert cluster.cannot_see_since is not None
    assert "this is not a listing" in cluster.raw_answer


def test_a_kind_that_does_not_exist_leaves_the_cluster_due_again(cluster: Cluster) -> None:
    until = claimed(cluster, "")
    Cluster.objects.update(scheduler_kind="nonesuch")
    with pytest.raises(ValueError, match="nonesuch"):
        observe_cluster(cluster.pk, until)
    cluster.refresh_from_db()
    assert cluster.observe_due_at is not None
    assert cluster.observe_due_at.isoformat() != until
