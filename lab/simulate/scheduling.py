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


class Room:
    """The nodes of one partition during one look of the scheduler, in the order in which they are taken."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.names = {node.name for node in nodes}
        self.usable = [node for node in nodes if node.usable]
        self.free = [node for node in self.usable if len(node.jobs) < node.slots]

    def taken(self, names: Sequence[str]) -> None:
        """A job has started on these nodes."""
        full = set(names)
        self.free = [node for node in self.free if node.name not in full or node.free]


def choose(job: Job, room: Room) -> tuple[str, ...] | str:
    """The first free nodes of the partition's, required ones first, or Slurm's reason why the job waits."""
    wanted = job.play.nodes
    if wanted > len(room.names):
        return TOO_MANY
    if not job.excluded and not job.required:
        if len(room.free) >= wanted:
            return tuple(node.name for node in room.free[:wanted])
        return RESOURCES if len(room.usable) >= wanted else UNAVAILABLE
    excluded, required = set(expand(job.excluded)), set(expand(job.required))
    allowed = room.names - excluded
    if len(allowed) < wanted or not required <= allowed:
        return BAD_CONSTRAINTS
    usable = [node.name for node in room.usable if node.name not in excluded]
    if len(usable) < wanted or not required <= set(usable):
        return UNAVAILABLE
    free = [node.name for node in room.free if node.name not in excluded]
    if len(free) < wanted or not required <= set(free):
        return RESOURCES
    first = sorted(free, key=lambda name: name not in required)[:wanted] if required else free[:wanted]
    chosen = set(first)
    return tuple(name for name in free if name in chosen)
