"""What does a packed file cost whoever reads it, however it was made?"""

import bz2
import gzip
import lzma
import os
import random
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from detectors.sources import packed_text
from detectors.sources.packed_text import PackedText
from detectors.sources.rotated import BROKEN, Unpacking, opened_rotated

PACK: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
TEXT = b"".join(b"line %d of %d\n" % (number, number * 7919 % 10_007) for number in range(30_000))


@pytest.mark.parametrize("members", [1, 2, 40])
@pytest.mark.parametrize("kind", PACK)
def test_any_place_is_read_in_any_order(kind: str, members: int, tmp_path: Path) -> None:
    size, chance = len(TEXT) // members + 1, random.Random(members)
    parts = [PACK[kind](TEXT[at : at + size]) for at in range(0, len(TEXT), size)]
    for number, fill in enumerate((b"", b"\0" * 1024)):
        path = tmp_path / f"log.{number}.{kind}"
        path.write_bytes(b"".join(parts) + fill)
        with opened_rotated(str(path), (str(tmp_path),), os.getuid(), Unpacking()) as old:
            assert old is not None
            places = [0, len(TEXT) - 5, *(chance.randrange(len(TEXT)) for _number in range(12)), len(TEXT) + 9]
            for at in places:
                assert old.read(at, 70_000) == TEXT[at : at + 70_000], at


@pytest.mark.parametrize("kind", PACK)
def test_what_is_not_complete_says_so(kind: str, tmp_path: Path) -> None:
    whole, path = PACK[kind](TEXT), tmp_path / f"log.1.{kind}"
    for cut in (0, 1, 9, 19, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with opened_rotated(str(path), (str(tmp_path),), os.getuid(), Unpacking()) as old, pytest.raises(BROKEN):
            assert old is not None
            old.read(0, len(TEXT) + 1)


@pytest.mark.parametrize("kind", PACK)
def test_members_without_text_are_paid_for(kind: str, tmp_path: Path) -> None:
    path, nothing = tmp_path / f"log.1.{kind}", PACK[kind](b"")
    path.write_bytes(PACK[kind](b"one\n") + nothing * 400_000 + PACK[kind](b"two\n"))
    begun = time.process_time()
    with opened_rotated(str(path), (str(tmp_path),), os.getuid(), Unpacking()) as old:
        assert old is not None and old.read(0, 4) == b"one\n"
        with pytest.raises(ValueError, match="of packed files in one turn"):
            old.read(4, 4)
    assert time.process_time() - begun < 20, "it took one member after the other"


def test_a_header_without_end_is_paid_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detectors.sources.rotated.UNPACKED_LIMIT", 1 << 20)
    path = tmp_path / "log.1.gz"
    path.write_bytes(b"\x1f\x8b\x08\x08\0\0\0\0\0\x03" + b"a" * (8 << 20))  # a name without its NUL
    with opened_rotated(str(path), (str(tmp_path),), os.getuid(), Unpacking()) as old:
        assert old is not None
        with pytest.raises(ValueError, match="of packed files in one turn"):
            old.read(0, 1)


def test_what_many_files_cost_is_one_sum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("detectors.sources.rotated.UNPACKED_LIMIT", 1 << 20)
    path, unpacking, read = tmp_path / "log.1.gz", Unpacking(), 0
    path.write_bytes(gzip.compress(os.urandom(1 << 19)))
    for _number in range(40):
        with suppress(*BROKEN), opened_rotated(str(path), (str(tmp_path),), os.getuid(), unpacking) as old:
            assert old is not None
            read += len(old.read(0, 100))
    assert 0 < read <= 4000 and unpacking.packed_left < unpacking.left


def test_a_window_that_needs_much_memory_is_refused(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": packed_text.MEMORY * 2}]
    path = tmp_path / "log.1.xz"
    # Only its header says how much: the encoder would need ten times that.
    small = bytearray(lzma.compress(b"one\n", filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]))
    path.write_bytes(_with_window(small, filters[0]["dict_size"]))
    with path.open("rb") as file, pytest.raises(lzma.LZMAError, match=r"[Mm]emory"):
        PackedText(file.fileno(), "xz", lambda size: None).read_at(0, 4)


def _with_window(packed: bytearray, size: int) -> bytes:
    """The same xz whose block header asks for a window of `size` bytes, a power of two."""
    header = slice(12, 12 + (packed[12] + 1) * 4)
    block = packed[header]
    block[block.index(bytes([0x21, 1])) + 2] = (size.bit_length() - 1 - 12) * 2
    block[-4:] = _crc(bytes(block[:-4]))
    packed[header] = block
    return bytes(packed)


def _crc(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(4, "little")
