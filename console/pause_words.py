"""What does a pause mean, in words that a person can say yes or no to?"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from advisor_api.models import Advice, Pause
from advisor_api.pausing import covers
from console.advice_lines import OPEN
from console.attempt_names import some_of
from schedulers.states import LIVE
from workloads.mode import Mode
from workloads.models import Attempt, Cluster

NAMED = 8
READ = 5000  # running attempts that are looked through
_LIVE = [state.value for state in LIVE]
_PLACES: dict[str, Promise] = {
    "cluster": gettext_lazy("cluster %(value)s"),
    "partition": gettext_lazy("partition %(value)s"),
    "user": gettext_lazy("user %(value)s"),
    "job": gettext_lazy("job %(value)s"),
}


@dataclass(frozen=True)
class PauseMeaning:
    """What a pause would hold back: sentences, and the open advice that it speaks of."""

    sentences: Sequence[str]
    advice: Sequence[Advice]


def name_of(scope: str, value: str, cluster: str) -> str:
    """`partition gpu of demo`; `all of demo`."""
    if scope == "cluster":
        return _("all of %(cluster)s") % {"cluster": cluster}
    return _("%(place)s of %(cluster)s") % {"place": place_of(scope, value), "cluster": cluster}


def place_of(scope: str, value: str) -> str:
    """`partition gpu`."""
    return str(_PLACES[scope]) % {"value": value}


def meaning_of_pause(cluster: Cluster, wanted: Pause, now: datetime) -> PauseMeaning:
    """What it would mean. `wanted`: a pause that is not stored."""
    running = Attempt.objects.filter(job__cluster=cluster, job__live=True, state__in=_LIVE).select_related("job")
    concerned = [one for one in running.defer("nodes")[:READ] if covers(wanted, one.job)]
    open_advice = Advice.objects.filter(attempt__job__cluster=cluster, state__in=OPEN)
    held = [one for one in open_advice.select_related("attempt__job") if covers(wanted, one.attempt.job)]
    sentences = [
        _(
            "Rekindle begins nothing on %(what)s until %(end)s UTC: no restart, no stop, no release. It goes on to "
            "watch and to advise."
        )
        % {
            "what": name_of(wanted.scope, wanted.value, cluster.name),
            "end": f"{wanted.until:%Y-%m-%d %H:%M}",
        },
        _jobs(concerned),
        _(
            "A job that Rekindle holds at this moment is let go by the watchdog when its hold ends; it does not "
            "wait for the end of the pause."
        ),
    ]
    if held:
        text = ngettext(
            "%(count)s open advice is not carried out while the pause lasts, and may expire meanwhile "
            "(listed below).",
            "%(count)s open advice are not carried out while the pause lasts, and may expire meanwhile "
            "(listed below).",
            len(held),
        )
        sentences.append(text % {"count": len(held)})
    if cluster.mode == Mode.MONITOR:
        text = _("%(cluster)s is in monitor mode: nothing is done there now, with or without the pause.")
        sentences.append(text % {"cluster": cluster.name})
    return PauseMeaning(sentences, held[:NAMED])


def _jobs(running: Sequence[Attempt]) -> str:
    if not running:
        return _("No job runs there now.")
    text = ngettext(
        "%(count)s job runs there now and is left as it is: %(jobs)s.",
        "%(count)s jobs run there now and are left as they are: %(jobs)s.",
        len(running),
    )
    return text % {"count": len(running), "jobs": some_of(running, NAMED)}
