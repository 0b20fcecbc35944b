"""Is the scheduler opened that was named?"""

import pytest

from schedulers.opening import SCHEDULERS, open_scheduler
from schedulers.slurm import commands
from schedulers.transport import RecordingTransport
from tests.schedulers.replay import Replay


def test_slurm_is_known():
    assert "slurm" in SCHEDULERS


def test_an_unknown_kind_is_named_with_those_that_are_known():
    with pytest.raises(ValueError, match="no scheduler 'pbs'; known are: slurm"):
        open_scheduler("pbs", "", "", 10)


def test_the_local_commands_of_a_folder_are_run(tmp_path):
    (tmp_path / "scontrol").write_text("#!/bin/sh\necho Slurmctld is UP $SLURM_CONF >&1\n")
    (tmp_path / "scontrol").chmod(0o755)
    open_scheduler("slurm", str(tmp_path), "/etc/x.conf", 10).ping()


def test_reading_everything_changes_nothing():
    transport = RecordingTransport(
        Replay(
            "22.05",
            {
                "squeue": "job_excluded",
                "scontrol -o show job": "show_excluded",
                "scontrol -o show nodes": "nodes",
                "scontrol show config": "config",
                "scontrol ping": "ping",
                "sdiag": "statistics",
                "sacct": "ended_fails",
            },
        )
    )
    scheduler = open_scheduler("slurm", "", "", 10, transport)
    scheduler.job(scheduler.jobs().jobs[0].number)
    for read in (scheduler.nodes, scheduler.limits, scheduler.now, scheduler.ping):
        read()
    scheduler.ended(1)
    assert len(transport.calls) == 8
    assert all(commands.only_reads(argv) for argv in transport.calls)
