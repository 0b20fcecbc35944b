"""What does a served cluster look like that lives as the fleet does, a hundred times as fast?"""

from dataclasses import replace

from lab.fleet.options import Options
from lab.fleet.works import works
from lab.simulate.demo import opt_in
from lab.simulate.model import Cluster
from lab.simulate.play import Play
from lab.simulate.settings import Settings

SPEED = 120.0  # an hour takes half a minute
NODES = 64
YEARS = 10 * 365.0  # longer than anybody looks at it


class FleetScenario:
    """The works of a fleet with what their users and programs do to them; machines do not break by themselves."""

    def __init__(self) -> None:
        self._options = Options(days=YEARS, nodes=NODES)
        self._stream = works(self._options)
        self._next = next(self._stream)

    def settings(self, settings: Settings) -> Settings:
        """See `lab.simulate.scenario.Scenario`."""
        return replace(
            settings, jobs_per_node=1, node_names=tuple(f"gpu{number:02d}" for number in range(1, NODES + 1))
        )

    def tick(self, cluster: Cluster) -> None:
        """Submit what is due."""
        passed = (cluster.now - cluster.booted_at) * SPEED
        while cluster.controller_up and self._next.at - self._options.start <= passed:
            comment = opt_in(cluster.settings.cluster_name)
            cluster.submit(replace(fast(self._next.play), comment=comment))
            self._next = next(self._stream)


def fast(play: Play) -> Play:
    """The same play, `SPEED` times as fast."""
    return replace(
        play,
        step_seconds=play.step_seconds / SPEED,
        startup_seconds=play.startup_seconds / SPEED,
        time_limit_seconds=round(play.time_limit_seconds / SPEED),
        faults=tuple(replace(fault, seconds=fault.seconds / SPEED) for fault in play.faults),
    )
