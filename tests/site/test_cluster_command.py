"""Does `manage.py cluster` do what it says, leave a trail, and answer mistakes with one sentence?"""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from audit.models import AuditEvent
from lab.slurm.cluster import SlurmCluster
from workloads.models import Cluster

pytestmark = pytest.mark.django_db


def cluster(*words: str) -> str:
    out = StringIO()
    call_command("cluster", *words, stdout=out)
    return out.getvalue()


def test_a_new_cluster_is_only_watched() -> None:
    said = cluster("add", "lab", "--log-root", "/logs", "--limit", "hang_floor_seconds=10", "--partition", "gpu")
    row = Cluster.objects.get(name="lab")
    assert "nothing on it will be changed" in said
    assert (row.mode, row.acknowledge_scheduler_actions) == ("monitor", False)
    assert (row.log_roots, row.partitions, row.detector_limits) == (
        ["/logs"],
        ["gpu"],
        {"hang_floor_seconds": 10.0},
    )
    assert [event.type for event in AuditEvent.objects.filter(cluster="lab")] == ["configuration"]


def test_without_log_roots_it_says_what_follows() -> None:
    assert "every job will be shown as blind" in cluster("add", "lab")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["add", "Bad Name"], "name: Lower case letters"),
        (["add", "lab", "--limit", "hang_floor_seconds=soon"], "write NAME=SECONDS"),
        (["add", "lab", "--limit", "patience=3"], "'patience' is no limit"),
        (["add", "lab", "--log-root", "logs"], "is not an absolute path"),
        (["add", "lab", "--poll-seconds", "0"], "poll_seconds: "),
        (["look", "lab"], "There is no cluster 'lab'"),
        (["mode", "lab", "action", "--reason", "x"], "There is no cluster 'lab'"),
        (["remove", "lab", "--yes"], "There is no cluster 'lab'"),
    ],
)
def test_a_mistake_is_one_sentence_and_changes_nothing(words: list[str], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence) as refused:
        cluster(*words)
    assert "\n" not in str(refused.value)
    assert not Cluster.objects.exists()
    assert not AuditEvent.objects.exists()


def test_a_name_is_taken_once() -> None:
    cluster("add", "lab")
    with pytest.raises(CommandError, match="already exists"):
        cluster("add", "lab")


def test_the_mode_is_switched_with_a_reason_in_the_trail() -> None:
    cluster("add", "lab")
    assert "mode action" in cluster("mode", "lab", "action", "--reason", "ready", "--acknowledge-scheduler-actions")
    row = Cluster.objects.get(name="lab")
    assert (row.mode, row.mode_version, row.acknowledge_scheduler_actions) == ("action", 2, True)
    assert [event.type for event in AuditEvent.objects.order_by("id")][1:] == ["configuration", "mode_changed"]
    assert "ready" in AuditEvent.objects.get(type="mode_changed").sentence


def test_observe_means_monitor() -> None:
    cluster("add", "lab")
    cluster("mode", "lab", "approve", "--reason", "a first step")
    assert "mode monitor" in cluster("mode", "lab", "observe", "--reason", "back")


def test_a_refused_switch_leaves_the_acknowledgement_alone() -> None:
    cluster("add", "lab")
    with pytest.raises(CommandError, match="in mode monitor already"):
        cluster("mode", "lab", "monitor", "--reason", "x", "--acknowledge-scheduler-actions")
    assert Cluster.objects.get(name="lab").acknowledge_scheduler_actions is False


def test_removing_asks_first_and_keeps_the_trail() -> None:
    cluster("add", "lab")
    with pytest.raises(CommandError, match="repeat it with --yes"):
        cluster("remove", "lab")
    assert "its trail is kept" in cluster("remove", "lab", "--yes")
    assert not Cluster.objects.exists()
    assert AuditEvent.objects.filter(cluster="lab").count() == 2


def test_the_list_says_who_was_never_seen() -> None:
    cluster("add", "lab")
    assert "never seen" in cluster("list")


@pytest.mark.slurm
def test_a_look_says_what_the_scheduler_shows_and_stores_nothing(real_slurm: SlurmCluster) -> None:
    cluster("add", "lab", "--scheduler-config", str(real_slurm.layout.conf))
    said = cluster("look", "lab")
    assert "Slurm 22.05" in said and "5 nodes" in said
    assert "MinJobAge is 60 s" in said
    assert Cluster.objects.get(name="lab").seen_at is None


def test_a_look_without_a_scheduler_is_one_sentence(tmp_path) -> None:
    cluster("add", "lab", "--scheduler-path", str(tmp_path), "--scheduler-config", str(tmp_path / "none"))
    with pytest.raises(CommandError) as refused:
        cluster("look", "lab")
    assert "\n" not in str(refused.value)
