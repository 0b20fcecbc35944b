"""Does a served cluster live as the fleet does?"""

import json

from lab.fleet.served import NODES, SPEED
from lab.simulate.model import Cluster
from lab.simulate.scenario import scenario_of
from lab.simulate.settings import Settings


def test_an_hour_of_the_fleet_takes_half_a_minute() -> None:
    scenario = scenario_of("fleet")
    cluster = Cluster(1_000_000.0, scenario.settings(Settings(cluster_name="there")))
    assert len(cluster.nodes) == NODES
    for second in range(int(6 * 3600 / SPEED)):
        cluster.advance(1_000_000.0 + second)
        scenario.tick(cluster)
    job = cluster.jobs[max(cluster.jobs)]
    assert json.loads(job.comment or "")["nvidia-recovery"] == {"environment": "there", "mode": "action"}
    assert cluster.counts["completed"] > 3
    assert job.play.step_seconds == 300 / SPEED
