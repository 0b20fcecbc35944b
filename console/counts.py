"""How many jobs are in which state that an operator asks for? Each number leads to the list of these jobs."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count
from django.utils.translation import gettext as _

from console.job_finding import KEYS, keys_of
from console.job_wanted import Shown
from schedulers.states import LIVE, WAITING
from workloads.models import Job

_LIVE = {state.value for state in LIVE}
_WAITING = {state.value for state in WAITING}


@dataclass(frozen=True)
class JobCount:
    """So many jobs are shown by this filter; `more`: at least so many."""

    shown: Shown
    label: str
    number: int
    more: bool = False


def counts_of(now: datetime) -> list[JobCount]:
    """The counts of all clusters, by the filters' own queries: six, by index."""
    standing = Job.objects.filter(live=True).order_by().values_list("newest_state").annotate(number=Count("pk"))
    states = dict(standing)
    return [
        JobCount(Shown.RUNNING, _("running"), sum(states.get(state, 0) for state in _LIVE)),
        JobCount(Shown.WAITING, _("waiting"), sum(states.get(state, 0) for state in _WAITING)),
        _keys(Shown.RECOVERY, _("in recovery"), now),
        _keys(Shown.APPROVAL, _("waiting for approval"), now),
        _keys(Shown.ASKED, _("need a person's look"), now),
        _keys(Shown.STOPPED, _("stopped within a day"), now),
        _keys(Shown.BLIND, _("blind"), now),
    ]


def _keys(shown: Shown, label: str, now: datetime) -> JobCount:
    keys = keys_of(shown, now)
    return JobCount(shown, label, len(keys), len(keys) >= KEYS)
