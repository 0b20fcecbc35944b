"""On which nodes can a job start now, and if on none, why not?"""

from collections.abc import Sequence

from lab.simulate.hostlist import expand
from lab.simulate.jobs import Job
from lab.simulate.nodes import Node

RESOURCES = "Resources"
BAD_CONSTRAINTS = "BadConstraints"
TOO_MANY = "PartitionNodeLimit"
UNAVAILABLE = (
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"  # Slurm's words
)


def choose(job: Job, nodes: Sequence[Node]) -> tuple[str, ...] | str:
    """The first free nodes of the partition's, or Slurm's reason why the job waits."""
    wanted = job.play.nodes
    if wanted > len(nodes):
        return TOO_MANY
    excluded, required = set(expand(job.excluded)), set(expand(job.required))
    allowed = [node for node in nodes if node.name not in excluded]
    if len(allowed) < wanted or not required <= {node.name for node in allowed}:
        return BAD_CONSTRAINTS
    allowed.sort(key=lambda node: node.name not in required)  # required ones first
    usable = [node for node in allowed if node.usable]
    if len(usable) < wanted or not required <= {node.name for node in usable}:
        return UNAVAILABLE
    free = [node for node in usable if node.free]
    if len(free) < wanted or not required <= {node.name for node in free}:
        return RESOURCES
    chosen = {node.name for node in free[:wanted]}
    return tuple(node.name for node in nodes if node.name in chosen)
