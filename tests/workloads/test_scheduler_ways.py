"""Does the site reach a scheduler over SSH, and say in one sentence why not?"""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError

from schedulers.port import Unreachable
from tests.schedulers.sshd import Sshd, running
from workloads.models import Cluster
from workloads.scheduler_ways import scheduler_of
from workloads.tasks import observe_cluster

pytestmark = pytest.mark.django_db
ANSWERS = {
    "squeue": "",
    "scontrol": '[ "$2" = show ] && echo "NodeName=n01 State=IDLE Partitions=main" || {'
    " echo SLURM_VERSION = 22.05.8;"
    ' echo ClusterName = far; echo MinJobAge = 300 sec; echo KillWait = 30 sec; echo "Slurmctld is UP"; }',
    "sdiag": 'echo "sdiag output at now ($(/bin/date +%s))"',
}


@pytest.fixture
def sshd(short_folder: Path) -> Iterator[Sshd]:
    """A host whose key may only read, as that of a site."""
    folder = short_folder / "bin"
    folder.mkdir()
    for name, body in ANSWERS.items():
        (folder / name).write_text(f"#!/bin/sh\n{body}\n")
        (folder / name).chmod(0o755)
    with running(short_folder / "s", path=str(folder), may="read") as started:
        yield started


@pytest.fixture
def credentials(tmp_path: Path, sshd: Sshd, settings, monkeypatch) -> Path:
    folder = tmp_path / "credentials"
    folder.mkdir(mode=0o700)
    shutil.copy(sshd.folder / "key", folder / "far")
    shutil.copy(sshd.folder / "known_hosts", folder / "far.known_hosts")
    settings.REKINDLE = {**settings.REKINDLE, "REKINDLE_CREDENTIALS_DIR": str(folder)}
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(sshd.folder))
    return folder


@pytest.fixture
def far(sshd: Sshd) -> Cluster:
    address = f"root@127.0.0.1:{sshd.port}"
    cluster = Cluster(name="far", scheduler_transport="ssh", ssh_address=address, ssh_credential="far")
    cluster.full_clean()
    cluster.save()
    return cluster


def test_a_cluster_is_observed_over_ssh(far: Cluster, credentials: Path) -> None:
    observe_cluster(far.pk, datetime.now(UTC).isoformat())
    far.refresh_from_db()
    assert (far.cannot_see_reason, far.scheduler_version) == ("", "22.05.8")
    assert far.seen_at is not None
    assert [node.name for node in far.nodes.all()] == ["n01"]


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda folder: (folder / "far").unlink(), "holds no file 'far', which SSH needs"),
        (lambda folder: (folder / "far.known_hosts").unlink(), "holds no file 'far.known_hosts'"),
        (lambda folder: (folder / "far.known_hosts").write_text(""), "Host key verification failed"),
        (lambda folder: (folder / "far").chmod(0o644), "Permission denied"),
    ],
    ids=["no key", "no known hosts", "an unknown host", "a key that others may read"],
)
def test_what_is_wrong_is_said_on_the_cluster(far: Cluster, credentials: Path, spoil, sentence: str) -> None:
    spoil(credentials)
    observe_cluster(far.pk, datetime.now(UTC).isoformat())
    far.refresh_from_db()
    assert sentence in far.cannot_see_reason and far.seen_at is None
    with pytest.raises(Unreachable, match=sentence):
        scheduler_of(far, 5).jobs()


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"scheduler_transport": "ssh"}, {"ssh_address", "ssh_credential"}),
        ({"ssh_address": "a@b"}, {"ssh_address"}),
        ({"scheduler_transport": "ssh", "ssh_address": "-oX@b", "ssh_credential": "k"}, {"ssh_address"}),
        ({"scheduler_transport": "ssh", "ssh_address": "a@b", "ssh_credential": "../k"}, {"ssh_credential"}),
        ({"scheduler_transport": "telnet"}, {"scheduler_transport"}),
    ],
)
def test_half_a_description_is_refused(fields: dict[str, str], wrong: set[str]) -> None:
    with pytest.raises(ValidationError) as caught:
        Cluster(name="far", **fields).full_clean()
    assert set(caught.value.message_dict) == wrong
