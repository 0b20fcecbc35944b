"""What is one row of the policy's table?"""

from collections.abc import Callable
from dataclasses import dataclass

from advisor_api.policy.backoff import no_seconds
from advisor_api.policy.facts import Facts
from advisor_api.policy.operation import Operation
from advisor_api.policy.values import Policy

Test = Callable[[Facts, Policy], bool]


@dataclass(frozen=True)
class Rule:
    """One row. `then=None`: nothing is done, and with `again_seconds` it is looked at again after them.

    `because` is a sentence for an operator in which `{facts.…}`, `{policy.…}` and the names of
    `advisor_api.policy.decision.sentence` stand for what was found.
    `names_nodes`: the sure nodes are excluded as far as the caps allow (or, for WAIT, proposed). `back_off` gives
    the seconds before the job may start again.
    """

    name: str
    then: Operation | None
    because: str
    applies: Test
    names_nodes: bool = False
    back_off: Callable[[Facts, Policy], float] = no_seconds
    again_seconds: float | None = None
