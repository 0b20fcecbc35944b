"""What does a person see on the demonstration cluster? Training jobs without end, and always something new."""

import json
from dataclasses import dataclass, replace

from lab.simulate.jobs import FINAL, Job
from lab.simulate.model import NOT_RESPONDING, Cluster
from lab.simulate.play import Fault, Play
from lab.simulate.settings import Settings

USUAL_SECONDS = 45.0  # so long after its failure a job may still come back, and its nodes are kept for it
PAUSE_SECONDS = 12.0  # between two submissions
PATIENCE_SECONDS = 600.0  # after this, the user gives up a job that has not ended
REPAIR_SECONDS = 60.0  # until a lost node is back
SPARE_NODES = 1  # so many stay free, so that a job can come back without a bad node
FAILURES = frozenset({"FAILED", "NODE_FAIL", "OUT_OF_MEMORY"})


@dataclass(frozen=True, slots=True)
class Part:
    """A job of the cast. `comment` is "" for the usual opt-in."""

    play: Play
    comment: str = ""


def _part(
    name: str, user: str, steps: int, *faults: Fault, nodes: int = 2, limit: int = 0, comment: str = ""
) -> Part:
    play = Play(
        name=name,
        user=user,
        nodes=nodes,
        steps=steps,
        faults=faults,
        output="%x_%j.log",
        time_limit_seconds=limit,
    )
    return Part(play, comment)


OPENING = (
    _part("gpt-pretrain", "trainer", 100, Fault("ecc", step=46, attempt=0, node=2), nodes=3),  # about 25 s
    _part("vision-large", "research", 240),
    _part("speech-base", "trainer", 120),
)
CAST = (
    _part("moe-pretrain", "research", 160, Fault("hang", step=40, attempt=0)),
    _part("reward-model", "trainer", 140, Fault("cancel", step=50)),
    _part("protein-fold", "research", 120, comment="{nvidia-recovery:{mode:action}}"),
    _part("long-context", "trainer", 400, limit=60),
    _part("multimodal", "research", 160, Fault("oom", step=55, node=1, gpu=5)),
    _part("gpt-pretrain", "trainer", 120, Fault("ecc", step=40, attempt=0, node=1, gpu=6)),
    _part("vision-large", "research", 160),
    _part("diffusion-xl", "trainer", 140, Fault("node_down", step=45, attempt=0, node=1)),
    _part("distillation", "research", 120, Fault("sigkill", step=35, attempt=0, node=0, gpu=3)),
    _part("speech-base", "trainer", 120, comment='{"nvidia-recovery": {"mode": "automatic"}}'),
)


class Demo:
    """The built-in scenario: deterministic, endless, and bounded by MinJobAge and `PATIENCE_SECONDS`."""

    def __init__(self) -> None:
        self._submitted = 0
        self._last_at = float("-inf")
        self._since: dict[int, float] = {}  # unfinished jobs of ours and when they were submitted

    def settings(self, settings: Settings) -> Settings:
        """Eight nodes, each for one job at a time."""
        return replace(settings, jobs_per_node=1)

    def tick(self, cluster: Cluster) -> None:
        """Submit what fits, give up what never ends, repair what was lost."""
        if not cluster.controller_up:
            return
        self._repair(cluster)
        self._give_up(cluster)
        if self._submitted < len(OPENING):
            self._submit(cluster, OPENING[self._submitted])
            return
        part = CAST[(self._submitted - len(OPENING)) % len(CAST)]
        wanted = sum(job.play.nodes for job in cluster.jobs.values() if _needs_nodes(job, cluster.now))
        room = len(cluster.nodes) - SPARE_NODES - wanted
        if part.play.nodes <= room and cluster.now - self._last_at >= PAUSE_SECONDS:
            self._submit(cluster, part)

    def _submit(self, cluster: Cluster, part: Part) -> None:
        comment = part.comment or opt_in(cluster.settings.cluster_name)
        self._since[cluster.submit(replace(part.play, comment=comment))] = cluster.now
        self._submitted += 1
        self._last_at = cluster.now

    def _give_up(self, cluster: Cluster) -> None:
        for number, since in list(self._since.items()):
            job = cluster.jobs.get(number)
            if job is None:
                del self._since[number]
            elif job.state not in FINAL and cluster.now - since > PATIENCE_SECONDS:
                cluster.cancel(job, cluster.settings.user_id)

    def _repair(self, cluster: Cluster) -> None:
        for node in cluster.nodes.values():
            if node.lost and node.reason == NOT_RESPONDING and cluster.now - node.reason_at > REPAIR_SECONDS:
                cluster.return_node(node.name)


def _needs_nodes(job: Job, now: float) -> bool:
    if job.state not in FINAL:
        return True
    return job.state in FAILURES and now - (job.ended_at or 0) < USUAL_SECONDS


def opt_in(environment: str) -> str:
    """The comment by which a job asks to be recovered."""
    return json.dumps(
        {
            "nvidia-recovery": {"environment": environment, "mode": "action"},
            "APS": {"auto_resume_mode": "requeue", "max_requeue_times": 5},
        }
    )
