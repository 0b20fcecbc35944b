"""Are the five questions answered by what is stored, and is what nobody knows said to be not known?"""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from console.five_facts import answers_on
from console.five_questions import (
    NodeNow,
    Pace,
    Proof,
    Saved,
    checkpoint_ready,
    has_witness,
    message_matches,
    node_or_job,
    slowness,
)
from detectors.catalogue.kind import AnomalyKind
from detectors.models import Anomaly, Excerpt, HealthEvent, Verdict
from tests.console.sample import Sample
from workloads.models import Attempt, Cluster, Node

FAILED = datetime(2026, 11, 29, 3, 0, tzinfo=UTC)
STANDS, LACKS, NO_COPY = Proof(True, True), Proof(True, False), Proof(False, False)


@pytest.mark.parametrize(
    ("proofs", "word"),
    [
        ([], "No message"),
        ([NO_COPY], "Not known"),
        ([STANDS, STANDS], "Yes"),
        ([STANDS, LACKS], "Partly"),
        ([STANDS, NO_COPY], "Partly"),
        ([LACKS, NO_COPY], "No"),
    ],
)
def test_the_message_matches_where_its_lines_stand_in_the_log(proofs: list[Proof], word: str) -> None:
    assert message_matches(proofs).word == word


@pytest.mark.parametrize(
    ("hosts", "told", "word"),
    [
        ([], [("n01", "XID 79")], "No node named"),
        (["n03"], [], "No"),
        (["n03"], [("n01", "XID 79")], "No"),
        (["n03"], [("n03", "XID 79")], "Yes"),
        (["n03", "n04"], [("n03", "XID 79")], "Partly"),
    ],
)
def test_a_witness_is_whoever_is_not_the_job_itself(
    hosts: list[str], told: list[tuple[str, str]], word: str
) -> None:
    assert has_witness(hosts, told).word == word


def node(state: str, booted: timedelta | None = None) -> NodeNow:
    return NodeNow("n03", state, "Not responding", None if booted is None else FAILED + booted)


@pytest.mark.parametrize(
    ("nodes", "more", "word"),
    [
        ([node("idle")], {}, "Only the job"),
        ([node("allocated")], {"ended": False}, "Neither"),
        ([node("DOWN*")], {}, "The node"),
        ([node("idle+drain")], {}, "Out of use"),
        ([node("idle", timedelta(minutes=3))], {"node_failed": True}, "The node, then"),
        ([node("idle")], {"seen": False}, "Not known"),
        ([], {}, "Not known"),
    ],
)
def test_the_node_is_lost_when_the_scheduler_shows_it_so(
    nodes: list[NodeNow], more: dict[str, bool], word: str
) -> None:
    asked = {"seen": True, "node_failed": False, "ended": True, **more}
    assert node_or_job(nodes, FAILED, **asked).word == word


def test_a_node_that_started_anew_is_said() -> None:
    answer = node_or_job([node("idle", timedelta(minutes=3))], FAILED, seen=True, node_failed=False, ended=True)
    assert answer.sentence.endswith("n03 started anew since.")


def test_a_checkpoint_is_told_with_its_age_and_what_is_lost() -> None:
    answer = checkpoint_ready(Saved(500, FAILED - timedelta(seconds=50), 24), FAILED, blind=False)
    assert answer.word == "Yes"
    assert answer.sentence.startswith("Step 500, saved 50 s before it; a restart does 24 steps again.")
    assert checkpoint_ready(None, FAILED, blind=False).word == "No"
    assert checkpoint_ready(None, FAILED, blind=True).word == "Not known"


@pytest.mark.parametrize(
    ("slow", "hang", "culprits", "pace", "word"),
    [
        ("", "", [], Pace(2.0, 2.0, 1.15), "It is not slow"),
        ("", "", [], Pace(3.0, 2.0, 1.15), "Slow just now"),
        ("", "", [], Pace(None, 2.0, 1.15), "Not known"),
        ("Steps take 3 s", "", [], Pace(3.0, 2.0, 1.15), "Not known"),
        ("Steps take 3 s", "", ["n03"], Pace(3.0, 2.0, 1.15), "Named"),
        ("", "No step for 5 min", ["n03"], Pace(2.0, 2.0, 1.15), "It stands still"),
    ],
)
def test_slowness_is_somebodys_only_where_he_is_named(
    slow: str, hang: str, culprits: list[str], pace: Pace, word: str
) -> None:
    assert slowness(slow, hang, culprits, pace).word == word


def words(rows: Sample) -> list[str]:
    attempt, answers = answers_on(rows.recovered, Cluster.objects.get(pk=rows.cluster.pk))
    assert attempt is not None and attempt.index == 0, "the newest that was judged"
    return [answer.word for answer in answers]


def test_the_answers_are_those_of_what_is_stored(rows: Sample) -> None:
    assert words(rows) == ["Yes", "No", "Only the job", "Yes", "Slow just now"]


def test_a_health_event_is_a_witness(rows: Sample, now: datetime) -> None:
    verdict = Verdict.objects.get(attempt__job=rows.recovered)
    HealthEvent.objects.create(
        cluster=rows.cluster, node="n03", check_name="XID 79", fatal=True, source="nvsentinel", key="k",
        happened_at=verdict.happened_at - timedelta(seconds=20), received_at=now, received_from="token",
    )  # fmt: skip
    assert words(rows)[1] == "Yes"
    HealthEvent.objects.update(happened_at=verdict.happened_at - timedelta(hours=2))
    assert words(rows)[1] == "No", "what was told long before is no witness"


def test_a_copy_that_says_something_else_is_seen(rows: Sample) -> None:
    copy = Excerpt.objects.get(attempt__job=rows.recovered)
    Excerpt.objects.filter(pk=copy.pk).update(text="z" * len(copy.text))
    assert words(rows)[0] == "No"
    Excerpt.objects.all().delete()
    assert words(rows)[0] == "Not known"


def test_the_node_as_it_is_now(rows: Sample) -> None:
    Node.objects.filter(cluster=rows.cluster, name="n03").update(state="down*", available=False)
    assert words(rows)[2] == "The node"
    Cluster.objects.filter(pk=rows.cluster.pk).update(cannot_see_since=FAILED)
    assert words(rows)[2] == "Not known"


def test_a_standing_hang_of_the_newest_attempt_is_told(rows: Sample, now: datetime) -> None:
    newest = Attempt.objects.get(job=rows.running, index=0)
    Anomaly.objects.create(
        attempt=newest, key="hang", kind=AnomalyKind.HANG, sentence="No step for 5 min", happened_at=now,
        basis="step", detected_at=now,
    )  # fmt: skip
    _attempt, answers = answers_on(rows.running, rows.monitor)
    assert answers[-1].word == "It stands still"
    Anomaly.objects.update(refuted_at=now)
    _attempt, answers = answers_on(rows.running, rows.monitor)
    assert answers[-1].word != "It stands still"


def test_they_stand_on_the_page_with_the_mode(as_viewer: Client, rows: Sample) -> None:
    text = as_viewer.get("/jobs/demo/4711/0").content.decode()
    assert "Five questions before it acts by itself" in text
    for question in (
        "Does the message match the log?",
        "Has the node a hardware witness?",
        "Is the node lost, or only the job?",
        "Is a checkpoint ready?",
        "Where does the slowness come from?",
    ):
        assert question in text
    assert "before you switch it to action" not in text
    assert "before you switch it to action" in as_viewer.get("/jobs/demo-monitor/815/0").content.decode()


def test_answers_cost_a_fixed_number_of_queries(
    rows: Sample, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(9):
        answers_on(rows.recovered, rows.cluster)


def test_why_a_node_was_left_out_is_said_also_when_that_is_over(
    as_viewer: Client, rows: Sample, now: datetime
) -> None:
    text = as_viewer.get("/panels/job_attempts/demo/4711/0").content.decode()
    assert "An uncorrectable ECC error on GPU 2 (job 4711-0)" in text and "until" in text
    rows.cluster.exclusions.update(lifted_at=now, lifted_by="erika", until=now + timedelta(hours=1))
    text = as_viewer.get("/panels/job_attempts/demo/4711/0?from=2020-01-01T00:00:00Z").content.decode()
    assert "lifted by erika" in text
