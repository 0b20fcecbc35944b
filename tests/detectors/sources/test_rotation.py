"""Is every complete line read exactly once, however a log is rotated, compressed and read?"""

import bz2
import gzip
import lzma
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from detectors.sources.files import FileSource
from detectors.sources.rotated import Unpacking, opened_rotated
from tests.detectors.sources.test_files import Reader, append, asked

EXAMPLES = int(os.environ.get("ROTATION_EXAMPLES", "40"))
PACKERS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path / "log", asked(tmp_path))


def drained(reader: Reader, turns: int = 12) -> list[str]:
    """All lines that come in some turns, with listings between them."""
    lines: list[str] = []
    for _turn in range(turns):
        lines += [record.line for record in reader.turn(seconds=3).records]
        reader.listed()
    return lines


def beside(reader: Reader, suffix: str) -> Path:
    return reader.path.with_name(reader.path.name + suffix)


def pack(path: Path, kind: str, target: Path) -> None:
    """As logrotate does: the compressed file has the time of the original, which is removed."""
    status = path.stat()
    target.write_bytes(PACKERS[kind](path.read_bytes()))
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
    path.unlink()


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("name", [".1", "-20261129"])
def test_the_rest_of_a_log_that_was_renamed_and_compressed_meanwhile(reader: Reader, kind: str, name: str) -> None:
    reader.path.write_text("one\n")
    reader.turn()
    append(reader.path, "two\nthree\n")
    pack(reader.path, kind, beside(reader, f"{name}.{kind}"))
    reader.path.write_text("four\n")
    assert drained(reader) == ["two", "three", "four"]


def test_all_files_of_several_rotations_between_two_reads(reader: Reader) -> None:
    reader.path.write_text("one\n")
    reader.turn()
    append(reader.path, "two\n")
    pack(reader.path, "gz", beside(reader, ".3.gz"))
    beside(reader, ".2").write_text("three\n")
    beside(reader, ".1").write_text("four\n")
    reader.path.write_text("five\n")
    assert drained(reader) == ["two", "three", "four", "five"]


def test_copytruncate_keeps_what_was_not_read_in_its_copy(reader: Reader) -> None:
    reader.path.write_text("one\n")
    reader.turn()
    append(reader.path, "two\n")
    shutil.copy2(reader.path, beside(reader, ".1"))
    os.truncate(reader.path, 0)
    append(reader.path, "three\n")
    assert drained(reader) == ["two", "three"]


def test_a_program_that_holds_its_file_writes_on_in_the_renamed_one(reader: Reader) -> None:
    with reader.path.open("a") as file:
        print("one", file=file, flush=True)
        reader.turn()
        reader.path.rename(beside(reader, ".1"))
        for word in ("two", "three"):
            print(word, file=file, flush=True)
            portion = reader.turn()
            assert [record.line for record in portion.records] == [word] and portion.at_end and not portion.trouble
        reader.path.touch()  # "create" in logrotate: nobody writes to the new one
        print("four", file=file, flush=True)
        assert drained(reader) == ["four"]
        print("five", end="", file=file, flush=True)
        assert drained(reader) == []
        print(" and its end", file=file, flush=True)
        assert drained(reader) == ["five and its end"]
    reader.path.write_text("six\n")
    assert drained(reader) == ["six"]


def test_a_log_that_is_found_by_its_renamed_file_alone(reader: Reader) -> None:
    beside(reader, ".1").write_text("one\n")
    found = FileSource().find(reader.asked)
    assert [stream.name for stream in found.streams] == [str(reader.path)]


def test_a_compressed_file_that_is_not_complete_yet_is_waited_for(reader: Reader) -> None:
    reader.path.write_text("one\n")
    reader.turn()
    append(reader.path, "two\n" * 5000)
    whole = gzip.compress(os.urandom(10) + reader.path.read_bytes())
    packed = gzip.compress(reader.path.read_bytes())
    beside(reader, ".1.gz").write_bytes(packed[: len(packed) // 2])
    reader.path.write_text("three\n")
    assert len(whole) and reader.lines() == []
    beside(reader, ".1.gz").write_bytes(packed)
    os.utime(reader.path.parent)
    assert drained(reader) == ["two"] * 5000 + ["three"]


@pytest.mark.parametrize("suffix", [".gz", ".1.gz", ".1.xz", ".1.bz2"])
def test_garbage_beside_a_log_stops_nothing(reader: Reader, suffix: str) -> None:
    reader.path.write_text("one\n")
    reader.turn()
    beside(reader, suffix).write_bytes(b"\x1f\x8b\x08\x00garbage" * 50)
    reader.path.unlink()
    reader.path.write_text("another\n")
    assert drained(reader) == ["another"]


def test_a_file_that_unpacks_without_end_is_left_alone(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detectors.sources.rotated.UNPACKED_LIMIT", 10_000)
    reader.path.write_text("one\n")
    reader.turn()
    beside(reader, ".1.gz").write_bytes(gzip.compress(b"one\n" + b"\0" * 50_000_000))
    reader.path.unlink()
    reader.path.write_text("two\n")
    assert drained(reader) == ["two"]


def test_of_many_files_that_begin_like_the_log_only_some_are_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each would be unpacked to the place where reading ended, in every turn."""
    monkeypatch.setattr("detectors.sources.rotated.UNPACKED_LIMIT", 200_000)
    path = tmp_path / "log.1.gz"
    path.write_bytes(gzip.compress(b"one\n" * 40_000))
    place, unpacking, tried = (str(path), (str(tmp_path),), os.getuid()), Unpacking(), 0
    with opened_rotated(*place, Unpacking()) as old:
        assert old is not None
        own = replace(old.mark(160_000), tail="of another file that begins like this one")
    for _number in range(20):
        with suppress(ValueError), opened_rotated(*place, unpacking) as old:
            assert old is not None and not old.continues(own)
            tried += 1
    assert 2 <= tried <= 6


def test_a_link_beside_a_log_is_not_followed_out(reader: Reader, tmp_path: Path) -> None:
    secret = tmp_path.parent / "secret"
    secret.write_text("one\nsecret\n")
    reader.path.write_text("one\n")
    reader.turn()
    beside(reader, ".1").symlink_to(secret)
    reader.path.unlink()
    reader.path.write_text("two\n")
    assert drained(reader) == ["two"]


def test_what_the_next_attempt_wrote_before_a_rotation_is_not_the_ended_ones(reader: Reader) -> None:
    reader.path.write_text("one\n")
    reader.turn()
    append(reader.path, "of the next attempt\n")
    reader.path.rename(beside(reader, ".1"))
    reader.path.write_text("of the next one, too\n")
    taken_over_at = datetime.now(UTC) - timedelta(seconds=1)
    reader.asked = replace(reader.asked, ended=True, taken_over_at=taken_over_at)
    assert drained(reader) == []


class Rotating(RuleBasedStateMachine):
    """A program writes, somebody rotates, and a reader is killed at any moment: each line comes once, in order."""

    folder: Path
    reader: Reader
    file: IO[str]

    @initialize()
    def begin(self) -> None:
        self.folder = Path(os.environ["PYTEST_TMP_ROTATING"]) / f"{id(self)}"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self.reader = Reader(self.folder / "log", asked(self.folder))
        self.file = self.reader.path.open("a")
        self.written: list[str] = []
        self.read: list[str] = []
        self.half = ""
        self.budget = 1 << 20

    def teardown(self) -> None:
        if not hasattr(self, "file"):
            return
        self.end_the_line()
        self.file.close()
        for _turn in range(60):
            self.turn(self.budget)
            self.reader.listed()
        assert self.read == self.written
        shutil.rmtree(self.folder)

    def say(self, text: str) -> None:
        self.file.write(text)
        self.file.flush()

    @rule(count=st.integers(1, 5), words=st.sampled_from(["step", "loss of a longer line, with more in it", ""]))
    def lines(self, count: int, words: str) -> None:
        self.end_the_line()
        for _line in range(count):
            self.written.append(f"{len(self.written)} {words}")
            self.say(f"{self.written[-1]}\n")

    @rule()
    def half_a_line(self) -> None:
        # Numbered: of two packed files that begin alike up to where the reader stood nobody knows which it was.
        half = f"half {len(self.written)} "
        self.half += half
        self.say(half)

    def end_the_line(self) -> None:
        if self.half:
            self.written.append(f"{self.half}{len(self.written)}")
            self.say(f"{len(self.written) - 1}\n")
            self.half = ""

    @rule(reopens=st.booleans(), creates=st.booleans())
    @precondition(lambda self: self.reader.path.exists() and self.reader.path.stat().st_size)
    def rename(self, reopens: bool, creates: bool) -> None:
        if self.held() and not reopens:
            return  # it is another file that is renamed then, and one that nobody writes to
        if reopens:
            self.end_the_line()
        self.shift()
        self.reader.path.rename(self.beside(".1"))
        if reopens:
            self.file.close()
            self.file = self.reader.path.open("a")
        elif creates:
            self.reader.path.touch()

    @rule()
    @precondition(lambda self: not self.held() and self.reader.path.stat().st_size)
    def copytruncate(self) -> None:
        self.end_the_line()
        self.shift()
        shutil.copy2(self.reader.path, self.beside(".1"))
        os.truncate(self.reader.path, 0)

    @rule()
    @precondition(lambda self: self.held())
    def reopen(self) -> None:
        self.end_the_line()
        self.file.close()
        self.file = self.reader.path.open("a")

    @rule(kind=st.sampled_from(sorted(PACKERS)))
    def compress(self, kind: str) -> None:
        inode = os.fstat(self.file.fileno()).st_ino
        for path in sorted(self.folder.glob("log.*")):
            if path.suffix[1:] not in PACKERS and path.stat().st_ino != inode:
                pack(path, kind, path.with_name(f"{path.name}.{kind}"))
                return

    @rule(budget=st.sampled_from([16, 64, 1 << 20]))
    def turn(self, budget: int) -> None:
        self.read += [record.line for record in self.reader.turn(budget, seconds=3).records]

    @rule()
    def killed_before_the_commit(self) -> None:
        position = self.reader.position
        self.reader.turn(seconds=3)
        self.reader.position = position

    @rule()
    def listed(self) -> None:
        self.reader.listed()

    @invariant()
    def nothing_twice_and_nothing_out_of_order(self) -> None:
        if hasattr(self, "file"):
            assert self.read == self.written[: len(self.read)]

    def held(self) -> bool:
        """Whether the program writes to a file that has another name by now."""
        here = self.reader.path
        return not here.exists() or os.fstat(self.file.fileno()).st_ino != here.stat().st_ino

    def beside(self, suffix: str) -> Path:
        return beside(self.reader, suffix)

    def shift(self) -> None:
        """`log.1` becomes `log.2`, and so on, from the oldest on."""
        for path in sorted(self.folder.glob("log.*"), key=lambda path: -int(path.name.split(".")[1])):
            parts = path.name.split(".")
            path.rename(path.with_name(".".join([parts[0], str(int(parts[1]) + 1), *parts[2:]])))


def test_random_writes_rotations_and_kills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_TMP_ROTATING", str(tmp_path))
    run_state_machine_as_test(
        Rotating,
        settings=settings(
            max_examples=120, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
