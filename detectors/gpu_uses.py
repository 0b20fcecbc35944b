"""What do the GPUs of some attempts do? Stored by the metrics' reading, read by every turn over an attempt."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from detectors.catalogue.gpu_use import TOPIC, GpuUse
from detectors.models import Observation
from detectors.storing import ALL, ROWS
from workloads.models import Attempt


def uses_of(attempts: Sequence[Attempt], now: datetime) -> dict[int, GpuUse]:
    """By attempt, in one query; nothing where no metric tells, or none has told lately."""
    watched = [one.pk for one in attempts if one.job.cluster.metrics_address]
    if not watched:
        return {}
    rows = Observation.objects.filter(attempt__in=watched, topic=TOPIC).values_list("attempt_id", "value")
    uses = {attempt: GpuUse.of(value) for attempt, value in rows}
    return {attempt: use for attempt, use in uses.items() if use.known_at(now)}


def store_uses(uses: Mapping[int, GpuUse]) -> None:
    """Store the uses by attempt, inside the caller's transaction."""
    known = {row.attempt_id: row for row in Observation.objects.filter(attempt__in=list(uses), topic=TOPIC)}
    new, old = [], []
    for attempt, use in uses.items():
        row = known.get(attempt)
        if row is None:
            value = use.stored()
            new.append(Observation(attempt_id=attempt, topic=TOPIC, key=ALL, value=value, at=use.seen_at))
        else:
            row.value, row.at = use.stored(), use.seen_at
            old.append(row)
    Observation.objects.bulk_create(new, ROWS)
    Observation.objects.bulk_update(old, ["value", "at"], ROWS)
