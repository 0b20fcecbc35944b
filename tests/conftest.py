"""What do tests of several rooms share?"""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from django.db.backends.base.operations import BaseDatabaseOperations
from xdist.remote import Producer

from audit import append_only
from lab.slurm.cluster import SlurmCluster
from lab.slurm.layout import Layout, free_base_port
from tests.ordering import LongFirst

# A deadline for each example measures who else is at work on the machine; a test as a whole has its time limit.
hypothesis.settings.register_profile("rekindle", deadline=None)
hypothesis.settings.load_profile("rekindle")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LongFirst | None:
    """Instead of the one that `--dist loadfile` means."""
    return LongFirst(config, log) if config.getoption("dist") == "loadfile" else None


def pytest_configure() -> None:
    """A background job of a script has Ctrl-C ignored, its children inherit that, and no shell can take it back."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def tests_may_empty_the_trail() -> Iterator[None]:
    """A test that commits is followed by a flush, which the triggers of the audit trail would refuse."""
    flush = BaseDatabaseOperations.execute_sql_flush

    def past_the_triggers(operations: BaseDatabaseOperations, statements: list[str]) -> None:
        append_only.remove(operations.connection.alias)
        try:
            flush(operations, statements)
        finally:
            append_only.restore(operations.connection.alias)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseDatabaseOperations, "execute_sql_flush", past_the_triggers)
        yield


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose path is short enough for unix sockets; removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="rk-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def real_slurm() -> Iterator[SlurmCluster]:
    """A private real Slurm with five nodes, accounting and slurmrestd, one for the whole run."""
    folder = Path(tempfile.mkdtemp(prefix="rk-slurm-"))
    folder.chmod(0o755)
    layout = Layout(folder=folder / "c", base_port=free_base_port(), nodes=5, min_job_age=60, rest=True)
    with SlurmCluster(layout) as cluster:
        yield cluster
    shutil.rmtree(folder, ignore_errors=True)
