"""Which policy is active on a cluster?"""

from datetime import datetime

from django.db.models import F, Q

from advisor_api.models import PolicyVersion
from advisor_api.policy.values import Policy, defaults, read_policy
from workloads.models import Cluster


def active_policy(cluster: Cluster, now: datetime) -> tuple[PolicyVersion, Policy]:
    """The newest version of the cluster, else the newest of all clusters, else the defaults, stored as a version.

    Values that a version leaves out are the defaults of the program. Raises `BadPolicy` for a stored version that
    is not usable (the admin refuses those).
    """
    versions = PolicyVersion.objects.filter(Q(cluster=cluster) | Q(cluster=None))
    version = versions.order_by(F("cluster").asc(nulls_last=True), "-id").first()
    if version is None:
        version = PolicyVersion.objects.create(
            values=defaults(), note="The defaults, stored on first need.", created_at=now, created_by="Rekindle"
        )
    return version, read_policy(version.values)
