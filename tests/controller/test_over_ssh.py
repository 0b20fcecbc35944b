"""Do controller and watchdog do their work when the scheduler can be reached over SSH alone?"""

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from schedulers.states import JobState
from tests.controller.test_simulated import ROOT, Site, failing, site, until  # noqa: F401  the fixture
from tests.schedulers.sshd import Sshd, running


@pytest.fixture
def far(site: Site, short_folder: Path) -> Iterator[Sshd]:  # noqa: F811
    """The configuration names no folder of commands any more, but a host."""
    with running(short_folder / "s", path=str(site.folder / "bin")) as sshd:
        place = f"""[ssh]
host = "127.0.0.1"
user = "root"
port = {sshd.port}
known_hosts_file = "{sshd.folder}/known_hosts"
key_file = "{sshd.folder}/key"
folder = "{sshd.folder}/run"
"""
        text = site.config.read_text().replace(f'path = "{site.folder}/bin"', 'transport = "ssh"')
        assert 'transport = "ssh"' in text
        site.config.write_text(text + place)
        sshd.transport()  # closes the connection that the programs leave
        yield sshd


def test_a_failed_job_comes_back_also_when_the_connection_is_lost_meanwhile(site: Site, far: Sshd) -> None:  # noqa: F811
    controller = site.program("run")
    number = site.submit(**failing("n01"))
    site.reach(number, JobState.FAILED, 0)
    until(lambda: far.sessions() or None, "a connection")
    far.stop()
    site.advise(number, ("n01",))
    until(lambda: "cannot be connected to" in site.log() or None, "it is said")
    assert controller.poll() is None and site.job(number).row.restarts == 0
    far.start()
    detail = site.reach(number, JobState.RUNNING, 1)
    assert detail.excluded_nodes == ("n01",)
    until(lambda: site.advisor.reports, "the advice is reported")
    assert site.advisor.reports[0][1:] == ("CONVERGED", "DESIRED_STATE_OBSERVED")
    assert site.job(number).row.restarts == 1


def test_many_processes_connect_once(site: Site, far: Sshd) -> None:  # noqa: F811
    command = [sys.executable, "-m", "controller", "watchdog", "--once", "--config", str(site.config)]
    with contextlib.ExitStack() as running:
        started = [
            running.enter_context(subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)) for _ in range(4)
        ]
        for process in started:
            running.callback(process.kill)
        for process in started:
            _, said = process.communicate(timeout=60)
            assert process.returncode == 0 and b"the scheduler answers" in said, said
    assert len(far.sessions()) == 1


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('host = "127.0.0.1"', 'host = "-oProxyCommand=id"', "ssh.host: '-oProxyCommand=id' is no name of a host"),
        ('user = "root"\n', "", "ssh.user: is missing, and scheduler.transport is ssh"),
        ("known_hosts_file", "#", "ssh.known_hosts_file: is missing"),
        ("port = ", "port = 9", "ssh.port: must be a whole number between 1 and 65535"),
        ('folder = "', 'folder = "x', "ssh.folder: must be an absolute path"),
    ],
)
def test_half_a_place_is_refused(site: Site, far: Sshd, old: str, new: str, sentence: str) -> None:  # noqa: F811
    head, _, ssh = site.config.read_text().partition("[ssh]")
    site.config.write_text(f"{head}[ssh]{ssh.replace(old, new, 1)}")
    done = site.ask("run", "--once")
    assert done.returncode == 2 and sentence in done.stderr
