"""What do the tests of observing share?"""

import pytest

from tests.workloads.scripted import ScriptedScheduler, a_row, after
from workloads.models import Attempt, Cluster, Job
from workloads.observing import observe


@pytest.fixture
def cluster(db: None) -> Cluster:
    """A cluster that was never observed."""
    return Cluster.objects.create(name="demo", environment="lab", poll_seconds=15.0)


@pytest.fixture
def attempt(cluster: Cluster) -> Attempt:
    """A running attempt."""
    observe(cluster, ScriptedScheduler([a_row()]), after(5))
    return Attempt.objects.select_related("job__cluster").get(job=Job.objects.get(number=12345))
