"""Do the rows of incidents count what stands in them, whatever is done to the verdicts?"""

import random
from datetime import timedelta

import pytest

from advisor_api.regrouping import merge, split, standing_in
from advisor_api.regrouping_undo import later_than, undo
from detectors.choice_models import IncidentChoice
from detectors.incident_counts import count_anew, count_stored
from detectors.incidents import OVER_AFTER, end_quiet
from detectors.judging import judge
from detectors.models import Incident, Verdict
from detectors.retention import Spared, forget_details
from recovery_site.forgetting import forget
from schedulers.states import JobState
from tests.advisor_api.incidents.test_regrouping import ACT, HOUR, OTHER, fails, judged_otherwise, of, seen
from tests.detectors.incident_truth import miscounted
from tests.detectors.rows import again, make_cluster
from tests.detectors.test_incidents import BUG, ECC, NOW, STALE, failed, judged, newest, told
from workloads.models import Attempt, Cluster, Job

pytestmark = pytest.mark.django_db
FIRST = {**ECC, "signature": "cuda.first", "fingerprint": "first"}
CAUSES = (ECC, BUG, OTHER, FIRST)


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def counts(incident: Incident) -> tuple[int, int, int]:
    """Attempts, jobs and users, as its row says; they are right."""
    assert not miscounted()
    incident.refresh_from_db()
    return incident.attempt_count, incident.job_count, incident.user_count


def a_job(cluster: Cluster, user: str) -> Job:
    number = Job.objects.count() + 1
    return Job.objects.create(
        cluster=cluster, number=number, name=f"train-{number}", user=user, node_count=1, created_at=NOW, seen_at=NOW
    )


class TestVerdicts:
    def test_new_ones_of_other_jobs_users_and_attempts(self, cluster: Cluster) -> None:
        ana, ben = a_job(cluster, "ana"), a_job(cluster, "ben")
        incident = of(fails(cluster, "n1", ECC, 0, job=ana))
        assert counts(incident) == (1, 1, 1)
        fails(cluster, "n2", ECC, 20, job=ana, index=1)
        assert counts(incident) == (2, 1, 1)
        fails(cluster, "n3", ECC, 40, job=ben)
        assert counts(incident) == (3, 2, 2)
        fails(cluster, "n4", ECC, 60, job=a_job(cluster, "ana"))
        assert counts(incident) == (4, 3, 2)

    def test_a_later_one_that_stays_that_moves_and_that_is_no_failure(self, cluster: Cluster) -> None:
        known = of(fails(cluster, "n2", ECC, -60))
        attempt = fails(cluster, "n1", BUG, 0, job=a_job(cluster, "ana"))
        own = of(attempt)
        judged_otherwise(attempt, FIRST)
        assert of(attempt) == own and counts(own) == (1, 1, 1)
        judged_otherwise(attempt, {**ECC, "key": "again"})
        assert of(attempt) == known and counts(own) == (0, 0, 0) and counts(known) == (2, 2, 2)
        attempt.anomalies.all().delete()
        Attempt.objects.filter(pk=attempt.pk).update(state=JobState.CANCELLED.value, judge_due_at=NOW)
        assert judged(attempt, 240).incident is None
        assert counts(known) == (1, 1, 1)

    def test_one_of_two_attempts_leaves_and_its_job_stays(self, cluster: Cluster) -> None:
        ana, known = a_job(cluster, "ana"), of(fails(cluster, "n9", BUG, -60))
        first = fails(cluster, "n1", ECC, 0, job=ana)
        second = fails(cluster, "n2", ECC, 20, job=ana, index=1)
        incident = of(first)
        judged_otherwise(second, BUG)
        assert of(second) == known
        assert counts(incident) == (1, 1, 1) and counts(known) == (2, 2, 2)

    def test_one_that_comes_after_the_end_leaves_what_is_over(self, cluster: Cluster) -> None:
        attempt, other = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", ECC, 10)
        over = of(attempt)
        end_quiet(NOW + 2 * OVER_AFTER)
        assert counts(over) == (2, 2, 1)
        judged_otherwise(attempt, BUG)
        assert of(other) == over and counts(over) == (1, 1, 1)

    def test_a_cause_that_turns_out_to_be_shared(self, cluster: Cluster) -> None:
        attempts = [
            told(failed(cluster, f"n{n}", at=NOW + timedelta(seconds=10 * n)), f"n{n}", **STALE) for n in range(4)
        ]
        for attempt in attempts:
            judged(attempt)
            assert not miscounted()
        for attempt in Attempt.objects.filter(judge_due_at__isnull=False):
            judge(again(attempt), NOW + timedelta(minutes=2))
        assert counts(Incident.objects.get(ended_at=None)) == (4, 4, 1)

    def test_a_person_moved_it_after_it_was_read(self, cluster: Cluster) -> None:
        first, second = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", ECC, 20)
        third = of(fails(cluster, "n3", BUG, 40))
        read = newest(first)
        split(seen(of(first)), [read.pk], [], ACT)
        went = of(first)
        values = {field.attname: getattr(read, field.attname) for field in Verdict._meta.concrete_fields}
        changed = {"id": None, "uuid": third.uuid, "supersedes_id": read.pk, "incident_id": third.pk}
        count_stored(Verdict.objects.create(**{**values, **changed, "input_hash": "later"}), read)
        assert counts(went) == (0, 0, 0) and counts(third) == (2, 2, 1) and counts(of(second)) == (1, 1, 1)


class TestPeople:
    def test_a_join_and_its_undo(self, cluster: Cluster) -> None:
        ana = a_job(cluster, "ana")
        first, second = fails(cluster, "n1", ECC, 0, job=ana), fails(cluster, "n2", BUG, 30, job=ana, index=1)
        left, into = of(first), of(second)
        fails(cluster, "n3", BUG, 60, job=a_job(cluster, "ben"))
        assert counts(left) == (1, 1, 1) and counts(into) == (2, 2, 2)
        choice = merge(seen(left), seen(into), ACT)
        assert counts(left) == (0, 0, 0) and counts(into) == (3, 2, 2)
        fails(cluster, "n4", ECC, 70, job=a_job(cluster, "eve"))
        assert counts(into) == (4, 3, 3)
        undo(choice, seen(into)[1], ACT)
        assert counts(left) == (2, 2, 2) and counts(into) == (2, 2, 2)

    def test_a_split_and_its_undo(self, cluster: Cluster) -> None:
        ana = a_job(cluster, "ana")
        attempts = [
            fails(cluster, "n1", ECC, 0, job=ana),
            fails(cluster, "n2", ECC, 20, job=ana, index=1),
            fails(cluster, "n3", ECC, 40, job=a_job(cluster, "ben")),
        ]
        whole = of(attempts[0])
        choice = split(seen(whole), [newest(attempts[1]).pk, newest(attempts[2]).pk], [], ACT)
        apart = of(attempts[1])
        assert counts(whole) == (1, 1, 1) and counts(apart) == (2, 2, 2)
        judged_otherwise(attempts[1], {**ECC, "key": "again", "signature": "cuda.ecc2", "fingerprint": "ecc2"})
        assert of(attempts[1]) == apart and counts(apart) == (2, 2, 2)
        undo(choice, seen(apart)[1], ACT)
        assert counts(whole) == (3, 2, 2) and counts(apart) == (0, 0, 0)


class TestTime:
    def test_what_retention_deletes_counts_no_less(self, cluster: Cluster) -> None:
        attempt = fails(cluster, "n1", ECC, 0)
        Attempt.objects.update(settled_at=NOW, read_due_at=None, judge_due_at=None)
        Job.objects.update(live=False)
        assert forget_details(HOUR, Spared(), NOW + 24 * HOUR) == 1
        assert counts(of(attempt)) == (1, 1, 1)

    def test_another_cluster_is_forgotten(self, cluster: Cluster) -> None:
        gone = make_cluster()
        attempt = fails(cluster, "n1", ECC, 0)
        judged_otherwise(fails(gone, "n1", ECC, 0), BUG)
        forget(gone)
        assert Incident.objects.get() == of(attempt)
        assert counts(of(attempt)) == (1, 1, 1)

    def test_a_user_who_became_known_is_counted_when_it_is_over(self, cluster: Cluster) -> None:
        jobs = a_job(cluster, ""), a_job(cluster, "")
        incident = of([fails(cluster, "n1", ECC, 0, job=jobs[0]), fails(cluster, "n2", ECC, 20, job=jobs[1])][0])
        assert counts(incident) == (2, 2, 1)
        Job.objects.filter(pk=jobs[0].pk).update(user="ana")
        end_quiet(NOW + 2 * OVER_AFTER)
        assert counts(incident) == (2, 2, 2)

    def test_no_count_falls_below_nothing(self, cluster: Cluster) -> None:
        first, second = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", ECC, 20)
        incident = of(first)
        Incident.objects.update(attempt_count=0, job_count=0, user_count=0)
        judged_otherwise(first, BUG)
        judged_otherwise(second, {**BUG, "key": "too"})
        incident.refresh_from_db()
        assert (incident.attempt_count, incident.job_count, incident.user_count) == (0, 0, 0)
        count_anew(Incident.objects.values_list("pk", flat=True))
        assert not miscounted()


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_in_whatever_order(cluster: Cluster, seed: int) -> None:
    chance = random.Random(seed)
    jobs = [a_job(cluster, chance.choice(["ana", "ben", "eve"])) for _job in range(5)]
    attempts = [fails(cluster, f"n{n}", chance.choice(CAUSES), 20 * n, job=job) for n, job in enumerate(jobs)]
    for turn in range(14):
        _do_something(cluster, jobs, attempts, turn, chance)
        assert not miscounted(), turn


def _do_something(
    cluster: Cluster, jobs: list[Job], attempts: list[Attempt], turn: int, chance: random.Random
) -> None:
    opened = list(Incident.objects.filter(ended_at=None))
    one = chance.choice(opened)
    match chance.randrange(5):
        case 0:
            job = chance.choice(jobs)
            cause = {**chance.choice(CAUSES), "key": f"k{turn}"}
            more = {"job": job, "index": Attempt.objects.filter(job=job).count()}
            attempts.append(fails(cluster, f"m{turn}", cause, 100 + turn, **more))
        case 1:
            cause = {**chance.choice(CAUSES), "key": f"k{turn}", "fingerprint": f"f{chance.randrange(4)}"}
            judged_otherwise(chance.choice(attempts), cause)
        case 2:
            other = chance.choice(opened)
            if other != one:
                merge(seen(one), seen(other), ACT)
        case 3:
            standing = list(standing_in(one))
            if len(standing) > 1:
                split(seen(one), [chance.choice(standing).pk], [], ACT)
        case _:
            choice = IncidentChoice.objects.filter(undone_at=None).order_by("-pk").first()
            if choice is not None and later_than(choice) is None:
                undo(choice, seen(choice.target)[1], ACT)
