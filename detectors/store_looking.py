"""What does a cluster's log store show right now? For whoever sets it up: nothing is stored."""

from datetime import datetime

from detectors.store_asking import Ask, asking, place_of
from detectors.stores.store import SECOND, Question, StoreTrouble
from workloads.models import Cluster

SHOWN = 100  # lines asked for
MINUTES = 5


def look_at_store(cluster: Cluster, now: datetime, ask: Ask | None = None) -> str:
    """Ask once for lines of the last minutes, and say in one sentence what came."""
    place, seconds = place_of(cluster), int(now.timestamp())
    question = Question((seconds - MINUTES * 60) * SECOND, seconds * SECOND, SHOWN)
    request = place.store.request(place.job_lines, place.tenant, question)
    try:
        lines = place.store.lines((ask or asking(cluster))(request))
    except StoreTrouble as trouble:
        return f"The log store cannot be seen: {trouble}. Until it can, every job is blind."
    if not lines:
        return f"The log store answers, but has no line of any job in the last {MINUTES} minutes."
    named = sum(bool(line.labels.get(place.labels.job_id)) for line in lines)
    if not named:
        found = ", ".join(sorted(lines[-1].labels))[:500]
        return (
            f"The log store has lines, but none with the label {place.labels.job_id!r}; one of them has: {found}."
        )
    count = f"{len(lines)} or more" if len(lines) >= SHOWN else f"{len(lines)}"
    return f"The log store gave {count} lines of the last {MINUTES} minutes, {named} of them with a job's number."
