"""Does the simulated cluster keep the contract that a real Slurm keeps?"""

from collections.abc import Iterator

import pytest

from tests.lab.simulate.served import ServedCluster
from tests.schedulers.contract import SchedulerContract, scheduler, wait  # noqa: F401  the contract's own fixtures


@pytest.fixture
def cluster(tmp_path) -> Iterator[ServedCluster]:
    served = ServedCluster(tmp_path / "lab")
    yield served
    served.stop()


class TestContract(SchedulerContract):
    """The contract on the simulated cluster."""
