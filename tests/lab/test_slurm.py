"""Does the private Slurm start, run a job on several nodes, and leave nothing behind?"""

import os
import socket
import subprocess
import time

import pytest

from lab.slurm.cluster import LabError, SlurmCluster
from lab.slurm.layout import Layout, free_base_port
from lab.slurm.processes import processes_with

pytestmark = pytest.mark.slurm


def a_layout(folder, **changes) -> Layout:
    return Layout(folder=folder, base_port=free_base_port(), accounting=False, nodes=2, **changes)


def test_a_cluster_lives_and_leaves_nothing(short_folder) -> None:
    with SlurmCluster(a_layout(short_folder / "c")) as cluster:
        number = cluster.submit("#!/bin/sh\nsrun hostname\nsleep 600\n", "-N2", "-oout")
        out = cluster.layout.jobs / "out"
        for _ in range(100):
            if out.exists() and len(out.read_text().split()) == 2:
                break
            time.sleep(0.1)
        assert sorted(out.read_text().split()) == ["n01", "n02"]
        assert f" {number} " in cluster.client(["squeue"])
        ours = f"SLURM_CONF={cluster.layout.conf}"
        assert processes_with(ours)
        pids = [pid for _, pid in cluster.status()]
        assert all(pids)
    assert processes_with(ours) == []
    assert [pid for pid in pids if os.path.exists(f"/proc/{pid}") and not _zombie(pid)] == []
    assert not (short_folder / "c").exists()


def _zombie(pid: int) -> bool:
    with open(f"/proc/{pid}/stat") as stat:
        return ") Z " in stat.read()


def test_a_taken_port_is_refused_before_anything_starts(short_folder) -> None:
    layout = a_layout(short_folder / "c")
    refused = pytest.raises(LabError, match=f"Ports already in use: {layout.base_port}")
    with socket.create_server(("127.0.0.1", layout.base_port)), refused:
        SlurmCluster(layout).start()
    assert not (short_folder / "c").exists()


def test_a_second_cluster_in_the_same_folder_is_refused(short_folder) -> None:
    folder = short_folder / "c"
    folder.mkdir()
    a_layout(folder).save()
    with pytest.raises(LabError, match="already holds a cluster"):
        SlurmCluster(a_layout(folder)).start()


def test_a_refused_submission_says_why(real_slurm) -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        real_slurm.submit("#!/bin/sh\n", "-pnowhere")
    assert "invalid partition specified: nowhere" in refused.value.stderr
