"""What do tests of several rooms share?"""

import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.slurm.cluster import SlurmCluster
from lab.slurm.layout import PORTS_EACH, Layout


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path is short enough for unix sockets; removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="rk-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def real_slurm() -> Iterator[SlurmCluster]:
    """A private real Slurm with five nodes and accounting, one for the whole run."""
    folder = Path(tempfile.mkdtemp(prefix="rk-slurm-"))
    folder.chmod(0o755)
    with SlurmCluster(Layout(folder=folder / "c", base_port=block_of_ports(), nodes=5, min_job_age=60)) as cluster:
        yield cluster
    shutil.rmtree(folder, ignore_errors=True)


def block_of_ports() -> int:
    """A base, below the ephemeral ports, of a block in which nobody listens just now."""
    for base in random.sample(range(10000, 32000, PORTS_EACH), k=55):
        if not Layout(folder=Path("/"), base_port=base, nodes=8).taken_ports():
            return base
    raise RuntimeError("no block of ports is free")
