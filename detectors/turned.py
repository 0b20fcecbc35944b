"""What did one turn over one attempt give, before any of it is stored?"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from detectors.attribution.symptoms import is_cause
from detectors.catalogue.catalogue import Catalogue
from detectors.catalogue.health import BASIS
from detectors.catalogue.kind import JUDGED_ALIVE, AnomalyKind
from detectors.catalogue.records import Context, Finding, Outcome
from detectors.catalogue.role import Role
from detectors.claims import EARLY
from detectors.gathering import News
from detectors.sight import Sight
from schedulers.states import FINAL, WAITING, JobState
from workloads.models import Attempt

READ_ON = timedelta(minutes=5)  # after the end: lines of a slow file system still belong to it
READ_ON_BEHIND = timedelta(hours=1)  # when there is more than was read so far
PATIENCE = timedelta(seconds=10)  # with a verdict, for a reading that is late
BLIND_FACTOR = 5  # a blind attempt is looked at that much less often
LATE_SECONDS = 15.0  # a turn may come later than it is due, and be passed over for a glance, by so much
NO_VERDICT = frozenset({JobState.COMPLETED, JobState.GONE})
"""Ended well, or nobody knows how: neither is a failure."""


@dataclass(frozen=True)
class Past:
    """What is stored of an attempt's anomalies: the keys, whether a cause is among them, whether one that is open
    has a live attempt judged (`alive`), and the keys of the open warnings that a health event gave."""

    keys: frozenset[str] = frozenset()
    cause: bool = False
    alive: bool = False
    warned: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Turned:
    """One attempt's turn. `states` are the memories that changed. `settle` and `cascade`: how long siblings get.

    `catalogue`: version of the catalogue that the lines were matched with. `found_at`: when that was done.
    """

    news: News
    outcome: Outcome
    sight: Sight
    past: Past
    states: Mapping[str, Mapping[str, Any]]
    settle: timedelta
    cascade: timedelta
    catalogue: str
    found_at: datetime

    @property
    def attempt(self) -> Attempt:
        """The attempt as it was loaded."""
        return self.news.attempt

    @property
    def ended(self) -> bool:
        """Whether the scheduler calls it over."""
        return JobState(self.attempt.state) in FINAL

    @property
    def new_findings(self) -> tuple[Finding, ...]:
        """What was never stored of this attempt before."""
        return tuple(finding for finding in self.outcome.findings if finding.key not in self.past.keys)

    @property
    def refuted(self) -> tuple[str, ...]:
        """Keys of stored anomalies that later lines refuted."""
        return tuple(key for key in self.outcome.ended if key in self.past.keys)

    @property
    def grew(self) -> bool:
        """Whether any stream moved in this turn."""
        return any(news.portion.position is not None for news in self.news.streams)

    @property
    def quiet(self) -> bool:
        """Read to the end, and nothing new: nothing more will come, as far as one can see."""
        return self.news.at_end and not self.grew

    def finished(self, now: datetime) -> bool:
        """Whether an ended attempt needs no further reading."""
        if not self.ended:
            return False
        ended_at = self.attempt.ended_at or now
        if self.quiet:
            return now >= ended_at + max(self.settle, self.news.late)
        return now >= ended_at + (READ_ON if self.news.at_end else READ_ON_BEHIND)

    def read_due_at(self, now: datetime, pause: timedelta) -> datetime | None:
        """When the attempt is to be read again; `None`: not until the scheduler shows a change."""
        if self.finished(now) or JobState(self.attempt.state) in WAITING:
            return None
        if not self.news.at_end and self.grew:
            return now  # there is more; what waits for a listing or a last newline is not asked again at once
        if self.ended and self.quiet and now >= self._settled_at(now):
            return (self.attempt.ended_at or now) + self.news.late  # a line that comes until then is read at once
        if self.ended and now < self._settled_at(now) < now + pause:
            return self._settled_at(now) + EARLY * pause  # no turn is claimed before its time
        return now + (pause * BLIND_FACTOR if self.sight.blind and not self.ended else pause)

    def judge_due_at(self, now: datetime) -> datetime | None:
        """When the attempt is to be judged; `None`: nothing to judge, or nothing new.

        An ended one as soon as it is read to the end and a cause is known; without one its siblings get
        `settle` to speak, and what they said is read: by the clock alone a verdict comes only when the reading is
        later than `PATIENCE`. A live one for a hang, a slow-down or a loss that is no number, for what is found
        beside them, for a fault of a node that is told, and when they are over; but when its ranks say that a
        collective timed out, the others get `cascade` to say so too: whoever says nothing then is the one to look
        for.
        """
        new = self.new_findings
        if self.ended:
            if JobState(self.attempt.state) in NO_VERDICT:
                return None
            cause = self.past.cause or any(is_cause(f.kind, f.role, f.basis) for f in new)
            heard = self.news.at_end and now >= self._settled_at(now)
            known = self.finished(now) or (self.quiet and cause) or heard
            return now if known else max(now, self._settled_at(now)) + PATIENCE
        if any(_told_by_a_rank(finding) for finding in new):
            return now + self.cascade
        if self.refuted or any(finding.kind in JUDGED_ALIVE or finding.basis == BASIS for finding in new):
            return now
        return now + self.settle if self.past.alive and new else None

    def _settled_at(self, now: datetime) -> datetime:
        """When the siblings of an ended attempt have had their time to speak."""
        return (self.attempt.ended_at or now) + self.settle


def _told_by_a_rank(finding: Finding) -> bool:
    """A rank's word that it waited for others, and not our own clock."""
    return finding.kind is AnomalyKind.HANG and finding.role is Role.SECONDARY


def context_of(news: News, sight: Sight, limits: Mapping[str, float], known: Catalogue, now: datetime) -> Context:
    """What the detectors may know beside the lines."""
    attempt = news.attempt
    return Context(
        state=JobState(attempt.state),
        nodes=tuple(attempt.nodes),
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        exit_code=attempt.exit_code,
        exit_signal=attempt.exit_signal,
        reason=attempt.reason,
        limits=limits,
        blind=sight.blind,
        last_read_at=news.read_up_to(now),
        known=known,
        command_at=attempt.command_at,
        looked_at=attempt.looked_at or now,
        missed_seconds=_missed_seconds(attempt, now),
        listed_at=attempt.job.seen_at,
        unseen=attempt.job.cluster.cannot_see_since is not None,
    )


def _missed_seconds(attempt: Attempt, now: datetime) -> float:
    """For how long nobody looked, beyond what is usual: the site stood still, or its clock was set forward."""
    if attempt.looked_at is None:
        return 0.0
    usual: float = settings.REKINDLE["REKINDLE_READ_SECONDS"] + LATE_SECONDS
    return max(0.0, (now - attempt.looked_at).total_seconds() - usual)
