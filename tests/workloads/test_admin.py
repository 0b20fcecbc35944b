"""What may an administrator see and change of what runs where?"""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from audit.event_type import EventType
from audit.models import AuditEvent
from tests.audit.people import signed_in
from tests.workloads.scripted import after, overtaken
from workloads.models import Attempt, Cluster, Node
from workloads.progress_models import ProgressPoint


def fields(**changed: Any) -> dict[str, Any]:
    """The form of the fixture's cluster as a browser sends it."""
    return {
        "environment": "lab",
        "enabled": "on",
        "poll_seconds": "15.0",
        "scheduler_kind": "slurm",
        "scheduler_transport": "local",
        "scheduler_path": "",
        "scheduler_config": "",
        "partitions": "[]",
        "log_roots": "[]",
        "log_patterns": "[]",
        "detector_limits": "{}",
    } | changed


@pytest.fixture
def admin_client(db: None) -> Client:
    """A superuser's browser."""
    return signed_in("admin", superuser=True)


def page(cluster: Cluster) -> str:
    return reverse("admin:workloads_cluster_change", args=[cluster.pk])


def test_a_change_is_stored_due_at_once_and_named_in_the_trail(admin_client: Client, cluster: Cluster) -> None:
    Cluster.objects.update(observe_due_at=after(9_999_999), seen_at=after(3), mode="action")
    answer = admin_client.post(page(cluster), fields(poll_seconds="5", log_roots='["/logs"]'))
    assert answer.status_code == 302
    cluster.refresh_from_db()
    assert (cluster.poll_seconds, cluster.log_roots, cluster.mode, cluster.seen_at) == (
        5,
        ["/logs"],
        "action",
        after(3),
    )
    assert cluster.observe_due_at is not None
    assert cluster.observe_due_at < after(9_999_999)
    event = AuditEvent.objects.get()
    assert (event.type, event.actor_kind, event.actor, event.cluster) == (
        "configuration",
        "person",
        "admin",
        "demo",
    )
    assert event.sentence == "admin changed poll_seconds, log_roots of cluster demo."
    assert event.payload == {
        "before": {"poll_seconds": 15.0, "log_roots": []},
        "after": {"poll_seconds": 5.0, "log_roots": ["/logs"]},
    }


def test_what_is_observed_or_switched_at_the_same_moment_is_kept(admin_client: Client, cluster: Cluster) -> None:
    def meanwhile() -> None:
        Cluster.objects.update(seen_at=after(3), mode="approve", mode_version=2)

    with overtaken("workloads_cluster", meanwhile):
        admin_client.post(page(cluster), fields(poll_seconds="5"))
    cluster.refresh_from_db()
    assert (cluster.poll_seconds, cluster.seen_at, cluster.mode, cluster.mode_version) == (
        5,
        after(3),
        "approve",
        2,
    )


def test_saving_without_a_change_says_nothing(admin_client: Client, cluster: Cluster) -> None:
    assert admin_client.post(page(cluster), fields()).status_code == 302
    assert not AuditEvent.objects.exists()


def test_neither_mode_nor_name_are_changed_here(admin_client: Client, cluster: Cluster) -> None:
    admin_client.post(page(cluster), fields(mode="action", name="renamed", seen_at="2020-01-01"))
    cluster.refresh_from_db()
    assert (cluster.mode, cluster.name, cluster.seen_at) == ("monitor", "demo", None)
    assert not AuditEvent.objects.exists()


MISTAKES = {
    "a poll of nothing": {"poll_seconds": "0"},
    "a relative root": {"log_roots": '["logs"]'},
    "a limit we do not know": {"detector_limits": '{"hang": 5}'},
    "a partition with blanks": {"partitions": '["a b"]'},
    "no JSON": {"log_patterns": "[oops"},
}


@pytest.mark.parametrize("changed", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_changes_nothing(admin_client: Client, cluster: Cluster, changed: dict[str, str]) -> None:
    answer = admin_client.post(page(cluster), fields(**changed))
    assert answer.status_code == 200
    assert b"errorlist" in answer.content
    assert not AuditEvent.objects.exists()


def test_a_new_cluster_begins_in_monitor_mode(admin_client: Client, cluster: Cluster) -> None:
    answer = admin_client.post(reverse("admin:workloads_cluster_add"), fields(name="second", mode="action"))
    assert answer.status_code == 302
    second = Cluster.objects.get(name="second")
    assert (second.mode, second.acknowledge_scheduler_actions) == ("monitor", False)
    event = AuditEvent.objects.get(type=EventType.CONFIGURATION)
    assert event.sentence == "admin added cluster second."


def test_a_cluster_is_not_deleted(admin_client: Client, cluster: Cluster) -> None:
    answer = admin_client.post(reverse("admin:workloads_cluster_delete", args=[cluster.pk]), {"post": "yes"})
    assert answer.status_code == 403
    assert Cluster.objects.filter(pk=cluster.pk).exists()


@pytest.mark.parametrize("model", ["cluster", "node", "job", "attempt", "progresspoint"])
@pytest.mark.parametrize("query", ["", "?q=12345", "?q=train", "?q=%00", "?q=4f1d9f0e-35a3-5b0a-9d3b-0f5d1d0c6f21"])
def test_lists_open_and_can_be_searched(admin_client: Client, attempt: Attempt, model: str, query: str) -> None:
    ProgressPoint.objects.create(attempt=attempt, at=after(9), step=1)
    answer = admin_client.get(reverse(f"admin:workloads_{model}_changelist") + query)
    assert answer.status_code == 200


@pytest.mark.parametrize("model", ["node", "job", "attempt", "progresspoint"])
def test_what_the_scheduler_says_is_only_read(admin_client: Client, attempt: Attempt, model: str) -> None:
    ProgressPoint.objects.create(attempt=attempt, at=after(9), step=1)
    keys = {
        "node": Node.objects.values_list("pk", flat=True)[0],
        "job": attempt.job_id,
        "attempt": attempt.pk,
        "progresspoint": ProgressPoint.objects.get().pk,
    }
    change = reverse(f"admin:workloads_{model}_change", args=[keys[model]])
    assert admin_client.get(change).status_code == 200
    assert admin_client.post(change, {"state": "failed", "name": "x"}).status_code == 403
    delete = reverse(f"admin:workloads_{model}_delete", args=[keys[model]])
    assert admin_client.post(delete, {"post": "yes"}).status_code == 403
    assert admin_client.get(reverse(f"admin:workloads_{model}_add")).status_code == 403


def test_somebody_without_rights_sees_nothing(cluster: Cluster) -> None:
    client = signed_in("viewer")
    assert client.get(page(cluster)).status_code == 403
    assert client.post(page(cluster), fields(poll_seconds="5")).status_code == 403
    assert client.get(reverse("admin:workloads_job_changelist")).status_code == 403
