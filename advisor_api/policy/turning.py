"""Which smallest change of one fact would have made another row win?

For every fact that any row looked at, the values at which something can turn are tried: the other words of an enum,
the limits that stand beside a number in the same row, a node more or none. The table is asked again with each. This
is bounded by the number of facts and rows, whatever the facts are, and knows nothing of any single row.
"""

import enum
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from advisor_api.policy.facts import Excluded, Facts, NamedNode
from advisor_api.policy.rule import Rule
from advisor_api.policy.values import Policy

MOST_LIMITS = 12  # tried for one number, the nearest first
MOST_NODES = 4  # named ones that are changed, the surest first
UNSAID = 1000.0  # a number that was not given at all is further than any that was
SOME_NODE = "some-node"  # stands for a node that is not named yet
STANDS_FOR = {"live": "state", "waiting": "state"}  # properties of the facts, and the fact behind them
NOT_A_CHANGE = frozenset(
    {"label", "word", "partition", "signature", "jitter", "ended_at", "mode", "min_job_age_seconds"}
)
"""Facts for sentences and times only: no row asks for them."""
KINDS: Mapping[str, Any] = typing.get_type_hints(Facts)
NODE_LISTS = frozenset({"maintained", "kill_failed"})


@dataclass(frozen=True)
class Turn:
    """One fact and the value with which the row would have decided."""

    fact: str
    value: Any


def turns(
    facts: Facts, policy: Policy, rules: Sequence[Rule], reads: Sequence[Mapping[str, Any]], chosen: str
) -> dict[str, Turn]:
    """The smallest change by the row that would have won, for each row for which there is one.

    `reads`: what each row looked at, by `facts.…` and `policy.…`. `chosen`: the row that has won.
    """
    found: dict[str, Turn] = {}
    for turn in _tried(facts, policy, reads):
        changed = replace(facts, **{turn.fact: turn.value})
        winner = next((rule.name for rule in rules if rule.applies(changed, policy)), chosen)
        if winner != chosen and winner not in found:
            found[winner] = turn
    return found


def _tried(facts: Facts, policy: Policy, reads: Sequence[Mapping[str, Any]]) -> list[Turn]:
    """All changes of one fact, the smaller first: yes and no, words and nodes, then numbers by their distance."""
    beside: dict[str, set[float]] = {}
    for row in reads:
        numbers = {float(value) for value in row.values() if _is_number(value)}
        for name in _facts_of(row):
            beside.setdefault(name, set()).update(numbers)
    weighed: list[tuple[float, int, Turn]] = []
    for place, field in enumerate(fields(Facts)):
        if field.name in beside and field.name not in NOT_A_CHANGE:
            now = getattr(facts, field.name)
            for cost, value in _values(field.name, now, sorted(beside[field.name]), policy):
                if value != now:
                    weighed.append((cost, place, Turn(field.name, value)))
    return [turn for _, _, turn in sorted(weighed, key=lambda one: one[:2])]


def _facts_of(row: Mapping[str, Any]) -> Iterator[str]:
    for name in row:
        room, _, own = name.partition(".")
        if room == "facts":
            yield STANDS_FOR.get(own, own)


def _values(name: str, now: Any, beside: Sequence[float], policy: Policy) -> Iterable[tuple[float, Any]]:
    """Values with their distance from `now`; a word, a yes or a node costs 1."""
    if isinstance(now, bool):
        return [(1.0, not now)]
    if isinstance(now, enum.Enum):
        return [(1.0, word) for word in type(now)]
    if name == "named":
        return [(1.0, value) for value in _named(now, policy)]
    if name == "excluded":
        return [(1.0, ()), (1.0, (Excluded(SOME_NODE), *now))]
    if name in NODE_LISTS:
        return [(1.0, ()), (1.0, (SOME_NODE,))]
    return _numbers(now, beside, whole=float not in _kinds(name))


def _numbers(now: float | None, beside: Sequence[float], *, whole: bool) -> list[tuple[float, Any]]:
    least = 1 if whole else 0.01
    start, unsaid = now or 0, 0.0 if now is not None else UNSAID
    near = {0.0} | {round(limit + step, 6) for limit in beside for step in (-least, 0, least)}
    to: Callable[[float], float] = int if whole else float
    values = sorted((value for value in near if value >= 0), key=lambda value: (abs(value - start), value))
    return [(1.0 + unsaid + abs(value - start), to(value)) for value in values[:MOST_LIMITS]]


def _named(now: tuple[NamedNode, ...], policy: Policy) -> Iterator[tuple[NamedNode, ...]]:
    yield ()
    if not now:
        yield (NamedNode(SOME_NODE, policy.exclude_confidence),)
    for place, node in enumerate(now[:MOST_NODES]):
        for changed in (
            replace(node, confidence=policy.exclude_confidence),
            replace(node, drained=not node.drained),
            replace(node, available=not node.available),
            replace(node, witnessed=not node.witnessed),
        ):
            yield (*now[:place], changed, *now[place + 1 :])


def _kinds(name: str) -> tuple[Any, ...]:
    return typing.get_args(KINDS[name]) or (KINDS[name],)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
