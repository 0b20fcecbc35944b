"""Has anything changed that a controller would act on? One mark stands for all of it."""

import hashlib
import json
from datetime import datetime

from django.db.models import Q

from advisor_api.handing import advice_of
from advisor_api.models import PolicyActivation
from advisor_api.pausing import active_pauses
from workloads.models import Cluster


def mark_of(cluster_key: int, now: datetime) -> str:
    """32 hexadecimal characters over the open advice and the gates of a cluster; `""` once the cluster is gone.

    Two marks are equal when a controller that has read the advice once has nothing to read again. It is made from
    what is stored and from nothing that is counted, so no order of commits can hide a change. Five queries.
    """
    cluster = Cluster.objects.filter(pk=cluster_key).first()
    if cluster is None:
        return ""
    gates = (
        cluster.name,
        cluster.enabled,
        cluster.environment,
        cluster.mode,
        cluster.mode_version,
        cluster.acknowledge_scheduler_actions,
        cluster.partitions,
        cluster.opt_out,
    )
    concerned = PolicyActivation.objects.filter(Q(cluster=None) | Q(cluster=cluster))
    policy = concerned.order_by("-pk").values_list("pk", flat=True).first()
    pauses = sorted(active_pauses(cluster, now).values_list("pk", flat=True))
    advice = sorted(advice_of(cluster, only_active=True).values_list("pk", "state"))
    text = json.dumps([gates, policy, pauses, advice])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
