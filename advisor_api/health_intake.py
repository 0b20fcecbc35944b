"""How do pushed health events get in: durable when answered, and with what they mean for nodes left out?

A node is given back when the event clears the very faults that its exclusion rests on (`advisor_api.clearing`);
what stays excluded is written down as that, so that whoever looks at the exclusion sees it.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from django.db import IntegrityError, OperationalError, transaction

from advisor_api.clearing import lift_cleared
from advisor_api.gathering import active_exclusions
from advisor_api.models import Exclusion
from advisor_api.trail_intake import DEADLOCK, TRIES
from audit.event_type import EventType
from audit.trail import Actor, Entry, Subject, record
from detectors.health_events import TakenIn, Told, take_in
from workloads.models import Cluster


def take_events(cluster: Cluster, events: Sequence[Told], actor: Actor, now: datetime) -> TakenIn:
    """Store the events in one transaction, each once by its key; tried again when another request was faster."""
    for attempt in range(TRIES):
        try:
            with transaction.atomic():
                taken = take_in(cluster, events, actor, now)
                healthy = {row.node for row in taken.cleared}
                if healthy:
                    lift_cleared(cluster, healthy, actor, now)
                    still = active_exclusions(cluster, now).filter(node__in=healthy)
                    record([*_kept_out(cluster, still, actor)], now)
                return taken
        except (IntegrityError, OperationalError) as error:
            if attempt == TRIES - 1 or not (isinstance(error, IntegrityError) or error.args[:1] == (DEADLOCK,)):
                raise
    raise AssertionError("the loop returns or raises")


def _kept_out(cluster: Cluster, exclusions: Iterable[Exclusion], actor: Actor) -> Iterable[Entry]:
    for row in exclusions:
        yield Entry(
            type=EventType.EXCLUSION,
            subject=Subject(cluster=cluster.name, node=row.node),
            actor=actor,
            sentence=(
                f"{row.node} is told healthy again, and stays excluded until {row.until:%Y-%m-%d %H:%M} UTC unless"
                " somebody lifts it."
            ),
            action="healthy",
            verdict_id=row.verdict_id,
            payload={"until": row.until.isoformat(), "owner": row.owner, "exclusion": row.pk},
        )
