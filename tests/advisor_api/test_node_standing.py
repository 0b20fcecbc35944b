"""Does each node stand in the field that its facts say, purely, in the API, and in a fixed number of queries?"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from advisor_api.excluding import exclude, lift
from advisor_api.models import Exclusion
from advisor_api.node_facts import Excluded, NodeFacts, stands
from advisor_api.node_standing import Standing
from advisor_api.standing_view import counted, standings
from detectors.attribution.told import EVENTS
from detectors.models import HealthEvent, Stay
from tests.advisor_api.conftest import Api
from tests.advisor_api.world import NOW, OPERATOR, a_cluster, a_job, a_verdict, an_attempt
from workloads.models import Node

EARLIER, LATER, SINCE = NOW - timedelta(hours=2), NOW - timedelta(hours=1), NOW + timedelta(hours=1)
DRAIN = {"words": frozenset({"idle", "drain"})}
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("idle and nothing known", {"words": frozenset({"idle"})}, "effective"),
    ("a fault that somebody told", {"fault": "GpuXidError"}, "at_risk"),
    ("blamed an hour ago", {"blamed_at": LATER}, "at_risk"),
    ("blamed, and started anew since", {"blamed_at": EARLIER, "booted_at": LATER}, "effective"),
    ("blamed, and given back since", {"blamed_at": EARLIER, "given_back_at": LATER}, "effective"),
    ("given back, and blamed again", {"blamed_at": LATER, "given_back_at": EARLIER}, "at_risk"),
    ("blamed two days ago", {"blamed_at": NOW - timedelta(days=2)}, "effective"),
    ("named by an open incident", {"incident_at": LATER}, "at_risk"),
    ("named by an incident, started since", {"incident_at": EARLIER, "booted_at": LATER}, "effective"),
    ("excluded by a person", {"exclusions": (Excluded(),)}, "isolated"),
    ("excluded for a failure", {"exclusions": (Excluded(EARLIER),)}, "isolated"),
    ("excluded, and the fault is cleared", {"exclusions": (Excluded(EARLIER, cleared=True),)}, "stranded"),
    ("excluded, and started anew since", {"exclusions": (Excluded(EARLIER),), "booted_at": LATER}, "stranded"),
    ("one reason is over, another holds", {"exclusions": (Excluded(EARLIER, True), Excluded())}, "isolated"),
    ("cleared, and another fault is open", {"exclusions": (Excluded(EARLIER, True),), "fault": "x"}, "isolated"),
    ("drained with a reason", {**DRAIN, "reason": "fan", "reason_at": LATER, "booted_at": EARLIER}, "isolated"),
    (
        "drained, started anew since",
        {**DRAIN, "reason": "fan", "reason_at": EARLIER, "booted_at": LATER},
        "stranded",
    ),
    ("drained without a word", DRAIN, "stranded"),
    ("down without a word", {"words": frozenset({"down"})}, "isolated"),
    ("in maintenance", {"words": frozenset({"maint", "idle"})}, "isolated"),
    ("a reason left behind on a node in use", {"words": frozenset({"idle"}), "reason": "old"}, "effective"),
]


@pytest.mark.parametrize(("name", "facts", "field"), CASES)
def test_the_field_of_a_node(name: str, facts: dict[str, Any], field: str) -> None:
    found = stands(NodeFacts(**facts), NOW)
    assert found.standing == field
    assert bool(found.why) is (field != "effective")


def test_a_node_that_is_left_out_is_not_said_to_be_out_of_use() -> None:
    """Rekindle tells the scheduler nothing: other jobs go on there, and new ones come."""
    alone = stands(NodeFacts(words=frozenset({"allocated"}), exclusions=(Excluded(),)), NOW)
    assert alone.why == "left out of restarts, other jobs still run there; the reason of the exclusion stands"
    drained = stands(NodeFacts(words=frozenset({"allocated", "drain"}), exclusions=(Excluded(),)), NOW)
    assert drained.why.startswith("left out of restarts, and drain in the scheduler; ")
    assert all("left out of restarts or out of use" in one.label for one in Standing if one.out)


@pytest.mark.parametrize("out", [True, False])
@pytest.mark.parametrize("evidence", [True, False])
def test_the_four_fields_are_the_two_questions(out: bool, evidence: bool) -> None:
    fields = {
        (False, False): "effective",
        (False, True): "at_risk",
        (True, True): "isolated",
        (True, False): "stranded",
    }
    assert Standing.of(out=out, evidence=evidence) == fields[out, evidence]


@pytest.mark.django_db
def test_a_cluster_s_nodes_from_its_rows(django_assert_max_num_queries: Any) -> None:
    cluster = a_cluster(nodes=6)
    exclude(cluster, "n01", reason="fan", until=NOW + timedelta(hours=1), actor=OPERATOR, now=NOW)
    HealthEvent.objects.create(
        cluster=cluster, node="n02", check_name="X", fatal=True, key="1", happened_at=NOW, received_at=NOW
    )
    stay = {"cluster": cluster, "attempt": an_attempt(a_job(cluster)), "seconds": 1.0}
    Stay.objects.create(node="n03", ended_at=LATER, fate="blamed", **stay)
    Stay.objects.create(node="n04", ended_at=LATER, fate="unharmed", **stay)
    Node.objects.filter(name="n05").update(state="idle+drain", available=False)
    with django_assert_max_num_queries(8):
        found = standings(cluster, NOW)
    fields = {name: one.standing.value for name, one in found.items()}
    assert fields == {
        "n01": "isolated",
        "n02": "at_risk",
        "n03": "at_risk",
        "n04": "effective",
        "n05": "stranded",
        "n06": "effective",
    }
    assert [counted(found)[one] for one in Standing] == [2, 2, 1, 1]
    row = exclude(cluster, "n03", reason="fan", until=NOW + timedelta(hours=1), actor=OPERATOR, now=NOW)
    lift(row, OPERATOR, NOW)
    assert standings(cluster, NOW)["n03"].standing == "effective"


@pytest.mark.django_db
def test_the_api_counts_and_filters(api: Api) -> None:
    Node.objects.filter(name="n05").update(state="idle+drain", available=False)
    answer = api.get("/v1/nodes?standing=stranded").json
    assert [(node["name"], node["standing"]) for node in answer["nodes"]] == [("n05", "stranded")]
    assert (answer["standings"]["stranded"], answer["standings"]["isolated"]) == (1, 0)
    assert api.get("/v1/nodes").json["count"] > 1
    assert api.get("/v1/nodes/n05").json["node"]["standingBecause"] == "drain"
    assert api.get("/v1/nodes?standing=lost").status == 400


@pytest.mark.django_db
@pytest.mark.parametrize("count", [1, 12])
def test_exclusions_by_verdicts_cost_no_query_each(count: int) -> None:
    cluster = a_cluster(nodes=20)
    for number in range(count):
        node = f"n{number + 1:02}"
        told = {"cluster": cluster, "node": node, "check_name": "X"}
        event = HealthEvent.objects.create(**told, fatal=True, key=f"f{number}", happened_at=NOW, received_at=NOW)
        verdict = a_verdict(an_attempt(a_job(cluster, number + 1)), happened_at=NOW)
        evidence = {"id": "e1", "host": node, "signature_id": "x", "file": f"{EVENTS}X", "offset": event.pk}
        verdict.body = {
            "implicated": [{"host": node, "role": "culprit", "evidence": ["e1"]}],
            "evidence": [evidence],
        }
        verdict.save()
        until = NOW + timedelta(hours=2)
        Exclusion.objects.create(cluster=cluster, node=node, verdict_id=verdict.uuid, since=NOW, until=until)
        if number % 2 == 0:
            HealthEvent.objects.filter(pk=event.pk).update(cleared_at=SINCE)
            HealthEvent.objects.create(**told, healthy=True, key=f"h{number}", happened_at=SINCE, received_at=SINCE)
    with CaptureQueriesContext(connection) as queries:
        found = standings(cluster, SINCE)
    assert len(queries) == 9
    fields = [found[f"n{number + 1:02}"].standing.value for number in range(count)]
    assert fields == [("stranded", "isolated")[number % 2] for number in range(count)]
