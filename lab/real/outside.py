"""What can be done to a case's jobs and nodes from outside, on a real Slurm?

Every act gives back its proof: a question that is asked again and again until it answers with the deed, as it goes
into the truth file. Most deeds are proved at once; that a prolog failed or a job was pushed aside only shows later.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lab.real.queue import Listed
from lab.slurm.cluster import SlurmCluster
from lab.truth import Injected

Proof = Callable[[], Injected | None]
URGENT_SECONDS = 8  # how long the job that pushes another aside lasts
DRAIN_REASON = "memory test"  # an administrator's words
LAUNCH_FAILED = "launch failed"


@dataclass
class Scene:
    """What the acts of one case work on. `nodes` are those of its partition; `listed` is the newest listing."""

    slurm: SlurmCluster
    case: str
    nodes: tuple[str, ...]
    jobs: list[int] = field(default_factory=list)
    logs: dict[int, Path] = field(default_factory=dict)
    listed: Mapping[int, Listed] = field(default_factory=dict)
    away: bool = False  # the scheduler answers nobody, by an act of ours

    def node(self, words: Sequence[str]) -> str:
        """The node that the first word points to: of job 0 when it runs, else of the partition."""
        job = self.listed.get(self.jobs[0]) if self.jobs else None
        nodes = job.nodes if job and job.nodes else self.nodes
        return nodes[int(words[0]) if words else 0]

    def job(self, words: Sequence[str]) -> int:
        """The number of the job that the first word points to, the first one without a word."""
        return self.jobs[int(words[0]) if words else 0]

    def attempt(self, number: int) -> int:
        """The attempt that a job is in, as listed."""
        return self.listed[number].attempt if number in self.listed else 0

    def deed(self, what: str, number: int, nodes: Sequence[str] = (), attempt: int | None = None) -> Injected:
        """What was done just now."""
        which = self.attempt(number) if attempt is None else attempt
        return Injected(self.case, number, which, what, time.time(), tuple(nodes))


def _proved(deed: Injected) -> Proof:
    return lambda: deed


def slurmd_kill(scene: Scene, words: Sequence[str]) -> Proof:
    """Kill a node's daemon: its processes go on, the scheduler loses the node."""
    node = scene.node(words)
    scene.slurm.crash(f"slurmd-{node}")
    return _proved(scene.deed("slurmd_kill", scene.jobs[0], [node]))


def slurmd_start(scene: Scene, words: Sequence[str]) -> Proof:
    """Start a node's daemon again; the word is an index into the partition, as the job has left the node."""
    node = scene.nodes[int(words[0]) if words else 0]
    scene.slurm.up(f"slurmd-{node}")
    return _proved(scene.deed("slurmd_start", scene.jobs[0], [node]))


def node_drain(scene: Scene, words: Sequence[str]) -> Proof:
    """Drain a node, as an administrator does: what runs there goes on."""
    node = scene.node(words)
    command = ["scontrol", "update", f"NodeName={node}", "State=DRAIN", f"Reason={DRAIN_REASON}"]
    scene.slurm.client(command)
    return _proved(scene.deed("node_drain", scene.jobs[0], [node]))


def node_down(scene: Scene, words: Sequence[str]) -> Proof:
    """Take a node down, as an administrator does: its jobs end or are queued again."""
    node, job = scene.node(words), scene.jobs[0]
    deed = scene.deed("node_down", job, [node])
    scene.slurm.client(["scontrol", "update", f"NodeName={node}", "State=DOWN", f"Reason={DRAIN_REASON}"])
    return _proved(deed)


def node_resume(scene: Scene, words: Sequence[str]) -> Proof:
    """Give a drained node back; the word is an index into the partition."""
    node = scene.nodes[int(words[0]) if words else 0]
    scene.slurm.client(["scontrol", "update", f"NodeName={node}", "State=RESUME"])
    return _proved(scene.deed("node_resume", scene.jobs[0], [node]))


def cancel(scene: Scene, words: Sequence[str]) -> Proof:
    """Cancel a job, as its user does."""
    return _with_job(scene, words, "cancel", ["scancel"])


def requeue(scene: Scene, words: Sequence[str]) -> Proof:
    """Queue a job again, as an administrator does."""
    return _with_job(scene, words, "requeue", ["scontrol", "requeue"])


def user_requeue(scene: Scene, words: Sequence[str]) -> Proof:
    """Queue a job again, as its user does (who is the same one as the administrator on a private Slurm)."""
    return _with_job(scene, words, "user_requeue", ["scontrol", "requeue"])


def hold(scene: Scene, words: Sequence[str]) -> Proof:
    """Hold a job: a running one goes on, and would stay held when it is queued again."""
    return _with_job(scene, words, "hold", ["scontrol", "hold"])


def release(scene: Scene, words: Sequence[str]) -> Proof:
    """Release a job."""
    return _with_job(scene, words, "release", ["scontrol", "release"])


def _with_job(scene: Scene, words: Sequence[str], what: str, command: Sequence[str]) -> Proof:
    number = scene.job(words)
    deed = scene.deed(what, number)
    scene.slurm.client([*command, str(number)])
    return _proved(deed)


def preempt(scene: Scene, words: Sequence[str]) -> Proof:
    """Submit an urgent job to a node of job 0; proved once job 0 was pushed aside."""
    node, number = scene.node(words), scene.jobs[0]
    before = scene.attempt(number)
    options = ["-purgent", f"-w{node}", "-N1", "--exclusive", "-Jurgent", "-o/dev/null"]
    scene.slurm.submit(f"#!/bin/sh\nsleep {URGENT_SECONDS}\n", *options)

    def pushed() -> Injected | None:
        return scene.deed("preempt", number, attempt=before) if scene.attempt(number) > before else None

    return pushed


def prolog_fail(scene: Scene, words: Sequence[str]) -> Proof:
    """Let the next prolog on a node fail; proved once it has failed."""
    node = scene.node(words)
    scene.slurm.fail_prolog(node)

    def failed() -> Injected | None:
        at = scene.slurm.prolog_failed_at(node)
        if at is None or not scene.jobs:
            return None
        number = scene.jobs[0]  # such an attempt is queued again at once, also while it is listed as completing
        return Injected(scene.case, number, max(0, scene.attempt(number) - 1), "prolog_fail", at, (node,))

    return failed


def launch_fail(scene: Scene, words: Sequence[str]) -> Proof:
    """Make a node unable to launch tasks; proved once a job's log or the scheduler says that a launch failed.

    It strikes when the job has begun, seconds before anybody says so.
    """
    node = scene.node(words)
    scene.slurm.spoil_spool(node)
    begun_at: list[float] = []

    def failed() -> Injected | None:
        if not scene.jobs:
            return None
        number = scene.jobs[0]
        log = scene.logs[number]
        if not begun_at and log.exists():
            begun_at.append(time.time())
        said = log.read_text(errors="replace").lower() if log.exists() else ""
        listed = scene.listed.get(number)
        if LAUNCH_FAILED not in f"{said} {listed.reason.lower() if listed else ''}".replace("task ", ""):
            return None
        at = begun_at[0] if begun_at else time.time()
        return Injected(scene.case, number, _ended(scene), "launch_fail", at, (node,))

    return failed


def _ended(scene: Scene) -> int:
    """The attempt of job 0 that is over: queued again, it stands in the next one already."""
    job = scene.listed.get(scene.jobs[0])
    return max(0, job.attempt - 1) if job and job.state == "PENDING" else job.attempt if job else 0


def slurmctld_stop(scene: Scene, _words: Sequence[str]) -> Proof:
    """Stop the scheduler's controller cleanly."""
    deed = scene.deed("slurmctld_stop", scene.jobs[0])
    scene.slurm.down("slurmctld")
    scene.away = True
    return _proved(deed)


def slurmctld_kill(scene: Scene, _words: Sequence[str]) -> Proof:
    """Kill the scheduler's controller."""
    deed = scene.deed("slurmctld_kill", scene.jobs[0])
    scene.slurm.crash("slurmctld")
    scene.away = True
    return _proved(deed)


def slurmctld_hang(scene: Scene, _words: Sequence[str]) -> Proof:
    """Let the scheduler's controller hang: it takes commands, and answers none."""
    deed = scene.deed("slurmctld_hang", scene.jobs[0])
    scene.slurm.hang("slurmctld")
    scene.away = True
    return _proved(deed)


def slurmctld_start(scene: Scene, _words: Sequence[str]) -> Proof:
    """Let it go on, or start it again."""
    if scene.slurm.processes.pid("slurmctld"):
        scene.slurm.resume("slurmctld")
    else:
        scene.slurm.up("slurmctld")
    scene.away = False
    return _proved(scene.deed("slurmctld_start", scene.jobs[0]))


def logs_rotate(scene: Scene, words: Sequence[str]) -> Proof:
    """Rotate job 0's log: copied and truncated (`truncate`, the default), or moved away (`rename`)."""
    number = scene.jobs[0]
    log = scene.logs[number]
    aside = log.with_name(f"{log.name}.1")
    if list(words) == ["rename"]:
        log.rename(aside)
        log.touch()
    else:
        aside.write_bytes(log.read_bytes())
        os.truncate(log, 0)
    return _proved(scene.deed("logs_rotate", number))


OUTSIDE: dict[str, Callable[[Scene, Sequence[str]], Proof]] = {
    act.__name__: act
    for act in (
        slurmd_kill,
        slurmd_start,
        node_drain,
        node_down,
        node_resume,
        cancel,
        requeue,
        user_requeue,
        hold,
        release,
        preempt,
        prolog_fail,
        launch_fail,
        slurmctld_stop,
        slurmctld_kill,
        slurmctld_hang,
        slurmctld_start,
        logs_rotate,
    )
}
BEFORE = frozenset({"prolog_fail", "launch_fail"})  # with `at` 0: done before the jobs are submitted
ALONE = frozenset({"slurmctld_stop", "slurmctld_kill", "slurmctld_hang", "slurmctld_start"})
"""What nobody else may be running beside."""
