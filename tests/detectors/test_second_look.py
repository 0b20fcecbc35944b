"""Does a slow verdict take in what came after the fast one, in whatever order it comes?"""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from detectors.catalogue.witnesses import WAITS
from detectors.judging import judge
from detectors.models import HealthEvent, Observation, Verdict
from detectors.reading import read_attempt
from detectors.second_look import LATEST, next_look
from schedulers.states import JobState
from tests.detectors.rows import ECC, Log, again, end, make_attempt, make_cluster, make_nodes, megatron
from workloads.models import Attempt, Node

pytestmark = pytest.mark.django_db


def now() -> datetime:
    return datetime.now(UTC)


def late_line(attempt: Attempt) -> None:
    """What proves it comes late into the log."""
    Log.of(attempt).write(ECC)
    Attempt.objects.filter(pk=attempt.pk).update(read_due_at=now())
    read_attempt(again(attempt), now())


def health_event(attempt: Attempt) -> None:
    """Somebody who watches the nodes tells it late."""
    HealthEvent.objects.create(
        cluster=attempt.job.cluster,
        node="n03",
        check_name="GpuXidError",
        component="GPU",
        fatal=True,
        codes=["79"],
        source="nvsentinel",
        key="one",
        happened_at=again(attempt).ended_at,
        received_at=now(),
        received_from="watcher",
    )


def late_ranks(attempt: Attempt) -> None:
    """Counters of ranks bring no symptom."""
    row = {"group": "", "rank": 1, "host": "n03", "at": now().timestamp(), "notified": True, "enq": 5, "done": 5}
    Observation.objects.update_or_create(
        attempt=attempt, topic=WAITS, key="all", defaults={"value": [row], "at": now()}
    )


def node_down(attempt: Attempt) -> None:
    """The scheduler calls the node down only after a while."""
    Node.objects.filter(name="n03").update(state="down")


ARRIVALS: dict[str, Callable[[Attempt], None]] = {
    "line": late_line,
    "health": health_event,
    "ranks": late_ranks,
    "node": node_down,
}


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    """An attempt that trained, ended without a word, and was judged."""
    attempt = make_attempt(make_cluster(tmp_path))
    make_nodes(attempt.job.cluster)
    start = now() - timedelta(seconds=8)
    Log.of(attempt).write(*(megatron(n, start + timedelta(seconds=n)) for n in range(1, 6)))
    read_attempt(again(attempt), now())
    end(attempt, at=now())
    for seconds in (0.5, 1.5, 6):
        read_attempt(again(attempt), now() + timedelta(seconds=seconds))
    verdict = judge(again(attempt), now())
    assert verdict is not None and (verdict.speed, verdict.action) == ("fast", "restart")
    return attempt


def last_look(attempt: Attempt) -> datetime:
    """Judge at the last moment that is due; its time."""
    ended_at = again(attempt).ended_at
    assert ended_at is not None
    Attempt.objects.filter(pk=attempt.pk).update(judge_due_at=ended_at + LATEST)
    judge(again(attempt), ended_at + LATEST)
    return ended_at + LATEST


@pytest.mark.parametrize("order", list(itertools.permutations(ARRIVALS, 2)), ids="-".join)
def test_whatever_comes_first_the_last_verdict_is_the_same(attempt: Attempt, order: tuple[str, ...]) -> None:
    for name in order:
        ARRIVALS[name](attempt)
        Attempt.objects.filter(pk=attempt.pk).update(judge_due_at=now())
        judge(again(attempt), now())
    last_look(attempt)
    rows = list(Verdict.objects.filter(attempt=attempt).order_by("pk"))
    newest = rows[-1]
    assert [row.speed for row in rows] == ["fast", *["slow"] * (len(rows) - 1)]
    assert all(later.supersedes == earlier for earlier, later in itertools.pairwise(rows))
    if {"line", "health"} & set(order):
        blamed = [one["host"] for one in newest.implicated if one["role"] == "culprit"]
        assert (newest.action, blamed) == ("restart_exclude", ["n03"])
    again_at = last_look(attempt)
    assert Verdict.objects.filter(attempt=attempt).count() == len(rows), "nothing new, no verdict"
    assert again(attempt).judge_due_at is None or again(attempt).judge_due_at > again_at


def test_what_brings_no_symptom_is_taken_in_by_the_last_look(attempt: Attempt) -> None:
    late_ranks(attempt)
    last_look(attempt)
    assert Verdict.objects.filter(attempt=attempt, speed="slow").exists()


def test_the_last_look_is_a_minute_after_the_end_and_there_is_no_later_one(attempt: Attempt) -> None:
    ended_at = again(attempt).ended_at
    assert ended_at is not None and again(attempt).judge_due_at == ended_at + LATEST
    assert next_look(again(attempt), False, ended_at + LATEST) is None


@pytest.mark.parametrize("state", [JobState.COMPLETED, JobState.REQUEUED, JobState.GONE])
def test_of_an_end_that_is_no_failure_nothing_more_is_waited_for(attempt: Attempt, state: JobState) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(state=state.value)
    assert next_look(again(attempt), True, now()) is None


def test_a_live_attempt_is_looked_at_once_more_after_its_first_verdict(attempt: Attempt) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(state=JobState.RUNNING.value, ended_at=None)
    at = now()
    assert next_look(again(attempt), True, at) == at + LATEST
    assert next_look(again(attempt), False, at) is None
