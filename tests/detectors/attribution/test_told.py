"""What do health events and the scheduler's reasons change about a verdict, and what do they never change?"""

from datetime import timedelta
from typing import Any

import pytest

from detectors.attribution.action import VerdictAction
from detectors.attribution.attributing import attribute
from detectors.attribution.facts import Facts, NodeFacts, Symptom
from detectors.attribution.judgement import Judgement
from detectors.attribution.replaying import read_facts
from detectors.catalogue.health import BASIS, proof_of
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.role import Role
from schedulers.states import JobState
from tests.detectors.attribution.building import (
    END,
    FOUR,
    NOW,
    aborts,
    at,
    attempt,
    ecc,
    facts,
    never_stepped,
    quote,
    symptom,
)


def told(host: str = "n03", before_end: float = 20, **fields: Any) -> Symptom:
    """A health event about a node, so many seconds before the end."""
    changes = {name: fields.pop(name) for name in ("refuted", "kind", "key") if name in fields}
    proof = proof_of(**{"check": "GpuXidError", "component": "GPU", "fatal": True, "codes": ("79",), **fields})
    values: dict[str, Any] = {
        "key": f"health:{host}:{before_end}",
        "kind": AnomalyKind.CRASH,
        "signature": proof.signature,
        "layer": proof.layer,
        "role": proof.role,
        "sentence": f"GpuXidError on {host}: code 79",
        "happened_at": at(before_end),
        "action": proof.action,
        "basis": BASIS,
        "nodes": (host,),
        "evidence": (quote(f"GpuXidError on {host}", host),),
        "confidence": proof.confidence,
    }
    return Symptom(**{**values, **changes})


def judged(*symptoms: Symptom, **changes: Any) -> Judgement:
    return attribute(facts(*symptoms, **changes), NOW)


def excluded(judgement: Judgement) -> list[str]:
    return [one.host for one in judgement.implicated if one.excludable]


def fired(judgement: Judgement) -> set[str]:
    return {rule.id for rule in judgement.rules if rule.fired}


def nodes(reason: str = "", by: str = "slurm", before_end: float = 30, **changes: Any) -> tuple[NodeFacts, ...]:
    """Four nodes, n03 with a reason."""
    values = {
        "states": ("idle", "drain"),
        "reason": reason,
        "reason_by": by,
        "reason_at": at(before_end),
        **changes,
    }
    plain = [NodeFacts(name, ("idle",)) for name in FOUR if name != "n03"]
    return (*plain, NodeFacts("n03", **values))


def test_a_fatal_event_names_its_node_where_the_log_says_nothing() -> None:
    judgement = judged(health=(told(),))
    assert (judgement.action, excluded(judgement)) == (VerdictAction.RESTART_EXCLUDE, ["n03"])
    assert judgement.signature == "xid.79"
    assert judgement.body["detection"]["witnesses"] == ["health event", "scheduler"]
    assert [row["source"] for row in judgement.body["evidence"]] == ["health_event"]
    assert judgement.body["evidence"][0]["host"] == "n03"


LEFT_ALONE = [
    ("it is not fatal", told(fatal=False)),
    ("its sender says to restart the program", told(codes=(), advised="RESTART_APP")),
    ("the code is the program's", told(codes=("45",))),
    ("it speaks of nothing that is hardware", told(check="KubeletNotReady", component="Kubelet", codes=())),
    ("the node was healthy again before the failure", told(refuted=True)),
    ("it came more than ten minutes before the last step", told(before_end=12 + 601)),
    ("it came more than five minutes after the end", told(before_end=-301)),
    ("the node is not the attempt's", told("n99")),
    ("a site's own rule is one witness, and no code says what broke", told(codes=(), source="alertmanager")),
]


@pytest.mark.parametrize(("why", "event"), LEFT_ALONE, ids=[why for why, _event in LEFT_ALONE])
def test_an_event_leaves_no_node_out(why: str, event: Symptom) -> None:
    judgement = judged(health=(event,))
    assert excluded(judgement) == [], why
    assert judgement.action is VerdictAction.RESTART


def test_the_borders_of_the_window_belong_to_it() -> None:
    assert excluded(judged(health=(told(before_end=12 + 600),), attempt=attempt(last_step_at=at(12)))) == []
    assert excluded(judged(health=(told(before_end=-300),))) == ["n03"]
    # Nine minutes of steps after it: a doubt that leaves the node in, and the event in the story.
    assert "weight.trained_on" in fired(judged(health=(told(before_end=12 + 540),)))


def test_an_attempt_without_a_step_is_joined_by_its_end() -> None:
    before = never_stepped(started_at=END - timedelta(hours=5))
    assert excluded(judged(health=(told(before_end=590),), attempt=before)) == ["n03"]
    assert excluded(judged(health=(told(before_end=610),), attempt=before)) == []


def test_the_same_code_on_every_node_is_no_single_nodes_fault() -> None:
    assert excluded(judged(health=tuple(told(node) for node in FOUR))) == []


def test_an_error_of_the_program_before_it_stands() -> None:
    error = symptom("py.shape", Layer.APPLICATION, before_end=200, nodes=("n01",), sentence="Shapes differ")
    judgement = judged(error, health=(told(before_end=100),), attempt=attempt(last_step_at=at(205)))
    assert (judgement.layer, excluded(judgement)) == (Layer.APPLICATION, [])
    assert "told.later" in fired(judgement)


def test_a_log_and_an_event_of_the_same_node_are_two_witnesses() -> None:
    alone = judged(ecc("n03", confidence=0.78), aborts())
    both = judged(ecc("n03", confidence=0.78), aborts(), health=(told(fatal=False, codes=()),))
    assert (alone.confidence, both.confidence) == (0.78, 0.83)
    assert (excluded(alone), excluded(both)) == ([], ["n03"])
    assert "weight.health_event" in fired(both)


def test_an_event_of_another_node_is_no_second_witness() -> None:
    judgement = judged(ecc("n03", confidence=0.78), aborts(), health=(told("n02", fatal=False, codes=()),))
    assert (judgement.confidence, excluded(judgement)) == (0.78, [])
    assert not [one for one in judgement.implicated if one.host == "n02" and one.role == "culprit"]


def test_a_sites_own_rule_with_a_line_of_the_log_is_enough() -> None:
    killed = symptom("proc.sigbus", Layer.UNKNOWN, Role.CANDIDATE, nodes=("n03",), before_end=9)
    event = told(codes=(), source="alertmanager", check="GpuLost")
    judgement = judged(killed, health=(event,))
    assert (judgement.confidence, excluded(judgement)) == (0.8, ["n03"])


def test_a_node_that_has_started_since_is_another_machine() -> None:
    swapped = nodes(booted_at=at(60), states=("idle",))
    assert excluded(judged(health=(told(before_end=100),), nodes=swapped)) == []
    assert excluded(judged(health=(told(before_end=40),), nodes=swapped)) == ["n03"]
    after = nodes(booted_at=at(-60), states=("idle",))  # what a broken node does
    assert excluded(judged(health=(told(before_end=40),), nodes=after)) == ["n03"]


REASONS = [
    ("a person drained it", nodes("bad GPU, replace", "alice"), []),
    ("a person wrote what a program writes", nodes("NHC: gpu lost", "alice"), []),
    ("root wrote what no program writes", nodes("swap the power supply", "root"), []),
    ("a job that could not be killed", nodes("Kill task failed", "root"), []),
    ("the reason is older than the machine", nodes("Node unexpectedly rebooted", booted_at=at(20)), []),
    ("the reason is of another time", nodes("Node unexpectedly rebooted", before_end=3600), []),
    ("the scheduler has not heard of it: one weak witness", nodes("Not responding"), []),
    ("the scheduler saw it start again", nodes("Node unexpectedly rebooted"), ["n03"]),
    ("the scheduler counts fewer GPUs", nodes("gres/gpu count reported lower than configured (7 < 8)"), ["n03"]),
]


@pytest.mark.parametrize(("why", "known", "out"), REASONS, ids=[why for why, _nodes, _out in REASONS])
def test_reasons_of_the_scheduler(why: str, known: tuple[NodeFacts, ...], out: list[str]) -> None:
    assert excluded(judged(nodes=known)) == out, why


def test_a_health_check_and_a_line_of_the_log_are_two_witnesses() -> None:
    judgement = judged(ecc("n03", confidence=0.78), nodes=nodes("NHC: check_gpu failed", "root"))
    assert (judgement.confidence, excluded(judgement)) == (0.83, ["n03"])
    sources = {row["source"] for row in judgement.body["evidence"]}
    assert "scheduler" not in sources or "app_log" in sources


def test_a_node_that_a_person_took_down_confirms_nothing() -> None:
    mine = judged(ecc("n03"), nodes=nodes("moving the rack", "alice", states=("down",)))
    its = judged(ecc("n03"), nodes=nodes("Not responding", "slurm", states=("down",)))
    assert "weight.node_down" not in fired(mine)
    assert "weight.node_down" in fired(its)


def test_the_scheduler_that_says_the_same_twice_is_one_witness() -> None:
    lost = attempt(state=JobState.NODE_FAIL)
    for before_end in (90, 3, -60):
        known = nodes("Not responding", before_end=before_end, states=("down", "not_responding"))
        judgement = judged(attempt=lost, nodes=known)
        assert (judgement.signature, judgement.confidence) == ("slurm.state.node_fail", 0.97)
        assert excluded(judgement) == ["n03"]
    failed = judged(nodes=nodes("Not responding", states=("down", "not_responding")))
    assert (failed.confidence, excluded(failed)) == (0.75, [])


def test_a_lost_node_that_is_back_is_known_by_its_reason() -> None:
    known = nodes("Node unexpectedly rebooted", before_end=-30, booted_at=at(-20), states=("idle",))
    assert excluded(judged(attempt=attempt(state=JobState.NODE_FAIL), nodes=known)) == ["n03"]


def test_the_node_that_the_scheduler_lost_stands_before_what_is_told_of_another() -> None:
    down = nodes("Not responding", states=("down", "not_responding"))
    judgement = judged(health=(told("n02"),), nodes=down, attempt=attempt(state=JobState.NODE_FAIL))
    assert (judgement.signature, excluded(judgement)) == ("slurm.state.node_fail", ["n03"])
    same = judged(health=(told("n03"),), nodes=down, attempt=attempt(state=JobState.NODE_FAIL))
    assert (same.signature, excluded(same)) == ("xid.79", ["n03"])


def test_a_job_that_could_not_be_killed_is_no_witness_against_its_host() -> None:
    killed = symptom("proc.sigbus", Layer.UNKNOWN, Role.CANDIDATE, nodes=("n03",), before_end=9)
    with_reason = judged(killed, nodes=nodes("Kill task failed", "root", before_end=-20))
    assert with_reason.confidence == judged(killed).confidence


def live(**changes: Any) -> Any:
    return attempt(state=JobState.RUNNING, ended_at=None, exit_code=None, exit_signal=None, **changes)


def warning(**changes: Any) -> Symptom:
    return told(**{"kind": AnomalyKind.EARLY_WARNING, "before_end": 300, **changes})


def test_a_live_attempt_is_warned_and_never_restarted() -> None:
    judgement = judged(warning(), attempt=live(), health=(told(before_end=300),))
    assert (judgement.kind, judgement.action) == (AnomalyKind.EARLY_WARNING, VerdictAction.ASK)
    assert excluded(judgement) == ["n03"]
    assert judgement.body["recommendation"]["exclude"] == []


def test_an_event_alone_is_no_failure_of_a_live_attempt() -> None:
    judgement = judged(attempt=live(), health=(told(),))
    assert judgement.signature == ""
    assert excluded(judgement) == []


def test_a_warning_that_is_over_leaves_the_attempt_alone() -> None:
    over = judged(warning(refuted=True), attempt=live())
    assert (over.action, excluded(over)) == (VerdictAction.NONE, [])
    swapped = judged(warning(), attempt=live(), nodes=nodes(booted_at=at(100), states=("idle",)))
    assert (swapped.action, excluded(swapped)) == (VerdictAction.NONE, [])


def test_a_hang_on_a_node_with_a_fatal_fault_names_it() -> None:
    hang = symptom("hang.silence", Layer.UNKNOWN, Role.CANDIDATE, kind=AnomalyKind.HANG, basis="step", action="")
    judgement = judged(hang, warning(before_end=30), attempt=live(), health=(told(before_end=30),))
    assert (judgement.kind, judgement.action) == (AnomalyKind.HANG, VerdictAction.RESTART_EXCLUDE)
    assert excluded(judgement) == ["n03"]


def test_a_cancelled_job_stays_cancelled() -> None:
    judgement = judged(health=(told(),), attempt=attempt(state=JobState.CANCELLED))
    assert judgement.action is VerdictAction.NONE


def test_the_verdict_can_be_computed_again_from_what_it_stored() -> None:
    first: Facts = facts(
        ecc("n03"),
        warning(),
        health=(told(), told("n02", fatal=False)),
        nodes=nodes("NHC: gpu", "root", booted_at=at(9999)),
    )
    judgement = attribute(first, NOW)
    again = attribute(read_facts(judgement.body["inputs"]), NOW)
    assert again == judgement


CODES = [
    ("79", True, "xid.79", Role.ROOT),
    ("XID_79", True, "xid.79", Role.ROOT),
    ("Xid 48", True, "xid.48", Role.ROOT),
    ("31", True, "xid.31", Role.CANDIDATE),
    ("45", True, "xid.45", Role.SECONDARY),
    ("79", False, "xid.79", Role.CONFIRM),
    ("99999", True, "health.gpu", Role.ROOT),
    ("DCGM_FR_VOLATILE_DBE_DETECTED", True, "health.gpu", Role.ROOT),
    ("", True, "health.gpu", Role.ROOT),
    ("7" * 5000, True, "health.gpu", Role.ROOT),
]


@pytest.mark.parametrize(("code", "fatal", "signature", "role"), CODES)
def test_codes(code: str, fatal: bool, signature: str, role: Role) -> None:
    proof = proof_of(check="GpuXidError", component="GPU", fatal=fatal, codes=(code,))
    assert (proof.signature, proof.role) == (signature, role)


COMPONENTS = [
    ("GPU", Layer.HARDWARE_GPU),
    ("NVSwitch", Layer.HARDWARE_NVLINK),
    ("InfiniBand", Layer.HARDWARE_NETWORK),
    ("NIC", Layer.HARDWARE_NETWORK),
    ("Memory", Layer.HARDWARE_HOST),
    ("GpuNvLinkDown", Layer.HARDWARE_NVLINK),
    ("Kubelet", None),
    ("Technician", None),
    ("", None),
]


@pytest.mark.parametrize(("component", "layer"), COMPONENTS)
def test_components(component: str, layer: Layer | None) -> None:
    proof = proof_of(check="check", component=component, fatal=True, codes=())
    assert proof.layer is (layer or Layer.UNKNOWN)
    assert proof.of_hardware is (layer is not None)
