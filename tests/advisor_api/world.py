"""What the tests of the advisor are played with: a cluster, jobs that failed, verdicts, and the cast."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from advisor_api.activating import establish
from advisor_api.deciding import decide
from advisor_api.models import Advice, ApiToken
from advisor_api.policies import Place
from advisor_api.token_role import TokenRole
from advisor_api.tokens import issue
from audit.actor_kind import ActorKind
from audit.trail import Actor
from detectors.models import Anomaly, Verdict
from schedulers.states import JobState
from workloads.identity import heimdall_id
from workloads.models import Attempt, Cluster, Job, Node

NOW = datetime(2026, 11, 29, 10, 0, tzinfo=UTC)
OPERATOR = Actor(ActorKind.PERSON, "olga")
CONTROLLER = Actor(ActorKind.CONTROLLER, "ctl")
ACTION = {"environment": "demo", "mode": "action", "wants_action": True}


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def a_cluster(name: str = "demo", nodes: int = 20, now: datetime = NOW, **values: Any) -> Cluster:
    values = {"environment": "demo", "mode": "action", "acknowledge_scheduler_actions": True, **values}
    cluster = Cluster.objects.create(name=name, seen_at=now, **values)
    Node.objects.bulk_create(
        Node(cluster=cluster, name=f"n{i:02}", state="idle", partitions=["main"], seen_at=now)
        for i in range(1, nodes + 1)
    )
    return cluster


def a_job(cluster: Cluster, number: int = 100, now: datetime = NOW, **values: Any) -> Job:
    usual = {"partition": "main", "node_count": 3, "opt_in": ACTION, "name": "train", "user": "tess"}
    values = {**usual, "work_dir": f"/home/tess/{number}", **values}
    return Job.objects.create(cluster=cluster, number=number, created_at=now, seen_at=now, **values)


def an_attempt(
    job: Job, index: int = 0, state: JobState = JobState.FAILED, now: datetime = NOW, **values: Any
) -> Attempt:
    values = {
        "nodes": ["n01", "n02", "n03"],
        "scheduler_word": state.name,
        "submitted_at": now - seconds(600),
        "started_at": now - seconds(590),
        "ended_at": now if state.name in {"FAILED", "COMPLETED", "CANCELLED", "TIMEOUT"} else None,
        **values,
    }
    return Attempt.objects.create(
        job=job,
        index=index,
        heimdall_id=heimdall_id(job.cluster.name, job.number, job.epoch, index),
        state=state.value,
        first_seen_at=now - seconds(600),
        changed_at=now,
        **values,
    )


def culprit(host: str, confidence: float = 0.95) -> dict[str, Any]:
    return {"host": host, "rank": None, "role": "culprit", "confidence": confidence, "excludable": True}


def a_verdict(attempt: Attempt, now: datetime = NOW, **values: Any) -> Verdict:
    values = {
        "kind": "crash",
        "layer": "hardware.gpu",
        "signature": "xid.48",
        "fingerprint": "f-ecc",
        "sentence": "Uncorrectable ECC error on n03.",
        "evidence_status": "established",
        "confidence": 0.95,
        "action": "restart_exclude",
        "implicated": [culprit("n03")],
        "happened_at": now - seconds(5),
        "judged_at": now - seconds(1),
        "decide_due_at": now,
        **values,
    }
    number = Verdict.objects.filter(attempt=attempt).count()
    return Verdict.objects.create(attempt=attempt, input_hash=f"{attempt.pk}-{number}", body={}, **values)


UNKNOWN = {
    "layer": "unknown",
    "signature": "",
    "fingerprint": "f-unknown",
    "evidence_status": "unknown",
    "confidence": 0.2,
    "action": "restart",
    "implicated": [],
}


def an_anomaly(attempt: Attempt, now: datetime = NOW, **values: Any) -> Anomaly:
    values = {
        "key": f"k{Anomaly.objects.count()}",
        "kind": "crash",
        "layer": "hardware.gpu",
        "signature": "xid.48",
        "sentence": "Uncorrectable ECC error on n03.",
        "nodes": ["n03"],
        "happened_at": now - seconds(5),
        "basis": "line",
        "detected_at": now - seconds(3),
        **values,
    }
    return Anomaly.objects.create(attempt=attempt, **values)


def a_policy(values: dict[str, Any], cluster: Cluster | None = None, now: datetime = NOW, **place: str) -> Any:
    """A version that is active at its place from now on."""
    return establish(Place(cluster, **place), values, "for a test", actor=OPERATOR, now=now)


def an_advice(cluster: Cluster, number: int = 100, now: datetime = NOW, **verdict: Any) -> Advice:
    """A failed attempt that was decided on: RESTART without n03 unless `verdict` says otherwise."""
    attempt = an_attempt(a_job(cluster, number, now), now=now)
    advice = decide(a_verdict(attempt, now, **verdict), now)
    assert advice is not None
    return advice


def a_token(
    role: TokenRole, clusters: Sequence[Cluster], name: str = "", now: datetime = NOW
) -> tuple[str, ApiToken]:
    name = name or f"{role.value}-{ApiToken.objects.count()}"
    secret = issue(name, role, clusters, now=now, actor=OPERATOR)
    return secret, ApiToken.objects.get(name=name)
