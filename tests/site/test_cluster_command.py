"""Can a person pause a cluster and look at it without a browser, and is every mistake one sentence?"""

from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from advisor_api.models import Advice, Pause, PolicyVersion
from audit.models import AuditEvent
from detectors.models import Verdict
from lab.slurm.cluster import SlurmCluster
from workloads.models import Attempt, Cluster, Job

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
WORDS = {
    "kind": "crash",
    "layer": "hardware.gpu",
    "sentence": "ECC error on n1",
    "evidence_status": "established",
    "confidence": 0.9,
    "action": "restart_exclude",
    "happened_at": NOW,
    "judged_at": NOW,
}
ADVICE = {
    "operation": "restart",
    "rule": "named_node",
    "because": "because",
    "mode_at_decision": "action",
    "not_before": NOW,
    "hold_until": NOW,
    "expires_at": NOW,
    "created_at": NOW,
    "state": "pending",
    "state_at": NOW,
}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="alpha", environment="test")


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    call_command("cluster", *words)
    return capsys.readouterr().out


def test_a_pause_begins_and_ends_with_its_events(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    began = said(capsys, "pause", "alpha", "--minutes", "30", "--reason", "maintenance")
    assert began.startswith("Nothing is done on alpha until ")
    (pause,) = Pause.objects.all()
    assert (pause.scope, pause.value, pause.reason) == ("cluster", "", "maintenance")
    assert said(capsys, "resume", "alpha") == "alpha is no longer paused.\n"
    assert said(capsys, "resume", "alpha") == "alpha was not paused.\n"
    assert AuditEvent.objects.filter(type="pause", cluster="alpha").count() == 2


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("pause", "beta", "--minutes", "5", "--reason", "x"), "There is no cluster 'beta'"),
        (("pause", "alpha", "--minutes", "0", "--reason", "x"), "--minutes must be from 1 to"),
        (("pause", "alpha", "--minutes", "99999999", "--reason", "x"), "--minutes must be from 1 to"),
        (("pause", "alpha", "--minutes", "5", "--reason", " "), "Say in 1 to 1000 characters why"),
    ],
)
def test_a_mistake_changes_nothing(cluster: Cluster, words: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(CommandError, match=sentence):
        call_command("cluster", *words)
    assert not Pause.objects.exists()
    assert not AuditEvent.objects.exists()


def test_an_acknowledgement_that_was_forgotten_is_asked_for_and_given_later(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("mode", "alpha", "approve", "--reason", "a test")
    assert "Nothing is carried out yet" in said(capsys, *words)
    acknowledged = said(capsys, *words, "--acknowledge-scheduler-actions")
    assert acknowledged == "alpha is in mode approve.\n"
    cluster.refresh_from_db()
    assert cluster.acknowledge_scheduler_actions
    with pytest.raises(CommandError, match="in mode approve already"):
        call_command("cluster", *words, "--acknowledge-scheduler-actions")
    assert AuditEvent.objects.filter(type="mode_changed").count() == 1


@pytest.mark.slurm
def test_a_look_tells_of_a_log_root_that_is_not_there(
    real_slurm: SlurmCluster, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    where = ["--scheduler-config", str(real_slurm.layout.conf), "--log-root", str(tmp_path)]
    said(capsys, "add", "alpha", *where, "--log-root", "/nowhere/logs")
    looked = said(capsys, "look", "alpha")
    assert "5 nodes" in looked
    assert "The log root /nowhere/logs is no folder here: jobs that write there will be blind." in looked
    assert str(tmp_path) not in looked


def test_a_cluster_with_a_history_is_forgotten_and_its_trail_is_kept(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    job = Job.objects.create(cluster=cluster, number=7, name="train", user="trainer", created_at=NOW, seen_at=NOW)
    attempt = Attempt.objects.create(
        job=job, index=0, heimdall_id=uuid4(), state="failed", first_seen_at=NOW, changed_at=NOW
    )
    first = Verdict.objects.create(attempt=attempt, input_hash="1", **WORDS)
    second = Verdict.objects.create(attempt=attempt, input_hash="2", supersedes=first, **WORDS)
    policy = PolicyVersion.objects.create(cluster=cluster, values={}, note="x", created_at=NOW, created_by="x")
    Advice.objects.create(attempt=attempt, verdict=second, policy=policy, generation=1, **ADVICE)
    with pytest.raises(CommandError, match="repeat it with --yes"):
        call_command("cluster", "remove", "alpha")
    assert said(capsys, "remove", "alpha", "--yes") == "alpha is forgotten; its trail is kept.\n"
    assert not Cluster.objects.exists()
    assert not Advice.objects.exists()
    assert not Verdict.objects.exists()
    assert AuditEvent.objects.filter(type="configuration", cluster="alpha").exists()


STORE = (
    "--log-store",
    "loki",
    "--log-store-address",
    "https://loki.example.org:3100",
    "--job-lines",
    '{job_id!=""}',
)


def test_a_cluster_with_a_log_store_is_added(capsys: pytest.CaptureFixture[str]) -> None:
    told = said(
        capsys, "add", "beta", *STORE, "--label", "job_id=slurm_job", "--tenant", "a", "--credential", "loki"
    )
    assert "Without --log-root" not in told
    cluster = Cluster.objects.get(name="beta")
    assert (cluster.log_store, cluster.log_store_labels) == ("loki", {"job_id": "slurm_job"})
    Cluster.objects.update(log_store_unseen_since=NOW, log_store_unseen_reason="no answer")
    assert "cannot see the log store: no answer" in said(capsys, "list")


def test_a_cluster_with_dumps_is_added(capsys: pytest.CaptureFixture[str]) -> None:
    where = "/shared/dumps/%j/nccl_trace_rank_%t"
    with pytest.raises(CommandError, match="dump_patterns: Dumps are read below the log roots only"):
        call_command("cluster", "add", "beta", "--dumps", where)
    with pytest.raises(CommandError, match="is not a usable path pattern"):
        call_command("cluster", "add", "beta", "--log-root", "/shared/dumps", "--dumps", "x" * 1025)
    said(capsys, "add", "beta", "--log-root", "/shared/dumps", "--dumps", where)
    assert Cluster.objects.get(name="beta").dump_patterns == [where]


def test_a_cluster_with_metrics_is_added(capsys: pytest.CaptureFixture[str]) -> None:
    told = ("--metrics-address", "https://prometheus.example.org:9090", "--metrics-selector", 'cluster="a"')
    said(capsys, "add", "beta", *told, "--metrics-label", "node=host", "--metrics-credential", "reader")
    cluster = Cluster.objects.get(name="beta")
    assert (cluster.metrics_selector, cluster.metrics_labels) == ('cluster="a"', {"node": "host"})
    Cluster.objects.update(metrics_unseen_since=NOW, metrics_unseen_reason="no answer")
    assert "cannot see the metrics: no answer" in said(capsys, "list")


@pytest.mark.parametrize(
    ("told", "mistake"),
    [
        (("--metrics-address", "prometheus:9090"), "metrics_address: 'prometheus:9090' is no address"),
        (("--metrics-address", "http://p", "--metrics-credential", "a"), "metrics_credential: .*over https only"),
        (("--metrics-selector", 'cluster="a"'), "metrics_address: Say where the metrics are"),
        (("--metrics-address", "http://p", "--metrics-selector", '{cluster="a"}'), "without braces"),
        (("--metrics-address", "http://p", "--metrics-selector", 'a="b"} or up{a="c"'), "without braces"),
        (("--metrics-address", "http://p", "--metrics-label", "gpu=a b"), "is no label's name, for gpu"),
        (("--metrics-address", "http://p", "--metrics-label", "rank=a"), "'rank' is not mapped"),
    ],
)
def test_metrics_that_are_described_wrongly_are_refused_in_one_sentence(
    told: tuple[str, ...], mistake: str
) -> None:
    with pytest.raises(CommandError, match=mistake):
        call_command("cluster", "add", "beta", *told)
    assert not Cluster.objects.exists()


def test_a_log_store_without_the_label_of_the_job_is_refused_in_one_sentence() -> None:
    with pytest.raises(CommandError, match="log_store_labels: Say which label holds the job's number"):
        call_command("cluster", "add", "beta", *STORE)
    assert not Cluster.objects.exists()


def test_a_pushed_cluster_is_never_asked_from_here() -> None:
    call_command("cluster", "add", "far", "--push")
    assert Cluster.objects.get(name="far").scheduler_transport == "push"
    with pytest.raises(CommandError, match="far is not asked from here: its controller pushes"):
        call_command("cluster", "look", "far")
    with pytest.raises(CommandError, match="With --push no command is run from here"):
        call_command("cluster", "add", "both", "--push", "--ssh", "a@b")
    assert not Cluster.objects.filter(name="both").exists()
