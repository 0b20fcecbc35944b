"""Does the trace say what would have made another row win, and is it true?"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from advisor_api.policy.decision import decide
from advisor_api.policy.facts import Excluded, Facts, NamedNode
from advisor_api.policy.rules import RULES
from advisor_api.policy.turning import turns
from advisor_api.policy.values import Policy
from detectors.attribution.action import VerdictAction
from detectors.catalogue.kind import AnomalyKind
from schedulers.states import JobState
from tests.advisor_api.policy_cases import FAILED, HANGING, NAMED, NEAR, NOW, POLICY, UNKNOWN, WINNERS

ALL = [(row[0], row[3]) for row in WINNERS] + [(row[0], row[2]) for row in NEAR]


def turn_of(facts: Facts, rule: str, policy: Policy = POLICY) -> Mapping[str, Any] | None:
    return next(said.wins_if for said in decide(facts, policy, NOW).trace if said.rule == rule)


CASES = [
    ("a storm is two restarts away", NAMED, "restart_storm", {"fact": "partition_restarts", "value": 3}),
    (
        "a large partition's limit is computed, and not guessed",
        replace(NAMED, partition_size=1000),
        "restarts_of_user",
        {"fact": "user_restarts", "value": 6},
    ),
    (
        "a stop that was not sure enough",
        replace(UNKNOWN, action=VerdictAction.STOP, confidence=0.84),
        "stop_class",
        {"fact": "confidence", "value": 0.85},
    ),
    (
        "a node that was not sure enough",
        replace(UNKNOWN, named=(NamedNode("n03", 0.79),)),
        "named_node",
        {
            "fact": "named",
            "value": [{"host": "n03", "confidence": 0.8, "available": True, "drained": False, "witnessed": True}],
        },
    ),
    (
        "the cap, without what is excluded",
        replace(NAMED, excluded=(Excluded("x"),)),
        "named_node",
        {"fact": "excluded", "value": []},
    ),
    ("a hang, if it were blind", HANGING, "blind_silence", {"fact": "blind", "value": True}),
    (
        "a crash line in a job that runs",
        replace(FAILED, state=JobState.RUNNING),
        "hang",
        {"fact": "kind", "value": "hang"},
    ),
    (
        "what a guard kept from being done",
        replace(NAMED, cannot_see=True),
        "named_node",
        {"fact": "cannot_see", "value": False},
    ),
    (
        "its own limit, where it is the nearer one",
        replace(NAMED, requeues=4, max_requeue_times=6),
        "too_many_requeues",
        {"fact": "requeues", "value": 6},
    ),
    ("two facts would have to change", NAMED, "nan_again", None),
]


@pytest.mark.parametrize(("facts", "rule", "turn"), [pytest.param(*row[1:], id=row[0]) for row in CASES])
def test_the_smallest_change(facts: Facts, rule: str, turn: Mapping[str, Any] | None) -> None:
    assert turn_of(facts, rule) == turn


@pytest.mark.parametrize("facts", [pytest.param(facts, id=name) for name, facts in ALL])
def test_whoever_is_said_to_win_does_win(facts: Facts) -> None:
    decision = decide(facts, POLICY, NOW)
    reads = [dict(said.inputs) for said in decision.trace]
    found = turns(facts, POLICY, RULES, reads, decision.rule)
    assert found, "nothing at all could have turned it"
    for rule, turn in found.items():
        changed = replace(facts, **{turn.fact: turn.value})
        wins = next(row.name for row in RULES if row.applies(changed, POLICY))
        assert wins == rule != decision.rule


def test_the_row_that_won_has_no_turn_and_most_others_do() -> None:
    for _, facts in ALL:
        decision = decide(facts, POLICY, NOW)
        assert [said.wins_if for said in decision.trace if said.chosen] == [None]
    missing = [said.rule for said in decide(NAMED, POLICY, NOW).trace if said.wins_if is None and not said.chosen]
    assert len(missing) <= len(RULES) // 3


def test_every_row_can_win_by_one_change_of_something() -> None:
    """No row is out of reach of what is tried, but the last one, which needs what no row knows."""
    reached = {
        said.rule for _, facts in ALL for said in decide(facts, POLICY, NOW).trace if said.wins_if is not None
    }
    assert {rule.name for rule in RULES[:-1]} - reached == set()


def test_a_policy_of_another_site_turns_elsewhere() -> None:
    patient = replace(POLICY, storm_restarts=8)
    assert turn_of(NAMED, "restart_storm", patient) == {"fact": "partition_restarts", "value": 8}


def test_the_work_is_bounded_whatever_is_named() -> None:
    """Thousands of nodes and numbers beyond all limits are no reason to ask the table without end."""
    asked = 0

    def applies(facts: Facts, policy: Policy) -> bool:
        nonlocal asked
        asked += 1
        return False

    counting = (replace(RULES[0], name="counting", applies=applies), *RULES)
    many = replace(
        NAMED,
        kind=AnomalyKind.CRASH,
        named=tuple(NamedNode(f"n{i}", 0.9) for i in range(5000)),
        requeues=10**9,
        judged_seconds=10**12,
    )
    decide(many, POLICY, NOW, counting)
    assert asked < 1000
