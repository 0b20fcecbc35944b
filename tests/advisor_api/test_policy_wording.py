"""Does a rule speak of one restart and of three, and of ten minutes and not of 600 s?"""

import re
from dataclasses import replace

import pytest

from advisor_api.policy.decision import sentence
from advisor_api.policy.page import page
from advisor_api.policy.rules import RULES
from advisor_api.policy.values import Policy
from advisor_api.policy.wording import RuleSentence, counted
from tests.advisor_api.policy_cases import FAILED

BY_NAME = {rule.name: rule for rule in RULES}
CASES = [
    ("same_cause_confirmed", {"restarts_for_cause": 1}, "came again after 1 restart"),
    ("same_cause_confirmed", {"restarts_for_cause": 3}, "came again after 3 restarts"),
    ("too_many_requeues", {"requeues": 1}, "the job was requeued 1 time, and the most is 10"),
    ("no_new_checkpoint", {"attempts_without_checkpoint": 1}, "1 attempt in a row saved no new checkpoint"),
    ("restart_storm", {"partition_restarts": 4}, "4 restarts in the partition within 10 min, and the most is 3"),
    ("restarts_of_user", {"user_restarts": 1}, "within 10 min Rekindle restarted 1 job of its user"),
    ("restarts_of_job", {"attempts_in_window": 6}, "6 attempts of it began within 30 min"),
    ("evidence_expired", {"judged_seconds": 7500.0}, "what is known of it is 2.08 h old"),
]


@pytest.mark.parametrize(("rule", "found", "told"), CASES)
def test_numbers_have_their_noun_and_times_their_unit(rule: str, found: dict[str, object], told: str) -> None:
    assert told in sentence(BY_NAME[rule], replace(FAILED, **found), Policy())


def test_no_rule_and_no_page_writes_half_a_plural() -> None:
    assert not re.search(r"\w\(e?s\)", page())
    assert (
        "⟨facts.restarts_for_cause⟩ restarts |" in page() and "within ⟨policy.storm_window_seconds⟩, and" in page()
    )


def test_what_is_found_is_no_pattern_of_its_own() -> None:
    assert RuleSentence().format("{name}", name="{facts.label:time}") == "{facts.label:time}"
    assert [counted(number, "node") for number in (0, 1, 2)] == ["0 nodes", "1 node", "2 nodes"]
