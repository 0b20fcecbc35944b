"""How do events get into the chain of their cluster?

The waiting ones are taken in the order of their numbers, a batch in one transaction. Which number an event gets in
the chain is decided here and not when it was written, since transactions end in any order. Two sealers at once do
no harm: the number of a seal is unique, and whoever comes second takes nothing.
"""

import logging
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from django.db import IntegrityError, transaction

from audit.models import AuditChain, AuditSeal, AuditUnsealed
from audit.row_text import GONE, START, digest, texts_of

log = logging.getLogger("rekindle.audit")

AT_ONCE = 2000  # events in one turn


def seal_waiting(now: datetime, most: int = AT_ONCE) -> int:
    """Seal up to `most` waiting events; returns how many were sealed. The same few queries for each cluster."""
    waiting = AuditUnsealed.objects.order_by("event").values_list("event", "cluster")[:most]
    by_cluster: defaultdict[str, list[int]] = defaultdict(list)
    for event, cluster in waiting:
        by_cluster[cluster].append(event)
    return sum(_seal(cluster, events, now) for cluster, events in by_cluster.items())


def _seal(cluster: str, events: Sequence[int], now: datetime) -> int:
    texts = texts_of(events)
    try:
        with transaction.atomic():
            chain = AuditChain.objects.filter(cluster=cluster).first()
            before, link = (chain.seq, chain.digest) if chain else (0, START)
            seals = []
            for seq, event in enumerate(events, before + 1):
                if event not in texts:
                    log.error("event %s of %r is gone before it was sealed", event, cluster)
                link = digest(link, cluster, seq, texts.get(event, GONE))
                seals.append(AuditSeal(cluster=cluster, seq=seq, event=event, digest=link, sealed_at=now))
            AuditSeal.objects.bulk_create(seals, batch_size=500)
            moved = {"seq": seals[-1].seq, "digest": link}
            if chain is None:
                AuditChain.objects.create(cluster=cluster, **moved)
            elif not AuditChain.objects.filter(cluster=cluster, seq=before).update(**moved):
                raise IntegrityError("another sealer was first")
            AuditUnsealed.objects.filter(event__in=events).delete()
    except IntegrityError:  # what another one has not sealed waits for the next turn
        return 0
    return len(seals)
