"""Does the scheduler keep its contract over SSH, through a real sshd and the forced command?

The whole of it takes minutes and runs under `./run proof`; `tests/schedulers/test_ssh.py` holds a part of it,
on a real Slurm.
"""

from collections.abc import Iterator

import pytest

from schedulers.opening import open_scheduler
from schedulers.port import Scheduler
from tests.lab.simulate.served import ServedCluster
from tests.schedulers.contract import SchedulerContract, wait  # noqa: F401  the contract's own fixture
from tests.schedulers.sshd import running


@pytest.fixture
def cluster(tmp_path) -> Iterator[ServedCluster]:
    served = ServedCluster(tmp_path / "lab")
    yield served
    served.stop()


@pytest.fixture
def scheduler(cluster: ServedCluster, short_folder) -> Iterator[Scheduler]:
    with running(short_folder / "s", path=cluster.path, config=cluster.config) as sshd:
        yield open_scheduler(cluster.kind, "", "", 30, sshd.transport())


class TestContract(SchedulerContract):
    """The contract on the simulated cluster, which can be reached by SSH alone."""
