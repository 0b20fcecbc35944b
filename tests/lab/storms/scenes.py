"""What do the tests of the storms put on? One cluster with a plan of its own, on a site of its own."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from advisor_api.models import Advice
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from audit.actor_kind import ActorKind
from audit.event_type import EventType
from audit.models import AuditEvent
from lab.simulate.demo import opt_in
from lab.simulate.play import Fault, Play
from lab.storms.drawing import LIMITS, Plan
from lab.storms.hazards import Event
from lab.storms.running import START, Ran, Storm
from schedulers.states import JobState
from workloads.mode import Mode
from workloads.models import Attempt, Cluster, Job

SEED = 7
ECC = Fault("ecc", step=20, attempt=0)


def play(*faults: Fault, **changes: Any) -> Play:
    """A job that opts in."""
    told = {"nodes": 2, "steps": 1000, "comment": opt_in(f"storm-{SEED}"), **changes}
    return Play(faults=faults, **told)


def plan(*plays: Play, mode: Mode = Mode.ACTION, nodes: int = 8, events: tuple[Event, ...] = ()) -> Plan:
    """All of them are submitted at the beginning."""
    return Plan(SEED, mode, nodes, tuple((1.0, one) for one in plays), events)


def lived(what: Plan, folder: Path, seconds: float, *, acts_anyhow: bool = False, **changes: Any) -> Ran:
    """What came of it. `acts_anyhow`: as a product that does not ask what it may do."""
    storm = Storm([what], (), folder, **{"limits": LIMITS, **changes})
    if acts_anyhow:
        Cluster.objects.filter(name=what.name).update(mode=Mode.ACTION.value)
    return storm.live(seconds)[0]


def put_on_record(cluster: Cluster, number: int, operation: Operation = Operation.RESTART) -> None:
    """Advice on the first attempt of a job, with its event, and what a controller intends."""
    at = datetime.fromtimestamp(START, UTC)
    job = Job.objects.create(cluster=cluster, number=number, name="train", user="ann", created_at=at, seen_at=at)
    attempt = Attempt.objects.create(
        job=job, index=0, heimdall_id=uuid4(), state=JobState.FAILED.value, first_seen_at=at, changed_at=at
    )
    Advice.objects.create(
        attempt=attempt,
        generation=1,
        operation=operation.value,
        mode_at_decision=Mode.ACTION.value,
        not_before=at,
        hold_until=at,
        expires_at=at,
        created_at=at,
        state=AdviceState.PENDING.value,
        state_at=at,
    )
    for kind in (EventType.ADVICE, EventType.INTENT):
        AuditEvent.objects.create(
            at=at,
            cluster=cluster.name,
            heimdall_job_id=attempt.heimdall_id,
            advice_generation=1,
            type=kind.value,
            actor_kind=ActorKind.RULE.value,
            actor="x",
            sentence="x",
        )
