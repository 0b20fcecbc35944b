"""Can the log of an attempt be seen? Blind is a state, with its reason; never health, never a hang."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from detectors.gathering import News
from detectors.sources.files import STALE
from detectors.told_reading import TOO_FEW
from schedulers.states import FINAL, WAITING, JobState

PATHS_TOLD = 8  # in one reason
REASON_LIMIT = 1000  # characters; the column's width
PATIENT = frozenset({"no such file", STALE, TOO_FEW})
"""Troubles that pass by themselves when an attempt has just begun."""


@dataclass(frozen=True)
class Sight:
    """`reason` is empty while the log can be seen; `changed` says whether that is new."""

    reason: str
    changed: bool

    @property
    def blind(self) -> bool:
        """Whether no line can be read."""
        return bool(self.reason)


def look(news: News, limits: Mapping[str, float], now: datetime) -> Sight:
    """Whether the attempt can be seen after this turn; what was so before it stands in its row."""
    reason = _reason(news, limits, now)[:REASON_LIMIT]
    was_blind = news.attempt.blind_since is not None
    return Sight(reason, changed=bool(reason) != was_blind)


def unheard(news: News, reason: str) -> Sight:
    """Blind although every file can be read: nothing arrives in any of them."""
    return Sight(reason[:REASON_LIMIT], changed=news.attempt.blind_since is None)


def _reason(news: News, limits: Mapping[str, float], now: datetime) -> str:
    attempt = news.attempt
    state = JobState(attempt.state)
    if news.readable and state is JobState.RUNNING:
        return _nothing_in_it(news, limits, now)
    if state in WAITING or news.readable or (state in FINAL and news.moved_at):
        return ""
    if news.troubles:
        return "; ".join(news.troubles)
    refused = [s for s in news.streams if s.portion.trouble not in PATIENT]
    if refused:
        told = "; ".join(f"{s.stream.name}: {s.portion.trouble}" for s in refused[:PATHS_TOLD])
        more = f"; and {len(refused) - PATHS_TOLD} more" if len(refused) > PATHS_TOLD else ""
        return f"no log can be read: {told}{more}"
    if _still_early(news, limits, now):
        return attempt.blind_reason if attempt.blind_since else ""
    tried = ", ".join(news.tried[:PATHS_TOLD]) or "no path is known"
    return f"{'no line of it' if news.late else 'no log file'} was found; tried: {tried}"


def _nothing_in_it(news: News, limits: Mapping[str, float], now: datetime) -> str:
    """Not one line stands where there must be some: a silence that is read from there proves nothing."""
    if not all(one.portion.empty for one in news.readable):
        return ""
    attempt = news.attempt
    places = ", ".join(one.stream.name for one in news.readable[:PATHS_TOLD])
    if news.moved_at is not None:
        if now < news.moved_at + timedelta(seconds=limits["blind_seconds"]):
            return attempt.blind_reason
        return (
            f"the log was cut to nothing after lines of it had been read, and nothing was written since: {places}"
        )
    if now < (attempt.started_at or attempt.first_seen_at) + timedelta(seconds=limits["startup_seconds"]):
        return attempt.blind_reason
    return f"the log is still empty; the job may write elsewhere (srun --output in its script): {places}"


def _still_early(news: News, limits: Mapping[str, float], now: datetime) -> bool:
    """Files may appear a while after the start, and a rotation leaves a moment without one."""
    attempt = news.attempt
    known = [moment for moment in (attempt.started_at, news.moved_at) if moment]
    since = max(known, default=attempt.first_seen_at)
    patience = limits["blind_seconds"]
    if JobState(attempt.state) in FINAL:
        since, patience = attempt.ended_at or since, min(patience, limits["settle_seconds"])
    return now < since + timedelta(seconds=patience)
