"""Does a controller on a real Slurm keep the waiting tasks of an array off the node that a failed one is rid of?"""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from controller.client import Advisor
from controller.config import read_config
from controller.journal import Journal
from controller.loop import Controller
from controller.plain import Voice
from schedulers.port import Scheduler
from schedulers.states import JobState
from tests.controller.advisor import TOKEN, Server, SmallAdvisor, advice, wire
from tests.controller.conftest import write_config
from tests.schedulers.contract import Waiting
from tests.schedulers.real import RealCluster

pytestmark = pytest.mark.slurm

TASK = '#!/bin/bash\n[ "$SLURM_ARRAY_TASK_ID" = 0 ] && [ -z "$SLURM_RESTART_COUNT" ] && exit 1\nsleep 600\n'


class RealClock:
    """The machine's clocks, and no signal."""

    stopping = False

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


@pytest.fixture
def cluster(real_cluster: RealCluster) -> RealCluster:
    return real_cluster


def test_waiting_tasks_leave_the_node_out_until_its_exclusion_is_over(
    cluster: RealCluster, scheduler: Scheduler, wait: Waiting, tmp_path: Path
) -> None:
    array = cluster.lab.submit(TASK, f"--array=0-{len(cluster.node_names) + 4}", "--exclusive")
    rows = wait.until(
        lambda: [row for row in scheduler.jobs().jobs if row.array_job == array and row.array_task == 0],
        lambda rows: bool(rows) and rows[0].state is JobState.FAILED,
    )
    failed = rows[0]
    cluster.lab.client(["scontrol", "hold", f"{array}_{len(cluster.node_names) + 3}"])
    clock = RealClock()
    told = SmallAdvisor(clock.now)
    late = wire(clock.now() + timedelta(hours=1))
    told.advice = [
        advice(
            failed.number,
            user=failed.user,
            observedState={"submittedAt": wire(failed.submitted_at or clock.now())},
            nodeConstraints={"excludedNodes": list(failed.nodes), "waitingTasksOf": str(array)},
            notBefore=wire(clock.now()),
            holdUntil=late,
            expiresAt=late,
        )
    ]
    told.excluded = list(failed.nodes)
    token = tmp_path / "token"
    token.touch(mode=0o600)
    token.write_text(TOKEN + "\n")
    with Server(told) as server:
        settings = read_config(write_config(tmp_path, server.url, token))
        client = Advisor(settings.advisor.url, settings.cluster, token)
        with Journal(settings.controller.journal, clock.now()) as journal:
            voice = Voice(lambda line: None)
            controller = Controller(settings, scheduler, client, journal, clock=clock, voice=voice)
            until(controller, lambda: lists(scheduler, array) == [failed.nodes])
            before = scheduler.waiting_tasks(array)
            assert scheduler.job(failed.number).excluded_nodes == failed.nodes
            held = [
                row for row in scheduler.jobs().jobs if row.array_job == array and row.held and not row.restarts
            ]
            assert [scheduler.job(row.number).excluded_nodes for row in held] == [()]
            told.excluded = []
            until(controller, lambda: lists(scheduler, array) == [()])
            assert scheduler.waiting_tasks(array) == tuple(replace(one, excluded_nodes=()) for one in before)


def lists(scheduler: Scheduler, array: int) -> list[tuple[str, ...]]:
    return [group.excluded_nodes for group in scheduler.waiting_tasks(array)]


def until(controller: Controller, is_so: Callable[[], bool]) -> None:
    """Pass after pass."""
    ends = time.monotonic() + 90
    while not is_so():
        assert time.monotonic() < ends, "never came"
        controller.run_pass()
        time.sleep(0.5)
