"""What will change on a cluster when its mode changes, in words that a person can say yes or no to?"""

from collections.abc import Sequence

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from console.advice_lines import AdviceLine
from workloads.mode import Mode
from workloads.models import Cluster

MEANING: dict[Mode, Promise] = {
    Mode.MONITOR: gettext_lazy(
        "Rekindle only says what it would do. No command that changes anything is sent to the scheduler."
    ),
    Mode.APPROVE: gettext_lazy("Rekindle acts on an advice only after a person has approved it."),
    Mode.ACTION: gettext_lazy(
        "Rekindle acts by itself: jobs are requeued, restarted without bad nodes, or stopped, as advised."
    ),
}


def what_changes(cluster: Cluster, to: Mode, running: int, lines: Sequence[AdviceLine]) -> list[str]:
    """The sentences of the confirmation, the most important first. `lines`: open advice of the cluster."""
    now = Mode(cluster.mode)
    goes = {"cluster": cluster.name, "before": now.value, "after": to.value}
    sentences = [_("%(cluster)s goes from %(before)s to %(after)s.") % goes, str(MEANING[to])]
    if to is Mode.MONITOR:
        sentences.append(
            _("A job that the controller holds at this moment is still released; nothing new is begun.")
        )
    else:
        sentences.append(_reach(cluster, running))
        if not cluster.acknowledge_scheduler_actions:
            sentences.append(
                _(
                    "acknowledgeSchedulerActions is not set for this cluster: until an administrator sets it, "
                    "nothing is done in any mode."
                )
            )
    if lines:
        text = ngettext(
            "%(count)s advice is open now and listed below; an advice that was made in monitor mode is never "
            "carried out later.",
            "%(count)s pieces of advice are open now and listed below; an advice that was made in monitor mode is "
            "never carried out later.",
            len(lines),
        )
        sentences.append(text % {"count": len(lines)})
    return sentences


def _reach(cluster: Cluster, running: int) -> str:
    jobs = ngettext("%(count)s job runs there now.", "%(count)s jobs run there now.", running) % {"count": running}
    if cluster.partitions:
        text = (
            _("A job in the partitions %(names)s may be acted on unless its comment asks to be left alone.")
            if cluster.opt_out
            else _("A job in the partitions %(names)s may be acted on if its comment asks for mode action.")
        )
    else:
        text = (
            _("A job in any partition may be acted on unless its comment asks to be left alone.")
            if cluster.opt_out
            else _("A job in any partition may be acted on if its comment asks for mode action.")
        )
    return f"{jobs} {text % {'names': ', '.join(cluster.partitions)}}"
