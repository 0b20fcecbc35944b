"""What do others tell about a cluster's nodes: broken, or healthy again?"""

from detectors.models import HealthEvent
from workloads.models import Cluster

READ = 1000


def faults_of(cluster: Cluster) -> dict[str, HealthEvent]:
    """By node the newest fatal fault that is open, else the newest one that is over. One query."""
    told = HealthEvent.objects.filter(cluster=cluster, fatal=True, healthy=False)
    found: dict[str, HealthEvent] = {}
    for row in told.order_by("-happened_at", "-pk")[:READ]:
        known = found.get(row.node)
        if known is None or (known.cleared_at is not None and row.cleared_at is None):
            found[row.node] = row
    return found
