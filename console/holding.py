"""How does a person keep the controller from the next step on one job? By a pause of that job, and nothing else."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext as _

from advisor_api.models import Advice, Pause
from advisor_api.pausing import covers, pause
from advisor_api.policy.advice_state import AdviceState
from advisor_api.refusals import Bad, Stale
from audit.in_sight import in_full_sight
from audit.trail import Actor
from console.advice_lines import AdviceLine
from console.recovery import sequence_of


def hold_step(
    advice: Advice,
    generation_seen: int,
    *,
    reason: str,
    until: datetime,
    actor: Actor,
    now: datetime,
    seen: frozenset[int],
) -> Pause:
    """Nothing new is begun on the advice's job until then. `seen`: the pauses of the cluster that were shown.

    A hold beyond the advice's own end would hold nothing.

    Raises `Bad`; `Stale` when the advice is another one or over, or when somebody paused or resumed something.
    """
    with transaction.atomic(), in_full_sight():
        there = Advice.objects.select_for_update().get(pk=advice.pk)
        newest = (
            Advice.objects.filter(attempt=there.attempt_id).order_by("-generation").values_list("pk", flat=True)
        )
        if generation_seen != there.generation or newest[0] != there.pk:
            raise Stale(_("There is newer advice on this attempt since you looked; nothing was held by you."))
        if refusal := over(there, now):
            raise Stale(f"{refusal} {_('Nothing was held by you.')}")
        if until > there.expires_at:
            too_long = _(
                "The advice itself ends at %(time)s: hold it until then at most. To have nothing done to the job "
                "for longer, pause the job."
            )
            raise Bad(too_long % {"time": _moment(there.expires_at)})
        job = advice.attempt.job
        return pause(
            job.cluster, "job", str(job.number), reason=reason, until=until, actor=actor, now=now, seen=seen
        )


def over(advice: Advice, now: datetime) -> str:
    """Why there is nothing left to hold, or `""`."""
    state = AdviceState(advice.state)
    if state is AdviceState.AWAITING_APPROVAL:
        return ""
    if state is not AdviceState.PENDING:
        return _("This step is %(state)s already.") % {"state": _(state.label).lower()}
    return "" if advice.expires_at > now else _("This step has expired.")


def holding(advice: Advice, pauses: Sequence[Pause]) -> Pause | None:
    """The pause that holds it already, if one does."""
    return next((one for one in pauses if covers(one, advice.attempt.job)), None)


def what_holding_means(line: AdviceLine) -> list[str]:
    """What will happen to the job, in words that a person can say yes or no to."""
    names = {
        "attempt": line.advice.attempt.label,
        "number": line.job.number,
        "time": _moment(line.advice.expires_at),
    }
    first = (
        _("%(attempt)s is in the queue already, held by us. It is let go when its hold ends, all the same.")
        if _begun(line)
        else _("The controller begins nothing on job %(number)s: %(attempt)s stays as it is now.")
    )
    latest = _(
        "The hold ends at %(time)s at the latest: the advice itself ends then, and is not carried out any more. "
        "Restart or stop the job yourself if it needs that. What Rekindle advises anew after that is not held."
    )
    return [
        first % names,
        _("Rekindle goes on to watch the job and to advise."),
        latest % names,
        _(
            "If the hold ends earlier, by the end that you choose or because you take it back, the step is carried "
            "out then."
        ),
    ]


def what_was_held(line: AdviceLine, until: datetime) -> str:
    """Until when, and what happens then."""
    names = {
        "attempt": line.advice.attempt.label,
        "until": _moment(until),
        "end": _moment(line.advice.expires_at),
    }
    if until >= line.advice.expires_at:
        said = _("%(attempt)s is held until %(end)s. The advice itself ends then, and is not carried out any more.")
    else:
        said = _("%(attempt)s is held until %(until)s. Then the step is carried out, until %(end)s at the latest.")
    return said % names


def _begun(line: AdviceLine) -> bool:
    sequence = sequence_of(line.advice)
    return sequence is not None and sequence.commanded_at is not None


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"
