"""What belongs to one watched cluster in virtual time, and how is it made known to the site?"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from django.conf import settings

from advisor_api.activating import establish
from advisor_api.policies import Place
from advisor_api.token_role import TokenRole
from advisor_api.tokens import issue
from audit.actor_kind import ActorKind
from audit.trail import Actor
from lab.simulate.model import Cluster as Simulated
from lab.virtual.clock import OtherClock, VirtualClock
from lab.virtual.fate import Fate
from lab.virtual.hands import Hands
from lab.virtual.transport import InProcess
from schedulers.opening import open_scheduler
from schedulers.port import Scheduler
from workloads.mode import Mode
from workloads.models import Cluster

LAB = Actor(ActorKind.PERSON, "lab")

LISTED = (
    "serial",
    "word",
    "reason",
    "priority",
    "restarts",
    "admin_comment",
    "excluded",
    "shown_nodes",
    "submitted_at",
    "starts_at",
    "eligible_at",
    "ended_at",
)


@dataclass
class Watched:
    """A simulated cluster, its row, the site's way to ask it, its hands, and its chance."""

    cluster: Simulated
    key: int
    transport: InProcess
    scheduler: Scheduler
    hands: Hands
    random: Random
    introduced: bool = False  # its controller has made its first pass
    held: bool = False  # a job was held when the watchdog looked last
    controller_from: float = 0.0  # before this true time nobody starts the controller again
    watchdog_from: float = 0.0

    def listed(self) -> Hashable:
        """Everything that a listing of the jobs would show, and whether it would be shown truly."""
        cluster = self.cluster
        jobs = tuple((job.number, *(getattr(job, name) for name in LISTED)) for job in cluster.jobs.values())
        return jobs, cluster.controller_up, id(cluster.lie) if cluster.lie else None


def watch(
    name: str,
    cluster: Simulated,
    logs_folder: Path,
    *,
    environment: str,
    folder: Path,
    limits: Mapping[str, float],
    poll_seconds: float,
    policy: Mapping[str, Any] | None,
    clock: VirtualClock,
    fate: Fate,
    seed: int,
) -> Watched:
    """Store the cluster in action mode, with a policy and a token, and give it hands.

    Raises `ValidationError` for a row, `Bad` for a policy that is not usable.
    """
    row = Cluster(
        name=name,
        environment=environment,
        log_roots=[str(logs_folder.resolve())],
        detector_limits=dict(limits),
        poll_seconds=poll_seconds,
        mode=Mode.ACTION.value,
        acknowledge_scheduler_actions=True,
    )
    row.full_clean()
    row.save()
    if policy:
        establish(Place(row), policy, "The lab's.", actor=LAB, now=clock.now())
    token = issue(f"controller of cluster {row.pk}", TokenRole.CONTROLLER, [row], now=clock.now(), actor=LAB)
    own = folder / name
    own.mkdir(parents=True, exist_ok=True)
    transport = InProcess(cluster)
    seconds = settings.REKINDLE["REKINDLE_COMMAND_SECONDS"]
    return Watched(
        cluster=cluster,
        key=row.pk,
        transport=transport,
        scheduler=open_scheduler(row.scheduler_kind, "", "", seconds, transport),
        hands=Hands(row, own, token, transport, clock=OtherClock(clock), fate=fate),
        random=Random(f"{seed} {name}"),
    )
