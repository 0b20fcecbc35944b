"""What does `diagnose` say of files that are none, or not what they seem?"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.advisor_api.diagnosing.running import CRASH, DIAGNOSE, ECC, ENVIRONMENT, run, run_alone, text


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_log_of_another_desktop_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "job.log"
    mark = "" if encoding == "utf-16" else "\ufeff"
    path.write_bytes((mark + text(CRASH)).replace("\n", "\r\n").encode(encoding))
    ran = run(path, "--json")
    assert ran.status == 10
    assert ran.verdict["root_cause"]["signature_id"] == "cuda.ecc"


def test_what_is_no_text_is_not_called_healthy(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(bytes((n * n * 31 + n // 7) % 256 for n in range(20_000)))
    ran = run(path)
    assert (ran.status, ran.out) == (3, "")
    assert "it is no text" in ran.err


def test_an_endless_source_of_zeros_is_none() -> None:
    ran = run("/dev/zero")
    assert ran.status == 3
    assert "it is no text" in ran.err


def test_zeros_where_a_file_system_lost_what_was_written_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    path.write_bytes(bytes(9000) + f"\n{ECC}\n".encode())
    assert run(path).status == 10


def test_an_empty_pattern_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(ECC)
    ran = run(tmp_path / "job.log", "--node-of", "")
    assert ran.status == 2
    assert "neither a node" in ran.err


@pytest.mark.parametrize("named", ["-", "job.log"])
def test_a_closed_standard_input_is_empty(tmp_path: Path, named: str) -> None:
    (tmp_path / "job.log").write_text(ECC + "\n")
    closing = f"import os, sys; os.close(0); os.execv(sys.executable, {[*DIAGNOSE, named]!r})"
    done = subprocess.run(
        [sys.executable, "-c", closing],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
        env=ENVIRONMENT,
    )
    assert "Traceback" not in done.stderr
    assert done.returncode == (0 if named == "-" else 10)


def test_a_full_disk_behind_standard_output_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(ECC + "\n")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*DIAGNOSE, "job.log"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=180,
            check=False,
            env=ENVIRONMENT,
        )
    assert done.returncode == 2
    assert "The verdict cannot be written to standard output" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_stands_in_no_encoding_is_still_read(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_bytes("Größe überschritten\n".encode("latin-1") * 30 + f"{ECC}\n".encode())
    assert run_alone(tmp_path, "job.log").status == 10
