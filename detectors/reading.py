"""What is new about some attempts? One turn: sources, detectors, and one short transaction (decisions 1).

A worker that dies on the way loses nothing and invents nothing: the cursor moves with what was found, or not at
all.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from django.db import IntegrityError

from detectors.attribution.symptoms import is_cause
from detectors.catalogue.detector import State
from detectors.catalogue.gpu_use import GpuUse
from detectors.catalogue.health import BASIS
from detectors.catalogue.kind import JUDGED_ALIVE, AnomalyKind
from detectors.catalogue.records import Context, Outcome, Turn
from detectors.catalogue.role import Role
from detectors.catalogue.turning import turn as catalogue_turn
from detectors.early_warnings import EarlyWarnings
from detectors.excerpts import cut_excerpts
from detectors.gathering import News, Unread, gather
from detectors.gpu_uses import uses_of
from detectors.models import Anomaly
from detectors.quiet_source import Neighbours, is_bare_silence
from detectors.seeing import store_broken
from detectors.sight import look, unheard
from detectors.site_catalogues import SiteCatalogues, site_catalogues
from detectors.storing import Overtaken, store
from detectors.told_silence import by_told_alone, told_at, was_told
from detectors.turned import Past, Turned, context_of
from workloads.limits import effective_limits
from workloads.models import Attempt

log = logging.getLogger(__name__)
TOGETHER = 250  # attempts stored in one transaction: short enough for the other writers
_FORGOTTEN: State = {}
Clock = Callable[[], datetime]


@dataclass(frozen=True)
class Shared:
    """What the turns of one batch have in common.

    `uses`: what the GPUs of its attempts do, where metrics tell. `clock`: tells when something was found, as a
    batch may take seconds; without it that is when the batch began.
    """

    turn: Turn
    known: SiteCatalogues
    neighbours: Neighbours
    warnings: EarlyWarnings = field(default_factory=EarlyWarnings)
    uses: Mapping[int, GpuUse] = field(default_factory=dict)
    clock: Clock | None = None

    def found_at(self, now: datetime) -> datetime:
        """The time by the clock, never before the turn of `now`."""
        return now if self.clock is None else max(now, self.clock())


def read_attempt(attempt: Attempt, now: datetime, turn: Turn = catalogue_turn) -> bool:
    """One turn over one attempt with its job and cluster; `False` when somebody else was first."""
    return read_attempts([attempt], now, turn) == 1


def read_attempts(
    attempts: Sequence[Attempt], now: datetime, turn: Turn = catalogue_turn, clock: Clock | None = None
) -> int:
    """One turn over some attempts; how many of them were stored. `clock`: of a door, see `Shared`.

    An attempt whose lines break a detector, or whose turn somebody else took, is left out: it is due again when
    its claim ends.
    """
    past = past_of(attempts)
    uses = uses_of(attempts, now)
    shared = Shared(turn, site_catalogues(), Neighbours(), EarlyWarnings(attempts), uses, clock)
    stored = 0
    turned: list[Turned] = []
    for news in gather(attempts, now):
        try:
            if isinstance(news, Unread):
                raise news.error
            turned.append(turned_of(news, past.get(news.attempt.pk, Past()), shared, now))
        except Exception as error:  # one hostile log must not stop the reading of all others
            log.exception("reading failed on attempt %s", news.attempt.label)
            store_broken(news.attempt, error, now)
        if len(turned) >= TOGETHER:
            stored += _stored(turned, now)
            turned = []
    return stored + _stored(turned, now)


def _stored(turned: Sequence[Turned], now: datetime) -> int:
    """Store some turns together; when one of them cannot be, each half by itself, down to the one."""
    if not turned:
        return 0
    try:
        store([(one, cut_excerpts(one, now)) for one in turned], now)
    except Exception as error:
        if len(turned) > 1:
            half = len(turned) // 2
            return _stored(turned[:half], now) + _stored(turned[half:], now)
        if isinstance(error, Overtaken | IntegrityError):
            log.info("dropped a turn over attempt %s: %s", turned[0].attempt.label, error)
        else:
            log.exception("could not store the turn over attempt %s", turned[0].attempt.label)
        return 0
    return len(turned)


def turned_of(news: News, past: Past, shared: Shared, now: datetime) -> Turned:
    """All detectors over the news of one attempt; nothing is stored."""
    entries = shared.known.of(news.attempt.job.cluster_id)
    limits = effective_limits(news.attempt.job.cluster.detector_limits)
    sight = look(news, limits, now)
    context = replace(context_of(news, sight, limits, entries, now), use=shared.uses.get(news.attempt.pk))
    outcome = _outcome(news, context, shared.turn, now)
    if is_bare_silence(outcome) and (why := _why_unheard(news, outcome, shared.neighbours, now)):
        sight = unheard(news, why)
        outcome = _outcome(news, replace(context, blind=sight.blind), shared.turn, now)
    outcome = _with_warnings(news.attempt, outcome, past, shared.warnings)
    before = {name: watch.state for name, watch in news.watches.items()}
    return Turned(
        news=news.without_records(),
        outcome=outcome,
        sight=sight,
        past=past,
        states=_changed(before, outcome.states),
        settle=timedelta(seconds=limits["settle_seconds"]),
        cascade=timedelta(seconds=limits["cascade_seconds"]),
        catalogue=entries.version,
        found_at=shared.found_at(now),
    )


def _why_unheard(news: News, outcome: Outcome, neighbours: Neighbours, now: datetime) -> str:
    """Why a bare silence proves nothing; empty when it does."""
    if by_told_alone(news.readable) or was_told(outcome):
        return neighbours.why_untold(news.attempt, told_at(news.streams), now)
    return neighbours.why_unheard(news.attempt, news.moved_at, now)


def _changed(before: Mapping[str, State], after: Mapping[str, State]) -> dict[str, State]:
    """The memories to store. One that says nothing any more becomes an empty one."""
    now = dict.fromkeys(before, _FORGOTTEN) | dict(after)
    return {name: state for name, state in now.items() if before.get(name) != state}


def _with_warnings(attempt: Attempt, outcome: Outcome, past: Past, warnings: EarlyWarnings) -> Outcome:
    """The same with what others tell of the attempt's nodes."""
    told, over = warnings.of(attempt, past.keys), warnings.over(attempt, past.warned)
    if not told and not over:
        return outcome
    return replace(outcome, findings=(*outcome.findings, *told), ended=(*outcome.ended, *over))


def _outcome(news: News, context: Context, turn: Turn, now: datetime) -> Outcome:
    """All detectors over the new lines; with fresh memories when those of an older catalogue break them."""
    states = {name: watch.state for name, watch in news.watches.items()}
    try:
        return turn(states, news.records, context, now)
    except Exception:
        if all(watch.catalogue == context.known.version for watch in news.watches.values()):
            raise
        log.exception("began anew with attempt %s: its memories are of an older catalogue", news.attempt.label)
        return turn({}, news.records, context, now)


def past_of(attempts: Sequence[Attempt]) -> dict[int, Past]:
    """What is stored of the attempts' anomalies, in one query."""
    rows = Anomaly.objects.filter(attempt__in=[attempt.pk for attempt in attempts]).values_list(
        "attempt_id", "key", "kind", "role", "basis", "refuted_at"
    )
    keys, causes, alive, warned = defaultdict(set), set(), set(), defaultdict(set)
    for attempt, key, kind, role, basis, refuted_at in rows:
        keys[attempt].add(key)
        if is_cause(AnomalyKind(kind), Role(role), basis):
            causes.add(attempt)
        if AnomalyKind(kind) in JUDGED_ALIVE and refuted_at is None:
            alive.add(attempt)
        if basis == BASIS and refuted_at is None:
            warned[attempt].add(key)
    return {
        attempt: Past(frozenset(found), attempt in causes, attempt in alive, frozenset(warned[attempt]))
        for attempt, found in keys.items()
    }
