"""Do the same facts give the same bytes, in whatever order they come?"""

import dataclasses
import json
from datetime import timedelta
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from detectors.attribution.attributing import attribute
from detectors.attribution.facts import Facts, NodeFacts, Quote, Symptom
from detectors.attribution.replaying import read_facts
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from schedulers.states import JobState
from tests.detectors.attribution.building import FOUR, NOW, at, attempt, earlier, facts, symptom

SIGNATURES = ("cuda.ecc", "xid.79", "xid.13", "py.import", "fs.enospc", "nccl.ib.completion", "pg.taking_down", "")
hosts = st.lists(st.sampled_from([*FOUR, "n99"]), max_size=3).map(tuple)
quotes = st.builds(
    Quote,
    stream=st.sampled_from(["/logs/1042.out", "/logs/1042.err"]),
    offset=st.integers(0, 10_000),
    line=st.text(max_size=30),
    host=st.none() | st.sampled_from(FOUR),
    rank=st.none() | st.integers(0, 7),
)
symptoms = st.builds(
    Symptom,
    key=st.uuids().map(str),
    kind=st.sampled_from([AnomalyKind.CRASH, AnomalyKind.HANG, AnomalyKind.STRAGGLER, AnomalyKind.EARLY_WARNING]),
    signature=st.sampled_from(SIGNATURES),
    layer=st.sampled_from(list(Layer)),
    role=st.sampled_from(list(Role)),
    sentence=st.sampled_from(["Something broke", "Something else broke on n01"]),
    happened_at=st.integers(0, 60).map(at),
    basis=st.sampled_from(["line", "file", "step", "state", "event"]),
    nodes=hosts,
    ranks=st.lists(st.integers(0, 7), max_size=3).map(tuple),
    evidence=st.lists(quotes, max_size=3).map(tuple),
    confidence=st.sampled_from([0.0, 0.5, 0.85, 0.97]),
)
cases = st.builds(
    facts,
    attempt=st.builds(
        attempt,
        state=st.sampled_from([JobState.FAILED, JobState.RUNNING, JobState.CANCELLED, JobState.NODE_FAIL]),
        exit_signal=st.sampled_from([0, 9, 15]),
        last_step_at=st.none() | st.integers(0, 300).map(at),
    ),
    symptoms=st.lists(symptoms, max_size=6).map(tuple),
    ranks=st.lists(st.tuples(st.integers(0, 7), st.sampled_from(FOUR)), max_size=4).map(tuple),
    nodes=st.lists(
        st.builds(
            NodeFacts,
            name=st.sampled_from(FOUR),
            states=st.sampled_from([("down",), ("idle",)]),
            reason=st.sampled_from(["", "Not responding", "Node unexpectedly rebooted", "NHC: gpu", "moved"]),
            reason_at=st.none() | st.integers(-60, 700).map(at),
            reason_by=st.sampled_from(["", "slurm", "root", "alice"]),
            booted_at=st.none() | st.integers(-60, 700).map(at),
        ),
        max_size=3,
        unique_by=lambda node: node.name,
    ).map(tuple),
    health=st.lists(symptoms, max_size=4).map(
        lambda told: tuple(dataclasses.replace(one, basis="event") for one in told)
    ),
    earlier=st.just(()) | st.just((earlier(signature="xid.13", culprits=("n02",)),)),
)


def written(judgement: Any) -> str:
    return json.dumps(judgement.body, sort_keys=True)


def shuffled(draw: Any, one: Facts) -> Facts:
    def mixed(items: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(draw(st.permutations(items)))

    turned = tuple(
        dataclasses.replace(s, evidence=mixed(s.evidence), nodes=mixed(s.nodes), ranks=mixed(s.ranks))
        for s in one.symptoms
    )
    return dataclasses.replace(
        one, symptoms=mixed(turned), ranks=mixed(one.ranks), nodes=mixed(one.nodes), health=mixed(one.health)
    )


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_the_order_of_facts_changes_no_byte(data: Any) -> None:
    one = data.draw(cases)
    other = shuffled(data.draw, one)
    first, second = attribute(one, NOW), attribute(other, NOW + timedelta(hours=1))
    assert first.input_hash == second.input_hash
    assert written(first) == written(second)
    assert first.action is second.action and first.implicated == second.implicated


@settings(deadline=None, max_examples=100)
@given(cases)
def test_a_stored_verdict_can_be_computed_again(one: Facts) -> None:
    first = attribute(one, NOW)
    again = attribute(read_facts(json.loads(written(first))["inputs"]), NOW)
    assert written(again) == written(first)


@settings(deadline=None, max_examples=150)
@given(cases)
def test_no_facts_lead_to_harm(one: Facts) -> None:
    """Only nodes of the attempt, only proved culprits, never all hosts of several, never after a cancel."""
    judgement = attribute(one, NOW)
    excluded = {host.host for host in judgement.implicated if host.excludable}
    assert excluded <= set(FOUR) and len(excluded) <= 2
    assert all(
        host.role == "culprit" and host.confidence >= 0.8 for host in judgement.implicated if host.excludable
    )
    if one.attempt.state is JobState.CANCELLED:
        assert judgement.action.value == "none"
    if judgement.action.value == "restart_exclude":
        assert excluded
    if judgement.kind is AnomalyKind.EARLY_WARNING:
        assert (judgement.action.value, one.attempt.state) == ("ask", JobState.RUNNING)
    assert judgement.happened_at <= NOW


def test_another_fact_gives_another_hash() -> None:
    one = facts(symptom("cuda.ecc", Layer.HARDWARE_GPU, nodes=("n03",)))
    two = facts(symptom("cuda.ecc", Layer.HARDWARE_GPU, nodes=("n02",)))
    assert attribute(one, NOW).input_hash != attribute(two, NOW).input_hash
