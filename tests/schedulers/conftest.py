"""Which clusters do the scheduler tests run on?"""

from collections.abc import Iterator

import pytest

from lab.slurm.cluster import SlurmCluster
from tests.schedulers.contract import scheduler, wait  # noqa: F401  the contract's own fixtures
from tests.schedulers.real import RealCluster


@pytest.fixture
def real_cluster(real_slurm: SlurmCluster) -> Iterator[RealCluster]:
    """The lab's private Slurm without jobs and with all its nodes."""
    cluster = RealCluster(real_slurm)
    cluster.clear()
    yield cluster
    cluster.clear()
