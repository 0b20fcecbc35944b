"""Does the unchanged product bring a job back in virtual time? Does leaving out idle moments change anything?"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest import mock

import pytest
from django.db import transaction
from django.utils import timezone

from advisor_api.rates import CallerRate
from lab.cases.case import Did
from lab.score.said import Said
from lab.simulate.demo import opt_in
from lab.simulate.model import Cluster
from lab.simulate.play import Fault, Play
from lab.simulate.settings import Settings
from lab.simulate.virtual_logs import VirtualLogs
from lab.virtual.beats import BEATS, Controlling, Following
from lab.virtual.hands import Hands
from lab.virtual.site import VirtualSite
from tests.lab.virtual.cases import ECC, play
from workloads.models import Cluster as Row

pytestmark = pytest.mark.django_db

START = 1_777_622_400.0
Live = Callable[..., tuple[VirtualSite, Cluster]]


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """`live(job, …, seconds=…, **options of watch)`: a site that watched a cluster with these jobs for so long."""
    with ExitStack() as stack:

        def begin(*jobs: Play, seconds: float = 0.0, seed: int = 0, **more: object) -> tuple[VirtualSite, Cluster]:
            folder = tmp_path / f"site-{len(list(tmp_path.iterdir()))}"
            logs = folder / "logs"
            logs.mkdir(parents=True)
            site = stack.enter_context(VirtualSite(folder, START, seed))
            files = VirtualLogs(logs)
            stack.callback(files.close)
            cluster = Cluster(START, Settings(cluster_name="c", user_id=os.getuid()), files)
            site.watch("c", cluster, logs, **more)  # type: ignore[arg-type]
            for job in jobs:
                cluster.submit(job)
            site.advance(START + seconds)
            return site, cluster

        yield begin


def wanted(*faults: Fault) -> Play:
    return play(*faults, comment=opt_in("c"))


def test_a_job_with_a_broken_gpu_comes_back_without_that_node(live: Live) -> None:
    site, cluster = live(wanted(ECC), seconds=60)
    job = cluster.jobs[1]
    assert (job.state, job.restarts, job.excluded) == ("RUNNING", 1, "n02")
    assert "n02" not in job.nodes
    said = site.said("c")
    (advice,) = said.advice
    assert (advice.job, advice.attempt, advice.did, advice.nodes) == (1, 0, Did.RESTART_EXCLUDE, ("n02",))
    assert advice.acknowledged_at and advice.resumed_at
    assert timedelta(0) < advice.resumed_at - advice.advised_at < timedelta(seconds=30)
    assert said.verdicts[0].hosts == said.verdicts[0].excludable == ("n02",)
    assert [command.split(" AdminComment=rekindle")[0] for command in said.commands] == [
        "scontrol requeuehold 1",
        "scontrol update JobId=1",
        "scontrol update JobId=1 ExcNodeList=n02",
        "scontrol release 1",
        "scontrol update JobId=1 AdminComment=",
    ]
    assert said.states == {1: "running"}
    assert any("requeue and hold" in line for line in site.log("c"))


def test_every_time_that_is_stored_is_virtual(live: Live) -> None:
    site, _ = live(wanted(ECC), seconds=60)
    said = site.said("c")
    begin = datetime.fromtimestamp(START, UTC)
    times = [one.detected_at for one in said.symptoms] + [one.judged_at for one in said.verdicts]
    assert times and all(begin <= at <= begin + timedelta(seconds=60) for at in times)
    assert timezone.now() == begin + timedelta(seconds=60)
    site.close()
    assert abs(timezone.now() - datetime.now(UTC)) < timedelta(minutes=1)


def test_what_counts_requests_counts_them_in_virtual_time(live: Live) -> None:
    """On a fast machine a run asks more in a real minute than anybody may."""
    site, _ = live(wanted(ECC), seconds=60)
    assert CallerRate.timer() == START + 60
    site.close()
    assert CallerRate.timer is time.monotonic


def test_a_healthy_job_is_left_alone(live: Live) -> None:
    site, cluster = live(wanted(), seconds=60)
    said = site.said("c")
    assert not (said.symptoms or said.verdicts or said.advice or said.commands)
    assert cluster.jobs[1].restarts == 0


def test_without_opt_in_it_is_said_and_not_done(live: Live) -> None:
    site, cluster = live(play(ECC), seconds=60)
    assert [one.did for one in site.said("c").advice] == [Did.RESTART_EXCLUDE]
    assert site.said("c").commands == () and cluster.jobs[1].state == "FAILED"


def test_limits_are_those_that_were_given(live: Live) -> None:
    limits = {"hang_floor_seconds": 5.0, "hang_cold_seconds": 10.0}
    site, _ = live(wanted(Fault("hang", step=30, attempt=0)), seconds=120, limits=limits, poll_seconds=2.0)
    hangs = [one for one in site.said("c").symptoms if one.kind == "hang"]
    assert hangs and hangs[0].detected_at < datetime.fromtimestamp(START + 40, UTC)


def test_a_site_forgets_a_cluster(live: Live) -> None:
    site, _ = live(wanted(ECC), seconds=40)
    site.forget("c")
    assert not Row.objects.exists()
    site.advance(START + 80)


def test_one_seed_gives_the_same_and_another_one_other_times(live: Live) -> None:
    first, again, other = (said_of_one(live, ECC, seed=seed) for seed in (1, 1, 2))
    assert first.advice and first == again
    assert [one.judged_at for one in first.verdicts] != [one.judged_at for one in other.verdicts]


@pytest.mark.parametrize("broken", [ECC, Fault("hang", step=30, attempt=0)], ids=["crash", "hang"])
def test_what_is_left_out_would_have_changed_nothing(live: Live, broken: Fault) -> None:
    limits = {"hang_floor_seconds": 5.0, "hang_cold_seconds": 10.0}
    sparing = said_of_one(live, broken, limits=limits)
    with ExitStack() as stack:
        for kind in BEATS:
            stack.enter_context(mock.patch.object(kind, "due_at", lambda self: self.now))
        stack.enter_context(mock.patch.object(Hands, "rests", lambda *_: False))
        stack.enter_context(mock.patch.object(Controlling, "_given", every_cluster))
        tireless = said_of_one(live, broken, limits=limits)
    assert sparing.advice and sparing == tireless


def every_cluster(self: Controlling) -> dict[int, list[int]]:
    return {one.key: [0] for one in self.stage.watched.values()}


def said_of_one(live: Live, broken: Fault, **more: object) -> Said:
    """What is said of it on an empty database, which is empty again afterwards: the trail would tell of it."""
    with transaction.atomic():
        site, _ = live(wanted(broken), seconds=70, **more)
        said = site.said("c")
        site.close()
        transaction.set_rollback(True)
    return said


def test_following_rests_while_nothing_is_open(live: Live) -> None:
    with mock.patch.object(Following, "run") as run:
        live(wanted(), seconds=30)
    run.assert_not_called()
