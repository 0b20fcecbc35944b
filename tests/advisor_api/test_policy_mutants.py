"""Does a change of any single rule break the case table?"""

from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from advisor_api.policy.decision import Decision, decide_untraced
from advisor_api.policy.facts import Facts
from advisor_api.policy.rules import RULES
from advisor_api.policy.values import Policy
from tests.advisor_api.policy_cases import NEAR, NOW, POLICY, WINNERS
from tests.advisor_api.policy_histories import facts, failures, policies
from tests.advisor_api.policy_mutants import (
    EQUIVALENT,
    all_mutants,
    survivors,
    swapped,
    unnoticed_limits,
    wrong,
)
from tests.advisor_api.policy_order import EXCLUSIVE, FIRST

NAMES = [rule.name for rule in RULES]
NEIGHBOURS = list(pairwise(NAMES))
BY_NAME = {rule.name: rule for rule in RULES}


def test_the_table_decides_every_case_as_it_is_written_down() -> None:
    assert wrong() == []


def test_no_mutant_of_any_row_survives() -> None:
    assert survivors() == []


def test_every_limit_is_felt_by_some_case() -> None:
    assert unnoticed_limits() == set()


@pytest.mark.parametrize("name", NAMES[:-1])
def test_every_row_has_at_least_two_cases(name: str) -> None:
    cases = [row[0] for row in WINNERS if row[1] == name] + [row[0] for row in NEAR if row[1] == name]
    cases += [row[0] for row in FIRST if row[1] == name]
    assert len(set(cases)) >= 2, cases


def test_every_two_neighbours_have_a_case_or_exclude_each_other() -> None:
    told = {(first, second) for _, first, second, _ in FIRST}
    assert set(NEIGHBOURS) == told | set(EXCLUSIVE)
    assert not told & set(EXCLUSIVE)


@pytest.mark.parametrize(("first", "second", "known"), [pytest.param(*row[1:], id=row[0]) for row in FIRST])
def test_both_rows_apply_and_the_first_wins(first: str, second: str, known: Facts) -> None:
    assert BY_NAME[first].applies(known, POLICY) and BY_NAME[second].applies(known, POLICY)
    assert decide_untraced(known, POLICY, NOW).rule == first


def as_done(found: Decision) -> tuple[object, ...]:
    return found.operation, found.excluded_nodes, found.new_exclusions, found.not_before, found.again_at


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(failures(), facts()), policies)
def test_what_is_called_no_change_is_none(known: Facts, policy: Policy) -> None:
    usual = decide_untraced(known, policy, NOW)
    same = dict(all_mutants())
    assert set(EQUIVALENT) <= set(same)
    for name in EQUIVALENT:
        assert as_done(decide_untraced(known, policy, NOW, same[name])) == as_done(usual), name
    for first, second in EXCLUSIVE:
        applies = BY_NAME[first].applies(known, policy), BY_NAME[second].applies(known, policy)
        assert applies != (True, True), (first, second)
        assert decide_untraced(known, policy, NOW, swapped(NAMES.index(first))) == usual
