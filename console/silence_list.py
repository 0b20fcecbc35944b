"""Which silences hold, which are over, and what does one cover now?"""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count

from advisor_api.silence_facts import of_incidents
from advisor_api.silence_models import Silence
from advisor_api.silencing import covers
from detectors.models import Incident

SILENCES = 200
COVERED = 1000  # open incidents of the cluster, the newest, that a new silence is held against
NAMED = 5


@dataclass(frozen=True)
class SilenceLine:
    """One silence; `kept`: messages that it kept back, as far as they are still there."""

    row: Silence
    holds: bool
    kept: int

    @property
    def over_at(self) -> datetime:
        """When it was over, or will be."""
        return self.row.ended_at or self.row.until


@dataclass(frozen=True)
class Covered:
    """How many open incidents a silence would cover now, and the first of them."""

    number: int
    first: tuple[Incident, ...]


def silence_lines(now: datetime) -> list[SilenceLine]:
    """The newest silences, those that hold first."""
    rows = Silence.objects.select_related("cluster").annotate(kept=Count("deliveries")).order_by("-id")[:SILENCES]
    lines = [SilenceLine(row, row.ended_at is None and row.until > now, row.kept) for row in rows]
    return sorted(lines, key=lambda line: not line.holds)


def covered_by(silence: Silence) -> Covered:
    """What it would cover. Four queries."""
    opened = Incident.objects.filter(cluster=silence.cluster, ended_at=None)
    newest = {one.pk: one for one in opened.order_by("-last_seen_at")[:COVERED]}
    found = of_incidents(list(newest), [silence])
    fits = [newest[key] for key, spoken in found.items() if covers(silence, spoken)]
    return Covered(len(fits), tuple(fits[:NAMED]))
