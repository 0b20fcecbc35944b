"""Does each rule apply where it should, and only there, and does the right one win?"""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from advisor_api.policy.decision import decide
from advisor_api.policy.facts import Excluded, Facts, NamedNode
from advisor_api.policy.operation import Operation
from advisor_api.policy.page import page
from advisor_api.policy.rules import RULES
from advisor_api.policy.values import MEANINGS, SWITCH, BadPolicy, defaults, read_policy
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from schedulers.states import JobState
from tests.advisor_api.policy_cases import FAILED, HANGING, NAMED, NEAR, NOW, POLICY, UNKNOWN, WINNERS
from workloads.mode import Mode


@pytest.mark.parametrize(("rule", "operation", "facts"), [pytest.param(*row[1:], id=row[0]) for row in WINNERS])
def test_the_first_rule_that_applies_wins(rule: str, operation: Operation | None, facts: Facts) -> None:
    decision = decide(facts, POLICY, NOW)
    assert (decision.rule, decision.operation) == (rule, operation)


def test_every_rule_has_its_case() -> None:
    assert {row[1] for row in WINNERS} == {rule.name for rule in RULES[:-1]}


def test_the_last_rule_asks_a_person_whatever_the_facts() -> None:
    assert (RULES[-1].name, RULES[-1].then) == ("ask_a_person", Operation.WAIT)
    assert all(RULES[-1].applies(facts, POLICY) for _, _, _, facts in WINNERS)


def test_names_are_unique_and_guards_come_first() -> None:
    names = [rule.name for rule in RULES]
    assert len(names) == len(set(names))
    nothing = [rule.then is None for rule in RULES]
    assert nothing == sorted(nothing, reverse=True)


@pytest.mark.parametrize(("rule", "facts"), [pytest.param(*row[1:], id=row[0]) for row in NEAR])
def test_just_this_side_of_a_limit(rule: str, facts: Facts) -> None:
    assert decide(facts, POLICY, NOW).rule == rule


def test_a_named_node_is_left_out_at_once() -> None:
    decision = decide(NAMED, POLICY, NOW)
    assert decision.excluded_nodes == decision.new_exclusions == ("n03",)
    assert decision.not_before == NOW
    assert decision.hold_until == NOW + timedelta(seconds=300)
    assert decision.expires_at == NOW + timedelta(seconds=900)
    assert decision.because == "n03 is named as the cause, surely enough to be left out"


def test_of_two_broken_nodes_the_surer_goes_where_a_cap_allows_one() -> None:
    two = replace(FAILED, named=(NamedNode("n03", 0.95), NamedNode("n04", 0.85)))
    decision = decide(two, POLICY, NOW)
    assert (decision.rule, decision.new_exclusions) == ("named_node", ("n03",))
    assert decision.because.startswith(
        "n03 is named as the cause, surely enough to be left out; n04 too, and stays: 2 of"
    )
    of_many = decide(replace(two, partition_size=100, partition_available=100), POLICY, NOW)
    assert of_many.new_exclusions == ("n03", "n04")
    three = replace(two, named=(*two.named, NamedNode("n05", 0.85)), partition_size=100)
    assert decide(three, POLICY, NOW).rule == "cap_reached"


CAPS = [
    ("more nodes than per incident", (NamedNode("a", 0.9), NamedNode("b", 0.9), NamedNode("c", 0.9)), (), 200, 200),
    ("the partition's share is used up", (NamedNode("a", 0.9),), (Excluded("x"),), 20, 20),
    ("too few nodes would be left", (NamedNode("a", 0.9),), (), 20, 3),
    ("nobody knows the partition", (NamedNode("a", 0.9),), (), 0, 0),
]


@pytest.mark.parametrize(("named", "excluded", "size", "available"), [pytest.param(*c[1:], id=c[0]) for c in CAPS])
def test_caps_hold_and_the_reason_is_told(
    named: tuple[NamedNode, ...], excluded: tuple[Excluded, ...], size: int, available: int
) -> None:
    facts = replace(
        NAMED, named=named, excluded=excluded, partition_size=size, partition_available=available, node_count=3
    )
    decision = decide(facts, POLICY, NOW)
    assert (decision.rule, decision.new_exclusions) == ("cap_reached", ())
    assert "but not left out: " in decision.because
    assert decision.because.rpartition(": ")[2]


def test_a_pool_of_four_nodes_may_lose_one() -> None:
    facts = replace(NAMED, partition_size=4, partition_available=4, node_count=3)
    assert decide(facts, POLICY, NOW).excluded_nodes == ("n03",)


def test_a_node_that_is_away_already_takes_nothing_from_the_job() -> None:
    down = replace(NAMED, named=(NamedNode("n03", 0.95, available=False),), partition_available=3)
    assert decide(down, POLICY, NOW).excluded_nodes == ("n03",)


def test_a_node_that_is_excluded_already_counts_once() -> None:
    facts = replace(NAMED, excluded=(Excluded("n03"),))
    decision = decide(facts, POLICY, NOW)
    assert (decision.rule, decision.excluded_nodes) == ("named_node", ("n03",))


def test_every_restart_leaves_out_what_is_excluded_at_the_moment() -> None:
    wide = replace(UNKNOWN, excluded=(Excluded("n07"), Excluded("n05")))
    assert decide(wide, POLICY, NOW).excluded_nodes == ("n05", "n07")
    assert decide(wide, POLICY, NOW).new_exclusions == ()


def test_old_exclusions_give_way_before_the_job_has_too_few_nodes() -> None:
    newest_first = (Excluded("n07"), Excluded("n05"), Excluded("n04"))
    tight = replace(UNKNOWN, excluded=newest_first, partition_available=5, node_count=3)
    assert decide(tight, POLICY, NOW).excluded_nodes == ("n05", "n07")


BACK_OFF = [
    ("unknown, first", UNKNOWN, 60),
    ("unknown, second", replace(UNKNOWN, attempts_without_checkpoint=2), 300),
    ("known, first", FAILED, 0),
    ("known, second", replace(FAILED, restarts_for_cause=1), 60),
    ("known, third", replace(FAILED, restarts_for_cause=2), 300),
    ("hang, second", replace(HANGING, restarts_for_cause=1), 60),
    ("spread by a fifth", replace(UNKNOWN, jitter=0.2), 72),
]


@pytest.mark.parametrize(("facts", "seconds"), [pytest.param(*row[1:], id=row[0]) for row in BACK_OFF])
def test_back_off(facts: Facts, seconds: int) -> None:
    decision = decide(facts, POLICY, NOW)
    assert decision.not_before == NOW + timedelta(seconds=seconds)
    assert decision.hold_until == decision.not_before + timedelta(seconds=POLICY.hold_seconds)
    assert decision.expires_at >= decision.hold_until


def test_no_back_off_is_longer_than_half_an_hour() -> None:
    patient = replace(POLICY, unknown_backoff_seconds=86400)
    assert decide(UNKNOWN, patient, NOW).not_before == NOW + timedelta(seconds=1800)


APPROVALS = [
    ("a finished job: before it vanishes", replace(NAMED, min_job_age_seconds=300), 240),
    ("a site that keeps jobs long", replace(NAMED, min_job_age_seconds=36000), 900),
    ("a site that did not say", NAMED, 240),
    ("a job that runs does not vanish", HANGING, 900),
    ("it ended a while ago", replace(NAMED, ended_at=NOW - timedelta(seconds=100)), 140),
]


@pytest.mark.parametrize(("facts", "seconds"), [pytest.param(*row[1:], id=row[0]) for row in APPROVALS])
def test_until_when_an_approval_is_open(facts: Facts, seconds: int) -> None:
    decision = decide(replace(facts, mode=Mode.APPROVE), POLICY, NOW)
    assert decision.expires_at == NOW + timedelta(seconds=seconds)
    assert decision.hold_until == decision.expires_at + timedelta(seconds=POLICY.hold_seconds)


POSTPONED = [
    (UNKNOWN, "scheduler_unseen", {"cannot_see": True}),
    (NAMED, "not_ended_yet", {"state": JobState.RUNNING}),
    (NAMED, "state_unknown", {"state": JobState.UNKNOWN}),
]


@pytest.mark.parametrize(("facts", "rule", "change"), POSTPONED)
def test_a_guard_that_will_open_is_looked_at_again(facts: Facts, rule: str, change: dict[str, object]) -> None:
    decision = decide(replace(facts, **change), POLICY, NOW)
    assert decision.rule == rule
    assert decision.again_at is not None
    assert NOW < decision.again_at <= NOW + timedelta(seconds=15)


def test_an_early_warning_proposes_the_node_and_excludes_nothing() -> None:
    decision = decide(replace(NAMED, kind=AnomalyKind.EARLY_WARNING, state=JobState.RUNNING), POLICY, NOW)
    assert decision.excluded_nodes == ("n03",)
    assert decision.new_exclusions == ()
    assert decision.because.endswith("could leave out n03")


def test_the_trace_keeps_what_every_rule_said() -> None:
    decision = decide(replace(NAMED, partition_restarts=3), POLICY, NOW)
    assert [said.rule for said in decision.trace] == [rule.name for rule in RULES]
    chosen = [said for said in decision.trace if said.chosen]
    assert [said.rule for said in chosen] == ["restart_storm"]
    assert chosen[0].inputs == {
        "facts.partition_restarts": 3,
        "facts.partition_size": 20,
        "policy.storm_restarts": 3,
        "policy.storm_share": 0.01,
    }
    after = next(said for said in decision.trace if said.rule == "named_node")
    assert (after.applied, after.chosen) == (True, False)
    assert after.inputs["policy.exclude_confidence"] == 0.8


def test_the_same_facts_give_the_same_decision() -> None:
    assert decide(NAMED, POLICY, NOW) == decide(NAMED, POLICY, NOW)


def test_hostile_words_stay_words() -> None:
    facts = replace(UNKNOWN, word="{facts.label}{policy.__class__}")
    assert "{facts.label}{policy.__class__}" in decide(facts, POLICY, NOW).because


def test_the_page_of_rules_is_up_to_date() -> None:
    stored = (Path(__file__).resolve().parents[2] / "docs" / "policy.md").read_text()
    assert stored == page(), "run: manage.py policy_page --write"


@pytest.mark.parametrize("name", [rule.name for rule in RULES])
def test_every_rule_has_its_line_in_the_docs(name: str) -> None:
    assert f"| `{name}` |" in (Path(__file__).resolve().parents[2] / "docs" / "policy.md").read_text()


def test_every_limit_has_its_meaning() -> None:
    assert set(MEANINGS) == set(defaults())


BAD_VALUES = [
    ({"max_requeues": -1}, "from 0"),
    ({"max_requeues": 1.5}, "whole number"),
    ({"max_requeues": True}, "whole number"),
    ({"max_requeues": 10**12}, "from 0 to"),
    ({"exclude_confidence": 1.5}, "between 0 and 1"),
    ({"exclude_confidence": float("nan")}, "between 0 and 1"),
    ({"exclude_confidence": "0.8"}, "number"),
    ({"act_on_network": 2}, "must be 1 .* or 0"),
    ({"act_on_network": True}, "whole number"),
    ({"no_such_limit": 1}, "no policy value"),
]


@pytest.mark.parametrize(("values", "sentence"), BAD_VALUES)
def test_a_bad_policy_is_refused_with_a_sentence(values: dict[str, object], sentence: str) -> None:
    with pytest.raises(BadPolicy, match=sentence):
        read_policy(values)


def test_every_failure_class_has_its_switch() -> None:
    classes = {layer.domain for layer in Layer}
    assert {name.removeprefix(SWITCH) for name in defaults() if name.startswith(SWITCH)} == classes
    assert all(POLICY.acts_on(name) for name in classes)


def test_a_policy_may_name_only_what_differs() -> None:
    assert read_policy({"max_requeues": 2}) == replace(POLICY, max_requeues=2)
