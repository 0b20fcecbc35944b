"""Which fleet is put on, for how long, and at which pace is it watched?"""

from dataclasses import dataclass

MOST_DAYS, MOST_NODES = 366, 20_000  # beyond them a run takes longer than anybody waits
START = 1_777_593_600.0  # 2026-05-01 00:00:00 UTC


@dataclass(frozen=True, slots=True)
class Options:
    """What `./run lab --on fleet` is told. `step_seconds` is the time between two progress lines of every job.

    The pace is that of settings, not of the code: `poll_seconds` of the cluster, `read_seconds` between two reads
    of a running attempt's log (a site may set 60 at most: a month needs more), and a MinJobAge that leaves an ended
    job to be seen by a slow poll. No limit of the product differs from its default. `mode` is the cluster's.
    """

    days: float = 2.0
    nodes: int = 512
    seed: int = 1
    mode: str = "action"
    step_seconds: float = 300.0
    poll_seconds: float = 300.0
    read_seconds: float = 300.0
    start: float = START

    @property
    def seconds(self) -> float:
        """Length in virtual seconds."""
        return self.days * 86_400.0

    @property
    def end(self) -> float:
        """The last moment, epoch seconds."""
        return self.start + self.seconds
