"""Does a listing arrive as it was sent, and is one that cannot be read refused with its place?"""

import json
from copy import deepcopy
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from schedulers.observation import Asked, BadObservation, Observation, Unseen, read, written
from schedulers.port import AccountedAttempt, JobRow, Limits, NoAccounting, NodeRow, NotTold, Unreachable
from schedulers.pushed import Pushed
from schedulers.states import JobState

AT = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
LIMITS = Limits("22.05.8", "lab", min_job_age=300, requeue_wait=121, kill_wait=30, tested=True)
ROW = JobRow(
    number=12,
    name="train ✓",
    user="trainer",
    partition="main",
    state=JobState.RUNNING,
    word="RUNNING",
    reason="None",
    restarts=1,
    submitted_at=AT,
    started_at=AT + timedelta(seconds=2),
    ended_at=None,
    exit_code=0,
    exit_signal=0,
    nodes=("n01", "n02"),
    node_count=2,
)
FULL = replace(
    ROW,
    account="ai",
    user_id=1000,
    array_job=11,
    array_task=0,
    het_leader=12,
    batch=False,
    requeue_allowed=False,
    priority=4294901757,
    comment='{"a": 1}',
    admin_comment="rekindle/1 g=1",
    work_dir="/w",
    stdout="%x",
    stderr="%j",
    dependency="singleton(unfulfilled)",
    required_nodes=("n01",),
    eligible_at=AT,
)
NODE = NodeRow("n01", ("idle", "drain"), "fan", "root", AT, AT, ("main",))
ENDED = AccountedAttempt(9, "train", "t", JobState.FAILED, "FAILED", AT, None, AT, 3, 0, ("n01",))
TOLD = Observation(7, AT, (ROW, FULL), (NODE,), LIMITS, True, True, (Asked(9, (ENDED,)), Asked(10, ())))


def over_the_wire(told: Observation | Unseen) -> Any:
    return json.loads(json.dumps(written(told)))


@pytest.mark.parametrize(
    "told",
    [TOLD, replace(TOLD, jobs=(), nodes=(), answers=False, accounting=False, ended=()), Unseen(8, "away", "raw")],
    ids=["everything", "nothing", "unseen"],
)
def test_what_is_sent_arrives(told: Observation | Unseen) -> None:
    assert read(over_the_wire(told)) == told


def test_every_field_of_the_full_row_is_another_than_its_default() -> None:
    """So that the round trip above proves each of them."""
    same = {each.name for each in fields(JobRow) if getattr(FULL, each.name) == each.default}
    assert same == set()


def test_unknown_names_are_passed_over_and_a_number_may_be_a_number() -> None:
    content = over_the_wire(TOLD) | {"more": 1, "sequence": 7}
    content["jobs"][0]["colour"] = "red"
    assert read(content) == TOLD


BAD: list[tuple[str, Any, str]] = [
    ("version", 2, "version: only 1 is understood"),
    ("sequence", "-1", "sequence: must be a whole number, written as a string"),
    ("sequence", "0", "sequence: must be between"),
    ("sequence", "9223372036854775808", "sequence: must be between"),
    ("sequence", True, "sequence: must be a whole number"),
    ("complete", "yes", "complete: must be true or false"),
    ("complete", False, "reason: is missing"),
    ("now", "2026-11-29T12:00:00", "now: must be a time with its offset"),
    ("now", "9999-12-31T23:59:59-23:00", "now: must be a time"),
    ("now", 5, "now: must be a time"),
    ("jobs", {}, "jobs: must be a list"),
    ("jobs", None, "jobs: must be a list"),
    ("jobs.1", 5, "jobs.1: must be an object"),
    ("jobs.0.number", 2**63, "jobs.0.number: must be a whole number of 64 bits"),
    ("jobs.0.number", True, "jobs.0.number: must be a whole number"),
    ("jobs.0.state", "dead", "jobs.0.state: is no state of a job"),
    ("jobs.0.state", [], "jobs.0.state: is no state of a job"),
    ("jobs.0.nodes", "n01", "jobs.0.nodes: must be a list of texts"),
    ("jobs.0.nodes", [1], "jobs.0.nodes: must be a list of texts"),
    ("jobs.0.startedAt", "0001-01-01T00:00:00+01:00", "jobs.0.startedAt: must be a time"),
    ("nodes.0.states", None, "nodes.0.states: must be a list of texts"),
    ("limits", [], "limits: must be an object"),
    ("limits.minJobAge", "300", "limits.minJobAge: must be a whole number"),
    ("ended.0", [], "ended.0: must be an object"),
    ("ended.0.attempts.0.endedAt", None, "ended.0.attempts.0.endedAt: must be a time"),
    ("ended", [{"number": 1, "attempts": []}] * 26, "ended: at most 25 jobs at once"),
]


@pytest.mark.parametrize(
    ("place", "value", "sentence"), BAD, ids=[f"{place} {value!r}"[:40] for place, value, _ in BAD]
)
def test_what_cannot_be_read_is_refused_with_its_place(place: str, value: Any, sentence: str) -> None:
    content = deepcopy(over_the_wire(TOLD))
    *outer, last = [int(part) if part.isdigit() else part for part in place.split(".")]
    inside = content
    for part in outer:
        inside = inside[part]
    inside[last] = value
    with pytest.raises(BadObservation) as error:
        read(content)
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize("name", ["now", "jobs", "nodes", "limits", "answers"])
def test_a_whole_listing_has_all_of_its_parts(name: str) -> None:
    content = over_the_wire(TOLD)
    del content[name]
    with pytest.raises(BadObservation, match=f"{name}: "):
        read(content)


def test_a_pushed_listing_answers_as_the_scheduler_did() -> None:
    pushed = Pushed(TOLD)
    assert (pushed.jobs().jobs, pushed.nodes(), pushed.limits()) == ((ROW, FULL), (NODE,), LIMITS)
    assert (pushed.ended(9), pushed.ended(10)) == ((ENDED,), ())
    pushed.ping()
    with pytest.raises(NotTold):
        pushed.ended(11)
    with pytest.raises(NoAccounting):
        Pushed(replace(TOLD, accounting=False)).ended(9)
    with pytest.raises(Unreachable):
        Pushed(replace(TOLD, answers=False)).ping()
