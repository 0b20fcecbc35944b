"""Is a closed gate closed, and does it say why?"""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from controller.advice import Advice, ClusterGates, Mode, Pause, read_advice
from controller.config import Settings, read_config
from controller.gates import carry_gate, lease_gate, own_gate, start_gate
from tests.controller.advisor import advice
from tests.controller.conftest import write_config
from tests.controller.scripted import START

NOW = START + timedelta(seconds=10)
CLUSTER = ClusterGates("demo", "demo", Mode.ACTION, True, (), ())
ADVICE = read_advice(advice())


@pytest.fixture
def told(tmp_path: Path, token_file: Path) -> Settings:
    return read_config(write_config(tmp_path, "http://127.0.0.1:8000", token_file))


def pause(scope: str, value: str, minutes: int = 5) -> dict[str, Any]:
    return {"pauses": (Pause(scope, value, NOW + timedelta(minutes=minutes), "because"),)}


OWN = {
    "not enabled": ({"enabled": False}, "not enabled"),
    "monitor": ({"mode": Mode.MONITOR}, "monitor mode only"),
    "not acknowledged": ({"acknowledge_scheduler_actions": False}, "lacks acknowledgeSchedulerActions"),
    "no pattern": ({"environment_pattern": ""}, "does not match"),
    "another pattern": ({"environment_pattern": "prod-*"}, "does not match"),
    "a pattern in another case": ({"environment_pattern": "DEMO"}, "does not match"),
}


@pytest.mark.parametrize("name", OWN)
def test_own_gates(told: Settings, name: str) -> None:
    change, sentence = OWN[name]
    assert own_gate(told.controller, "demo").open
    assert sentence in own_gate(replace(told.controller, **change), "demo").sentence
    assert sentence in own_gate(replace(told.watchdog, **change), "demo").sentence
    closed = replace(told, controller=replace(told.controller, **change))
    assert not carry_gate(closed, None, ADVICE, NOW).open
    assert not start_gate(closed, CLUSTER, ADVICE, NOW).open


# Closed for beginning and for carrying on.
BOTH = {
    "another cluster answers": ({"name": "prod"}, {}, "speaks of cluster 'prod'"),
    "another environment": ({"environment": "prod"}, {}, "environment is 'prod'"),
    "cluster in monitor mode": ({"mode": Mode.MONITOR}, {}, "monitor mode"),
    "cluster not acknowledged": ({"acknowledged": False}, {}, "acknowledgeSchedulerActions"),
    "cluster paused": (pause("cluster", ""), {}, "paused: because"),
    "partition paused": (pause("partition", "main"), {}, "paused"),
    "user paused": (pause("user", "trainer"), {}, "paused"),
    "job paused": (pause("job", "12"), {}, "paused"),
    "a pause nobody understands": (pause("moon", "full"), {}, "paused"),
    "advice for another cluster": ({}, {"cluster": "prod"}, "advice is for cluster 'prod'"),
}
# Closed for beginning only: what is held is carried on.
START_ONLY = {
    "the Advisor says no": ({}, {"may_be_acted_on": False, "why_not": "waits for approval"}, "waits for approval"),
    "expired": ({}, {"expires_at": NOW}, "expired"),
    "partition not listed by the cluster": ({"partitions": ("other",)}, {}, "not in the cluster's list"),
    "one of two partitions not listed": ({"partitions": ("main",)}, {"partition": "main,other"}, "cluster's list"),
    "advice for another environment": ({}, {"environment": "prod"}, "environment 'prod'"),
    "not approved": ({"mode": Mode.APPROVE}, {}, "only approved advice"),
}
OPEN = {
    "a pause that is over": (pause("cluster", "", minutes=-1), {}),
    "another user's pause": (pause("user", "somebody"), {}),
    "another job's pause": (pause("job", "1"), {}),
    "a partition of the list": ({"partitions": ("main", "other")}, {}),
    "approved": ({"mode": Mode.APPROVE}, {"mode_at_decision": Mode.APPROVE}),
    "approved, and action mode since": ({}, {"mode_at_decision": Mode.APPROVE}),
}


def changed(cluster: dict[str, Any], wanted: dict[str, Any]) -> tuple[ClusterGates, Advice]:
    return replace(CLUSTER, **cluster), replace(ADVICE, **wanted)


@pytest.mark.parametrize("name", BOTH)
def test_gates_that_stop_everything(told: Settings, name: str) -> None:
    cluster, wanted = changed(*BOTH[name][:2])
    assert BOTH[name][2] in start_gate(told, cluster, wanted, NOW).sentence
    assert BOTH[name][2] in carry_gate(told, cluster, wanted, NOW).sentence


@pytest.mark.parametrize("name", START_ONLY)
def test_gates_that_stop_beginning(told: Settings, name: str) -> None:
    cluster, wanted = changed(*START_ONLY[name][:2])
    assert START_ONLY[name][2] in start_gate(told, cluster, wanted, NOW).sentence
    assert carry_gate(told, cluster, wanted, NOW).open


@pytest.mark.parametrize("name", OPEN)
def test_gates_that_are_open(told: Settings, name: str) -> None:
    cluster, wanted = changed(*OPEN[name])
    assert start_gate(told, cluster, wanted, NOW).open


def test_a_ceiling_of_approve_takes_approved_advice_only(told: Settings) -> None:
    ceiling = replace(told, controller=replace(told.controller, mode=Mode.APPROVE))
    assert not start_gate(ceiling, CLUSTER, ADVICE, NOW).open
    assert start_gate(ceiling, CLUSTER, replace(ADVICE, mode_at_decision=Mode.APPROVE), NOW).open


def test_own_partitions(told: Settings) -> None:
    narrow = replace(told, controller=replace(told.controller, partitions=("other",)))
    assert "configuration's list" in start_gate(narrow, CLUSTER, ADVICE, NOW).sentence


def test_without_the_advisor_nothing_begins_and_what_is_held_goes_on(told: Settings) -> None:
    assert "does not answer" in start_gate(told, None, ADVICE, NOW).sentence
    assert carry_gate(told, None, ADVICE, NOW).open


@pytest.mark.parametrize(
    ("left", "is_open"), [(60.0, True), (25.0, True), (24.9, False), (0.0, False), (-9.0, False)]
)
def test_the_lease_needs_25_seconds(left: float, is_open: bool) -> None:
    assert lease_gate(left).open is is_open
