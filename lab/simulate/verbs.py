"""What can be done to a served cluster that no Slurm command does? Submit, lose nodes, stop the controller."""

from collections.abc import Callable, Sequence

from lab.simulate import outside
from lab.simulate.model import Cluster, ControllerDown
from lab.simulate.play import BadPlay, read_play
from lab.simulate.slurm.options import Answer

VERB = "lab"  # the first word of such a request; no Slurm command is called so


def lab_verb(cluster: Cluster, words: Sequence[str]) -> Answer:
    """Return code, stdout and stderr of `words`, e.g. `("submit", JSON)` or `("node", "n03", "down")`."""
    verb = VERBS.get(words[0]) if words else None
    if verb is None:
        return 2, "", f"Known are: {', '.join(VERBS)}.\n"
    try:
        return verb(cluster, words[1:])
    except (BadPlay, outside.NotDone) as mistake:
        return 1, "", f"{mistake}\n"
    except ControllerDown:
        return 1, "", "Batch job submission failed: Unable to contact slurm controller (connect failure)\n"


def _submit(cluster: Cluster, words: Sequence[str]) -> Answer:
    return 0, f"{cluster.submit(read_play(words[0] if words else ''))}\n", ""


def _node(cluster: Cluster, words: Sequence[str]) -> Answer:
    if len(words) != 2 or words[1] not in ("down", "drain", "resume"):
        return 2, "", "A node is named, and what happens to it: down, drain or resume.\n"
    outside.act(cluster, f"node_{words[1]}", words[:1])
    return 0, "", ""


def _stop_controller(cluster: Cluster, words: Sequence[str]) -> Answer:
    cluster.stop_controller()
    return 0, "", ""


def _start_controller(cluster: Cluster, words: Sequence[str]) -> Answer:
    cluster.start_controller()
    return 0, "", ""


VERBS: dict[str, Callable[[Cluster, Sequence[str]], Answer]] = {
    "submit": _submit,
    "node": _node,
    "stop-controller": _stop_controller,
    "start-controller": _start_controller,
}
