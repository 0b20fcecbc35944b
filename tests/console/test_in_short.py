"""Does the page of a job say in plain words what happened, what was done, and what is left to do?"""

import re
from datetime import datetime
from html import unescape

import pytest
from django.test import Client

from advisor_api.models import Advice, Sequence
from advisor_api.policy.advice_state import AdviceState
from advisor_api.policy.operation import Operation
from advisor_api.policy.reconciliation_reason import ReconciliationReason
from console.job_list import job_page
from console.job_wanted import Shown, Wanted
from tests.console.sample import Sample
from workloads.mode import Mode


def short_of(client: Client, cluster: str, number: int) -> str:
    """The three sentences as a person reads them."""
    page = client.get(f"/jobs/{cluster}/{number}/0").content.decode()
    found = re.search(r'<dl class="short">.*?</dl>', page, re.DOTALL)
    assert found, page
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found[0])).split())


def test_a_recovered_job(as_viewer: Client, rows: Sample) -> None:
    said = short_of(as_viewer, "demo", 4711)
    assert "What happened Attempt 0: GPU 2 of n03 lost data" in said
    assert "Rekindle restarted 4711-0 without n03, because" in said
    assert "it trains again, beyond the step where it had stopped." in said
    assert said.endswith("What is left to do Nothing for this job. Have n03 looked at.")


def test_a_job_that_waits_for_a_person(as_viewer: Client, rows: Sample) -> None:
    said = short_of(as_viewer, "far-away", 99)
    assert "Rekindle waits for a yes or no: Restart 99-0 without f02, because the scheduler lost f02." in said
    assert re.search(r"Decide before \d\d:\d\d:\d\d UTC\. Decide…$", said)


@pytest.mark.parametrize(
    ("changes", "done", "left"),
    [
        (
            {"state": AdviceState.PENDING, "mode_at_decision": Mode.MONITOR},
            "Rekindle would do this: Restart 99-0 without f02, because the scheduler lost f02. It does nothing",
            "Restart it yourself if you agree.",
        ),
        (
            {"state": AdviceState.ABANDONED, "state_reason": ReconciliationReason.REJECTED},
            "It is over: a person said no.",
            "Restart it yourself if you agree.",
        ),
        (
            {"state": AdviceState.CONVERGED, "operation": Operation.TERMINATE, "excluded_nodes": []},
            "Rekindle stopped it, because the scheduler lost f02.",
            "Its owner has to mend the cause and submit it again.",
        ),
        (
            {"state": AdviceState.CONVERGED, "rule": "hang", "because": "the job hangs"},
            "Rekindle restarted 99-0, still without f02, because the job hangs; it waits for nodes.",
            "Nothing: the outcome shows here.",
        ),
        (
            {"state": AdviceState.PENDING, "operation": Operation.WAIT, "excluded_nodes": []},
            "Rekindle asks a person: A person should look at 99-0, because",
            "Look at the evidence below, and restart or stop it yourself.",
        ),
    ],
    ids=["only watched", "refused", "stopped", "a node left out for an earlier failure", "asked"],
)
def test_what_became_of_an_advice(
    as_viewer: Client, rows: Sample, changes: dict[str, object], done: str, left: str
) -> None:
    Advice.objects.filter(attempt__job__number=99).update(**changes)
    said = short_of(as_viewer, "far-away", 99)
    assert done in said
    assert said.endswith(f"What is left to do {left}")


def test_what_is_only_watched_is_not_in_recovery(rows: Sample, now: datetime) -> None:
    recovering = Wanted(state=Shown.RECOVERY.value)
    assert 4711 in {row.job.number for row in job_page(recovering, now).rows}
    assert Sequence.objects.filter(closed_at=None).exists()
    Advice.objects.update(mode_at_decision=Mode.MONITOR)
    assert job_page(recovering, now).rows == ()


def test_an_early_warning_asks_nobody_to_restart(as_viewer: Client, rows: Sample) -> None:
    wait = {"operation": Operation.WAIT.value, "rule": "early_warning", "excluded_nodes": ["n03"]}
    Advice.objects.filter(pk=rows.waiting.pk).update(**wait, state=AdviceState.PENDING.value)
    job = rows.waiting.attempt.job
    said = short_of(as_viewer, job.cluster.name, job.number)
    assert "Rekindle lets it train" in said
    assert "Nothing for this job. Have n03 looked at." in said
