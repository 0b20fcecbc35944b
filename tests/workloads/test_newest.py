"""Does a job repeat the state of its newest attempt, and what its comment asks for?"""

from datetime import UTC, datetime

import pytest

from schedulers.states import JobState
from workloads.changes import Changes
from workloads.models import Attempt, Cluster, Job
from workloads.opt_in import read_comment
from workloads.wish import Wish

NOW = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture
def job(db: None) -> Job:
    cluster = Cluster.objects.create(name="c")
    return Job.objects.create(cluster=cluster, number=7, name="j", user="u", created_at=NOW, seen_at=NOW)


def attempt(job: Job, index: int, state: JobState) -> Attempt:
    return Attempt(
        job=job, index=index, state=state.value, heimdall_id=f"{index:032d}", first_seen_at=NOW, changed_at=NOW
    )


def told(job: Job) -> tuple[int, str]:
    return Job.objects.values_list("newest_index", "newest_state").get(pk=job.pk)


def test_a_new_attempt_and_its_moves_are_repeated(job: Job) -> None:
    changes = Changes(new_attempts=[first := attempt(job, 0, JobState.RUNNING)])
    changes.save(job.cluster, NOW)
    assert told(job) == (0, "running")
    first = Attempt.objects.select_related("job").get()
    first.state = JobState.FAILED.value
    changes = Changes()
    changes.attempt(first, {"state"}, NOW)
    changes.save(job.cluster, NOW)
    assert told(job) == (0, "failed")


def test_the_end_of_an_older_attempt_says_nothing_of_the_job(job: Job) -> None:
    older = attempt(job, 0, JobState.RUNNING)
    older.save()
    changes = Changes(new_attempts=[attempt(job, 1, JobState.PENDING)])
    older.state = JobState.REQUEUED.value
    changes.attempt(older, {"state"}, NOW)
    changes.save(job.cluster, NOW)
    assert told(job) == (1, "pending")


@pytest.mark.parametrize(
    ("comment", "wish"),
    [
        ("", Wish.NOTHING),
        ('{"APS": {"auto_resume_mode": "requeue"}}', Wish.NOTHING),
        ('{"nvidia-recovery": {"mode": "action"}}', Wish.ACTION),
        ('{"nvidia-recovery": {"mode": "observe"}}', Wish.PEACE),
    ],
)
def test_a_comment_in_one_word(comment: str, wish: Wish) -> None:
    assert read_comment(comment)[0].wish is wish
