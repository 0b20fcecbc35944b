"""What do a cluster's metrics show right now? For whoever sets them up: nothing is stored."""

from dataclasses import dataclass

from detectors.metrics.families import ACTIVITY, HOST, STATES
from detectors.metrics_asking import Ask, asking, seen_on
from detectors.stores.store import StoreTrouble
from workloads.models import Cluster, Node

NEEDED = ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_XID_ERRORS")
SHOWN = 5  # names of one kind


@dataclass(frozen=True)
class Shown:
    """What came, in a few sentences. `answered`: anything at all; `whole`: all that is needed, of known nodes."""

    sentence: str
    answered: bool = True
    whole: bool = False


def look_at_metrics(cluster: Cluster, ask: Ask | None = None) -> str:
    """What the metrics show, in a few sentences."""
    return metrics_shown(cluster, ask).sentence


def metrics_shown(cluster: Cluster, ask: Ask | None = None) -> Shown:
    """Ask once, and say what came: how much is seen, which nodes are not, what is missing."""
    nodes = set(Node.objects.filter(cluster=cluster).values_list("name", flat=True))
    try:
        seen = seen_on(cluster, nodes, ask or asking(cluster))
    except StoreTrouble as trouble:
        told = f"The metrics cannot be seen: {trouble}. Until they can, they are no witness of anything."
        return Shown(told, answered=False)
    names = seen.metrics
    if not names:
        return Shown("The metrics answer, but hold none of DCGM's or the node exporter's; is the selector right?")
    with_gpus = {name for name, host in seen.hosts.items() if host.gpus}
    ports = sum(len(host.ports) for host in seen.hosts.values())
    words = [f"The metrics show {seen.gpus} GPUs on {len(with_gpus)} of {len(nodes)} nodes and {ports} ports."]
    if seen.strangers:
        words.append(f"Nobody knows these nodes: {_some(seen.strangers)}; look at the labels that name the node.")
    if with_gpus and (unseen := nodes - with_gpus):
        words.append(f"Without GPUs: {_some(unseen)}.")
    if missing := [name for name in NEEDED if name not in names]:
        words.append(f"Missing: {', '.join(missing)}.")
    words.append(f"{len(names)} of the {len(STATES + ACTIVITY + HOST)} metrics that are read are there.")
    return Shown(" ".join(words), whole=not seen.strangers and not missing)


def _some(names: set[str]) -> str:
    first = sorted(names)[:SHOWN]
    return ", ".join(first) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
