"""Does the console show what others tell of nodes, on the cluster's page and as evidence?"""

from datetime import datetime, timedelta

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from advisor_api.node_standing import Standing
from advisor_api.standing_view import standings
from console.evidence import quotes_from
from console.node_health import faults_of
from console.standing_words import MEANING, SHORT
from detectors.models import HealthEvent
from tests.console.sample import Sample
from workloads.models import Cluster

EVIL = "<script>alert(1)</script>"


def test_the_word_and_its_meaning_are_the_label() -> None:
    assert [f"{SHORT[one]}: {MEANING[one]}" for one in Standing] == [one.label for one in Standing]


def told(cluster: Cluster, at: datetime, **changes: object) -> HealthEvent:
    values: dict[str, object] = {
        "cluster": cluster,
        "node": "n03",
        "check_name": f"GpuXidError{EVIL}",
        "entity": "GPU 3",
        "fatal": True,
        "message": "lost",
        "source": "nvsentinel",
        "key": str(HealthEvent.objects.count()),
        "happened_at": at,
        "received_at": at,
        "received_from": "nodes",
    }
    return HealthEvent.objects.create(**{**values, **changes})


def test_a_cluster_shows_an_open_fault_and_its_end(as_viewer: Client, rows: Sample, now: datetime) -> None:
    cluster = Cluster.objects.get(name="demo")
    fault = told(cluster, now)
    page = as_viewer.get("/panels/cluster_nodes/demo").content.decode()
    assert "fault</span> GpuXidError&lt;script&gt;" in page
    assert EVIL not in page
    HealthEvent.objects.filter(pk=fault.pk).update(cleared_at=now)
    Cluster.objects.filter(pk=cluster.pk).update(changed_at=now + timedelta(seconds=1))
    assert "healthy again" in as_viewer.get("/panels/cluster_nodes/demo").content.decode()


def test_the_open_fault_stands_before_newer_ones_that_are_over(
    rows: Sample, now: datetime, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    cluster = Cluster.objects.get(name="demo")
    still = told(cluster, now - timedelta(hours=1))
    told(cluster, now, cleared_at=now)
    told(cluster, now, fatal=False)
    told(cluster, now, healthy=True)
    with django_assert_num_queries(1):
        assert faults_of(cluster) == {"n03": still}


@pytest.mark.parametrize(
    ("stream", "offset"), [("health event: nvsentinel", None), ("scheduler: node n03", None), ("/logs/1.out", 7)]
)
def test_what_others_told_stands_at_no_byte(stream: str, offset: int | None) -> None:
    (quote,) = quotes_from([{"stream": stream, "offset": 7, "line": "x", "host": "n03"}], ())
    assert (quote.offset, quote.host) == (offset, "n03")


def test_four_counts_filter_the_nodes(as_viewer: Client, rows: Sample, now: datetime) -> None:
    cluster = Cluster.objects.get(name="demo")
    told(cluster, now, node="n05")
    whole = as_viewer.get("/clusters/demo").content.decode()
    assert all(f"?nodes={one.value}" in whole for one in Standing)
    some = as_viewer.get("/clusters/demo?nodes=at_risk").content.decode()
    assert "/panels/cluster_nodes/demo?nodes=at_risk" in some  # and stays so when it is fetched again
    page = as_viewer.get("/panels/cluster_nodes/demo?nodes=at_risk").content.decode()
    assert 'aria-current="true"' in page
    assert page.count("<tr id=") == sum(one.standing == "at_risk" for one in standings(cluster, now).values()) > 0
    assert "an open fault: GpuXidError&lt;script&gt;" in page
    assert EVIL not in page
    everything = as_viewer.get("/panels/cluster_nodes/demo?nodes=%3Cb%3E").content.decode()
    assert everything.count("<tr id=") == cluster.nodes.count()
