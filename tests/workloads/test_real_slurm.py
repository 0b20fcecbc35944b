"""Does one job on a real Slurm leave the attempts that it really had?"""

import time
from collections.abc import Callable

import pytest
from django.utils import timezone

from lab.slurm.cluster import SlurmCluster
from schedulers.opening import open_scheduler
from schedulers.port import Scheduler
from workloads.attempt_logs import log_patterns_of
from workloads.log_paths import hints_of
from workloads.models import Attempt, Cluster, Job, Node
from workloads.observing import observe

pytestmark = pytest.mark.slurm

SCRIPT = "#!/bin/sh\nsrun --output=step_%j_%t.log sh -c 'echo rank $SLURM_PROCID; sleep 300'\n"
COMMENT = '{"nvidia-recovery": {"mode": "action", "logs": ["step_%j_%t.log"]}, "workflowId": "real"}'


def look_until(cluster: Cluster, scheduler: Scheduler, seen: Callable[[], bool], seconds: float) -> None:
    """Observe again and again until something is seen; fails when it is not seen in time."""
    end = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < end, list(Attempt.objects.values())
        observe(cluster, scheduler, timezone.now())
        time.sleep(0.2)


def test_run_requeue_and_cancel(real_slurm: SlurmCluster, cluster: Cluster) -> None:
    number = real_slurm.submit(SCRIPT, "-J", "ob[s]erved", "-N2", "-n2", f"--comment={COMMENT}")
    scheduler = open_scheduler("slurm", "", str(real_slurm.layout.conf), 20.0)
    attempts = Attempt.objects.filter(job__number=number).order_by("index")

    def is_in(index: int, state: str) -> bool:
        return attempts.filter(index=index, state=state).exists()

    look_until(cluster, scheduler, lambda: is_in(0, "running"), 180)
    job = Job.objects.get(number=number)
    first = attempts.select_related("job__cluster").get()
    assert (job.name, job.opt_in["wants_action"], job.workflow_id) == ("ob[s]erved", True, "real")
    assert len(first.nodes) == 2
    assert set(first.nodes) <= set(Node.objects.values_list("name", flat=True))
    look_until(cluster, scheduler, lambda: len(list(real_slurm.layout.jobs.glob(f"step_{number}_*"))) == 2, 180)
    ranks = {
        hints.rank
        for pattern in log_patterns_of(first)[:1]
        for hints in hints_of(pattern, [str(path) for path in real_slurm.layout.jobs.iterdir()]).values()
    }
    assert ranks == {0, 1}

    real_slurm.client(["scontrol", "requeue", str(number)])
    look_until(cluster, scheduler, lambda: is_in(1, "running"), 180)
    old, new = attempts
    assert (old.state, old.nodes, old.phase) == ("requeued", first.nodes, "ended")
    assert old.started_at <= old.ended_at <= new.started_at
    assert old.submitted_at < new.submitted_at
    assert Job.objects.filter(number=number).count() == 1

    real_slurm.client(["scancel", str(number)])
    look_until(cluster, scheduler, lambda: is_in(1, "cancelled"), 180)
    assert attempts.count() == 2
    cluster.refresh_from_db()
    assert cluster.scheduler_version.startswith("2")
    assert cluster.min_job_age_seconds == 60


def test_a_slurm_that_is_down_changes_nothing_and_is_seen_again(real_slurm: SlurmCluster, cluster: Cluster) -> None:
    number = real_slurm.submit("#!/bin/sh\nsleep 300\n", "-J", "steady")
    scheduler = open_scheduler("slurm", "", str(real_slurm.layout.conf), 20.0)
    attempt = Attempt.objects.filter(job__number=number)
    look_until(cluster, scheduler, lambda: attempt.filter(state="running").exists(), 180)
    before = attempt.values().get()
    real_slurm.down("slurmctld")  # cleanly: a killed one forgets its last seconds and shows the job as waiting
    try:
        observe(cluster, scheduler, timezone.now())
        cluster.refresh_from_db()
        assert cluster.cannot_see_since is not None
        assert cluster.cannot_see_reason
        assert attempt.values().get() == before
    finally:
        real_slurm.up("slurmctld")
    look_until(cluster, scheduler, lambda: not Cluster.objects.filter(cannot_see_since__isnull=False).exists(), 180)
    assert attempt.get().state in {"running", "completing"}
    assert attempt.count() == 1
    real_slurm.client(["scancel", str(number)])
