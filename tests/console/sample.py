"""A database with the story of a recovered job, one that runs, one that is blind, and a cluster out of sight.

Everything hangs on one moment `now`, so that pages, pictures and tests show the same.
"""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import Permission, User
from django.db import transaction

from advisor_api.models import Advice, Exclusion, Milestone, PolicyVersion, Sequence
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from advisor_api.policy.scheduler_action import SchedulerAction
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.level import Level
from audit.models import AuditEvent
from audit.trail import Actor, Entry, record
from detectors.attribution.action import VerdictAction
from detectors.attribution.evidence_status import EvidenceStatus
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from detectors.incident_counts import count_anew
from detectors.models import Anomaly, Excerpt, Feed, Incident, IncidentNode, Verdict
from schedulers.states import JobState
from workloads.mode import Mode
from workloads.models import Attempt, Cluster, Job, Node
from workloads.opt_in import OptIn
from workloads.phase import Phase
from workloads.progress_models import ProgressPoint
from workloads.subjects import subject_of, subject_of_cluster

INCIDENT = uuid.UUID("5a3d6e0c-8f0e-4c2c-9d0b-6f3f6f4f7a11")
"""The incident of the recovered job; it is over."""
LOG = "/scratch/logs/llama-7b_4711.log"
ECC = (
    "[n03:0] 2026-11-29 15:40:10,412 ERROR rank 8: CUDA error: uncorrectable ECC error encountered "
    "(GPU 2, row 0x1f3)"
)
HOSTILE = '\x1b[31mERROR\x1b[0m <script>alert(1)</script> \u202egnihtemos\u202c & "quoted" \x07'
DETECTOR = Actor(ActorKind.DETECTOR, "lines")
POLICY = Actor(ActorKind.RULE, "named_node")
CONTROLLER = Actor(ActorKind.CONTROLLER, "demo-controller")


@dataclass(frozen=True)
class Sample:
    """What the tests ask for by name."""

    cluster: Cluster
    monitor: Cluster
    unseen: Cluster
    recovered: Job
    running: Job
    blind: Job
    waiting: Advice


def cast() -> dict[str, User]:
    """The members of the cast who have an account."""
    viewer = User.objects.create_user("viewer", password="a long password for viewer")
    operator = User.objects.create_user("operator", password="a long password for operator")
    admin = User.objects.create_user("admin", password="a long password for admin", is_staff=True)
    approve = Permission.objects.get(codename="approve_advice", content_type__app_label="advisor_api")
    switch = Permission.objects.get(codename="switch_mode", content_type__app_label="workloads")
    read = Permission.objects.get(codename="view_job_log", content_type__app_label="workloads")
    operator.user_permissions.add(approve, read)
    admin.user_permissions.add(approve, switch, read)
    return {"viewer": viewer, "operator": operator, "admin": admin}


def fill(now: datetime) -> Sample:
    """Store everything; `now` is the moment at which somebody looks."""
    cluster = _cluster("demo", Mode.ACTION, now, seen_at=now - timedelta(seconds=1))
    monitor = _cluster("demo-monitor", Mode.MONITOR, now, seen_at=now - timedelta(seconds=1))
    unseen = _cluster(
        "far-away",
        Mode.APPROVE,
        now,
        seen_at=now - timedelta(minutes=12),
        cannot_see_since=now - timedelta(minutes=11),
        cannot_see_reason="squeue gave no answer within 10 s",
        raw_answer="slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
    )
    _nodes(cluster, now)
    recovered = _recovered(cluster, now)
    _unseen(unseen, now)
    running = _running(monitor, now)
    blind = _blind(cluster, now)
    waiting = _waiting(unseen, now)
    return Sample(cluster, monitor, unseen, recovered, running, blind, waiting)


def _cluster(name: str, mode: Mode, now: datetime, **more: object) -> Cluster:
    return Cluster.objects.create(
        name=name,
        environment=name,
        mode=mode,
        acknowledge_scheduler_actions=mode is not Mode.MONITOR,
        log_roots=["/scratch/logs"],
        poll_seconds=1.0,
        scheduler_version="22.05.8",
        changed_at=now - timedelta(minutes=1),
        **more,
    )


def _nodes(cluster: Cluster, now: datetime) -> None:
    for number in range(1, 7):
        bad = number == 6
        Node.objects.create(
            cluster=cluster,
            name=f"n{number:02}",
            state="drained" if bad else "allocated" if number < 5 else "idle",
            available=not bad,
            reason="bad PSU, ticket 812" if bad else "",
            reason_by="root" if bad else "",
            reason_at=now - timedelta(hours=30) if bad else None,
            partitions=["main"],
            seen_at=now,
        )


def job(cluster: Cluster, number: int, now: datetime, **more: object) -> Job:
    """One job that opted in."""
    values = {
        "name": "llama-7b",
        "user": "trainer",
        "user_id": 1001,
        "account": "research",
        "partition": "main",
        "node_count": 3,
        "opt_in": OptIn(mode=Mode.ACTION, auto_resume_mode="requeue").stored(),
        "created_at": now - timedelta(minutes=40),
        "seen_at": now,
    }
    return Job.objects.create(cluster=cluster, number=number, **(values | more))


def attempt(of: Job, index: int, state: JobState, now: datetime, **more: object) -> Attempt:
    """One attempt of a job."""
    values = {
        "heimdall_id": uuid.uuid5(uuid.NAMESPACE_OID, f"{of.cluster.name}/{of.number}/{of.epoch}/{index}"),
        "state": state,
        "first_seen_at": now - timedelta(minutes=40),
        "changed_at": now,
    }
    made = Attempt.objects.create(job=of, index=index, **(values | more))
    made.job = of
    Job.objects.filter(pk=of.pk, newest_index__lte=index).update(newest_index=index, newest_state=state)
    return made


def to_come(cluster: Cluster, now: datetime) -> Advice:
    """A restart of job 500 that the controller carries out in two minutes."""
    of = job(cluster, 500, now, name="<b>bold</b>")
    failed = attempt(of, 0, JobState.FAILED, now)
    return Advice.objects.create(
        attempt=failed, generation=1, operation=Operation.RESTART, excluded_nodes=["n02"], rule="named_node",
        because="n02 is named by a proved cause", mode_at_decision=Mode.ACTION,
        not_before=now + timedelta(minutes=2), hold_until=now + timedelta(minutes=5),
        expires_at=now + timedelta(minutes=15), created_at=now, state=AdviceState.PENDING, state_at=now,
    )  # fmt: skip


def event(
    at: datetime, kind: EventType, of: Attempt, sentence: str, actor: Actor = DETECTOR, **more: object
) -> AuditEvent:
    """One event about an attempt."""
    return record([Entry(type=kind, subject=subject_of(of), actor=actor, sentence=sentence, **more)], at)[0]


def _recovered(cluster: Cluster, now: datetime) -> Job:
    start, failed = now - timedelta(minutes=32), now - timedelta(minutes=14)
    of = job(cluster, 4711, now)
    first = attempt(
        of, 0, JobState.FAILED, now,
        scheduler_word="FAILED", nodes=["n01", "n02", "n03"], exit_code=1, phase=Phase.ENDED,
        submitted_at=start - timedelta(minutes=2), started_at=start, ended_at=failed + timedelta(seconds=3),
        first_step=1, last_step=524, last_step_at=failed - timedelta(seconds=2), last_checkpoint_step=500,
        baseline_step_seconds=2.0, changed_at=failed + timedelta(seconds=3),
    )  # fmt: skip
    second = attempt(
        of, 1, JobState.RUNNING, now,
        scheduler_word="RUNNING", nodes=["n01", "n02", "n04"], phase=Phase.TRAINING,
        submitted_at=failed + timedelta(seconds=8), started_at=failed + timedelta(seconds=12),
        first_step=501, last_step=870, last_step_at=now - timedelta(seconds=2), last_checkpoint_step=850,
        loaded_checkpoint_step=500, baseline_step_seconds=2.0,
    )  # fmt: skip
    _progress(second, now)
    for minute in range(1, 18, 2):
        event(start + timedelta(minutes=minute), EventType.CHECKPOINT_SAVED, first, "Checkpoint saved")
    for minute in range(2, 13, 2):
        event(failed + timedelta(minutes=minute), EventType.CHECKPOINT_SAVED, second, "Checkpoint saved")
    _failure(first, failed, cluster)
    _recovery_events(first, second, failed)
    return of


def _progress(of: Attempt, now: datetime) -> None:
    ProgressPoint.objects.bulk_create(
        ProgressPoint(
            attempt=of,
            at=now - timedelta(seconds=2 * (120 - number)),
            step=750 + number,
            step_seconds=2.0 + 0.12 * (number % 7) + (1.6 if number == 60 else 0),
        )
        for number in range(121)
    )


def _failure(first: Attempt, failed: datetime, cluster: Cluster) -> None:
    lines = [f"[n03:0] iteration {step}/1000 | elapsed 2.0 s | loss 2.{step}" for step in range(500, 525)]
    lines += [ECC, f"[n01:0] {HOSTILE}", "[n01:0] RuntimeError: NCCL communicator was aborted on rank 0."]
    text = "\n".join(lines) + "\n"
    offset = 81000 + text.index(ECC)
    Excerpt.objects.create(
        attempt=first, stream=LOG, offset=81000, text=text, why="evidence", kept_at=failed + timedelta(seconds=1)
    )
    evidence = [
        {"stream": LOG, "offset": offset, "line": ECC, "at": failed.isoformat(), "host": "n03", "rank": 8},
        {
            "stream": LOG, "offset": 81000 + text.index(HOSTILE), "line": HOSTILE,
            "at": None, "host": "n01", "rank": 0,
        },
    ]  # fmt: skip
    Anomaly.objects.create(
        attempt=first, key="ecc", kind=AnomalyKind.CRASH, signature="gpu.ecc.uncorrectable",
        layer=Layer.HARDWARE_GPU, role=Role.ROOT, nodes=["n03"], ranks=[8], evidence=evidence, confidence=0.93,
        sentence="An uncorrectable ECC error on GPU 2 of n03", happened_at=failed, basis="line",
        detected_at=failed + timedelta(seconds=1),
    )  # fmt: skip
    Anomaly.objects.create(
        attempt=first, key="aborted", kind=AnomalyKind.CRASH, signature="nccl.aborted",
        layer=Layer.FRAMEWORK_COMM, role=Role.SECONDARY, nodes=["n01"], evidence=[], confidence=0.2,
        sentence="The communicator was aborted: a victim's message", happened_at=failed + timedelta(seconds=1),
        basis="line", detected_at=failed + timedelta(seconds=2), count=2,
    )  # fmt: skip
    verdict = Verdict.objects.create(
        attempt=first, kind=AnomalyKind.CRASH, layer=Layer.HARDWARE_GPU, signature="gpu.ecc.uncorrectable",
        sentence="GPU 2 of n03 lost data: an uncorrectable ECC error came before every other message",
        evidence_status=EvidenceStatus.ESTABLISHED, confidence=0.93, action=VerdictAction.RESTART_EXCLUDE,
        implicated=[{"host": "n03", "rank": 8, "role": "culprit", "confidence": 0.93, "excludable": True}],
        body={
            "hypotheses": [
                {"layer": "hardware.gpu", "odds": 0.93},
                {"layer": "application", "odds": 0.04, "would_change_if": "the same step fails on other nodes"},
            ],
            "missing_evidence": ["no kernel log of n03"],
        },
        input_hash="0" * 64, happened_at=failed, judged_at=failed + timedelta(seconds=4),
    )  # fmt: skip
    _incident(verdict, failed, cluster)
    _advice(verdict, failed, cluster)


def _incident(verdict: Verdict, failed: datetime, cluster: Cluster) -> None:
    incident = Incident.objects.create(
        uuid=INCIDENT, cluster=cluster, fingerprint="e" * 64, layer=Layer.HARDWARE_GPU,
        sentence="An uncorrectable ECC error on GPU 2 of n03", first_seen_at=failed, last_seen_at=failed,
        ended_at=failed + timedelta(minutes=10),
    )  # fmt: skip
    IncidentNode.objects.create(incident=incident, node="n03")
    incident.notes.create(text="The board is swapped.\nTicket 813.", author="operator", at=failed)
    Verdict.objects.filter(pk=verdict.pk).update(incident=incident, fingerprint=incident.fingerprint)
    with transaction.atomic():  # also where a test commits each statement
        count_anew([incident.pk])


def _advice(verdict: Verdict, failed: datetime, cluster: Cluster) -> None:
    first = verdict.attempt
    because = "n03 is named by a proved cause"
    trace = [
        {"rule": "cancelled", "then": "", "applied": False, "chosen": False,
         "because": "somebody cancelled the job", "inputs": {"facts.state": "failed"}},
        {"rule": "no_new_checkpoint", "then": "terminate", "applied": False, "chosen": False,
         "because": "3 attempts in a row saved no new checkpoint",
         "inputs": {"facts.attempts_without_checkpoint": 0, "policy.max_attempts_without_checkpoint": 3}},
        {"rule": "named_node", "then": "restart", "applied": True, "chosen": True, "because": because,
         "inputs": {"facts.confidence": 0.93, "policy.exclude_confidence": 0.8}},
        {"rule": "ask", "then": "wait", "applied": True, "chosen": False,
         "because": "nothing else applied", "inputs": {}},
    ]  # fmt: skip
    policy = PolicyVersion.objects.create(
        cluster=cluster, created_at=failed - timedelta(days=1), created_by="admin"
    )
    advice = Advice.objects.create(
        attempt=first, generation=1, verdict=verdict, policy=policy, operation=Operation.RESTART,
        excluded_nodes=["n03"], rule="named_node", because=because, trace=trace, mode_at_decision=Mode.ACTION,
        not_before=failed, hold_until=failed + timedelta(minutes=5), expires_at=failed + timedelta(minutes=15),
        created_at=failed + timedelta(seconds=5), state=AdviceState.CONVERGED,
        state_reason=ReconciliationReason.DESIRED_STATE_OBSERVED, state_at=failed + timedelta(seconds=13),
    )  # fmt: skip
    sequence = Sequence.objects.create(
        advice=advice, trace_id="ab" * 16, happened_at=failed, detected_at=failed + timedelta(seconds=1),
        advised_at=failed + timedelta(seconds=5), commanded_at=failed + timedelta(seconds=10),
        restarted_at=failed + timedelta(seconds=12), resumed_at=failed + timedelta(seconds=40),
    )  # fmt: skip
    for second, action in enumerate(
        (
            SchedulerAction.SLURM_REQUEUE_HOLD,
            SchedulerAction.SLURM_UPDATE_CONSTRAINTS,
            SchedulerAction.SLURM_RELEASE,
        ),
        8,
    ):
        done = failed + timedelta(seconds=second)
        Milestone.objects.create(
            sequence=sequence, idempotency_key=f"{sequence.uuid}:{action}", operation=Operation.RESTART,
            action=action, done_at=done, received_at=done,
        )  # fmt: skip
    Exclusion.objects.create(
        cluster=cluster, node="n03", reason="An uncorrectable ECC error on GPU 2 (job 4711-0)", owner="policy",
        since=failed + timedelta(seconds=5), until=failed + timedelta(days=1),
    )  # fmt: skip


def _recovery_events(first: Attempt, second: Attempt, failed: datetime) -> None:
    def at(seconds: float) -> datetime:
        return failed + timedelta(seconds=seconds)

    event(at(1), EventType.ANOMALY, first, "An uncorrectable ECC error on GPU 2 of n03", level=Level.ERROR)
    event(at(3), EventType.ATTEMPT_STATE, first, "4711-0 is failed (exit code 1)")
    event(at(4), EventType.VERDICT, first, "GPU 2 of n03 lost data; 93 % sure")
    event(at(5), EventType.ADVICE, first, "Restart 4711-0 without n03: n03 is named by a proved cause.", POLICY)
    event(at(7), EventType.INTENT, first, "Will requeue and hold 4711", CONTROLLER)
    event(at(8), EventType.ACTION, first, "Requeued and held 4711", CONTROLLER)
    event(at(9), EventType.ACTION, first, "Left out n03 from 4711", CONTROLLER)
    event(at(10), EventType.ACTION, first, "Released 4711", CONTROLLER)
    event(at(12), EventType.ALLOCATION_RESTARTED, first, "4711-1 runs on n01, n02, n04")
    event(at(40), EventType.PROGRESS_RESUMED, first, "4711-1 went beyond step 524, the last one seen before")


def _running(cluster: Cluster, now: datetime) -> Job:
    of = job(cluster, 815, now, name=f"probe {HOSTILE}", user="mallory", opt_in={}, node_count=2)
    attempt(
        of, 0, JobState.RUNNING, now, nodes=["m01", "m02"], started_at=now - timedelta(minutes=3),
        submitted_at=now - timedelta(minutes=4), last_step=12, last_step_at=now - timedelta(seconds=9),
        phase=Phase.TRAINING, scheduler_word="RUNNING",
    )  # fmt: skip
    return of


def _blind(cluster: Cluster, now: datetime) -> Job:
    of = job(
        cluster, 4712, now, name="eval", opt_in={}, comment='{"nvidia-recovery": {"mode": "actoin"}}',
        opt_in_error="nvidia-recovery.mode is 'actoin'; known are monitor, observe and action",
    )  # fmt: skip
    made = attempt(
        of, 0, JobState.RUNNING, now, nodes=["n05"], started_at=now - timedelta(minutes=5),
        submitted_at=now - timedelta(minutes=5), scheduler_word="RUNNING",
        blind_since=now - timedelta(minutes=4),
        blind_reason="No log after 60 s. Tried: /scratch/logs/eval_4712.log, /home/trainer/slurm-4712.out",
    )  # fmt: skip
    event(now - timedelta(minutes=4), EventType.BLIND, made, "No log of 4712-0 after 60 s", level=Level.WARNING)
    Feed.objects.create(
        cluster=cluster, source="file", stream=LOG, stream_key="0" * 64, moved_at=now - timedelta(seconds=2)
    )
    return of


def _unseen(cluster: Cluster, now: datetime) -> None:
    record(
        [
            Entry(
                type=EventType.CANNOT_SEE,
                subject=subject_of_cluster(cluster),
                actor=DETECTOR,
                sentence="Cannot see the scheduler of far-away: squeue gave no answer within 10 s",
                level=Level.WARNING,
            )
        ],
        now - timedelta(minutes=11),
    )


def _waiting(cluster: Cluster, now: datetime) -> Advice:
    of = job(cluster, 99, now, name="vision")
    failed = attempt(
        of, 0, JobState.NODE_FAIL, now, nodes=["f01", "f02"], started_at=now - timedelta(hours=3),
        submitted_at=now - timedelta(hours=4), ended_at=now - timedelta(minutes=3), phase=Phase.ENDED,
        scheduler_word="NODE_FAIL",
    )  # fmt: skip
    advice = Advice.objects.create(
        attempt=failed, generation=1, operation=Operation.RESTART, excluded_nodes=["f02"], rule="named_node",
        because="the scheduler lost f02", mode_at_decision=Mode.APPROVE, not_before=now,
        hold_until=now + timedelta(minutes=20), expires_at=now + timedelta(minutes=11),
        created_at=now - timedelta(minutes=2), state=AdviceState.AWAITING_APPROVAL,
        state_at=now - timedelta(minutes=2), facts={"label": "99-0", "state": "node_fail"},
    )  # fmt: skip
    Sequence.objects.create(
        advice=advice, trace_id="cd" * 16, happened_at=now - timedelta(minutes=3),
        detected_at=now - timedelta(minutes=2, seconds=50), advised_at=now - timedelta(minutes=2),
    )  # fmt: skip
    event(
        now - timedelta(minutes=2),
        EventType.ADVICE,
        failed,
        "Restart 99-0 without f02: the scheduler lost f02.",
        POLICY,
    )
    return advice
