"""Does each value come from the most specific policy that says it, whatever the others say?"""

from dataclasses import asdict, fields
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor_api.policy.comparing import differences
from advisor_api.policy.decision import as_json, decide, decide_untraced
from advisor_api.policy.facts import Excluded, Facts, NamedNode
from advisor_api.policy.level import ORDER, PolicyLevel
from advisor_api.policy.merging import Layer, merge
from advisor_api.policy.stored import read_facts, read_resolved
from advisor_api.policy.values import (
    FOR_ALL,
    MEANINGS,
    MOST,
    SWITCH,
    BadPolicy,
    Policy,
    defaults,
    for_a_user,
    read_policy,
)
from tests.advisor_api.world import NOW

LEVELS = [level for level in ORDER if level is not PolicyLevel.PROGRAM]


def value_of(name: str) -> st.SearchStrategy[Any]:
    if name.startswith(SWITCH):
        return st.integers(0, 1)
    whole = isinstance(defaults()[name], int)
    return st.integers(0, MOST) if whole else st.floats(0, 1) | st.integers(0, 1)


VALUES = st.fixed_dictionaries({}, optional={field.name: value_of(field.name) for field in fields(Policy)})
STACKS = st.dictionaries(st.sampled_from(LEVELS), VALUES).map(
    lambda found: [Layer(level, values, number) for number, (level, values) in enumerate(found.items())]
)
FACTS = st.builds(
    Facts,
    excluded=st.lists(st.builds(Excluded), max_size=3).map(tuple),
    named=st.lists(st.builds(NamedNode), max_size=3).map(tuple),
    ended_at=st.none() | st.just(NOW),
    confidence=st.floats(0, 1),
    judged_seconds=st.floats(0, 1e9),
    jitter=st.floats(-0.2, 0.2),
)


@given(STACKS)
def test_each_value_is_that_of_the_most_specific_layer_that_says_it(stack: list[Layer]) -> None:
    found = merge(stack)
    for name, default in defaults().items():
        saying = [layer for layer in stack if name in layer.values]
        expected = max(saying, key=lambda layer: ORDER.index(layer.level)) if saying else None
        assert getattr(found.policy, name) == (expected.values[name] if expected else default)
        assert found.origins[name] == (expected or Layer(PolicyLevel.PROGRAM, {}))


@given(STACKS)
def test_the_order_in_which_layers_come_is_no_matter(stack: list[Layer]) -> None:
    assert len({merge(order).policy for order in list(permutations(stack))[:24]}) == 1


@given(STACKS, VALUES)
def test_what_a_layer_says_changes_nothing_that_it_does_not_say(stack: list[Layer], values: dict[str, Any]) -> None:
    others = [layer for layer in stack if layer.level is not PolicyLevel.USER]
    before, after = merge(others), merge([*others, Layer(PolicyLevel.USER, values)])
    changed = {one.name for one in differences(asdict(before.policy), asdict(after.policy))}
    assert changed <= set(values)
    assert all(getattr(after.policy, name) == value for name, value in values.items())


@given(STACKS)
def test_a_merged_policy_is_usable_and_survives_being_stored(stack: list[Layer]) -> None:
    policy = merge(stack).policy
    assert read_policy(asdict(policy)) == read_resolved(asdict(policy)) == policy


def test_two_of_one_level_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="of one level"):
        merge([Layer(PolicyLevel.USER, {}), Layer(PolicyLevel.USER, {})])


def test_what_touches_everybody_is_not_said_for_one_user() -> None:
    assert set(MEANINGS) >= FOR_ALL
    for name in FOR_ALL:
        with pytest.raises(BadPolicy, match=f"{name} cannot be said for one user"):
            for_a_user({name: 0})
    for_a_user({name: value for name, value in defaults().items() if name not in FOR_ALL})


@settings(deadline=None)
@given(FACTS, VALUES)
def test_facts_survive_being_stored_and_lead_to_the_same_decision(facts: Facts, values: dict[str, Any]) -> None:
    policy = read_policy(values)
    read = read_facts(as_json(facts))
    assert read == facts
    traced, untraced = decide(facts, policy, NOW), decide_untraced(read, policy, NOW)
    assert (traced.rule, traced.because, traced.excluded_nodes) == (
        untraced.rule,
        untraced.because,
        untraced.excluded_nodes,
    )
    assert (traced.not_before, traced.hold_until, traced.expires_at) == (
        untraced.not_before,
        untraced.hold_until,
        untraced.expires_at,
    )
    assert decide(read, policy, NOW) == traced
