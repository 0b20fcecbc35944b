"""What does a scheduler say that is not so? Its listings can be empty, old, torn, slow, or an error with rc 0.

Only listings lie (`squeue` and `scontrol show job`); what changes something is done and answered truly, and the
accounting always tells the truth. Whoever answers commands in process goes through `answer`.
"""

from collections.abc import Callable, Sequence
from copy import copy

from lab.simulate import commands
from lab.simulate.client import DOWN, HUNG, SECONDS, unreachable
from lab.simulate.model import Cluster
from lab.simulate.slurm.options import Answer
from lab.simulate.world import Lie

SLOW_SECONDS = 25.0  # more than a client waits
TORN = "\ufffd\ufffd\x1b[K"  # where a torn answer ends


def begin(cluster: Cluster, how: str, seconds: float = SLOW_SECONDS) -> None:
    """From now on the listings lie: `how` is a key of `LIES`. `seconds` is the time that slow ones take."""
    shown = None
    if how == "empty":
        shown = {}
    elif how == "stale":
        shown = {number: copy(job) for number, job in cluster.jobs.items()}
    cluster.lie = Lie(how, shown, seconds if how == "slow" else 0.0)


def end(cluster: Cluster) -> None:
    """The listings tell the truth again."""
    cluster.lie = None


def answer(cluster: Cluster, argv: Sequence[str], time_format: str = "") -> Answer:
    """As `lab.simulate.commands.answer`, with the lie of the moment."""
    if cluster.lie is None or not cluster.controller_up or not _is_listing(argv):
        return commands.answer(cluster, argv, time_format)
    return LIES[cluster.lie.how](cluster, cluster.lie, argv, time_format)


def seconds(cluster: Cluster, argv: Sequence[str]) -> float:
    """How long the answer takes; a client gives up after `client.SECONDS`, and `answer` is what it says then."""
    return min(cluster.lie.seconds, SECONDS) if cluster.lie and _is_listing(argv) else 0.0


def _is_listing(argv: Sequence[str]) -> bool:
    if argv[0] == "squeue":
        return True
    words = [word.lower() for word in argv[1:] if not word.startswith("-")]
    return argv[0] == "scontrol" and words[:1] == ["show"] and words[1:2] in (["job"], ["jobs"])


def _shown(cluster: Cluster, lie: Lie, argv: Sequence[str], time_format: str) -> Answer:
    """As if there were only these jobs: none, as a controller that restarts says, or those of an earlier time."""
    true, cluster.jobs = cluster.jobs, lie.jobs or {}
    try:
        return commands.answer(cluster, argv, time_format)
    finally:
        cluster.jobs = true


def _error(cluster: Cluster, lie: Lie, argv: Sequence[str], time_format: str) -> Answer:
    """Nothing but an error text, and return code 0: what squeue --json of 22.05 does without a controller."""
    return 0, "", f"slurm_load_jobs error: {DOWN}\n"


def _garbled(cluster: Cluster, lie: Lie, argv: Sequence[str], time_format: str) -> Answer:
    """The answer breaks off in the middle of a record, in bytes that are no text; return code 0."""
    _, out, _ = commands.answer(cluster, argv, time_format)
    return 0, out[: max(len(out) * 2 // 3 - 7, 0)] + TORN, ""


def _slow(cluster: Cluster, lie: Lie, argv: Sequence[str], time_format: str) -> Answer:
    """The client gives up, unless the answer comes in its time."""
    if lie.seconds > SECONDS:
        return unreachable(list(argv), HUNG)
    return commands.answer(cluster, argv, time_format)


LIES: dict[str, Callable[[Cluster, Lie, Sequence[str], str], Answer]] = {
    "empty": _shown,
    "stale": _shown,
    "error": _error,
    "garbled": _garbled,
    "slow": _slow,
}
