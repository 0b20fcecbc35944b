"""What does a shared file system do to reading, where attributes are late, sizes jump and handles go stale?

There is no such file system here: what its client would show is put into the system calls, or done to the file.
"""

import errno
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from detectors.models import Anomaly
from detectors.reading import read_attempt
from detectors.sources.files import ATTRIBUTES_CACHED, FileSource
from detectors.sources.source import Known, Stream
from tests.detectors.rows import Log, again, make_attempt, make_cluster, megatron
from tests.detectors.sources.test_files import Reader, append, asked

ERRORS = {errno.ESTALE: "stale file handle", errno.EIO: "input/output error", errno.ENXIO: "no such device"}


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path / "log", asked(tmp_path))


def failing(monkeypatch: pytest.MonkeyPatch, call: str, number: int, path: Path) -> None:
    """A system call fails on this file, and on no other."""
    real, inode = getattr(os, call), path.stat().st_ino

    def broken(what: Any, *args: Any, **kwargs: Any) -> Any:
        of_file = what in {str(path), path.name}
        if not of_file and isinstance(what, int):
            of_file = fstat(what).st_ino == inode
        if of_file:
            raise OSError(number, os.strerror(number))
        return real(what, *args, **kwargs)

    fstat = os.fstat
    monkeypatch.setattr(os, call, broken)


@pytest.mark.parametrize("number", ERRORS)
@pytest.mark.parametrize("call", ["open", "stat", "pread"])
def test_a_handle_that_went_stale_is_a_trouble_with_its_reason(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    reader.path.write_text("one\n")
    reader.turn()
    append(reader.path, "two\n")
    before = dict(reader.position)
    with monkeypatch.context() as patch:
        failing(patch, call, number, reader.path)
        portion = reader.turn()
        assert ERRORS[number] in portion.trouble.lower() and not portion.records
    assert reader.position == before
    assert reader.lines() == ["two"]


@pytest.mark.django_db
@pytest.mark.parametrize("number", [errno.ESTALE, errno.EIO])
def test_whoever_cannot_read_is_blind_with_the_reason_and_never_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    attempt = make_attempt(make_cluster(tmp_path))
    start = datetime.now(UTC)
    log = Log.of(attempt)
    log.write(*(megatron(step, start + timedelta(seconds=step)) for step in range(1, 31)))
    read_attempt(attempt, start + timedelta(seconds=31))
    log.write("more")
    with monkeypatch.context() as patch:
        failing(patch, "pread", number, log.path)
        for seconds in (40, 100, 1000, 4000):
            assert read_attempt(again(attempt), start + timedelta(seconds=seconds))
        assert ERRORS[number] in again(attempt).blind_reason.lower()
        assert list(Anomaly.objects.filter(refuted_at=None).values_list("kind", flat=True)) == ["blind"]
    read_attempt(again(attempt), start + timedelta(seconds=4001))
    assert again(attempt).blind_since is None


def test_a_length_that_is_behind_what_was_read_repeats_nothing(reader: Reader) -> None:
    """Another machine read further than this one can see by now."""
    text = "".join(f"line {number:03}\n" for number in range(400))
    reader.path.write_text(text)
    reader.turn()
    os.truncate(reader.path, 2000)
    for _turn in range(5):
        assert reader.lines() == []
        reader.listed()
    append(reader.path, f"{text[2000:]}the next\n")
    assert reader.lines() == ["the next"]
    assert reader.lines() == []


def test_a_file_that_stays_shorter_was_truncated(reader: Reader) -> None:
    text = "".join(f"line {number:03}\n" for number in range(400))
    reader.path.write_text(text)
    reader.turn()
    os.truncate(reader.path, 2000)
    reader.turn()
    reader.now += timedelta(seconds=ATTRIBUTES_CACHED)
    reader.listed()
    assert len(reader.lines()) == 2000 // 9


def test_a_length_that_jumps_ahead_of_the_text_waits_for_the_text(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader.path.write_text("one\ntwo\nthr")
    real = os.fstat

    def ahead(descriptor: int) -> os.stat_result:
        status = real(descriptor)
        return os.stat_result((*status[:6], status.st_size + 5000, *status[7:]))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fstat", ahead)
        assert reader.lines() == ["one", "two"]
        assert reader.lines() == []
    append(reader.path, "ee\n")
    assert reader.lines() == ["three"]


def test_zeros_in_place_of_text_that_has_not_arrived_are_no_text(reader: Reader) -> None:
    reader.path.write_bytes(b"one\n" + b"\0" * 4000)
    assert reader.lines() == ["one"]
    with reader.path.open("r+b") as file:
        file.seek(4)
        file.write(b"two\n" + b"x" * 3995 + b"\n")
    assert reader.lines() == ["two", "x" * 3995]


@pytest.mark.parametrize("days", [-3650, -1, 1, 3650])
def test_a_time_of_another_clock_loses_no_line(reader: Reader, days: int) -> None:
    reader.path.write_text("one\n")
    reader.turn()
    for word in ("two", "three"):
        append(reader.path, f"{word}\n")
        stamp = (reader.now + timedelta(days=days)).timestamp()
        os.utime(reader.path, (stamp, stamp))
        (record,) = reader.turn().records
        assert record.line == word and record.read_at <= reader.now


def test_a_time_in_the_future_and_no_newline_end_a_log_all_the_same(reader: Reader) -> None:
    reader.path.write_text("one\nlast words")
    stamp = (reader.now + timedelta(days=1)).timestamp()
    os.utime(reader.path, (stamp, stamp))
    reader.asked = replace(reader.asked, ended=True)
    assert reader.lines() == ["one", "last words"]


def test_many_files_of_one_attempt_are_listed_once_a_turn_when_all_are_rotated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / f"7_{rank}.log" for rank in range(200)]
    readers = [Reader(path, asked(tmp_path)) for path in paths]
    for one in readers:
        one.path.write_text("one\n")
        one.turn()
        append(one.path, "two\n")
        one.path.rename(one.path.with_name(f"{one.path.name}.1"))
        one.path.write_text("three\n")
    listed: list[object] = []
    real = os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: listed.append(folder) or real(folder))
    now = readers[0].now + timedelta(seconds=3)
    for one in readers:
        portion = FileSource().read(one.asked, Stream(str(one.path)), Known(one.position), 1 << 20, now)
        assert [record.line for record in portion.records] == ["two"]
    assert len(listed) <= 2
