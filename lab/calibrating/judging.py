"""What does the product conclude from the log of a situation, and is it right?

By the road of `diagnose`: the log and what the scheduler says are read, folded, judged, as fast as that is. What a
site knows beside them (states of the nodes, health events, other jobs, earlier attempts) is not there. Like a site
it says nothing on an attempt that runs unless it hangs, is slow or computes no numbers.
"""

import io
from collections.abc import Iterable
from datetime import timedelta

from detectors.attribution.judgement import Implicated, Judgement
from detectors.catalogue.kind import JUDGED_ALIVE
from detectors.diagnosing.judging import Diagnosis
from detectors.diagnosing.reading import Asked, read
from lab.calibrating.playing import Played, play
from lab.calibrating.reliability import Verdict
from lab.calibrating.varying import situation
from lab.cases.case import Case, Sort
from lab.score.grade import Grade
from lab.score.grading import grade
from lab.score.said import Judged, Result, Said
from schedulers.states import FINAL, JobState

SURE = ("culprit", "suspect")
LATER = timedelta(hours=1)  # than anything that was done


def usable(case: Case) -> bool:
    """Whether a log and the scheduler's word tell all of it: one job, and nobody does anything from outside."""
    script = case.simulated
    asked = case.sort is Sort.TRAP or bool(case.truth.layers)
    return script is not None and len(script.jobs) == 1 and not script.acts and asked


def verdict(case: Case, seed: int) -> Verdict | None:
    """The verdict on the case as the seed puts it on; `None` where nothing is said that could be graded."""
    graded = graded_as(case, seed)
    if graded is None or graded.confidence is None or graded.confidence_right is None:
        return None
    return Verdict(case.name, graded.confidence, graded.confidence_right, graded.evidence_status, graded.rule, seed)


def graded_as(case: Case, seed: int) -> Grade | None:
    """The grade of what was said; `None` where nothing was."""
    made = situation(case, seed)
    played = play(made)
    source = io.BufferedReader(io.BytesIO(played.log))
    diagnosis = read(Asked(["-"], played.told, None, played.until, source)).diagnosis
    if diagnosis is None or not _spoken(diagnosis, played):
        return None
    said = Said(verdicts=(_judged(diagnosis.judgement, played),), states={played.job: "ended"})
    return grade(Result(case, played.deeds, said, 1.0))


def _spoken(diagnosis: Diagnosis, played: Played) -> bool:
    state = played.told.state
    alive = state is not None and state not in FINAL and diagnosis.judgement.kind not in JUDGED_ALIVE
    return not diagnosis.nothing and not alive and state is not JobState.COMPLETED


def _judged(judgement: Judgement, played: Played) -> Judged:
    blamed = sorted(
        (one for one in judgement.implicated if one.role in SURE),
        key=lambda one: (SURE.index(one.role), -one.confidence),
    )
    fired = (rule.id for rule in judgement.rules if rule.fired)
    return Judged(
        job=played.job,
        attempt=0,
        kind=judgement.kind.value,
        layer=judgement.layer.value,
        signature=judgement.signature,
        confidence=judgement.confidence,
        action=judgement.action.value,
        hosts=_hosts(blamed),
        excludable=_hosts(one for one in blamed if one.excludable),
        judged_at=played.until + LATER,
        body_hash="",
        status=judgement.evidence_status.value,
        rule=next((name for name in fired if name.startswith("cause.")), ""),
    )


def _hosts(some: Iterable[Implicated]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.host for one in some))
