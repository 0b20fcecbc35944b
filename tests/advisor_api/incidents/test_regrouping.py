"""Do splits and merges by people stick, and can they be taken back?"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor_api.refusals import Bad, Stale
from advisor_api.regrouping import merge, split
from advisor_api.regrouping_told import Act
from advisor_api.regrouping_undo import undo
from audit.models import AuditEvent
from detectors.choice_models import ChosenPlace, IncidentChoice
from detectors.incidents import OVER_AFTER, end_quiet, jobs_struck
from detectors.judging import judge
from detectors.models import Incident, Verdict
from tests.advisor_api.world import OPERATOR
from tests.detectors.rows import again, make_cluster
from tests.detectors.test_incidents import BUG, ECC, NOW, STALE, failed, judged, newest, told
from workloads.models import Attempt, Cluster

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
ACT = Act(OPERATOR, "one power supply feeds both", NOW + HOUR)
OTHER = {**ECC, "signature": "cuda.illegal", "fingerprint": "illegal"}


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


def of(attempt: Attempt) -> Incident:
    """Where it belongs now."""
    incident = newest(attempt).incident
    assert incident is not None
    return incident


def seen(incident: Incident) -> tuple[int, int]:
    return incident.pk, Incident.objects.get(pk=incident.pk).version


def fails(cluster: Cluster, node: str, values: dict[str, object], minutes: float, **more: Any) -> Attempt:
    attempt = told(failed(cluster, node, at=NOW + timedelta(minutes=minutes), **more), node, **values)
    judged(attempt)
    return attempt


def judged_otherwise(attempt: Attempt, values: dict[str, object]) -> None:
    """A later verdict on it, by something that came to light since: an earlier symptom, and surer."""
    attempt.anomalies.update(refuted_at=NOW)
    told(attempt, attempt.nodes[0], **values)
    Attempt.objects.filter(pk=attempt.pk).update(judge_due_at=NOW)
    judged(attempt, 120)


class TestMerging:
    def test_what_would_come_to_the_one_goes_to_the_other(self, cluster: Cluster) -> None:
        first, second = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", BUG, 30)
        left, into = of(first), of(second)
        merge(seen(left), seen(into), ACT)
        later = fails(cluster, "n3", ECC, 70)
        assert of(first) == of(second) == of(later) == into
        left.refresh_from_db()
        assert (left.ended_at, left.open_key, left.merged_into) == (ACT.now, None, into)
        assert sorted(into.nodes.values_list("node", flat=True)) == ["n1", "n2", "n3"]
        into.refresh_from_db()
        assert into.first_seen_at < NOW

    def test_it_holds_after_the_incident_was_over(self, cluster: Cluster) -> None:
        first, second = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", BUG, 30)
        merge(seen(of(first)), seen(of(second)), ACT)
        end_quiet(NOW + OVER_AFTER + 2 * HOUR)
        assert not Incident.objects.filter(ended_at=None).exists()
        again = [fails(cluster, "n1", ECC, 1000), fails(cluster, "n2", BUG, 1030)]
        assert of(again[0]) == of(again[1]) != of(first)

    def test_a_later_verdict_on_a_moved_attempt_does_not_move_it_back(self, cluster: Cluster) -> None:
        first, second = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", BUG, 30)
        into = of(second)
        merge(seen(of(first)), seen(into), ACT)
        for one in (first, second):
            judged_otherwise(one, OTHER)
            assert newest(one).signature == "cuda.illegal"
            assert of(one) == into
        assert Incident.objects.filter(ended_at=None).get() == into

    def test_undone_they_are_two_and_each_failure_goes_to_its_own(self, cluster: Cluster) -> None:
        first, second = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", BUG, 30)
        left, into = of(first), of(second)
        choice = merge(seen(left), seen(into), ACT)
        between = fails(cluster, "n3", ECC, 70)
        undo(choice, seen(into)[1], ACT)
        later = fails(cluster, "n4", ECC, 80)
        assert of(first) == of(between) == of(later) == left
        assert of(second) == into
        left.refresh_from_db()
        assert (left.ended_at, left.merged_into) == (None, None)
        assert list(into.nodes.values_list("node", flat=True)) == ["n2"]
        with pytest.raises(Stale, match="already"):
            undo(choice, seen(into)[1], ACT)

    def test_of_two_merges_the_later_one_is_taken_back_first(self, cluster: Cluster) -> None:
        one, two, three = (
            fails(cluster, "n1", ECC, 0),
            fails(cluster, "n2", BUG, 30),
            fails(cluster, "n3", OTHER, 50),
        )
        lasting = of(three)
        first = merge(seen(of(one)), seen(of(two)), ACT)
        second = merge(seen(of(two)), seen(lasting), ACT)
        assert of(fails(cluster, "n4", ECC, 70)) == lasting
        with pytest.raises(Stale, match="rests on it"):
            undo(first, 1, ACT)
        undo(second, seen(lasting)[1], ACT)
        assert of(one) == of(two) == of(fails(cluster, "n5", ECC, 80)) != lasting
        undo(first, seen(of(two))[1], ACT)
        assert of(one) != of(two)

    def test_what_makes_no_sense_changes_nothing(self, cluster: Cluster) -> None:
        first, second = of(fails(cluster, "n1", ECC, 0)), of(fails(cluster, "n2", BUG, 30))
        abroad = of(fails(make_cluster(), "n1", ECC, 0))
        with pytest.raises(Bad, match="itself"):
            merge(seen(first), seen(first), ACT)
        with pytest.raises(Bad, match="two clusters"):
            merge(seen(first), seen(abroad), ACT)
        with pytest.raises(Stale, match="Somebody changed"):
            merge((first.pk, 9), seen(second), ACT)
        with pytest.raises(Stale, match="Somebody changed"):
            merge(seen(first), (second.pk, 9), ACT)
        with pytest.raises(Bad, match="Say why"):
            merge(seen(first), seen(second), Act(OPERATOR, " \n", NOW))
        Incident.objects.filter(pk=second.pk).update(ended_at=NOW, open_key=None)
        with pytest.raises(Stale, match="over"):
            merge(seen(first), seen(second), ACT)
        assert not IncidentChoice.objects.exists() and not ChosenPlace.objects.exists()
        assert seen(first) == (first.pk, 1)

    def test_a_thousand_attempts_cost_few_statements(self, cluster: Cluster) -> None:
        first, second = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", BUG, 30)
        left, into = of(first), of(second)
        many(first, left, 1200)
        with CaptureQueriesContext(
            connection,
        ) as asked:
            merge(seen(left), seen(into), ACT)
        assert len(asked) < 60
        assert into.verdicts.count() == 1202
        assert AuditEvent.objects.filter(action="moved").count() == 1201


def many(like: Attempt, incident: Incident, number: int) -> None:
    """More attempts of its job in the incident."""
    verdict = newest(like)
    made = Attempt.objects.bulk_create(
        Attempt(
            job=like.job, index=index, heimdall_id=f"00000000-0000-0000-0000-{index:012}", state="failed",
            nodes=["n1"], first_seen_at=NOW, changed_at=NOW,
        )
        for index in range(1, number + 1)
    )  # fmt: skip
    names = ("kind", "layer", "signature", "fingerprint", "sentence", "evidence_status", "confidence", "action")
    values = {name: getattr(verdict, name) for name in (*names, "implicated", "happened_at", "judged_at")}
    Verdict.objects.bulk_create(
        Verdict(attempt=one, incident=incident, input_hash=f"{one.pk}", **values) for one in made
    )


class TestSplitting:
    def test_a_fingerprint_that_went_as_a_whole_takes_all_that_comes(self, cluster: Cluster) -> None:
        first, second = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", BUG, 30)
        both = of(second)
        merge(seen(of(first)), seen(both), ACT)
        split(seen(both), [newest(first).pk], [], ACT)
        mine = of(first)
        assert mine != both and of(second) == both
        assert of(fails(cluster, "n3", ECC, 70)) == mine
        assert of(fails(cluster, "n4", BUG, 71)) == both
        assert list(mine.nodes.values_list("node", flat=True)) == ["n1", "n3"]
        assert "n1" not in both.nodes.values_list("node", flat=True)

    def test_of_one_fingerprint_the_moved_jobs_stay_apart(self, cluster: Cluster) -> None:
        first, second = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", ECC, 30)
        both = of(first)
        assert both == of(second)
        split(seen(both), [newest(second).pk], [], ACT)
        mine = of(second)
        assert of(fails(cluster, "n2", ECC, 70, job=second.job, index=1)) == mine
        assert of(fails(cluster, "n1", ECC, 71, job=first.job, index=1)) == both
        assert of(fails(cluster, "n3", ECC, 72)) == both

    def test_later_verdicts_on_either_side_move_nobody(self, cluster: Cluster) -> None:
        first, second = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", ECC, 30)
        both = of(first)
        split(seen(both), [newest(second).pk], [], ACT)
        mine = of(second)
        for one, place in ((first, both), (second, mine)):
            judged_otherwise(one, OTHER)
            assert of(one) == place

    def test_by_fingerprint(self, cluster: Cluster) -> None:
        first, second = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", BUG, 30)
        both = of(second)
        merge(seen(of(first)), seen(both), ACT)
        split(seen(both), [], [newest(first).fingerprint], ACT)
        assert of(first) != of(second)

    def test_undone_all_is_together(self, cluster: Cluster) -> None:
        first, second = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", ECC, 30)
        both = of(first)
        choice = split(seen(both), [newest(second).pk], [], ACT)
        mine = of(second)
        third = fails(cluster, "n2", ECC, 70, job=second.job, index=1)
        undo(choice, seen(mine)[1], ACT)
        assert of(first) == of(second) == of(third) == of(fails(cluster, "n9", ECC, 80)) == both
        mine.refresh_from_db()
        assert (mine.ended_at, mine.merged_into) == (ACT.now, both)

    def test_undone_after_both_were_over_only_what_comes_is_together(self, cluster: Cluster) -> None:
        first, second = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", ECC, 30)
        choice = split(seen(of(first)), [newest(second).pk], [], ACT)
        mine = of(second)
        end_quiet(NOW + OVER_AFTER + 2 * HOUR)
        undo(choice, 1, ACT)
        assert of(second) == mine
        later = fails(cluster, "n2", ECC, 1000, job=second.job, index=1)
        assert of(later) == of(fails(cluster, "n1", ECC, 1001, job=first.job, index=1)) != mine

    def test_one_must_go_and_one_must_stay(self, cluster: Cluster) -> None:
        first, second = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", ECC, 30)
        both = of(first)
        for keys in ([], [newest(first).pk, newest(second).pk]):
            with pytest.raises(Bad, match="at least one must"):
                split(seen(both), keys, [], ACT)
        stale = newest(second).pk
        judged_otherwise(second, OTHER)
        with pytest.raises(Stale, match="newer verdict"):
            split(seen(both), [stale], [], ACT)
        assert Incident.objects.count() == 2 and not IncidentChoice.objects.exists()

    def test_what_was_split_off_again_does_not_follow_a_later_join(self, cluster: Cluster) -> None:
        one, two, apart = (fails(cluster, f"n{n}", ECC, n) for n in range(3))
        first = of(one)
        split(seen(first), [newest(two).pk, newest(apart).pk], [], ACT)
        split(seen(of(two)), [newest(apart).pk], [], ACT)
        alone = of(apart)
        assert len({first, of(two), alone}) == 3
        merge(seen(of(two)), seen(first), ACT)
        assert of(two) == of(one) == first
        assert of(fails(cluster, "n2", ECC, 90, job=apart.job, index=1)) == alone
        assert of(fails(cluster, "n1", ECC, 91, job=two.job, index=1)) == first

    def test_an_attempt_without_a_failure_for_a_while_comes_to_where_it_was_put(self, cluster: Cluster) -> None:
        first, second = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", BUG, 30)
        third = fails(cluster, "n3", OTHER, 50)
        merge(seen(of(first)), seen(of(second)), ACT)
        Verdict.objects.filter(pk=newest(first).pk).update(incident=None)
        merge(seen(of(second)), seen(of(third)), ACT)
        judged_otherwise(first, {**ECC, "signature": "cuda.ecc2", "fingerprint": "ecc2"})
        assert of(first) == of(third)

    def test_too_many_are_refused(self, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        first, second = fails(cluster, "n1", ECC, 0), fails(cluster, "n2", BUG, 30)
        many(first, of(first), 3)
        monkeypatch.setattr("advisor_api.regrouping.MOST", 2)
        with pytest.raises(Bad, match="More than 2 attempts"):
            merge(seen(of(first)), seen(of(second)), ACT)
        assert not IncidentChoice.objects.exists()


class TestWhatTheGuardSees:
    def test_it_counts_by_where_a_person_put_them(self, cluster: Cluster) -> None:
        attempts = [
            told(failed(cluster, f"n{n}", at=NOW + timedelta(seconds=n)), f"n{n}", **STALE) for n in range(4)
        ]
        for turn in range(2):
            for one in attempts:
                if Attempt.objects.filter(pk=one.pk, judge_due_at__isnull=False).exists():
                    judged(one, 5 + 60 * turn) if not turn else _once_more(one)
        verdicts = [newest(one) for one in attempts]
        assert all(one.shared for one in verdicts)
        assert jobs_struck(verdicts[0], HOUR) == 4
        split(seen(of(attempts[0])), [verdicts[0].pk], [], ACT)
        assert jobs_struck(newest(attempts[0]), HOUR) == 1
        assert jobs_struck(newest(attempts[1]), HOUR) == 3


def _once_more(attempt: Attempt) -> None:
    judge(again(attempt), NOW + timedelta(minutes=2))
