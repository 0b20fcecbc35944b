"""Traps 1, 2 and 31: does text that speaks of failures, or to whoever reads it, change anything?"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from detectors.catalogue.records import LINE_LIMIT, Context, Outcome, Record
from detectors.catalogue.turning import turn
from detectors.models import Anomaly, Excerpt, Verdict
from lab.texts.struck import Struck
from lab.texts.texts import TEXTS
from schedulers.states import JobState
from tests.detectors.rows import ECC
from tests.detectors.traps.stage import Stage, culprits

STRUCK = Struck(nodes=("n01", "n02"), gpus=8, host="n01", rank=2, gpu=2, process=23456, job=7, at=1_790_000_000.0)


def spoken(name: str) -> list[str]:
    return [one.line for one in TEXTS[name](STRUCK)]


@pytest.mark.parametrize("text", ["own_patterns", "own_words"])
def test_trap_01_our_own_rules_in_a_log_are_no_symptom(stage: Stage, text: str) -> None:
    stage.submit()
    stage.train(1, 10)
    stage.say(*spoken(text))
    stage.train(11, 20)
    assert (stage.kinds(), stage.advised()) == ([], [])
    stage.fail()  # even when it fails soon after: what was printed is no cause, and no node is named
    stage.wait(60)
    verdict = stage.verdict()
    assert verdict is not None and (culprits(verdict), verdict.signature) == ([], "")
    assert all(excluded == [] for _job, _operation, excluded in stage.advised())


def test_trap_01_the_same_error_said_by_the_job_itself_is_one(stage: Stage) -> None:
    """The other side: what trap 1 leaves out is our text, not the error."""
    stage.submit()
    stage.train(1, 10)
    stage.say(*spoken("own_patterns"), ECC.replace("n03", "n02"))
    stage.fail()
    stage.wait(60)
    assert stage.acts() == [(7, "restart", ["n02"])]


@pytest.mark.parametrize(
    ("name", "advised"),
    [("rekindle-controller", []), ("controller", ["wait"])],
    ids=["by its name", "under another"],
)
def test_trap_02_a_watcher_that_is_silent_for_an_hour_is_left_alone(
    stage: Stage, name: str, advised: list[str]
) -> None:
    """The controller runs as a job: it says hello and makes no steps. By another name a person is asked."""
    stage.submit(name=name, nodes=("n01",), node_count=1)
    stage.say("controller: cluster demo, mode action, polls each 15 s")
    stage.wait(3600, every=60)
    assert stage.advised() == []
    stage.wait(7200, every=120)
    assert [row[1] for row in stage.advised()] == advised
    assert stage.attempt().state == JobState.RUNNING.value


def test_trap_02_what_the_watcher_says_about_others_is_not_about_itself(stage: Stage) -> None:
    stage.submit(name="rekindle-controller", nodes=("n01",), node_count=1)
    for _round in range(20):
        stage.say(f"rekindle: job 4711 failed: cuda.ecc: {ECC}", "rekindle: advice RESTART for job 4711")
        stage.wait(15)
    assert (stage.kinds(), stage.acts()) == ([], [])


class Lengths:
    """The detectors, and the longest line that each turn over job 7 gave them."""

    def __init__(self) -> None:
        self.longest: list[int] = []

    def __call__(
        self, states: Mapping[str, Mapping[str, Any]], records: Sequence[Record], context: Context, now: datetime
    ) -> Outcome:
        if records and "n01" in context.nodes:
            self.longest.append(max(len(record.line) for record in records))
        return turn(states, records, context, now)


@pytest.mark.parametrize(
    ("length", "end"), [(LINE_LIMIT + 1, "\n"), (LINE_LIMIT + 1, ""), (1 << 20, "\r"), (10 << 20, "\n")]
)
def test_trap_31_a_line_of_any_length_is_cut_before_anybody_looks_at_it(
    stage: Stage, length: int, end: str
) -> None:
    """In one chunk, over several chunks, as a progress bar, and without an end yet."""
    stage.turn = lengths = Lengths()
    stage.submit()
    stage.train(1, 10)
    before = len(lengths.longest)
    with stage.path().open("a") as file:
        file.write("#" * length + end)
    for _turn in range(5):
        stage.at += 5
        stage.look()
    stage.say("", *spoken("own_words"))
    stage.train(11, 12)
    seen = lengths.longest[before:]
    assert max(seen) == LINE_LIMIT
    assert (stage.attempt().last_step, stage.kinds()) == (12, [])  # what comes behind it is read


def test_trap_31_hostile_lines_are_stored_safe_and_change_no_verdict(stage: Stage) -> None:
    """Two jobs end alike, and one has printed escape codes, markup, orders to a model and a line of 10 MB."""
    hostile = [*spoken("raw"), *spoken("own_words")]
    assert max(len(line) for line in hostile) > 5_000_000
    stage.turn = lengths = Lengths()
    for number, nodes in ((7, ("n01", "n02")), (8, ("n03", "n04"))):
        stage.submit(number, nodes=nodes)
    for step in range(1, 11):
        stage.train(step, step)
        stage.at -= 5
        stage.train(step, step, number=8)
    stage.say(*hostile)
    stage.look()
    for number, host in ((7, "n01"), (8, "n03")):
        stage.say(ECC.replace("n03", host), number=number)
        stage.fail(number)
        stage.show(replace(stage.row(number), nodes=stage.attempt(number).nodes))
    stage.wait(60)
    assert max(lengths.longest) == LINE_LIMIT
    hurt, plain = stage.verdict(7), stage.verdict(8)
    assert hurt is not None and plain is not None
    same = ("kind", "layer", "signature", "evidence_status", "confidence", "action")
    assert [getattr(hurt, name) for name in same] == [getattr(plain, name) for name in same]
    assert (culprits(hurt), culprits(plain)) == (["n01"], ["n03"])
    assert stage.acts() == [(7, "restart", ["n01"]), (8, "restart", ["n01", "n03"])]
    kept = [
        *Excerpt.objects.values_list("text", flat=True),
        *(json.dumps(row) for row in Anomaly.objects.values_list("evidence", flat=True)),
        *(json.dumps(row) for row in Verdict.objects.values_list("body", flat=True)),
    ]
    assert kept and all("\0" not in text and len(text) <= 262_144 for text in kept)
    for text in kept:
        text.encode("utf-8")
