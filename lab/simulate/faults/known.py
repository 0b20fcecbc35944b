"""Which kinds of fault are there, and whom does each strike?"""

from lab.simulate.faults.blow import Blow, Kind
from lab.simulate.faults.crashes import CRASHES
from lab.simulate.faults.turns import TURNS

FAULTS: dict[str, Kind] = {**CRASHES, **TURNS}
"""What happens when it strikes. Lasting ones are no moment: `lab.simulate.faults.lasting`."""

AT_START = frozenset({"launch_failure", "prolog_failure"})
"""These strike before the training says a word; their step is not looked at."""

OF_NOBODY = frozenset({"cancel", "timeout", "preempt", "requeue"})
"""No node and no rank is struck: somebody does it to the job."""

OF_A_NODE = frozenset({"node_down", "launch_failure", "prolog_failure"})
"""The node with all its ranks."""


def struck(blow: Blow) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Nodes and ranks that the blow strikes."""
    if blow.fault.kind in OF_NOBODY:
        return (), ()
    if blow.fault.kind in OF_A_NODE:
        first = blow.rank - blow.gpu
        return (blow.node,), tuple(range(first, first + blow.stage.gpus))
    return (blow.node,), (blow.rank,)
