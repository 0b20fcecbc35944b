"""When is there something to do? The product's due columns, in one statement.

Asked at every moment of every run, so it goes round the ORM, which would take most of the time.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import connection
from django.db.models import Model

from advisor_api.models import Advice, Sequence
from advisor_api.policy.advice_state import AdviceState
from detectors.models import Verdict
from workloads.models import Attempt, Cluster

LONG_AGO = datetime(1970, 1, 1)  # noqa: DTZ001  # as the columns hold it
OPEN = (AdviceState.PENDING.value, AdviceState.AWAITING_APPROVAL.value)


@dataclass(frozen=True, slots=True)
class Dues:
    """Epoch seconds; `None`: nothing is due. `open_recoveries` those that are not over, `moving` those of them
    that wait for a step.
    """

    observe_at: float | None
    read_at: float | None
    judge_at: float | None
    decide_at: float | None
    expire_at: float | None
    open_recoveries: int
    moving: int


def read_dues(ahead: float = 0.0) -> Dues:
    """What the database says now; the site's clock, by which it says it, is `ahead` seconds fast."""
    with connection.cursor() as cursor:
        cursor.execute(STATEMENT, [LONG_AGO, *OPEN])
        row = cursor.fetchone()
    observe_at, read_at, judge_at, decide_at, expire_at = (_seconds(at, ahead) for at in row[:5])
    return Dues(observe_at, read_at, judge_at, decide_at, expire_at, open_recoveries=row[5], moving=row[6])


def _seconds(text: str | datetime | None, ahead: float) -> float | None:
    if text is None:
        return None
    at = datetime.fromisoformat(text) if isinstance(text, str) else text
    return at.replace(tzinfo=UTC).timestamp() - ahead


def _table(model: type[Model]) -> str:
    return connection.ops.quote_name(model._meta.db_table)


STATEMENT = f"""
SELECT (SELECT MIN(COALESCE(observe_due_at, %s)) FROM {_table(Cluster)} WHERE enabled),
       (SELECT MIN(read_due_at) FROM {_table(Attempt)}),
       (SELECT MIN(judge_due_at) FROM {_table(Attempt)}),
       (SELECT MIN(decide_due_at) FROM {_table(Verdict)}),
       (SELECT MIN(expires_at) FROM {_table(Advice)} WHERE state IN (%s, %s)),
       (SELECT COUNT(*) FROM {_table(Sequence)} WHERE closed_at IS NULL),
       (SELECT COUNT(*) FROM {_table(Sequence)} WHERE closed_at IS NULL AND resumed_at IS NULL)
"""  # noqa: S608  # names of our own tables
