"""May what an open approval asks for still be carried out, as it could be when the form was made?

A pause, or another mode, makes a yes one that does nothing: it is refused (`advisor_api.approving`), a no is taken.
"""

import re
from datetime import datetime

from django.utils.translation import gettext as _

from advisor_api.acting import acting_on
from advisor_api.gates import closed_for_approval
from advisor_api.models import Advice, Pause
from advisor_api.pausing import covers
from advisor_api.policy.advice_state import AdviceState
from audit.event_type import EventType
from console.cluster_rows import pauses_of
from console.form_changes import Changed, told_by
from console.pause_words import name_of
from workloads.mode import Mode

NAMED = 5
_PAIR = re.compile(r"([0-9]{1,18}):([01])")


def gates(of: str, mark: str, now: datetime) -> Changed | None:
    """`mark`: of each advice that the form asks for `KEY:0`, or `KEY:1` where a gate was closed, with commas.

    What no longer waits for an answer is told by the other questions of the form. A fixed number of queries.
    """
    seen = {int(found[1]): found[2] == "1" for part in mark.split(",") if (found := _PAIR.fullmatch(part))}
    waiting = Advice.objects.filter(pk__in=list(seen), state=AdviceState.AWAITING_APPROVAL, expires_at__gt=now)
    rows = list(waiting.select_related("attempt__job__cluster", "verdict").defer("trace", "facts").order_by("pk"))
    if not rows:
        return None
    pauses = pauses_of(list({row.attempt.job.cluster for row in rows}), now)
    acting = acting_on([row.attempt.job for row in rows])
    closing: list[tuple[Advice, str]] = []
    opening: list[Advice] = []
    for row in rows:
        job = row.attempt.job
        closed = closed_for_approval(row, job.cluster, job, pauses.get(job.cluster_id, []), acting, now)
        if closed and not seen[row.pk]:
            closing.append((row, closed))
        elif seen[row.pk] and not closed:
            opening.append(row)
    if closing:
        return _closed(closing, pauses)
    return _opened(opening) if opening else None


def _closed(rows: list[tuple[Advice, str]], pauses: dict[int, list[Pause]]) -> Changed:
    """By whose word the first of them cannot be carried out, and what that means for all."""
    first, why = rows[0]
    job = first.attempt.job
    held = next((one for one in pauses.get(job.cluster_id, []) if covers(one, job)), None)
    names = {"attempts": _names([row for row, _why in rows]), "why": why}
    then = _("A yes on %(attempts)s would be refused now: %(why)s. A no is taken.") % names
    if job.cluster.mode == Mode.MONITOR:
        what = _("The mode of %(cluster)s was switched") % {"cluster": job.cluster.name}
        return told_by(what, job.cluster.name, EventType.MODE_CHANGED, then=then)
    if held is not None:
        what = _("Rekindle was paused on %(what)s") % {"what": name_of(held.scope, held.value, job.cluster.name)}
        return Changed(what, held.owner, held.since, then)
    return Changed(_("What may be done on %(cluster)s has changed") % {"cluster": job.cluster.name}, then=then)


def _opened(rows: list[Advice]) -> Changed:
    names = {"attempts": _names(rows)}
    what = _("What kept the advice on %(attempts)s from being carried out is over") % names
    return Changed(what, then=_("A yes is taken now."), since=False)


def _names(rows: list[Advice]) -> str:
    named = ", ".join(row.attempt.label for row in rows[:NAMED])
    if len(rows) <= NAMED:
        return named
    return named + _(" and %(number)s more") % {"number": len(rows) - NAMED}
