"""Does a question close itself when its cause is gone, and only then, and what does an approval refuse?"""

from typing import Any

import pytest

from advisor_api.approving import approve
from advisor_api.deciding import decide
from advisor_api.following import follow
from advisor_api.models import Advice
from advisor_api.refusals import Stale
from schedulers.states import JobState
from tests.advisor_api.world import NOW, OPERATOR, UNKNOWN, a_cluster, a_job, a_verdict, an_attempt, seconds
from workloads.models import Attempt
from workloads.progress_models import ProgressPoint

pytestmark = pytest.mark.django_db
HANG: dict[str, Any] = {**UNKNOWN, "kind": "hang", "evidence_status": "supported", "confidence": 0.8}
NAN: dict[str, Any] = {**UNKNOWN, "kind": "nan", "evidence_status": "supported", "confidence": 0.8}


def asked(**verdict: Any) -> Advice:
    """A restart of a live attempt that waits for a person for a quarter of an hour."""
    attempt = an_attempt(a_job(a_cluster(mode="approve")), state=JobState.RUNNING, ended_at=None)
    advice = decide(a_verdict(attempt, **(verdict or HANG)), NOW)
    assert advice is not None
    assert (advice.operation, advice.state) == ("restart", "awaiting_approval")
    return advice


def moves(advice: Advice, *after: float) -> None:
    """Steps so many seconds after the advice."""
    for number, later in enumerate(after):
        ProgressPoint.objects.create(attempt=advice.attempt, at=NOW + seconds(later), step=100 + number)
        Attempt.objects.filter(pk=advice.attempt_id).update(
            last_step=100 + number, last_step_at=NOW + seconds(later)
        )


def after_follow(advice: Advice, later: float) -> tuple[str, str]:
    follow(NOW + seconds(later))
    row = Advice.objects.get(pk=advice.pk)
    return row.state, row.state_reason


WAITS = ("awaiting_approval", "UNSPECIFIED")
SATISFIED = ("abandoned", "ALREADY_SATISFIED")


def test_five_minutes_of_steps_close_the_question_about_a_hang() -> None:
    advice = asked()
    moves(advice, *range(60, 420, 60))
    assert after_follow(advice, 355) == WAITS
    assert after_follow(advice, 361) == SATISFIED


def test_one_step_and_silence_again_does_not() -> None:
    advice = asked()
    moves(advice, 10)
    assert after_follow(advice, 500) == WAITS


def test_steps_before_the_question_do_not() -> None:
    advice = asked()
    moves(advice, -400, -300, -5)
    assert after_follow(advice, 200) == WAITS


def test_a_loss_that_is_no_number_moves_all_the_time_and_stays_a_question() -> None:
    advice = asked(**NAN)
    moves(advice, *range(60, 420, 60))
    assert after_follow(advice, 400) == WAITS
    fresh = Advice.objects.select_related("attempt__job__cluster", "verdict").get(pk=advice.pk)
    assert approve(fresh, 1, "go back to the checkpoint", OPERATOR, NOW + seconds(401)).state == "pending"


@pytest.mark.parametrize("state", [JobState.CANCELLED, JobState.COMPLETED, JobState.TIMEOUT, JobState.PREEMPTED])
def test_an_end_that_nobody_repairs_closes_the_question_and_refuses_a_late_yes(state: JobState) -> None:
    advice = asked()
    Attempt.objects.filter(pk=advice.attempt_id).update(state=state.value, ended_at=NOW + seconds(5))
    fresh = Advice.objects.select_related("attempt__job__cluster", "verdict").get(pk=advice.pk)
    with pytest.raises(Stale, match="ended meanwhile"):
        approve(fresh, 1, "yes", OPERATOR, NOW + seconds(6))
    assert after_follow(advice, 7) == SATISFIED


def test_a_failure_stays_a_question() -> None:
    advice = asked()
    Attempt.objects.filter(pk=advice.attempt_id).update(state="failed", ended_at=NOW + seconds(5))
    assert after_follow(advice, 60) == WAITS
