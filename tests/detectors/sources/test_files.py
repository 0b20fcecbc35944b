"""Does the file source read what is there, once, and nothing else? Against real files."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from detectors.catalogue.records import LINE_LIMIT, Record
from detectors.sources.files import NO_ROOTS, STALE, TAKEN_OVER, FileSource
from detectors.sources.source import Asked, Known, Portion, Stream
from workloads.log_paths import JobNames, log_patterns

NAMES = JobNames(number=7, name="train", user="trainer", work_dir="/")


@dataclass
class Reader:
    """Reads one file turn by turn, as the reading does: it keeps the position."""

    path: Path
    asked: Asked
    before: Mapping[str, Any] = field(default_factory=dict)
    position: Mapping[str, Any] = field(default_factory=dict)
    now: datetime = field(default_factory=lambda: datetime.now(UTC))

    def turn(self, budget: int = 1 << 20, seconds: float = 1) -> Portion:
        """One turn, so many seconds after the last."""
        self.now += timedelta(seconds=seconds)
        known = Known(self.position, self.before)
        portion = FileSource().read(self.asked, Stream(str(self.path)), known, budget, self.now)
        self.position = portion.position if portion.position is not None else self.position
        return portion

    def lines(self, budget: int = 1 << 20) -> list[str]:
        """The lines of one turn."""
        return [record.line for record in self.turn(budget).records]

    def listed(self) -> None:
        """The scheduler was listed just now."""
        self.now += timedelta(seconds=1)
        self.asked = replace(self.asked, listed_at=self.now)


def asked(root: Path, **changes: Any) -> Asked:
    values: dict[str, Any] = {
        "patterns": log_patterns(NAMES, [f"{root}/log"], [], "/dev/null", "/dev/null"),
        "roots": (str(root),),
        "owner": os.getuid(),
        "nodes": ("n01", "n02"),
        "started_at": datetime.now(UTC) - timedelta(seconds=5),
        "ended": False,
    }
    return Asked(**{**values, **changes})


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path / "log", asked(tmp_path))


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


class TestGrowth:
    def test_each_line_once_with_its_offset(self, reader: Reader) -> None:
        reader.path.write_text("one\ntwo\n")
        first = reader.turn()
        append(reader.path, "three\n")
        second = reader.turn()
        assert [(r.offset, r.line) for r in (*first.records, *second.records)] == [
            (0, "one"),
            (4, "two"),
            (8, "three"),
        ]
        assert not reader.turn().records and first.at_end

    def test_a_pattern_of_a_thousand_folders_finds_nothing_and_breaks_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "0").mkdir()
        names = JobNames(7, "train", "trainer", str(tmp_path))
        patterns = log_patterns(names, [f"%t{'/a' * 1500}"], [], "", "")
        asked = Asked(patterns, (str(tmp_path),), os.getuid(), ("n01",), datetime.now(UTC), ended=False)
        assert len(patterns) == 2 and not FileSource().find(asked).streams

    def test_a_partial_line_waits(self, reader: Reader) -> None:
        reader.path.write_text("one\ntw")
        assert reader.lines() == ["one"]
        assert reader.lines() == []
        append(reader.path, "o\n")
        assert reader.lines() == ["two"]

    def test_the_partial_last_line_of_an_ended_attempt_is_taken_when_it_is_old(self, reader: Reader) -> None:
        reader.path.write_text("one\nRuntimeError: no newline")
        reader.asked = replace(reader.asked, ended=True)
        os.utime(reader.path, (reader.now.timestamp(), reader.now.timestamp()))
        first = reader.turn(seconds=1)
        assert [r.line for r in first.records] == ["one"] and not first.at_end
        second = reader.turn(seconds=2)
        assert [r.line for r in second.records] == ["RuntimeError: no newline"] and second.at_end

    def test_an_unfinished_line_of_a_live_attempt_is_taken_once_it_has_ended(self, reader: Reader) -> None:
        reader.path.write_text("one\nlast words")
        assert reader.lines() == ["one"]
        reader.asked = replace(reader.asked, ended=True)
        assert [r.line for r in reader.turn(seconds=30).records] == ["last words"]

    def test_a_turn_reads_no_more_than_its_budget(self, reader: Reader) -> None:
        reader.path.write_text("".join(f"line {n:04}\n" for n in range(1000)))
        first = reader.turn(budget=1000)
        assert len(first.records) == 100 and not first.at_end
        rest = [line for _ in range(10) for line in reader.lines(budget=1000)]
        assert [r.line for r in first.records] + rest == [f"line {n:04}" for n in range(1000)]

    def test_a_log_of_empty_lines_comes_in_portions(self, reader: Reader) -> None:
        reader.path.write_bytes(b"\n" * 120_000 + b"end\n")
        counts = [len(reader.turn(budget=1 << 22).records) for _ in range(4)]
        assert counts == [50_000, 50_000, 20_001, 0]

    def test_a_file_that_nobody_touched_is_not_opened(
        self, reader: Reader, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reader.path.write_text("one\n")
        reader.turn()
        monkeypatch.setattr(os, "open", lambda *_args, **_kw: pytest.fail("opened"))
        assert not reader.turn().records

    def test_hints_and_file_time_are_on_each_record(self, tmp_path: Path) -> None:
        path = tmp_path / "log"
        path.write_text("one\n")
        written_at = datetime.now(UTC) - timedelta(seconds=2)
        os.utime(path, (written_at.timestamp(), written_at.timestamp()))
        portion = FileSource().read(
            asked(tmp_path), Stream(str(path), "n01", 3), Known(), 1 << 20, datetime.now(UTC) + timedelta(seconds=9)
        )
        assert list(portion.records) == [Record(str(path), 0, "one", written_at, "n01", 3)]

    @pytest.mark.parametrize(("shift", "is_start"), [(-30, True), (3600, False)], ids=["past", "future"])
    def test_a_file_time_set_by_its_owner_stays_between_start_and_now(
        self, reader: Reader, shift: float, is_start: bool
    ) -> None:
        reader.path.write_text("one\n")
        moment = reader.now.timestamp() + shift
        os.utime(reader.path, (moment, moment))
        record = reader.turn().records[0]
        assert record.read_at == (reader.asked.started_at if is_start else reader.now)


class TestHostileText:
    def test_a_line_of_ten_megabytes_is_cut_and_the_next_one_read(self, reader: Reader) -> None:
        reader.path.write_bytes(b"x" * 10_000_000 + b"\nnext\n")
        portions = [reader.turn() for _ in range(12)]
        lines = [record.line for portion in portions for record in portion.records]
        assert [len(line) for line in lines] == [LINE_LIMIT, 4] and lines[1] == "next"
        assert sum(portion.cut for portion in portions) == 1 and reader.position["cut_lines"] == 1

    def test_a_long_complete_line_is_cut(self, reader: Reader) -> None:
        reader.path.write_bytes(b"a" * 20_000 + b"\nb\n")
        assert [len(line) for line in reader.lines()] == [LINE_LIMIT, 1]

    def test_a_progress_bar_without_newline_is_read_as_it_is_drawn(self, reader: Reader) -> None:
        reader.path.write_bytes(b"\r".join(b"%d%%| step %d/900" % (n // 9, n) for n in range(900)))
        drawn = [line for record in reader.lines() for line in record.split("\r")]
        assert (drawn[0], drawn[-1]) == ("0%| step 0/900", "99%| step 898/900")
        append(reader.path, "\r100%| step 900/900\n")
        assert reader.lines() == ["99%| step 899/900\r100%| step 900/900"]

    def test_binary_becomes_text_that_a_database_stores(self, reader: Reader) -> None:
        reader.path.write_bytes(b"\x00\xff\xfe\xed\xa0\x80 end\n" + os.urandom(200).replace(b"\n", b"") + b"\n")
        for line in reader.lines():
            assert "\0" not in line
            line.encode("utf-8")


class TestTruncation:
    def test_copytruncate_of_a_live_job_starts_again(self, reader: Reader) -> None:
        reader.path.write_text("one\ntwo\n")
        reader.turn()
        reader.path.write_text("three\n")
        assert reader.lines() == []  # whose it is will be known at the next listing
        reader.listed()
        assert reader.lines() == ["three"]

    def test_a_requeue_that_rewrote_the_file_longer_is_not_taken_for_growth(self, reader: Reader) -> None:
        reader.path.write_text("one\ntwo\n")
        reader.turn()
        inode = reader.path.stat().st_ino
        with reader.path.open("r+") as file:
            file.truncate(0)
            file.write("another beginning\nand more\n")
        assert reader.path.stat().st_ino == inode
        assert reader.lines() == []
        reader.listed()
        assert reader.lines() == ["another beginning", "and more"]

    def test_the_same_beginning_with_another_end_is_seen(self, reader: Reader) -> None:
        banner = "".join(f"banner {n}\n" for n in range(200))
        reader.path.write_text(banner + "fault of attempt 0\n")
        reader.turn()
        reader.path.write_text(banner + "healthy of attempt 1\nmore\n")
        reader.turn()
        reader.listed()
        assert reader.lines()[-2:] == ["healthy of attempt 1", "more"]

    def test_an_ended_attempt_never_reads_what_the_next_one_wrote(self, reader: Reader) -> None:
        reader.path.write_text("one\n")
        reader.turn()
        now = datetime.now(UTC)
        reader.path.write_text("of the next attempt, and longer than before\n")
        reader.asked = replace(reader.asked, ended=True, taken_over_at=now - timedelta(seconds=1), listed_at=now)
        assert reader.lines() == [] and reader.position["closed"]
        append(reader.path, "more\n")
        assert reader.lines() == []

    def test_in_append_mode_the_next_attempts_lines_are_not_the_ended_ones(self, reader: Reader) -> None:
        reader.path.write_text("one\n")
        reader.turn()
        append(reader.path, "of the next attempt\n")
        reader.asked = replace(reader.asked, ended=True, taken_over_at=datetime.now(UTC) - timedelta(seconds=2))
        assert reader.lines() == [] and reader.position["closed"]

    def test_truncated_while_it_is_read(self, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
        reader.path.write_text("one\ntwo\n")
        real = os.pread

        def slow(descriptor: int, size: int, offset: int) -> bytes:
            chunk = real(descriptor, size, offset)
            os.truncate(reader.path, 0)
            return chunk

        monkeypatch.setattr(os, "pread", slow)
        portion = reader.turn()
        assert (portion.position, portion.records, portion.at_end) == (None, (), False)


class TestNextAttempt:
    def position_after(self, reader: Reader, text: str) -> Mapping[str, Any]:
        reader.path.write_text(text)
        reader.turn()
        return reader.position

    def next_reader(self, reader: Reader, before: Mapping[str, Any]) -> Reader:
        return Reader(reader.path, replace(reader.asked, started_at=datetime.now(UTC)), before)

    def test_append_mode_goes_on_where_the_attempt_before_ended(self, reader: Reader) -> None:
        before = self.position_after(reader, "fault of attempt 0\n")
        following = self.next_reader(reader, before)
        assert following.turn().trouble == STALE
        append(reader.path, "hello from attempt 1\n")
        assert following.lines() == ["hello from attempt 1"]

    def test_a_truncated_file_is_read_from_its_beginning(self, reader: Reader) -> None:
        before = self.position_after(reader, "a long line of attempt 0\n")
        reader.path.write_text("short\n")
        assert self.next_reader(reader, before).lines() == ["short"]

    def test_the_very_same_text_once_more_is_read_again(self, reader: Reader) -> None:
        before = self.position_after(reader, "ImportError\n")
        with reader.path.open("r+") as file:
            file.truncate(0)
            file.write("ImportError\n")
        stamp = datetime.now(UTC).timestamp() + 2
        os.utime(reader.path, (stamp, stamp))
        assert self.next_reader(reader, before).lines() == ["ImportError"]

    def test_a_file_of_an_earlier_job_is_not_ours(self, tmp_path: Path) -> None:
        path = tmp_path / "log"
        path.write_text("of last week\n")
        os.utime(path, (0, 0))
        assert Reader(path, asked(tmp_path)).turn().trouble == STALE

    def test_never_read_before_the_next_attempt_took_over(self, reader: Reader) -> None:
        reader.path.write_text("of the next attempt\n")
        reader.asked = replace(reader.asked, ended=True, taken_over_at=datetime.now(UTC) - timedelta(seconds=5))
        assert reader.turn().trouble == TAKEN_OVER


class TestRotation:
    def test_a_renamed_file_is_finished_first(self, reader: Reader) -> None:
        reader.path.write_text("one\n")
        reader.turn()
        append(reader.path, "two\nthree without newline")
        reader.path.rename(reader.path.with_name("log.1"))
        reader.path.write_text("four\n")
        old = reader.turn()
        assert [r.line for r in old.records] == ["two"] and not old.at_end
        rest = reader.turn(seconds=3)  # nobody writes on to the old one
        assert [r.line for r in rest.records] == ["three without newline"] and not rest.at_end
        reader.turn()
        reader.listed()
        assert reader.lines() == ["four"]

    def test_a_deleted_and_recreated_file_is_read_from_its_beginning(self, reader: Reader) -> None:
        reader.path.write_text("one\n")
        reader.turn()
        reader.path.unlink()
        assert reader.turn().trouble == "no such file"
        reader.path.write_text("two\n")
        reader.turn()
        reader.listed()
        assert reader.lines() == ["two"]


class TestHostilePaths:
    def trouble(self, reader: Reader) -> str:
        portion = reader.turn()
        assert not portion.records and portion.position is None
        return portion.trouble

    def test_a_folder(self, reader: Reader) -> None:
        reader.path.mkdir()
        assert self.trouble(reader) == "it is a folder, not a regular file"

    def test_a_fifo_does_not_block(self, reader: Reader) -> None:
        os.mkfifo(reader.path)
        assert self.trouble(reader) == "it is a FIFO, not a regular file"

    def test_a_socket(self, short_folder: Path) -> None:
        path = short_folder / "log"
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(path))
            assert self.trouble(Reader(path, asked(short_folder))) == "it is a socket, not a regular file"

    def test_a_device(self, reader: Reader) -> None:
        reader.path.symlink_to("/dev/zero")
        reader.asked = replace(reader.asked, roots=("/dev", str(reader.path.parent)))
        assert self.trouble(reader) == "it is a device, not a regular file"

    def test_a_link_out_of_the_roots(self, reader: Reader) -> None:
        reader.path.symlink_to("/etc/passwd")
        assert self.trouble(reader) == "it lies outside the cluster's log roots"

    def test_a_folder_linked_out_of_the_roots(self, tmp_path: Path) -> None:
        root, secret = tmp_path / "root", tmp_path / "secret"
        root.mkdir()
        secret.mkdir()
        (secret / "log").write_text("secret\n")
        (root / "way").symlink_to(secret)
        reader = Reader(root / "way" / "log", asked(root))
        assert self.trouble(reader) == "it lies outside the cluster's log roots"

    def test_a_link_inside_the_roots_is_the_file(self, reader: Reader) -> None:
        (reader.path.parent / "real").write_text("one\n")
        reader.path.symlink_to("real")
        assert reader.lines() == ["one"]

    def test_a_loop_of_links(self, reader: Reader) -> None:
        reader.path.symlink_to(reader.path)
        assert self.trouble(reader) == "it is a link, not a regular file"

    def test_a_root_that_is_a_link_is_trusted(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "real" / "log").write_text("one\n")
        (tmp_path / "root").symlink_to("real")
        reader = Reader(tmp_path / "root" / "log", asked(tmp_path / "root"))
        assert reader.lines() == ["one"]

    def test_climbing_out_by_dots(self, tmp_path: Path) -> None:
        (tmp_path / "root").mkdir()
        (tmp_path / "log").write_text("secret\n")
        reader = Reader(tmp_path / "root" / ".." / "log", asked(tmp_path / "root"))
        assert self.trouble(reader) == "it is not an absolute path without '..'"

    def test_a_root_is_no_prefix_of_names(self, tmp_path: Path) -> None:
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs-secret").write_text("secret\n")
        reader = Reader(tmp_path / "logs-secret", asked(tmp_path / "logs"))
        assert self.trouble(reader) == "it lies outside the cluster's log roots"

    def test_somebody_elses_file(self, reader: Reader) -> None:
        reader.path.write_text("root's own\n")
        reader.asked = replace(reader.asked, owner=os.getuid() + 1)
        assert self.trouble(reader).startswith("it belongs to user id")

    def test_a_job_of_nobody_known_has_no_files(self, reader: Reader) -> None:
        """A client can register a job under any name; its files would be anybody's."""
        reader.path.write_text("one\n")
        reader.asked = replace(reader.asked, owner=None)
        assert self.trouble(reader) == "the job's user id is not known, so nobody's file is its own"

    @pytest.mark.parametrize("target", ["/etc/passwd", "/etc/no-such-file", "/no-such-folder/file"])
    def test_nothing_is_told_of_what_stands_outside(self, reader: Reader, target: str) -> None:
        """Whether it exists is no business of the job's owner."""
        reader.path.symlink_to(target)
        assert self.trouble(reader) == "it lies outside the cluster's log roots"

    def test_a_file_swapped_for_a_link_between_check_and_opening(
        self, reader: Reader, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reader.path.write_text("one\n")
        real = os.open

        def swapped(path: Any, *args: Any, **kwargs: Any) -> int:
            if path == "log":
                reader.path.unlink()
                reader.path.symlink_to("/etc/passwd")
            return real(path, *args, **kwargs)

        monkeypatch.setattr(os, "open", swapped)
        assert "symbolic links" in self.trouble(reader)

    def test_a_file_that_vanishes_between_check_and_opening(
        self, reader: Reader, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reader.path.write_text("one\n")
        real = os.open

        def vanishing(path: Any, *args: Any, **kwargs: Any) -> int:
            if path == "log":
                reader.path.unlink()
            return real(path, *args, **kwargs)

        monkeypatch.setattr(os, "open", vanishing)
        assert self.trouble(reader) == "no such file"

    def test_no_descriptor_stays_open(self, reader: Reader) -> None:
        reader.path.write_text("one\n")
        before = len(os.listdir("/proc/self/fd"))
        reader.turn()
        reader.path.unlink()
        os.mkfifo(reader.path)
        reader.turn()
        assert len(os.listdir("/proc/self/fd")) == before


class TestFinding:
    @pytest.mark.parametrize("path", ["/etc/passwd", "/etc/no-such-file"])
    def test_a_path_outside_is_answered_alike_whether_it_exists(self, tmp_path: Path, path: str) -> None:
        found = self.find(tmp_path, path)
        assert [stream.name for stream in found.streams] == [path]

    def find(self, root: Path, *patterns: str, **changes: Any) -> Any:
        wanted = log_patterns(replace(NAMES, work_dir=str(root)), patterns, [], "own.log", "/dev/null")
        return FileSource().find(asked(root, patterns=wanted, **changes))

    def test_no_roots_says_what_to_set(self, tmp_path: Path) -> None:
        found = self.find(tmp_path, roots=())
        assert (found.streams, found.trouble) == ((), NO_ROOTS)
        assert found.tried == (f"{tmp_path}/own.log",)

    def test_files_of_ranks_and_nodes_tell_their_rank_and_host(self, tmp_path: Path) -> None:
        for rank, host in enumerate(("n01", "n02")):
            (tmp_path / f"train_7_{rank}.{host}.log").write_text("one\n")
        (tmp_path / "train_7_x.n01.log").write_text("no number\n")
        found = self.find(tmp_path, f"{tmp_path}/%x_%j_%t.%N.log")
        assert [(Path(s.name).name, s.rank, s.host) for s in found.streams] == [
            ("train_7_0.n01.log", 0, "n01"),
            ("train_7_1.n02.log", 1, "n02"),
        ]

    def test_a_pattern_that_would_walk_the_machine_finds_nothing(self, tmp_path: Path) -> None:
        assert self.find(tmp_path, "/%N/%N/%N/%N").streams == ()

    def test_wildcard_folders_inside_the_roots(self, tmp_path: Path) -> None:
        (tmp_path / "n01").mkdir()
        (tmp_path / "n01" / "7.log").write_text("one\n")
        found = self.find(tmp_path, f"{tmp_path}/%N/%j.log")
        assert [(s.name, s.host) for s in found.streams] == [(f"{tmp_path}/n01/7.log", "n01")]

    def test_brackets_and_stars_in_names_are_only_names(self, tmp_path: Path) -> None:
        (tmp_path / "run[1]*.log").write_text("one\n")
        (tmp_path / "run1x.log").write_text("two\n")
        assert [s.name for s in self.find(tmp_path, f"{tmp_path}/run[1]*.log").streams] == [
            f"{tmp_path}/run[1]*.log"
        ]

    def test_the_number_of_files_is_bounded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("detectors.sources.files.FILES_LIMIT", 5)
        for rank in range(9):
            (tmp_path / f"7_{rank}.log").touch()
        assert len(self.find(tmp_path, f"{tmp_path}/%j_%t.log").streams) == 5


class TestAround:
    def test_text_around_a_place(self, reader: Reader) -> None:
        reader.path.write_text("one\ntwo\nthree\n")
        reader.turn()
        stream = Stream(str(reader.path))
        assert FileSource().around(reader.asked, stream, reader.position, 4, 8) == b"two\n"
        assert FileSource().around(reader.asked, stream, reader.position, -50, 4000) == b"one\ntwo\nthree\n"

    def test_nothing_of_a_file_that_was_rewritten(self, reader: Reader) -> None:
        reader.path.write_text("one\n")
        reader.turn()
        reader.path.write_text("another\n")
        assert FileSource().around(reader.asked, Stream(str(reader.path)), reader.position, 0, 4) == b""
