"""Does a crash in a log make the scheduler be asked sooner, and does nothing else?"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from detectors.reading import read_attempt
from schedulers.states import JobState
from tests.detectors.rows import ECC, Log, again, make_attempt, make_cluster
from workloads.models import Attempt, Cluster

pytestmark = pytest.mark.django_db

NOW = datetime.now(UTC)
SEEN, DUE = NOW - timedelta(seconds=5), NOW + timedelta(seconds=55)


@pytest.fixture
def attempt(tmp_path: Path) -> Attempt:
    """Of a cluster that is looked at once a minute, and was five seconds ago."""
    return make_attempt(make_cluster(tmp_path, poll_seconds=60, seen_at=SEEN, observe_due_at=DUE))


def due() -> datetime | None:
    return Cluster.objects.get().observe_due_at


def test_a_crash_line_hastens_the_next_look_once(attempt: Attempt) -> None:
    Log.of(attempt).write("one", ECC)
    assert read_attempt(attempt, NOW)
    assert due() == SEEN + timedelta(seconds=15)
    Cluster.objects.update(observe_due_at=DUE)
    Log.of(attempt).write(ECC)
    assert read_attempt(again(attempt), NOW)
    assert due() == DUE  # nothing new died


def test_other_lines_hasten_nothing(attempt: Attempt) -> None:
    Log.of(attempt).write("one", "step 1 loss 2.0", "WARNING: slow")
    assert read_attempt(attempt, NOW)
    assert due() == DUE


@pytest.mark.parametrize("state", [JobState.FAILED, JobState.PENDING])
def test_an_end_that_is_known_hastens_nothing(attempt: Attempt, state: JobState) -> None:
    Attempt.objects.update(state=state.value, ended_at=NOW)
    Log.of(attempt).write(ECC)
    read_attempt(again(attempt), NOW)
    assert due() == DUE
