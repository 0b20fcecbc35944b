"""What stands on the pages that speak of all clusters?"""

from advisor_api.cluster_view import SeenCluster
from advisor_api.models import ControllerLease
from advisor_api.policy.advice_state import AdviceState
from audit.in_sight import hidden_now
from console.advice_lines import OpenAdvice, all_open_advice, open_advice
from console.asking import Asked
from console.cluster_rows import cluster_rows
from console.contexts import Context
from console.counts import counts_of
from console.delivery_lines import SEE_WHOM, newest_deliveries
from console.lost_hours import lost_today
from console.newest import newest_lines
from console.next_steps import next_steps

MAY_HOLD = "advisor_api.approve_advice"


def at_a_glance(asked: Asked) -> Context:
    """How many jobs are in which trouble, and what failures cost today."""
    return {"counts": counts_of(asked.now), "lost": lost_today(asked.now), "partly": bool(hidden_now().keys)}


def coming_steps(asked: Asked) -> Context:
    """What happens next by itself."""
    steps, more = next_steps(asked.now, _open_advice(asked).to_come)
    return {"steps": steps, "more": more, "may_hold": MAY_HOLD in asked.may}


def clusters(asked: Asked) -> Context:
    """Every cluster: mode, the health of each source, counts."""
    rows = cluster_rows(asked.now)
    held = ControllerLease.objects.filter(until__gt=asked.now)
    leases = {lease.cluster_id: lease for lease in held}
    lines = [(row, SeenCluster(row.cluster, (), leases.get(row.cluster.pk), 0, 0)) for row in rows]
    return {"lines": lines, "may_add": "workloads.add_cluster" in asked.may}


def advice_now(asked: Asked) -> Context:
    """Open advice of all clusters."""
    return {"lines": _open_advice(asked).newest}


def newest_events(asked: Asked) -> Context:
    """The newest events of all clusters, without those that come by the hundred."""
    return {"lines": newest_lines()}


def approvals(asked: Asked) -> Context:
    """Advice that waits for a person."""
    return {
        "lines": open_advice(asked.now, state=AdviceState.AWAITING_APPROVAL),
        "may": MAY_HOLD in asked.may,  # one right for all that is said to advice
    }


def deliveries(asked: Asked) -> Context:
    """What was told to whom, the newest first, and what came of it."""
    return {"rows": newest_deliveries(), "may_see_whom": SEE_WHOM in asked.may}


def _open_advice(asked: Asked) -> OpenAdvice:
    """Two panels of the overview show it."""
    return asked.once("open_advice", lambda: all_open_advice(asked.now))
