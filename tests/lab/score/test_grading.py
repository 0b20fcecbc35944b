"""Is each rule of grading what its sentence says?"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from lab.cases.case import Did
from lab.score.grade import Standing
from lab.score.grading import did_on, grade, verdict_on
from lab.score.said import Judged
from tests.lab.score.building import (
    ALL_RIGHT,
    STRUCK,
    a_fault,
    a_symptom,
    a_trap,
    a_verdict,
    an_advice,
    at,
    deed,
    result,
    said,
)


def test_a_fault_that_is_seen_understood_and_answered_is_right_in_everything() -> None:
    told = grade(result(a_fault()))
    assert told.standing is Standing.COUNTED
    assert (told.found, told.layer_right, told.domain_right, told.culprit_right, told.action_right) == (True,) * 5
    assert (told.latency_seconds, told.basis) == (4.0, "line")
    assert told.excluded == (("n03", True),)
    assert (told.confidence, told.confidence_right) == (0.95, True)
    assert told.wrong == ()


@pytest.mark.parametrize(
    ("case", "deeds", "values", "standing"),
    [
        (a_fault(), [], {}, Standing.NOT_PUT_ON),
        (a_fault(), [deed(a_fault("another"))], {}, Standing.NOT_PUT_ON),
        (a_fault(), [deed(a_fault(), job=0)], {}, Standing.NOT_PUT_ON),
        (a_fault(), None, {"broken": "Slurm did not start."}, Standing.BROKEN),
        (a_trap(), [], {}, Standing.COUNTED),
        (a_trap(), [], {"healthy_seconds": 0.0}, Standing.NOT_PUT_ON),
        (a_trap(deed=True), [], {}, Standing.NOT_PUT_ON),
        (a_trap(deed=True), [deed(a_trap())], {}, Standing.COUNTED),
    ],
    ids=[
        "a fault that did not strike",
        "a deed of another case",
        "a deed on no job",
        "the lab failed",
        "a trap that does nothing and ran",
        "a trap none of whose jobs ran",
        "a trap whose own deed is missing",
        "a trap whose own deed was done",
    ],
)
def test_what_counts(case: Any, deeds: Any, values: dict[str, Any], standing: Standing) -> None:
    told = grade(result(case, deeds=deeds, **values), "simulated")
    assert told.standing is standing
    if standing is not Standing.COUNTED:
        assert told.found is None and told.healthy_seconds == 0 and told.why and not told.wrong


def test_where_says_which_half_of_a_trap_must_have_done_its_deed() -> None:
    trap = a_trap(deed=True)
    assert grade(result(trap), "slurm").standing is Standing.COUNTED
    assert grade(result(trap), "simulated").standing is Standing.NOT_PUT_ON


@pytest.mark.parametrize(
    ("symptom", "found"),
    [
        (a_symptom(), True),
        (a_symptom(refuted_at=at(STRUCK + 60)), False),
        (a_symptom(kind="hang"), False),
        (a_symptom(STRUCK - 1), False),
        (a_symptom(STRUCK), True),
        (a_symptom(attempt=1), False),
        (a_symptom(job=2), False),
        (a_symptom(role="secondary"), True),
    ],
    ids=[
        "the right one",
        "refuted",
        "of another kind",
        "before the fault struck",
        "at the very moment",
        "on another attempt",
        "on another job",
        "a victim's message of the right kind",
    ],
)
def test_found(symptom: Any, found: bool) -> None:
    told = grade(result(a_fault(), said([symptom])))
    assert told.found is found
    assert (told.latency_seconds is not None) is found


def test_what_was_refuted_after_the_advice_was_found_all_the_same() -> None:
    woken = a_symptom(refuted_at=at(STRUCK + 8))
    assert grade(result(a_fault(), said([woken], [], [an_advice(STRUCK + 7)]))).found is True
    assert grade(result(a_fault(), said([woken], [], [an_advice(STRUCK + 9)]))).found is False


def test_an_end_that_the_scheduler_meant_is_not_asked_for_a_symptom() -> None:
    told = grade(result(a_fault(kind="none", actions=(Did.NONE,)), said()))
    assert told.found is None and told.action_right is True


def test_to_restart_what_was_ended_on_purpose_is_a_false_action() -> None:
    cancelled = a_fault(kind="none", layers=("user",), culprit=False, actions=(Did.NONE,))
    told = grade(result(cancelled, said([], [], [an_advice(did=Did.RESTART)], ["scontrol requeue 1"])))
    assert len(told.false_actions) == 1 and told.action_right is False
    assert grade(result(cancelled, said([], [], [], ["scontrol release 1"]))).false_actions


def test_who_has_not_asked_for_action_may_be_advised_and_not_touched() -> None:
    trap = replace(a_trap(), truth=replace(a_trap().truth, unasked=True))
    advised = an_advice(did=Did.RESTART)
    carried_out = an_advice(did=Did.RESTART, acknowledged_at=at(STRUCK + 9))
    assert grade(result(trap, said(advice=[advised]))).wrong == ()
    assert grade(result(trap, said(advice=[carried_out]))).wrong != ()
    assert grade(result(trap, said(advice=[advised], commands=["scontrol release 1"]))).wrong != ()


def test_latency_runs_from_the_first_deed_to_the_earliest_detection_on_its_attempt() -> None:
    case = a_fault()
    deeds = [deed(case), deed(case, STRUCK + 2), deed(case, 200, attempt=1)]
    seen = [a_symptom(STRUCK + 9, basis="state"), a_symptom(STRUCK + 6, basis="step")]
    told = grade(result(case, said(seen), deeds))
    assert (told.latency_seconds, told.basis) == (6.0, "step")


def test_what_is_seen_only_when_it_strikes_again_was_missed() -> None:
    case = a_fault()
    told = grade(result(case, said([a_symptom(206, attempt=1)]), [deed(case), deed(case, 200, attempt=1)]))
    assert (told.found, told.latency_seconds) == (False, None)


@pytest.mark.parametrize(
    ("nodes", "right"),
    [(("n03", "n04"), True), (("n01", "n03", "n04"), True), (("n03",), False), (("n01",), False)],
    ids=["both", "both and an innocent one, which is counted elsewhere", "one of two", "an innocent one"],
)
def test_a_restart_without_nodes_leaves_out_every_guilty_one(nodes: tuple[str, ...], right: bool) -> None:
    case = a_fault()
    deeds = [deed(case), deed(case, nodes=("n04",)), deed(case, 200, attempt=1, nodes=("n05",))]
    told = grade(result(case, said([a_symptom()], [], [an_advice(nodes=nodes)]), deeds))
    assert told.action_right is right
    assert ("action restart_exclude, but not without every guilty node" in told.wrong) is not right


@pytest.mark.parametrize(
    ("layers", "layer", "exact", "domain"),
    [
        (("hardware.gpu",), "hardware.gpu", True, True),
        (("hardware.gpu",), "hardware.nvlink", False, True),
        (("hardware.gpu",), "hardware.network", False, False),
        (("hardware.gpu", "system.driver"), "system.driver", True, True),
        (("application",), "user", False, True),
        ((), "application", None, None),
    ],
    ids=["exact", "same domain", "another domain", "an alternative", "user is the application's", "not asked"],
)
def test_layer(layers: tuple[str, ...], layer: str, exact: bool | None, domain: bool | None) -> None:
    told = grade(result(a_fault(layers=layers), said([a_symptom()], [a_verdict(layer=layer)])))
    assert (told.layer_right, told.domain_right) == (exact, domain)


def test_without_a_verdict_nothing_was_said_of_the_layer() -> None:
    told = grade(result(a_fault(), said([a_symptom()])))
    assert (told.said_kind, told.said_layer, told.layer_right, told.confidence) == ("crash", "none", False, None)


@pytest.mark.parametrize(
    ("hosts", "culprit", "right"),
    [
        (("n03",), True, True),
        (("n03", "n01"), True, True),
        (("n01", "n03"), True, False),
        ((), True, False),
        (("n01",), False, None),
    ],
    ids=["the struck one", "it comes first", "it comes second", "nobody", "not asked"],
)
def test_culprit(hosts: tuple[str, ...], culprit: bool, right: bool | None) -> None:
    told = grade(result(a_fault(culprit=culprit), said([a_symptom()], [a_verdict(hosts=hosts)])))
    assert told.culprit_right is right


@pytest.mark.parametrize(
    ("advice", "culprit", "excluded"),
    [
        ([an_advice(nodes=("n01", "n03"))], True, (("n01", False), ("n03", True))),
        ([an_advice(nodes=("n03",))], False, (("n03", False),)),
        ([an_advice(), an_advice(STRUCK + 90, attempt=1)], True, (("n03", True),)),
        ([an_advice(did=Did.ASK, nodes=("n01",))], True, ()),
    ],
    ids=["one guilty of two", "no node is to blame", "the same node twice", "a question leaves nobody out"],
)
def test_excluded(advice: Any, culprit: bool, excluded: Any) -> None:
    case = a_fault(culprit=culprit)
    told = grade(result(case, said(advice=advice), [deed(case), deed(case, STRUCK + 60, attempt=1)]))
    assert told.excluded == excluded


@pytest.mark.parametrize(
    ("advice", "did"),
    [
        ([], Did.NONE),
        ([an_advice(did=Did.ASK)], Did.ASK),
        ([an_advice(did=Did.ASK), an_advice(STRUCK + 20, Did.STOP)], Did.STOP),
        ([an_advice(did=Did.RESTART), an_advice(STRUCK + 20, Did.STOP)], Did.RESTART),
        ([an_advice(STRUCK - 20, Did.STOP)], Did.NONE),
        ([an_advice(attempt=1)], Did.NONE),
    ],
    ids=["none", "a question", "a question, then a stop", "the first counts", "before the deed", "another attempt"],
)
def test_the_advice_that_counts(advice: Any, did: Did) -> None:
    assert did_on(said(advice=advice), (1, 0), at(STRUCK)) is did


@pytest.mark.parametrize(
    ("verdicts", "advised", "layer"),
    [
        ([], [], None),
        ([a_verdict(110, layer="unknown"), a_verdict(120, layer="hardware.gpu")], [], "hardware.gpu"),
        ([a_verdict(110, layer="unknown"), a_verdict(120, layer="hardware.gpu")], [115], "unknown"),
        ([a_verdict(110, layer="unknown"), a_verdict(120, layer="hardware.gpu")], [115, 121], "hardware.gpu"),
        ([a_verdict(90, layer="framework"), a_verdict(120, layer="hardware.gpu")], [121], "hardware.gpu"),
        ([a_verdict(90, layer="framework")], [], None),
    ],
    ids=[
        "none",
        "the last without advice",
        "the one that was there when advice was given",
        "when it was given last",
        "only after the deed",
        "none after the deed",
    ],
)
def test_the_verdict_that_counts(verdicts: Sequence[Judged], advised: Sequence[float], layer: str | None) -> None:
    told = said(verdicts=verdicts, advice=[an_advice(seconds) for seconds in advised])
    counts = verdict_on(told, (1, 0), at(STRUCK))
    assert (counts.layer if counts else None) == layer


def test_when_it_strikes_again_the_last_struck_attempt_answers() -> None:
    case = a_fault(culprit=False, actions=(Did.RESTART,), later=(Did.STOP,))
    deeds = [deed(case), deed(case, 200, attempt=1)]
    advice = [an_advice(did=Did.RESTART), an_advice(207, Did.STOP, attempt=1)]
    told = grade(result(case, said([a_symptom()], [a_verdict()], advice), deeds))
    assert (told.did, told.action_right) == ("restart", True)
    assert (told.did_later, told.later_right) == ("stop", True)
    again = grade(result(case, said([a_symptom()], [a_verdict()], advice[:1]), deeds))
    assert (again.did_later, again.later_right) == ("none", False)


def test_advice_on_the_last_attempt_before_it_was_struck_is_no_answer_and_a_false_action() -> None:
    case = a_fault(culprit=False, actions=(Did.RESTART,), later=(Did.STOP,))
    deeds = [deed(case), deed(case, 200, attempt=1)]
    advice = [an_advice(did=Did.RESTART), an_advice(190, Did.STOP, attempt=1)]
    told = grade(result(case, said([a_symptom()], [a_verdict()], advice), deeds))
    assert (told.did_later, told.later_right, len(told.false_actions)) == ("none", False, 1)


def test_a_fault_that_struck_once_is_not_asked_what_comes_later() -> None:
    told = grade(result(a_fault(later=(Did.STOP,))))
    assert told.later_right is None


@pytest.mark.parametrize(
    ("advice", "commands", "count"),
    [
        ([an_advice()], ["scontrol requeue 1"], 0),
        ([an_advice(STRUCK - 50)], [], 1),
        ([an_advice(STRUCK - 50), an_advice(STRUCK - 40)], [], 1),
        ([an_advice(attempt=1)], [], 1),
        ([an_advice(job=2, did=Did.STOP)], ["scancel 2"], 1),
        ([an_advice(job=2, did=Did.ASK)], [], 0),
        ([], ["scontrol requeue 2", "scontrol release 2"], 1),
        ([], ["scontrol release 1"], 1),
        ([an_advice()], ["scontrol update NodeName=n03 State=DRAIN"], 1),
    ],
    ids=[
        "the struck attempt after its deed",
        "before the deed",
        "one attempt, twice",
        "an attempt that was not struck",
        "another job, advice and command",
        "a question harms nobody",
        "commands alone, for another job",
        "a command for the struck job that nothing was advised for",
        "a command for no job",
    ],
)
def test_false_actions_on_a_fault(advice: Any, commands: list[str], count: int) -> None:
    told = said([a_symptom()], [a_verdict()], advice, commands)
    told = type(told)(told.symptoms, told.verdicts, told.advice, told.commands, {1: "running", 2: "running"})
    assert len(grade(result(a_fault(), told)).false_actions) == count


@pytest.mark.parametrize(
    ("actions", "advice", "commands", "alone", "did"),
    [
        ((), [], [], True, "none"),
        ((), [an_advice(did=Did.RESTART)], [], False, "restart"),
        ((), [an_advice(did=Did.ASK)], [], False, "ask"),
        ((Did.NONE, Did.ASK), [an_advice(did=Did.ASK)], [], True, "ask"),
        ((Did.RESTART,), [an_advice(did=Did.RESTART)], ["scontrol requeue 1"], True, "restart"),
        ((), [an_advice(did=Did.ASK, attempt=1), an_advice(did=Did.STOP, job=2)], [], False, "stop"),
        ((), [], ["scontrol hold 1"], False, "none"),
    ],
    ids=[
        "left alone",
        "restarted",
        "asked about",
        "asking is allowed",
        "a restart that is right",
        "the worst attempt counts",
        "a command without advice",
    ],
)
def test_traps(actions: Any, advice: Any, commands: list[str], alone: bool, did: str) -> None:
    told = grade(result(a_trap(actions=actions), said(advice=advice, commands=commands)))
    assert (told.left_alone, told.did, told.found) == (alone, did, None)
    assert bool(told.wrong) is not alone


@pytest.mark.parametrize(
    ("verdict", "confidence", "right"),
    [
        (a_verdict(), 0.95, False),
        (a_verdict(action="none"), None, None),
    ],
    ids=["one that wants something", "one that wants nothing"],
)
def test_confidence_of_a_traps_verdict(verdict: Judged, confidence: float | None, right: bool | None) -> None:
    told = grade(result(a_trap(), said(verdicts=[verdict])))
    assert (told.confidence, told.confidence_right) == (confidence, right)


@pytest.mark.parametrize(
    ("values", "right"),
    [
        ({}, True),
        ({"hosts": ()}, True),
        ({"hosts": ("n01",)}, False),
        ({"layer": "application"}, False),
    ],
    ids=["layer and host", "the right layer and nobody", "an innocent host", "another layer"],
)
def test_confidence_is_right_when_layer_and_host_are(values: dict[str, Any], right: bool) -> None:
    told = grade(result(a_fault(), said([a_symptom()], [a_verdict(**values)])))
    assert told.confidence_right is right


def test_what_is_said_holds_no_word_of_a_log_and_names_every_part() -> None:
    assert grade(result(a_fault(), ALL_RIGHT)).said == (
        "crash hardware.gpu cuda.ecc 0.95 on n03; restart_exclude without n03 (named_node)"
    )
    assert grade(result(a_fault(), said())).said == "nothing"


@pytest.mark.parametrize(
    ("values", "right"), [({"excludable": ()}, True), ({"excludable": ("n03",)}, False)], ids=["seen", "blamed"]
)
def test_where_an_error_of_the_program_was_seen_is_no_blame(values: dict[str, Any], right: bool) -> None:
    case = a_fault(layers=("application",), culprit=False, actions=(Did.STOP,))
    verdict = a_verdict(layer="application", hosts=("n01",), **values)
    assert grade(result(case, said([a_symptom()], [verdict]))).confidence_right is right
