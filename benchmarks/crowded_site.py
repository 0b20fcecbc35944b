"""What does a site look like that has seen 100,000 jobs and written a million events?

Four clusters, 4 of 100 jobs still listed, one of eight ended by a failure with a verdict, advice and what became of
it; every row of an incident, a pause, a silence and the like that a page speaks of is there at least once.
"""

import random
import uuid
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import connection, models, transaction

from advisor_api.models import Advice, ControllerLease, Exclusion, JobReport, Pause, PolicyVersion, Sequence
from advisor_api.notification_models import Delivery, NotificationRoute
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from advisor_api.silence_models import Silence
from benchmarks.long_trail import copy_tile, fill_trail
from console.models import SavedView
from detectors.choice_models import IncidentChoice
from detectors.incident_counts import count_anew
from detectors.models import Anomaly, Excerpt, Incident, IncidentNode, Observation, Stay, Verdict
from schedulers.states import JobState
from workloads.mode import Mode
from workloads.models import Attempt, Cluster, Job, Node
from workloads.opt_in import OptIn
from workloads.progress_models import Checkpoint, ProgressPoint

BATCH = 2000
TILE = 2500  # jobs that are made one by one
CLUSTERS = (("alpha", Mode.ACTION), ("beta", Mode.APPROVE), ("gamma", Mode.MONITOR), ("delta", Mode.ACTION))
NODES = 512  # of each cluster
SIGNATURES = [f"{area}.fault{number}" for area in ("gpu", "nccl", "fs", "app", "net") for number in range(12)]
ENDS = [JobState.COMPLETED] * 13 + [JobState.FAILED, JobState.NODE_FAIL, JobState.CANCELLED, JobState.TIMEOUT]
PATH = "/shared/home/user/projects/large-language-model/experiments/run-%x/logs/%j.out"


def fill(jobs: int, events: int, now: datetime) -> User:
    """Store all of it; the person who may see everything. A tile of it by rows, the rest as copies of the tile."""
    chance = random.Random(7)
    clusters = [_cluster(name, mode, now) for name, mode in CLUSTERS]
    _jobs(clusters, min(jobs, TILE), now, chance)
    _failures(clusters, now, chance)
    copy_tile(jobs // TILE - 1)
    with transaction.atomic():
        count_anew(Incident.objects.values_list("pk", flat=True))
    person = User.objects.create_superuser("admin", password=None)
    _by_people(clusters, person, now)
    fill_trail(events, now)
    if connection.vendor == "mysql":
        with connection.cursor() as cursor:
            for table in connection.introspection.table_names():
                cursor.execute(f"ANALYZE TABLE {connection.ops.quote_name(table)}")
                cursor.fetchall()
    return person


def _cluster(name: str, mode: Mode, now: datetime) -> Cluster:
    cluster = Cluster.objects.create(
        name=name, environment=name, mode=mode, acknowledge_scheduler_actions=True, seen_at=now, changed_at=now
    )
    ControllerLease.objects.create(cluster=cluster, holder=f"{name}-controller", until=now + timedelta(hours=9))
    Node.objects.bulk_create(
        Node(cluster=cluster, name=f"n{number:04}", state="allocated", partitions=["main"], seen_at=now)
        for number in range(NODES)
    )
    return cluster


def _jobs(clusters: list[Cluster], jobs: int, now: datetime, chance: random.Random) -> None:
    listed = jobs - jobs // 25  # from this one on the scheduler still lists them
    rows = (
        _job(clusters[n % 4], n, now - timedelta(seconds=60 * (jobs - n)), now, n >= listed) for n in range(jobs)
    )
    _store(Job, rows)
    _store(Attempt, (one for job in _all_jobs() for one in _attempts(job, now, chance)))
    ended = (
        Attempt.objects.filter(ended_at__isnull=False)
        .order_by("-pk")
        .values_list("pk", "job__cluster", "nodes", "ended_at")[: jobs // 4]
    )
    stays = (
        Stay(cluster_id=cluster, attempt_id=key, node=node, ended_at=at or now, seconds=3600.0)
        for key, cluster, nodes, at in list(ended)
        for node in nodes
    )
    _store(Stay, stays)


def _job(cluster: Cluster, n: int, at: datetime, now: datetime, live: bool) -> Job:  # a row
    state = (JobState.RUNNING if n % 4 else JobState.PENDING) if live else ENDS[n % len(ENDS)]
    wish = "action" if n % 3 else "nothing"
    return Job(
        cluster=cluster, number=100_000 + n, name=f"train-{n % 700}-seed{n % 11}", user=f"user{n % 200:03}",
        user_id=n % 200, account=f"team{n % 20}", partition=("main", "gpu", "long", "debug")[n % 4 if n % 9 else 3],
        node_count=1 + n % 4, work_dir=PATH, stdout=PATH, stderr=PATH,
        comment='{"nvidia-recovery": {"mode": "action"}}', wish=wish, created_at=at,
        opt_in=OptIn(mode=Mode.ACTION if n % 3 else None).stored(),
        seen_at=now if live else at + timedelta(hours=3), live=live, newest_index=1 if n % 10 == 0 else 0,
        newest_state=state.value,
    )  # fmt: skip


def _attempts(job: Job, now: datetime, chance: random.Random) -> Iterator[Attempt]:
    first = chance.randrange(NODES)
    nodes = [f"n{(first + one) % NODES:04}" for one in range(job.node_count)]
    over = not job.live
    for index in range(job.newest_index + 1):
        newest = index == job.newest_index
        state = job.newest_state if newest else JobState.FAILED.value
        begun = job.created_at + timedelta(minutes=1 + 30 * index)
        yield Attempt(
            job=job, index=index, heimdall_id=uuid.uuid4(), state=state, nodes=nodes, submitted_at=job.created_at,
            started_at=None if state == JobState.PENDING else begun, first_seen_at=begun, changed_at=begun,
            ended_at=begun + timedelta(minutes=29) if over or not newest else None, last_step=500,
            last_checkpoint_step=400, settled_at=begun if over else None,
            blind_since=now if job.live and newest and job.number % 40 == 1 else None,
        )  # fmt: skip


def _failures(clusters: list[Cluster], now: datetime, chance: random.Random) -> None:
    """The newest of them within the last day, as many as a bad day has."""
    policy = PolicyVersion.objects.create(cluster=clusters[0], created_at=now, created_by="admin")
    PolicyVersion.objects.create(
        cluster=clusters[0], created_at=now, created_by="admin", values={"max_restarts": 2}
    )
    incidents = [_incident(clusters[n % 4], n, now) for n in range(400)]
    failed = list(Attempt.objects.filter(state__in=["failed", "node_fail"]).order_by("pk").select_related("job"))
    _store(Verdict, (_verdict(one, len(failed) - n, incidents, now) for n, one in enumerate(failed)))
    verdicts = list(Verdict.objects.order_by("pk").defer("body"))
    _store(Anomaly, (_anomaly(one) for one in verdicts))
    _store(Advice, (_advice(one, n < 40, policy, now) for n, one in enumerate(reversed(verdicts))))
    _store(Sequence, (_sequence(one) for one in Advice.objects.select_related("verdict").all()))
    _store(JobReport, (_report(one.attempt_id, now) for one in verdicts[-300:]))
    _story(verdicts[0], now, chance)


def _incident(cluster: Cluster, n: int, now: datetime) -> Incident:
    at = now - timedelta(hours=n)
    incident = Incident.objects.create(
        cluster=cluster, open_key=f"key{n}" if n < 30 else None, fingerprint=f"{n:064}", layer="hardware.gpu",
        sentence=f"GPUs of node n{n % NODES:04} fail with the same message", first_seen_at=at, last_seen_at=at,
        ended_at=None if n < 30 else at + timedelta(hours=6),
    )  # fmt: skip
    IncidentNode.objects.create(incident=incident, node=f"n{n % NODES:04}")
    return incident


def _verdict(attempt: Attempt, age: int, incidents: list[Incident], now: datetime) -> Verdict:
    at = now - timedelta(minutes=3 * age)
    signature = SIGNATURES[age % len(SIGNATURES)]
    here = [one for one in incidents[:30] if one.cluster_id == attempt.job.cluster_id]
    return Verdict(
        attempt=attempt, kind="crash", layer="hardware.gpu", signature=signature, fingerprint=f"{age % 400:064}",
        sentence=f"{attempt.nodes[0]} failed: {signature}", evidence_status="established", confidence=0.9,
        action="restart_exclude", incident=here[age % len(here)] if age < 2000 else None, input_hash=f"{age:064}",
        implicated=[{"host": attempt.nodes[0], "role": "culprit", "confidence": 0.9, "excludable": True}],
        body={"hypotheses": [{"layer": "hardware.gpu", "odds": 0.9}]}, happened_at=at, judged_at=at,
    )  # fmt: skip


def _anomaly(verdict: Verdict) -> Anomaly:
    return Anomaly(
        attempt_id=verdict.attempt_id, key="crash", kind="crash", signature=verdict.signature, layer=verdict.layer,
        sentence=verdict.sentence, happened_at=verdict.happened_at, basis="line", detected_at=verdict.judged_at,
        evidence=[{"stream": "/job.out", "offset": 0, "line": "Xid 79", "at": None, "host": "", "rank": 0}],
    )  # fmt: skip


def _advice(verdict: Verdict, is_open: bool, policy: PolicyVersion, now: datetime) -> Advice:
    waits = verdict.pk % 2 == 0
    opened = AdviceState.AWAITING_APPROVAL if waits else AdviceState.PENDING
    return Advice(
        attempt_id=verdict.attempt_id, generation=1, verdict=verdict, policy=policy,
        operation=Operation.RESTART.value, excluded_nodes=["n0001"], rule="named_node",
        because="a node is named by a proved cause",
        mode_at_decision=(Mode.APPROVE if waits else Mode.ACTION).value, created_at=verdict.judged_at,
        not_before=now + timedelta(minutes=verdict.pk % 20) if is_open else verdict.judged_at, hold_until=now,
        expires_at=now + timedelta(hours=2) if is_open else verdict.judged_at + timedelta(hours=1),
        state=(opened if is_open else AdviceState.CONVERGED).value, state_at=verdict.judged_at,
        trace=[{"rule": f"rule{n}", "applied": False, "chosen": False, "because": "no"} for n in range(20)],
    )  # fmt: skip


def _sequence(advice: Advice) -> Sequence:
    at = advice.created_at
    over = advice.state == AdviceState.CONVERGED
    return Sequence(
        advice=advice, trace_id=f"{advice.pk:032}", happened_at=at, detected_at=at, advised_at=at, restarted_at=at,
        resumed_at=at, closed_at=at if over else None,
    )  # fmt: skip


def _report(attempt: int, now: datetime) -> JobReport:
    return JobReport(attempt_id=attempt, gpu_count_per_node=8, reported_by="client", reported_at=now)


def _story(verdict: Verdict, now: datetime, chance: random.Random) -> None:
    """One job with a long log of steps, as its page shows it: the first one that failed."""
    attempt = verdict.attempt
    points = (
        ProgressPoint(attempt=attempt, at=now - timedelta(seconds=n), step=n, step_seconds=2 + chance.random())
        for n in range(5000)
    )
    _store(ProgressPoint, points)
    saved = (Checkpoint(attempt=attempt, at=now, step=n, deed="saved", place="/ckpt") for n in range(300))
    _store(Checkpoint, saved)
    Excerpt.objects.create(
        attempt=attempt, stream="/shared/logs/job.out", offset=0, text="line\n" * 2000, why="end", kept_at=now
    )
    Observation.objects.create(attempt=attempt, topic="gpu_use", key="all", value={"gpus": 8}, at=now)


def _by_people(clusters: list[Cluster], person: User, now: datetime) -> None:
    end, by = now + timedelta(hours=3), person.get_username()
    for n, cluster in enumerate(clusters):
        more = {"cluster": cluster, "reason": "a disk is changed", "owner": by, "since": now, "until": end}
        Pause.objects.create(scope="user", value=f"user{n:03}", **more)
        Silence.objects.create(node=f"n{n:04}", made_by=by, **more)
        Exclusion.objects.bulk_create(Exclusion(node=f"n{one:04}", **more) for one in range(60))
    one, two = Incident.objects.filter(cluster=clusters[0], ended_at=None)[:2]
    IncidentChoice.objects.create(
        cluster=clusters[0], deed="merge", source=one, target=two, source_key="a", target_key="b",
        reason="same disk", made_by=by, made_at=now,
    )  # fmt: skip
    for n in range(50):
        SavedView.objects.create(owner=person, name=f"view {n}", query=f"?user=user{n:03}", created_at=now)
    route = NotificationRoute.objects.create(
        name="night", kind="hook", address="https://hook.example.org/", since=now
    )
    _store(
        Delivery,
        (
            Delivery(
                route=route, name="night", kind="hook", whom="x", topic="failed", level="warning", path="/",
                key=f"{n:064}", title="A job failed", text="t", made_at=now, first_at=now, last_at=now,
                outcome="sent",
            )
            for n in range(2000)
        ),
    )  # fmt: skip


def _all_jobs() -> Iterator[Job]:
    last = 0
    while rows := list(Job.objects.filter(pk__gt=last).order_by("pk")[:BATCH]):
        yield from rows
        last = rows[-1].pk


def _store(model: type[models.Model], rows: Iterable[models.Model]) -> None:
    """A few thousand in memory at once."""
    some: list[models.Model] = []
    for row in rows:
        some.append(row)
        if len(some) == BATCH:
            model._default_manager.bulk_create(some)
            some = []
    model._default_manager.bulk_create(some)
