"""Does a split or a join change decisions that are still to come, and none that was made?"""

from datetime import timedelta

import pytest

from advisor_api.deciding import decide
from advisor_api.models import Advice
from advisor_api.policy.operation import Operation
from advisor_api.policy.replay import Summary
from advisor_api.regrouping import merge, split
from advisor_api.regrouping_told import Act
from advisor_api.regrouping_undo import undo
from advisor_api.replaying import Span, replay
from detectors.models import Incident, Verdict
from tests.advisor_api.world import NOW, OPERATOR, a_cluster, a_job, a_verdict, an_attempt
from workloads.models import Cluster

pytestmark = pytest.mark.django_db
ACT = Act(OPERATOR, "two mounts", NOW)
SHARED = {
    **{"layer": "system.filesystem", "signature": "fs.stale", "fingerprint": "stale", "implicated": []},
    **{"action": "restart", "shared": True},
}


def an_incident(cluster: Cluster, key: str) -> Incident:
    return Incident.objects.create(
        cluster=cluster, open_key=key, fingerprint=key, layer="system.filesystem", sentence=key, shared=True,
        first_seen_at=NOW, last_seen_at=NOW,
    )  # fmt: skip


def struck(cluster: Cluster, incident: Incident, numbers: range) -> list[Verdict]:
    """Failures of that many jobs by one cause."""
    return [a_verdict(an_attempt(a_job(cluster, n)), incident=incident, **SHARED) for n in numbers]


def said(verdict: Verdict) -> tuple[str, str]:
    decide(verdict, NOW)
    advice = Advice.objects.filter(attempt=verdict.attempt).latest("generation")
    return advice.operation, advice.rule


def made_again() -> tuple[int, int]:
    """How many stored decisions there are, and how many come out otherwise when they are made again."""
    summary = Summary()
    span = Span(NOW - timedelta(days=1), NOW + timedelta(days=1))
    return len(list(replay(span, None, summary))), summary.differing + summary.unreadable


def test_a_split_lets_those_go_that_are_few_and_keeps_what_was_decided() -> None:
    cluster = a_cluster()
    whole = an_incident(cluster, "k")
    verdicts = struck(cluster, whole, range(100, 104))
    assert said(verdicts[0]) == (Operation.WAIT.value, "shared_cause")
    before = Advice.objects.get()
    choice = split((whole.pk, 1), [verdicts[1].pk], [], ACT)
    assert said(verdicts[1])[1] != "shared_cause"
    assert said(verdicts[2]) == (Operation.WAIT.value, "shared_cause"), "three are still there"
    after = Advice.objects.get(pk=before.pk)
    assert (after.facts, after.trace, after.operation) == (before.facts, before.trace, before.operation)
    assert made_again() == (3, 0)
    undo(choice, 1, ACT)
    assert made_again() == (3, 0)
    assert said(verdicts[3]) == (Operation.WAIT.value, "shared_cause")


def test_a_join_holds_where_both_together_are_many() -> None:
    cluster = a_cluster()
    one, two = an_incident(cluster, "k"), an_incident(cluster, "l")
    left, right = struck(cluster, one, range(100, 102)), struck(cluster, two, range(200, 202))
    assert said(left[0])[1] != "shared_cause"
    merge((one.pk, 1), (two.pk, 1), ACT)
    assert said(right[0]) == (Operation.WAIT.value, "shared_cause")
    assert made_again() == (2, 0)


def test_a_failure_of_its_own_cause_is_not_held_for_what_it_was_joined_with() -> None:
    cluster = a_cluster()
    one, two = an_incident(cluster, "k"), an_incident(cluster, "l")
    struck(cluster, one, range(100, 104))
    own = a_verdict(an_attempt(a_job(cluster, 300)), incident=two)
    merge((two.pk, 1), (one.pk, 1), ACT)
    assert said(Verdict.objects.get(pk=own.pk))[1] != "shared_cause"
