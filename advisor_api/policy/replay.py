"""What would another policy have decided on the same facts, and does the same policy decide the same again?"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from advisor_api.policy.decision import Decision, decide, decide_untraced
from advisor_api.policy.facts import Facts
from advisor_api.policy.stored import read_facts, read_resolved
from advisor_api.policy.values import Policy

NOTHING = "nothing"  # the word for a decision that leads to no advice


@dataclass(frozen=True)
class Outcome:
    """What was or would be decided, as far as it is stored. `times`: start, hold until, expiry."""

    operation: str
    rule: str
    because: str
    nodes: tuple[str, ...] = ()
    times: tuple[datetime, ...] = ()

    @property
    def word(self) -> str:
        """The operation, or `nothing`."""
        return self.operation or NOTHING


@dataclass(frozen=True)
class Past:
    """One stored decision with what it was made from. `trace`: only of advice, and only when it was read."""

    cluster: str
    label: str
    job: tuple[int, int]  # number and epoch
    partition: str
    user: str
    decided_at: datetime
    outcome: Outcome
    facts: Mapping[str, Any]
    judged_by: Mapping[str, Any]
    trace: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class Compared:
    """One decision that was made again. `differs`: in what, empty for nothing.

    `uncertain`: the facts hold counts over windows of which the other policy says another length.
    """

    past: Past
    would: Outcome
    differs: tuple[str, ...]
    uncertain: bool = False

    @property
    def both(self) -> tuple[Outcome, Outcome]:
        """Then, and now."""
        return self.past.outcome, self.would


@dataclass
class Summary:
    """Counts of one replay; it grows with the rules, not with the decisions."""

    seen: int = 0
    replayed: int = 0
    not_concerned: int = 0
    unreadable: int = 0
    uncertain: int = 0
    differing: int = 0
    first_unreadable: str = ""
    rules: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)  # then, would: operation and rule
    differences: Counter[str] = field(default_factory=Counter)

    def take(self, compared: Compared) -> None:
        """One more."""
        self.replayed += 1
        self.uncertain += compared.uncertain
        if compared.differs:
            then, would = compared.past.outcome, compared.would
            self.differing += 1
            self.rules[then.word, then.rule, would.word, would.rule] += 1
            self.differences.update(compared.differs)

    def by_operation(self) -> list[tuple[str, str, int]]:
        """`(then, would, how many)` of those that differ, most first."""
        counted: Counter[tuple[str, str]] = Counter()
        for (then, _rule, would, _other), number in self.rules.items():
            counted[then, would] += number
        return [(then, would, number) for (then, would), number in counted.most_common()]

    def by_rule(self) -> list[tuple[str, str, str, str, int]]:
        """`(operation then, rule then, operation would, rule would, how many)`, most first."""
        return [(*key, number) for key, number in self.rules.most_common()]


def again(past: Past) -> Compared:
    """The same decision by the policy that is stored with it, compared in everything that is stored.

    Raises `Unreadable` for facts that this program cannot read.
    """
    made = decide if past.trace is not None else decide_untraced  # the trace takes most of the time
    decision = made(read_facts(past.facts), policy_then(past), past.decided_at)
    differs = _differences(past.outcome, outcome_of(decision))
    if past.outcome.because != decision.because[:1000]:
        differs += ("words",)
    if past.trace is not None and list(past.trace) != decision.stored_trace():
        differs += ("trace",)
    return Compared(past, outcome_of(decision), differs)


def otherwise(past: Past, policy: Policy) -> Compared:
    """What another policy would have decided. Raises `Unreadable`."""
    facts: Facts = read_facts(past.facts)
    would = outcome_of(decide_untraced(facts, policy, past.decided_at))
    then = policy_then(past)
    counted_by = past.judged_by.get("counted_by", ())
    uncertain = any(getattr(then, name, None) != getattr(policy, name, None) for name in counted_by)
    return Compared(past, would, _differences(past.outcome, would), uncertain)


def policy_then(past: Past) -> Policy:
    """The policy that held at the decision."""
    return read_resolved(past.judged_by.get("values", {}))


def outcome_of(decision: Decision) -> Outcome:
    """A decision in the shape that is compared."""
    return Outcome(
        operation=decision.operation.value if decision.operation else "",
        rule=decision.rule,
        because=decision.because,
        nodes=decision.excluded_nodes,
        times=(decision.not_before, decision.hold_until, decision.expires_at),
    )


def _differences(then: Outcome, would: Outcome) -> tuple[str, ...]:
    found = [
        name
        for name, same in (
            ("operation", then.operation == would.operation),
            ("rule", then.rule == would.rule),
            ("nodes", then.nodes == would.nodes),
        )
        if not same
    ]
    if then.times:  # what led to no advice has none
        names = ("start", "hold", "expiry")
        found += [name for name, old, new in zip(names, then.times, would.times, strict=True) if old != new]
    return tuple(found)
