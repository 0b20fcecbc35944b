"""Are the classes that may be acted on read anew at each hand-out, from the policies in force?"""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor_api.acting import acting_on
from advisor_api.activating import establish
from advisor_api.handing import handed
from advisor_api.models import Advice, PolicyVersion
from advisor_api.policies import Place
from tests.advisor_api.world import NOW, OPERATOR, a_cluster, a_job, an_advice
from workloads.models import Cluster

pytestmark = pytest.mark.django_db


def say(place: Place, **values: int) -> None:
    establish(place, values, "as agreed", actor=OPERATOR, now=NOW)


def may(advice: Advice) -> tuple[bool, str]:
    """As a controller is told now; the advice is read anew."""
    again = Advice.objects.select_related("attempt__job__cluster", "verdict", "sequence").get(pk=advice.pk)
    [found] = handed([again], Cluster.objects.get(), NOW)
    return found.may_be_acted_on, found.why_not


def test_a_class_is_closed_and_opened_between_two_hand_outs() -> None:
    cluster = a_cluster()
    advice = an_advice(cluster)
    assert may(advice) == (True, "")
    say(Place(cluster), act_on_hardware=0)
    assert may(advice) == (False, "failures of the class hardware are only advised on, as the policy says")
    say(Place(cluster), act_on_hardware=1, act_on_network=0)
    assert may(advice) == (True, "")


def test_the_most_specific_policy_that_says_it_wins() -> None:
    cluster = a_cluster()
    advice = an_advice(cluster)
    say(Place(), act_on_hardware=0)
    assert not may(advice)[0]
    say(Place(cluster), max_requeues=4)
    assert not may(advice)[0]
    say(Place(cluster, partition="main"), act_on_hardware=1)
    assert may(advice)[0]
    say(Place(cluster, user="tess"), act_on_hardware=0)
    assert not may(advice)[0]


def test_others_policies_do_not_count() -> None:
    cluster = a_cluster()
    advice = an_advice(cluster)
    say(Place(cluster, partition="spare"), act_on_hardware=0)
    say(Place(cluster, user="tom"), act_on_hardware=0)
    assert may(advice)[0]


def test_a_stored_policy_that_cannot_be_used_closes_the_gate() -> None:
    cluster = a_cluster()
    advice = an_advice(cluster)
    say(Place(cluster), max_requeues=4)
    PolicyVersion.objects.filter(cluster=cluster).update(values={"act_on_hardware": "yes"})
    assert may(advice) == (False, "the policy of the job cannot be read")


@pytest.mark.parametrize("count", [1, 20])
def test_one_query_for_many_jobs(count: int) -> None:
    cluster = a_cluster()
    jobs = [a_job(cluster, number, user=f"u{number}") for number in range(1, count + 1)]
    say(Place(cluster, user="u1"), act_on_data=0)
    with CaptureQueriesContext(connection) as queries:
        acting = acting_on(jobs)
    assert len(queries) == 1
    assert acting.why_not(jobs[0], "data")
    assert not acting.why_not(jobs[-1], "data") or count == 1
    assert acting.why_not(a_job(cluster, 999), "data"), "a job that was not asked about is closed"


def test_where_nothing_was_ever_said_every_class_acts() -> None:
    cluster = a_cluster()
    assert acting_on([job := a_job(cluster)]).why_not(job, "data") == ""
