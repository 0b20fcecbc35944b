"""Are files of virtual time real files, dated as the cluster says?"""

import os

import pytest

from lab.simulate.logs import Unwritable
from lab.simulate.model import Cluster
from lab.simulate.play import Play
from lab.simulate.settings import Settings
from lab.simulate.virtual_logs import MOST_OPEN, VirtualLogs
from tests.lab.simulate.stage import START


class Clock:
    now = START

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def logs(tmp_path, clock):
    logs = VirtualLogs(tmp_path)
    logs.read_clock(clock)
    yield logs
    logs.close()


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_every_write_dates_the_file(logs, clock, tmp_path):
    logs.start("a.log", append=False)
    assert (tmp_path / "a.log").stat().st_mtime_ns == int(START) * 10**9
    clock.now = START + 12.25
    logs.write("a.log", "one\n")
    logs.write("a.log", "two \ud800\n")
    assert (tmp_path / "a.log").read_text() == "one\ntwo ?\n"
    assert (tmp_path / "a.log").stat().st_mtime_ns == int((START + 12.25) * 10**9)


def test_a_folder_is_dated_by_what_is_made_and_taken_away_in_it(clock, tmp_path):
    logs = VirtualLogs(tmp_path, keeps=False)
    logs.read_clock(clock)

    def dated() -> float:
        return tmp_path.stat().st_mtime_ns / 10**9

    logs.start("a.log", append=False)
    assert dated() == START
    clock.now = START + 5
    logs.write("a.log", "one\n")
    logs.start("a.log", append=False)
    assert dated() == START, "the file was there already"
    clock.now = START + 7
    logs.rotate()
    assert dated() == START + 7
    clock.now = START + 9
    logs.remove("a.log")
    assert dated() == START + 9
    logs.close()


def test_a_new_attempt_truncates_the_same_inode_unless_it_appends(logs, tmp_path):
    logs.start("a.log", append=False)
    logs.write("a.log", "first\n")
    inode = (tmp_path / "a.log").stat().st_ino
    logs.start("a.log", append=True)
    logs.write("a.log", "second\n")
    assert (tmp_path / "a.log").read_text() == "first\nsecond\n"
    logs.start("a.log", append=False)
    assert (tmp_path / "a.log").read_text() == ""
    assert (tmp_path / "a.log").stat().st_ino == inode


def test_rotation_gives_a_new_inode_and_truncation_does_not(logs, tmp_path):
    for name in ("a.log", "b.log"):
        logs.start(name, append=False)
        logs.write(name, "text\n")
    before = {name: (tmp_path / name).stat().st_ino for name in ("a.log", "b.log")}
    assert logs.rotate(["a.log"]) == ("a.log",)
    assert logs.truncate(["b.log"]) == ("b.log",)
    logs.write("a.log", "new\n")
    logs.write("b.log", "new\n")
    assert (tmp_path / "a.log.1").read_text() == "text\n"
    assert (tmp_path / "a.log").read_text() == (tmp_path / "b.log").read_text() == "new\n"
    assert (tmp_path / "a.log").stat().st_ino != before["a.log"] == (tmp_path / "a.log.1").stat().st_ino
    assert (tmp_path / "b.log").stat().st_ino == before["b.log"]
    assert logs.rotate(["none.log"]) == ()


def test_an_attempt_that_begins_while_the_collector_is_stopped(logs, clock, tmp_path):
    logs.start("old.log", append=False)
    logs.write("old.log", "first attempt\n")
    logs.logs_stop()
    logs.start("old.log", append=False)
    logs.write("old.log", "second attempt\n")
    logs.start("new.log", append=False)
    logs.write("new.log", "hello\n")
    assert (tmp_path / "old.log").read_text() == "first attempt\n"
    assert not (tmp_path / "new.log").exists()
    clock.now = START + 300
    logs.logs_start()
    assert (tmp_path / "old.log").read_text() == "second attempt\n"
    assert (tmp_path / "new.log").read_text() == "hello\n"
    assert (tmp_path / "new.log").stat().st_mtime == START + 300


@pytest.mark.parametrize("keeps", [True, False])
def test_a_purged_log_stays_or_goes(tmp_path, keeps):
    logs = VirtualLogs(tmp_path, keeps=keeps)
    logs.start("a.log", append=False)
    logs.keep("a.log", 40)
    assert logs.checkpoints == {"a.log": 40}
    logs.remove("a.log")
    assert (tmp_path / "a.log").exists() is keeps
    assert logs.checkpoints == {}


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize("path", ["../out", "/etc/out", "a/../../out", "", "no-folder/a.log", "nul\0", "x" * 300])
def test_nothing_outside_the_folder_is_written(tmp_path, path, stopped):
    folder = tmp_path / "logs"
    folder.mkdir()
    logs = VirtualLogs(folder)
    if stopped:
        logs.logs_stop()
    else:
        with pytest.raises(Unwritable):
            logs.start(path, append=False)
    logs.write(path, "text")
    logs.logs_start()
    logs.remove(path)
    assert list(tmp_path.iterdir()) == [folder]
    assert list(folder.iterdir()) == []


def test_many_files_need_few_descriptors(logs, tmp_path):
    before = open_files()
    for number in range(3 * MOST_OPEN):
        logs.start(f"{number}.log", append=False)
    for number in range(3 * MOST_OPEN):
        logs.write(f"{number}.log", f"{number}\n")
    assert open_files() - before <= MOST_OPEN
    assert all((tmp_path / f"{number}.log").read_text() == f"{number}\n" for number in (0, 1, 599))
    logs.close()
    assert open_files() == before


def test_a_cluster_dates_its_own_logs(tmp_path):
    cluster = Cluster(START, Settings(), VirtualLogs(tmp_path))
    cluster.submit(Play(steps=20, step_seconds=600, startup_seconds=0))
    cluster.advance(START + 6 * 3600)
    written = (tmp_path / "slurm-1.out").stat().st_mtime
    assert START + 3 * 3600 < written < START + 4 * 3600
