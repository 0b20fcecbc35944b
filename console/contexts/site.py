"""What stands on the pages that speak of all clusters?"""

from advisor_api.policy.advice_state import AdviceState
from audit.models import AuditEvent
from console.advice_lines import open_advice
from console.asking import Asked
from console.cluster_rows import cluster_rows
from console.contexts import Context
from console.delivery_lines import SEE_WHOM, newest_deliveries
from console.topics import QUIET

EVENTS_READ = 300
EVENTS_SHOWN = 25


def clusters(asked: Asked) -> Context:
    """Every cluster: mode, sight, counts."""
    return {"rows": cluster_rows(asked.now)}


def advice_now(asked: Asked) -> Context:
    """Open advice of all clusters."""
    return {"lines": open_advice(asked.now)}


def newest_events(asked: Asked) -> Context:
    """The newest events of all clusters, without those that come by the hundred."""
    newest = AuditEvent.objects.order_by("-id").defer("payload")[:EVENTS_READ]
    return {"events": [event for event in newest if event.type not in QUIET][:EVENTS_SHOWN]}


def approvals(asked: Asked) -> Context:
    """Advice that waits for a person."""
    return {"lines": open_advice(asked.now, state=AdviceState.AWAITING_APPROVAL)}


def deliveries(asked: Asked) -> Context:
    """What was told to whom, the newest first, and what came of it."""
    return {"rows": newest_deliveries(), "may_see_whom": SEE_WHOM in asked.may}
