"""What will change on a cluster when its mode changes, in words that a person can say yes or no to?"""

from collections.abc import Sequence

from console.advice_lines import AdviceLine
from workloads.mode import Mode
from workloads.models import Cluster

MEANING: dict[Mode, str] = {
    Mode.MONITOR: "Rekindle only says what it would do. No command that changes anything is sent to the scheduler.",
    Mode.APPROVE: "Rekindle acts on an advice only after a person has approved it.",
    Mode.ACTION: "Rekindle acts by itself: jobs are requeued, restarted without bad nodes, or stopped, as advised.",
}


def what_changes(cluster: Cluster, to: Mode, running: int, lines: Sequence[AdviceLine]) -> list[str]:
    """The sentences of the confirmation, the most important first. `lines`: open advice of the cluster."""
    now = Mode(cluster.mode)
    sentences = [f"{cluster.name} goes from {now.value} to {to.value}.", MEANING[to]]
    if to is Mode.MONITOR:
        sentences.append("A job that the controller holds at this moment is still released; nothing new is begun.")
    else:
        sentences.append(_reach(cluster, running))
        if not cluster.acknowledge_scheduler_actions:
            sentences.append(
                "acknowledgeSchedulerActions is not set for this cluster: until an administrator sets it, "
                "nothing is done in any mode."
            )
    if lines:
        sentences.append(
            f"{len(lines)} {'advice is' if len(lines) == 1 else 'pieces of advice are'} open now and listed below; "
            "an advice that was made in monitor mode is never carried out later."
        )
    return sentences


def _reach(cluster: Cluster, running: int) -> str:
    jobs = "1 job runs" if running == 1 else f"{running} jobs run"
    where = f"in the partitions {', '.join(cluster.partitions)}" if cluster.partitions else "in any partition"
    who = "unless its comment asks to be left alone" if cluster.opt_out else "if its comment asks for mode action"
    return f"{jobs} there now. A job {where} may be acted on {who}."
