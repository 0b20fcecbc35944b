"""What does a Slurm command answer on a simulated cluster, and what does it do?"""

from collections.abc import Callable, Sequence

from lab.simulate.client import unreachable
from lab.simulate.model import Cluster
from lab.simulate.slurm.options import Answer, BadOption
from lab.simulate.slurm.sacct import sacct
from lab.simulate.slurm.scancel import scancel
from lab.simulate.slurm.scontrol import scontrol
from lab.simulate.slurm.sdiag import sdiag
from lab.simulate.slurm.sinfo import sinfo
from lab.simulate.slurm.squeue import squeue

COMMANDS: dict[str, Callable[[Cluster, Sequence[str], str], Answer]] = {
    "squeue": squeue,
    "scontrol": scontrol,
    "sacct": sacct,
    "scancel": lambda cluster, argv, time_format: scancel(cluster, argv),
    "sinfo": sinfo,
    "sdiag": lambda cluster, argv, time_format: sdiag(cluster, argv),
}
ALONE = frozenset({("show", "hostnames"), ("show", "hostname"), ("show", "hostlist")})  # needs no controller


def answer(cluster: Cluster, argv: Sequence[str], time_format: str = "") -> Answer:
    """Return code, stdout and stderr of `argv`, whose first word is the command's name.

    `time_format` is the client's SLURM_TIME_FORMAT. Nothing here moves the cluster's time.
    """
    command = COMMANDS.get(argv[0])
    if command is None:
        return 127, "", f"{argv[0]}: command not found\n"
    words = [word.lower() for word in argv[1:] if not word.startswith("-")]
    if not cluster.controller_up and argv[0] != "sacct" and tuple(words[:2]) not in ALONE:
        return unreachable(list(argv))
    try:
        return command(cluster, argv[1:], time_format)
    except BadOption as mistake:
        return 1, "", str(mistake)
