"""What does sdiag print? Its head holds the controller's clock."""

from collections.abc import Sequence

from lab.simulate.jobs import PENDING, RUNNING
from lab.simulate.model import Cluster
from lab.simulate.slurm.options import VERSION, Answer, read
from lab.simulate.times import shown, stamp

STARS = "*" * 55


def sdiag(cluster: Cluster, argv: Sequence[str]) -> Answer:
    """The answer of `sdiag`."""
    if read("sdiag", argv, {"all": "a", "version": "V"}).has("version"):
        return 0, f"slurm-wlm {VERSION}\n", ""
    now, since = (
        f"{stamp(at, '%a %b %d %H:%M:%S %Y')} ({int(shown(at))})" for at in (cluster.now, cluster.booted_at)
    )
    waiting = sum(job.state == PENDING for job in cluster.jobs.values())
    running = sum(job.state == RUNNING for job in cluster.jobs.values())
    lines = [
        STARS,
        f"sdiag output at {now}",
        f"Data since      {since}",
        STARS,
        "Server thread count:  1",
        "Agent queue size:     0",
        "Agent count:          0",
        "Agent thread count:   0",
        "DBD Agent queue size: 0",
        "",
        *(f"Jobs {f'{name}:':<10} {count}" for name, count in cluster.counts.items()),
        "",
        f"Job states ts:  {now}",
        f"Jobs pending:   {waiting}",
        f"Jobs running:   {running}",
    ]
    return 0, "\n".join([*lines, ""]), ""
