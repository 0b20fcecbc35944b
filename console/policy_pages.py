"""What do the pages of the policy show: which values hold for whom, and what a draft would have changed?"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from advisor_api.policies import InForce
from advisor_api.policy.comparing import meaning_of
from advisor_api.policy.level import PolicyLevel
from advisor_api.policy.replay import Compared, Summary
from advisor_api.policy.values import Policy
from advisor_api.replaying import Draft, Span, replay

ROWS = 200  # differing decisions that the page shows
MOST = 20_000  # decisions that a page makes again
SECONDS = 5.0  # that it takes for them


@dataclass(frozen=True)
class ValueLine:
    """One value that holds. `version`: whose it is, `None` for the program's default."""

    name: str
    value: Any
    default: Any
    level: PolicyLevel
    version: int | None
    meaning: str


@dataclass(frozen=True)
class Tried:
    """A replay for a page. `whole`: every decision of the span was looked at."""

    summary: Summary
    rows: list[Compared]
    whole: bool


def value_lines(found: InForce) -> list[ValueLine]:
    """The values in the order of the policy's page, each with where it comes from."""
    origins = found.resolved.origins
    return [
        ValueLine(
            name=field.name,
            value=getattr(found.policy, field.name),
            default=field.default,
            level=origins[field.name].level,
            version=origins[field.name].version,
            meaning=meaning_of(field.name),
        )
        for field in fields(Policy)
    ]


def tried(draft: Draft, span: Span, clock: Callable[[], float]) -> Tried:
    """The newest decisions of the span made again, within the bounds of a page."""
    summary, end = Summary(), clock() + SECONDS
    rows: list[Compared] = []
    for compared in replay(span, draft, summary):
        if compared.differs and len(rows) < ROWS:
            rows.append(compared)
        if summary.seen >= MOST or clock() > end:
            return Tried(summary, rows, whole=False)
    return Tried(summary, rows, whole=True)
