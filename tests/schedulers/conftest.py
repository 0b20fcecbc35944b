"""Which clusters do the scheduler tests run on?"""

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.schedulers.contract import scheduler, wait  # noqa: F401  the contract's own fixtures
from tests.schedulers.real import RealCluster


@pytest.fixture(scope="session")
def real_slurm() -> Iterator[RealCluster]:
    """One private Slurm for the whole run."""
    script = os.environ.get("REKINDLE_SLURM_LAB", "")
    if not script:
        pytest.skip("REKINDLE_SLURM_LAB names no script that starts a private Slurm")
    if shutil.which("slurmctld") is None:
        pytest.skip("slurmctld is not installed")
    cluster = RealCluster(script)
    yield cluster
    cluster.stop()


@pytest.fixture
def real_cluster(real_slurm: RealCluster) -> Iterator[RealCluster]:
    """The private Slurm without jobs and with all its nodes."""
    real_slurm.clear()
    yield real_slurm
    real_slurm.clear()
