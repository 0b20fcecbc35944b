"""Can an answer from outside only narrow a verdict, and never widen it?"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.attribution.action import VerdictAction
from detectors.attribution.answers import Answer, Place
from detectors.attribution.attributing import attribute
from detectors.attribution.facts import Facts
from detectors.attribution.judgement import Judgement
from detectors.attribution.replaying import read_facts
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from tests.detectors.attribution.building import FOUR, NOW, aborts, at, ecc, facts, never_stepped, symptom
from tests.detectors.attribution.test_replay import cases, written

BROKEN = facts(ecc("n03"), symptom("nccl.ib.completion", Layer.HARDWARE_NETWORK, Role.CANDIDATE), aborts())
BOTH = facts(ecc("n03"), ecc("n02", key="other", happened_at=at(7.5)), aborts())
ARGUMENT = facts(
    symptom("py.import", Layer.APPLICATION, nodes=FOUR, confidence=0.95, before_end=3),
    attempt=never_stepped(),
)


def excluded(judgement: Judgement) -> set[str]:
    return {one.host for one in judgement.implicated if one.excludable}


def outcome(judgement: Judgement) -> tuple[str, tuple[str, ...]]:
    return judgement.action.value, tuple(sorted(excluded(judgement)))


def answered(one: Facts, **said: Any) -> Judgement:
    return attribute(replace(one, answers=(Answer("acme", **said),)), NOW)


def fired(judgement: Judgement) -> list[str]:
    return [rule.id for rule in judgement.rules if rule.fired and rule.id.startswith("provider.")]


def test_ours_alone() -> None:
    assert outcome(attribute(BROKEN, NOW)) == ("restart_exclude", ("n03",))
    assert outcome(attribute(BOTH, NOW)) == ("restart_exclude", ("n02", "n03"))
    assert outcome(attribute(ARGUMENT, NOW)) == ("stop", ())


N03, BOTH_OUT = ("restart_exclude", ("n03",)), ("restart_exclude", ("n02", "n03"))
CASES: dict[str, tuple[Facts, dict[str, Any], tuple[str, tuple[str, ...]], list[str]]] = {
    "nothing said": (BROKEN, {}, N03, []),
    "the same cause": (BROKEN, {"layer": "hardware.gpu"}, N03, ["provider.agrees"]),
    "the same domain, surer than we": (BROKEN, {"layer": "hardware", "confidence": 1.0}, N03, ["provider.agrees"]),
    "the same, less sure": (
        BROKEN,
        {"signature": "cuda.ecc", "confidence": 0.6},
        ("restart", ()),
        ["provider.lower", "provider.action"],
    ),
    "no cause, a little less sure": (BROKEN, {"confidence": 0.9}, N03, ["provider.lower"]),
    "a rival of ours": (
        BROKEN,
        {"layer": "hardware.network", "confidence": 0.8},
        ("restart", ()),
        ["provider.rival", "provider.action"],
    ),
    "a cause that nothing speaks for": (BROKEN, {"layer": "data", "confidence": 1.0}, N03, []),
    "a cause that is no word of ours": (BROKEN, {"layer": "cosmic rays", "confidence": 0.1}, N03, []),
    "another host": (BROKEN, {"hosts": ("n01",), "confidence": 1.0}, N03, []),
    "a host of no job": (BROKEN, {"hosts": ("evil",), "layer": "hardware.gpu"}, N03, ["provider.agrees"]),
    "our host, by its long name": (BROKEN, {"hosts": ("n03.cluster.local",)}, N03, ["provider.same_hosts"]),
    "one of two hosts": (BOTH, {"hosts": ("n02",)}, ("restart_exclude", ("n02",)), ["provider.fewer_hosts"]),
    "both and a third": (BOTH, {"hosts": ("n01", "n02", "n03")}, BOTH_OUT, ["provider.same_hosts"]),
    "a rank and a GPU of our host": (BROKEN, {"places": (Place("n03", 9, 1),)}, N03, ["provider.place"]),
    "a GPU of another host": (BROKEN, {"places": (Place("n01", None, 1),)}, N03, []),
    "a sentence": (BROKEN, {"sentence": "Seen last week, too."}, N03, ["provider.sentence"]),
    "asked about another cause": (BROKEN, {"about": "else", "confidence": 0.0}, N03, []),
    "a stop agreed to": (ARGUMENT, {"layer": "application", "confidence": 0.99}, ("stop", ()), ["provider.agrees"]),
    "a stop doubted": (ARGUMENT, {"confidence": 0.3}, ("ask", ()), ["provider.lower", "provider.action"]),
    "a stop and a host": (ARGUMENT, {"hosts": ("n01",), "layer": "hardware"}, ("stop", ()), []),
}


@pytest.mark.parametrize(("one", "said", "becomes", "rules"), CASES.values(), ids=CASES.keys())
def test_what_an_answer_changes(
    one: Facts, said: dict[str, Any], becomes: tuple[str, tuple[str, ...]], rules: list[str]
) -> None:
    judgement = answered(one, **said)
    assert (outcome(judgement), fired(judgement)) == (becomes, rules)


def test_a_rival_gets_the_odds_and_the_cause_stays_ours() -> None:
    ours, theirs = attribute(BROKEN, NOW), answered(BROKEN, layer="hardware.network", confidence=0.8)
    assert (theirs.signature, theirs.layer, theirs.fingerprint) == (ours.signature, ours.layer, ours.fingerprint)
    odds = {one["signature_id"]: one["odds"] for one in theirs.body["hypotheses"]}
    assert theirs.confidence == odds["cuda.ecc"] == 0.2 and odds["nccl.ib.completion"] > 0.7
    assert theirs.sentence == f"Uncorrectable ECC error on n03 (acme: rather {Layer.HARDWARE_NETWORK.label})"


def test_a_place_within_our_host_is_written_down() -> None:
    ranks = ((8, "n03"), (9, "n03"), (1, "n01"))
    known = replace(BROKEN, ranks=ranks)
    judgement = answered(known, places=(Place("n03", 9, 1), Place("n03", 1, 2)))
    (row,) = [row for row in judgement.body["implicated"] if row["host"] == "n03"]
    assert (row["rank"], row["gpu"]["index"]) == (9, 1), "the first that is named, on the rank's own host"
    assert not fired(answered(known, places=(Place("n03", 1),))), "rank 1 runs elsewhere"
    assert not fired(answered(known, places=(Place("n03", 77),))), "no such rank"


def test_two_answers_only_narrow_further() -> None:
    answers = (Answer("acme", hosts=("n02",)), Answer("zeta", hosts=("n03",)))
    assert outcome(attribute(replace(BOTH, answers=answers), NOW)) == ("restart", ())


def test_the_order_of_answers_changes_no_byte() -> None:
    answers = (Answer("acme", confidence=0.7, sentence="a"), Answer("zeta", layer="hardware", sentence="b"))
    first, second = (attribute(replace(BROKEN, answers=some), NOW) for some in (answers, answers[::-1]))
    assert written(first) == written(second) and first.input_hash == second.input_hash


def test_without_answers_the_hash_is_that_of_before() -> None:
    assert "answers" not in BROKEN.canonical()
    assert answered(BROKEN, sentence="x").input_hash != attribute(BROKEN, NOW).input_hash


names = st.sampled_from([*FOUR, "n99", "n03.local", ""]) | st.text(max_size=8)
maybe = st.none() | st.integers(0, 2**31)
places = st.builds(Place, host=names, rank=maybe, gpu=maybe)
answers = st.builds(
    Answer,
    provider=st.sampled_from(["acme", "zeta"]),
    layer=st.sampled_from(["", *(layer.value for layer in Layer), *(layer.domain for layer in Layer), "else"]),
    signature=st.sampled_from(["", "cuda.ecc", "xid.79", "py.import", "fs.enospc", "nobody.knows"]),
    confidence=st.none() | st.floats(0, 1),
    hosts=st.lists(names, max_size=4).map(tuple),
    places=st.lists(places, max_size=3).map(tuple),
    sentence=st.text(max_size=20),
)
STRONG = st.sampled_from([BROKEN, BOTH, ARGUMENT])


def _subset(one: Facts, said: list[Answer]) -> tuple[Judgement, Judgement]:
    ours, theirs = attribute(one, NOW), attribute(replace(one, answers=tuple(said)), NOW)
    assert excluded(theirs) <= excluded(ours)
    assert set(theirs.body["recommendation"]["exclude"]) <= set(ours.body["recommendation"]["exclude"])
    for action in (VerdictAction.STOP, VerdictAction.RESTART_EXCLUDE):
        assert theirs.action is not action or ours.action is action
    if ours.action not in (VerdictAction.STOP, VerdictAction.RESTART_EXCLUDE):
        assert theirs.action is ours.action
    return ours, theirs


@settings(deadline=None, max_examples=200)
@given(STRONG | cases, st.lists(answers, max_size=3))
def test_no_answer_adds_an_exclusion_or_a_stop(one: Facts, said: list[Answer]) -> None:
    ours, theirs = _subset(one, said)
    same: list[Callable[[Judgement], object]] = [
        lambda j: (j.kind, j.layer, j.signature, j.fingerprint, j.happened_at, j.headline, j.died_on, j.blamed),
        lambda j: [(i.host, i.role, i.evidence) for i in j.implicated],
        lambda j: (j.body["affected_entity"], j.body["evidence"], j.body["detection"], j.body["history"]),
    ]
    assert all(part(ours) == part(theirs) for part in same)
    assert theirs.confidence <= ours.confidence
    pairs = zip(theirs.implicated, ours.implicated, strict=True)
    assert all(b.confidence <= a.confidence for b, a in pairs)


@settings(deadline=None, max_examples=100)
@given(STRONG | cases, st.lists(answers, max_size=3))
def test_a_verdict_with_answers_can_be_computed_again(one: Facts, said: list[Answer]) -> None:
    first = attribute(replace(one, answers=tuple(said)), NOW)
    again = attribute(read_facts(json.loads(written(first))["inputs"]), NOW)
    assert written(again) == written(first)
