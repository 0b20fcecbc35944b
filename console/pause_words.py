"""What does a pause mean, in words that a person can say yes or no to?"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from advisor_api.models import Advice, Pause
from advisor_api.pausing import covers
from console.advice_lines import OPEN
from schedulers.states import LIVE
from workloads.mode import Mode
from workloads.models import Attempt, Cluster

NAMED = 8
READ = 5000  # running attempts that are looked through
_LIVE = [state.value for state in LIVE]


@dataclass(frozen=True)
class PauseMeaning:
    """What a pause would hold back: sentences, and the open advice that it speaks of."""

    sentences: Sequence[str]
    advice: Sequence[Advice]


def name_of(scope: str, value: str, cluster: str) -> str:
    """`partition gpu of demo`; `all of demo`."""
    return f"{scope} {value} of {cluster}" if scope != "cluster" else f"all of {cluster}"


def meaning_of_pause(cluster: Cluster, wanted: Pause, now: datetime) -> PauseMeaning:
    """What it would mean. `wanted`: a pause that is not stored."""
    running = Attempt.objects.filter(job__cluster=cluster, job__live=True, state__in=_LIVE).select_related("job")
    concerned = [one for one in running.defer("nodes")[:READ] if covers(wanted, one.job)]
    open_advice = Advice.objects.filter(attempt__job__cluster=cluster, state__in=OPEN)
    held = [one for one in open_advice.select_related("attempt__job") if covers(wanted, one.attempt.job)]
    sentences = [
        f"Rekindle begins nothing on {name_of(wanted.scope, wanted.value, cluster.name)} until "
        f"{wanted.until:%Y-%m-%d %H:%M} UTC: no restart, no stop, no release. It goes on to watch and to advise.",
        _jobs(concerned),
        "A job that Rekindle holds at this moment is let go by the watchdog when its hold ends; it does not wait "
        "for the end of the pause.",
    ]
    if held:
        count = f"{len(held)} open advice {'is' if len(held) == 1 else 'are'}"
        sentences.append(f"{count} not carried out while the pause lasts, and may expire meanwhile (listed below).")
    if cluster.mode == Mode.MONITOR:
        sentences.append(
            f"{cluster.name} is in monitor mode: nothing is done there now, with or without the pause."
        )
    return PauseMeaning(sentences, held[:NAMED])


def _jobs(running: Sequence[Attempt]) -> str:
    if not running:
        return "No job runs there now."
    named = ", ".join(f"{one.label} of {one.job.user}" for one in running[:NAMED])
    more = f" and {len(running) - NAMED} more" if len(running) > NAMED else ""
    jobs = "1 job runs" if len(running) == 1 else f"{len(running)} jobs run"
    return f"{jobs} there now and are left as they are: {named}{more}."
