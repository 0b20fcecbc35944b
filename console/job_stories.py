"""What is told of a job's attempts: of the newest ones everything, of earlier ones what it was in one line?"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from audit.models import AuditEvent
from console.advice_lines import AdviceLine, RuleSaid, advice_in_full, rules_said
from console.evidence import Judgement, Quote, judgement_of, quotes_from
from console.job_rows import (
    advised_in,
    anomalies_of,
    attempts_of,
    corrections_of,
    excerpts_of,
    left_alone,
    questions_on,
    symptoms_told,
    verdicts_of,
)
from console.job_timeline import window_of
from console.job_window import Window
from console.recovery import Station, sequence_of, stations_of
from detectors.catalogue.kind import AnomalyKind
from detectors.models import Anomaly
from detectors.provider_models import ProviderQuestion
from workloads.models import Attempt, Cluster, Job

TOLD_WHOLE = 4  # attempts with all evidence, rules and symptoms: a page of thirty is read by nobody


@dataclass(frozen=True)
class Story:
    """What happened to one attempt, and what was made of it."""

    attempt: Attempt
    anomalies: Sequence[tuple[Anomaly, AnomalyKind, tuple[Quote, ...]]]
    judgement: Judgement | None
    advice: Sequence[AdviceLine]
    corrections: Sequence[AuditEvent]
    outside: Sequence[ProviderQuestion]
    why_not: AuditEvent | None
    why_not_rules: Sequence[RuleSaid]
    recoveries: Sequence[Sequence[Station]]


@dataclass(frozen=True)
class Earlier:
    """An attempt in one line. `window`: the stretch of time in which the page tells all of it."""

    attempt: Attempt
    kind: AnomalyKind | None
    sentence: str
    window: Window


@dataclass(frozen=True)
class Stories:
    """The newest first. `kinds`: how many of the earlier ones were what, the most frequent first."""

    whole: Sequence[Story]
    earlier: Sequence[Earlier]
    kinds: Sequence[tuple[str, int]]
    blind: bool
    before: int  # attempts that are older than all of these


def stories_of(job: Job, cluster: Cluster, window: Window, now: datetime) -> Stories:
    """What there is to tell of the newest attempts, or of those in a window. Always as many queries."""
    attempts = attempts_of(job, window=window)[::-1]
    brief, symptoms = verdicts_of(attempts, whole=False), symptoms_told(attempts)
    alone, advised = left_alone(job, cluster), advised_in(attempts)
    told = [
        attempt
        for attempt in attempts
        if attempt.pk in brief or attempt.pk in symptoms or attempt.pk in advised or attempt.index in alone
    ]
    whole = _whole(told[:TOLD_WHOLE], job, cluster, alone, now)
    earlier = []
    for attempt in told[TOLD_WHOLE:]:
        verdict, why_not = brief.get(attempt.pk), alone.get(attempt.index)
        said = verdict.sentence if verdict else symptoms.get(attempt.pk, why_not.sentence if why_not else "")
        kind = AnomalyKind(verdict.kind) if verdict else None
        earlier.append(Earlier(attempt, kind, said, window_of(attempt)))
    kinds = Counter(_(one.kind.label).lower() if one.kind else _("not judged") for one in earlier)
    blind = bool(attempts and attempts[0].blind_since)
    return Stories(whole, earlier, kinds.most_common(), blind, attempts[-1].index if attempts else 0)


def _whole(
    attempts: Collection[Attempt], job: Job, cluster: Cluster, alone: dict[int, AuditEvent], now: datetime
) -> list[Story]:
    verdicts, anomalies, excerpts = verdicts_of(attempts), anomalies_of(attempts), excerpts_of(attempts)
    lines, asked_outside = advice_in_full(attempts, now), questions_on(attempts)
    corrected = corrections_of(job, cluster)
    stories = []
    for attempt in attempts:
        copies, seen = excerpts.get(attempt.pk, []), anomalies.get(attempt.pk, [])
        verdict = verdicts.get(attempt.pk)
        advice = [line for line in lines if line.advice.attempt_id == attempt.pk]
        sequences = [sequence for line in advice if (sequence := sequence_of(line.advice))]
        why_not = None if advice else alone.get(attempt.index)
        stories.append(
            Story(
                attempt,
                [(one, AnomalyKind(one.kind), quotes_from(one.evidence, copies)) for one in seen],
                judgement_of(verdict, seen, copies) if verdict else None,
                advice[::-1],
                corrected.get(attempt.index, []),
                asked_outside.get(attempt.pk, []),
                why_not,
                rules_said(why_not.payload.get("trace")) if why_not else (),
                [stations_of(sequence) for sequence in sequences],
            )
        )
    return stories
