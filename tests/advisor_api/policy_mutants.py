"""Which mutants of the policy does the case table not notice?

`python -m tests.advisor_api.policy_mutants` lists them. Each row is changed in turn: it never applies, always
applies, applies where it did not and not where it did, is left out, changes places with the next one, gets another
operation, names nodes or none, waits for another time. Each limit is made a little larger and smaller. What leaves
every case as it is has survived.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import cast

from advisor_api.policy.decision import Watched, decide_untraced
from advisor_api.policy.facts import Facts
from advisor_api.policy.operation import Operation
from advisor_api.policy.rule import Rule
from advisor_api.policy.rules import RULES
from advisor_api.policy.values import Policy
from tests.advisor_api.policy_cases import AGAIN, FIRST_PAUSE, NAMING, NEAR, NOW, POLICY, WINNERS
from tests.advisor_api.policy_order import EXCLUSIVE, FIRST

OTHER_SECONDS = 777.0
FOR_THE_PAUSE = "unknown_backoff_seconds"  # no row asks for it, but a decision does

EQUIVALENT = {
    "unknown_cause: always applies": "nothing gets past it: the last row is a net below all that is known",
    **{
        f"{name}: names nodes, or none": "a checkpoint is suspected only where no node is named"
        for name in ("earlier_checkpoint", "bad_checkpoint")
    },
    **{
        f"{name}: names nodes, or none": "what may be left out was left out by `named_node` already"
        for name in ("cap_reached", "named_node_is_drained", "hang", "nan", "known_cause", "unknown_cause")
    },
}
"""Mutants that decide as the table does on all facts; `test_policy_mutants.py` looks for facts that differ."""
Mutant = tuple[str, tuple[Rule, ...]]


def mutants() -> Iterator[Mutant]:
    """A name and a changed table each, but for those that are no change."""
    return ((name, rules) for name, rules in all_mutants() if name not in EQUIVALENT)


def all_mutants() -> Iterator[Mutant]:
    """Every one. The last row always applies, so only its operation can be changed."""
    for place, rule in enumerate(RULES[:-1]):
        before, after = RULES[:place], RULES[place + 1 :]
        for name, changed in _changed(rule):
            yield f"{rule.name}: {name}", (*before, changed, *after)
        yield f"{rule.name}: left out", (*before, *after)
        if (rule.name, after[0].name) not in EXCLUSIVE:
            yield f"{rule.name}: after {after[0].name}", swapped(place)
    for operation in (None, Operation.RESTART, Operation.TERMINATE, Operation.RELEASE):
        yield f"{RULES[-1].name}: {operation}", (*RULES[:-1], replace(RULES[-1], then=operation))


def swapped(place: int) -> tuple[Rule, ...]:
    """The table in which the row at `place` stands behind the next one."""
    return (*RULES[:place], RULES[place + 1], RULES[place], *RULES[place + 2 :])


def _changed(rule: Rule) -> Iterator[tuple[str, Rule]]:
    yield "never applies", replace(rule, applies=lambda facts, policy: False)
    yield "always applies", replace(rule, applies=lambda facts, policy: True)
    yield "applies where it did not", replace(rule, applies=lambda facts, policy: not rule.applies(facts, policy))
    for operation in (None, *Operation):
        if operation is not rule.then:
            yield f"leads to {operation}", replace(rule, then=operation)
    if rule.then is not None:
        yield "names nodes, or none", replace(rule, names_nodes=not rule.names_nodes)
    if rule.then is Operation.RESTART:
        yield "waits for another time", replace(rule, back_off=lambda facts, policy: OTHER_SECONDS)
    yield "is looked at again at another time", replace(rule, again_seconds=OTHER_SECONDS)
    if rule.again_seconds is not None:
        yield "is not looked at again", replace(rule, again_seconds=None)


def limits() -> Iterator[tuple[str, Policy]]:
    """Each limit that a rule asks for, a notch up and down."""
    for limit in sorted(asked_for()):
        value = getattr(POLICY, limit)
        notch = 1 if isinstance(value, int) else 0.01
        for step in (-notch, notch):
            yield f"{limit} = {value + step:g}", replace(POLICY, **{limit: value + step})


def asked_for() -> set[str]:
    """The limits that rows look at; the others are for whoever gathers facts or carries a decision out."""
    read: dict[str, object] = {}
    for _, _, _, facts in WINNERS:
        for rule in RULES:
            rule.applies(facts, cast(Policy, Watched(POLICY, "policy", read)))
    return {name.removeprefix("policy.") for name in read} | {FOR_THE_PAUSE}


def wrong(rules: Sequence[Rule] = RULES, policy: Policy = POLICY) -> list[str]:
    """The cases that this table, or this policy, does not decide as they are written down."""
    found = [name for name, rule, then, facts in WINNERS if not _right(facts, rule, then, rules, policy)]
    found += [name for name, rule, facts in NEAR if _decided(facts, rules, policy) != rule]
    found += [name for name, first, _, facts in FIRST if _decided(facts, rules, policy) != first]
    last = replace(WINNERS[0][3], cannot_see=False, word="NOTHING_KNOWN")
    if decide_untraced(last, policy, NOW, [rules[-1]]).operation is not Operation.WAIT:
        found.append("nobody knows what to do")
    return found


def _decided(facts: Facts, rules: Sequence[Rule], policy: Policy) -> str:
    return decide_untraced(facts, policy, NOW, rules).rule


def _right(facts: Facts, rule: str, then: Operation | None, rules: Sequence[Rule], policy: Policy) -> bool:
    found = decide_untraced(facts, policy, NOW, rules)
    if (found.rule, found.operation) != (rule, then):
        return False
    again = AGAIN.get(rule)
    if found.again_at != (None if again is None else NOW + timedelta(seconds=again)):
        return False
    if then is Operation.RESTART:
        pause = FIRST_PAUSE.get(rule, 0.0)
        return found.not_before == NOW + timedelta(seconds=pause) and bool(found.new_exclusions) is (rule in NAMING)
    named = any(node.confidence >= policy.exclude_confidence and not node.drained for node in facts.named)
    return bool(found.excluded_nodes) is (rule in NAMING and named)


def survivors() -> list[str]:
    """Every mutant that no case notices."""
    return [name for name, rules in mutants() if not wrong(rules)]


def unnoticed_limits() -> set[str]:
    """Every limit that may be moved either way without any case noticing it."""
    noticed = {name.split(" ")[0] for name, policy in limits() if wrong(policy=policy)}
    return asked_for() - noticed


def main() -> int:
    """Print what survived and how many there were; 1 when anything did."""
    number = sum(1 for _ in mutants())
    left = [*survivors(), *(f"limit {name}" for name in sorted(unnoticed_limits()))]
    for name in left:
        sys.stdout.write(f"survived: {name}\n")
    sys.stdout.write(f"{number} mutants of {len(RULES)} rules, {len(left)} survived\n")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
