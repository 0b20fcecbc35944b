"""Does the wrapping come off a line, and is our own output never evidence?"""

from datetime import UTC, datetime
from typing import Any

import pytest

from detectors.catalogue import catalogue as home
from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.cleaning import clean, is_plain
from detectors.catalogue.records import LINE_LIMIT
from tests.detectors.catalogue.building import NODES, Watching, records

ERROR = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
WRAPPED: list[tuple[str, str, dict[str, Any]]] = [
    ("nothing", ERROR, {}),
    ("srun -l", f"37: {ERROR}", {"task": 37}),
    ("srun -l, right-aligned", f"  7: {ERROR}", {"task": 7}),
    ("mpirun --tag-output", f"[1,37]<stderr>:{ERROR}", {"task": 37}),
    ("mpirun of Open MPI 5", f"[prterun-gpu-02-4711@1,37]<stdout>: {ERROR}", {"task": 37}),
    ("torchrun --tee", f"[default3]:{ERROR}", {"local_rank": 3}),
    ("PyTorch's global rank", f"[rank5]: {ERROR}", {"rank": 5}),
    ("srun and PyTorch", f"31: [rank31]: {ERROR}", {"task": 31, "rank": 31}),
    (
        "a container runtime",
        f"2026-05-01T10:00:00.123456789Z stdout F {ERROR}",
        {"at": datetime(2026, 5, 1, 10, 0, 0, 123456, tzinfo=UTC)},
    ),
    ("a host's label", f"gpu-02: {ERROR}", {"host": "gpu-02"}),
    ("a host's label and a rank", f"gpu-02: [rank5]: {ERROR}", {"host": "gpu-02", "rank": 5}),
    ("Ray", f"(WorkerDict pid=81123, ip=10.4.1.22) {ERROR}", {"address": "10.4.1.22"}),
    (
        "a resiliency launcher",
        f"[infra 7]: 2026-08-01 10:00:00,123 [INFO] [gpu-02] [workload:61(5) infra:7(0)] {ERROR}",
        {"rank": 61, "local_rank": 5, "host": "gpu-02"},
    ),
    ("colours", f"\x1b[36m\x1b[1m{ERROR}\x1b[0m", {}),
    ("a progress bar before it", f" 12%|█▏   | 120/1000 [00:30<03:40,  4.00it/s]\r{ERROR}", {}),
    ("a carriage return behind it", f"{ERROR}\r", {}),
    ("colours inside a label", f"\x1b[33m4: \x1b[0m[default0]:{ERROR}", {"task": 4, "local_rank": 0}),
]


@pytest.mark.parametrize(("line", "said"), [case[1:] for case in WRAPPED], ids=[case[0] for case in WRAPPED])
def test_the_wrapping_comes_off_and_is_heard(line: str, said: dict[str, Any]) -> None:
    label, _, rest = line.partition(": ")
    cleaned = clean(rest if label in NODES else line)
    assert cleaned.text == ERROR
    heard = {name: getattr(cleaned.said, name) for name in ("task", "rank", "local_rank", "host", "address", "at")}
    heard["host"] = label if label in NODES else heard["host"]  # labels are known by the reader of an attempt
    assert {name: value for name, value in heard.items() if value is not None} == said


@pytest.mark.parametrize("line", [case[1] for case in WRAPPED], ids=[case[0] for case in WRAPPED])
def test_the_same_failure_through_every_wrapping_is_one_finding(line: str) -> None:
    """Fixture 10 of the reference: equal verdict through srun -l, torchrun, CRI, Ray, ANSI and carriage returns."""
    plain, wrapped = Watching(), Watching()
    plain.see(records([ERROR]))
    wrapped.see(records([line]))
    assert set(wrapped.findings) == set(plain.findings)
    one, other = plain.found("cuda.ecc"), wrapped.found("cuda.ecc")
    assert (one.fingerprint, one.layer, one.role) == (other.fingerprint, other.layer, other.role)


@pytest.mark.parametrize(
    "line",
    [
        "[2026-05-01 10:00:00,123] [INFO] text",
        "[W socket.cpp:697] [c10d] text",
        "(1234) text",
        "12 of 13 files",
        "2026-05-01 text",
        "10:00:00 text",
        "",
    ],
)
def test_what_is_no_prefix_stays(line: str) -> None:
    assert clean(line).text == line


def test_plain_lines_are_the_lines_that_cleaning_leaves_alone() -> None:
    for _, line, _said in WRAPPED:
        if is_plain(line):
            assert clean(line).text == line
    assert is_plain(ERROR)
    assert is_plain(" iteration 12/ 100 | elapsed")
    assert is_plain("[2026-05-01 10:00:00,123] [INFO] text")
    assert not is_plain("37: text")
    assert not is_plain("x" * (LINE_LIMIT + 1))


def test_a_line_is_cut() -> None:
    assert len(clean("x" * 100_000).text) == LINE_LIMIT


def test_parts_of_a_line_are_joined_also_across_turns() -> None:
    watching = Watching()
    watching.see(records(["2026-05-01T10:00:00.1Z stdout P RuntimeError: CUDA error: uncorrectable "]))
    assert watching.findings == {}
    watching.see(records(["2026-05-01T10:00:00.2Z stdout F ECC error encountered"], seconds=1))
    assert watching.found("cuda.ecc").count == 1


def test_parts_without_an_end_stay_bounded() -> None:
    watching = Watching()
    part = "2026-05-01T10:00:00.1Z stdout P " + "x" * 4000
    watching.see(records([part] * 50))
    assert len(watching.states["reader"]["partials"]["job.log"]) <= LINE_LIMIT


OWN: list[tuple[str, str]] = [
    ("our programs", f"rekindle: found cuda.ecc on gpu-01: {ERROR}"),
    ("our programs under syslog", f"May  1 10:00:00 gpu-01 rekindle[812]: {ERROR}"),
    ("our programs' loggers", f"2026-05-01 10:00:00 [rekindle.controller]: {ERROR}"),
    ("our programs in capitals", f"Rekindle | {ERROR}"),
    ("a rule's pattern", r"uncorrectable ECC error encountered|(?:CUDA_ERROR_ECC_UNCORRECTABLE)"),
    ("a rule's pattern with a name", r"GPU (?P<gpu>\d+): Requires a reset to recover"),
    ("an entry of the catalogue", f'   "example": "{ERROR}",'),
    ("a page about a signature", f"| `cuda.ecc` | {ERROR} |"),
    (
        "a step of an example",
        '  "example": " iteration    42001/  500000 | elapsed time per iteration (ms): 12.5 |"',
    ),
]


@pytest.mark.parametrize("line", [case[1] for case in OWN], ids=[case[0] for case in OWN])
def test_our_own_output_is_no_evidence(line: str) -> None:
    """Traps 1 and 2: rule text in a log, and the watcher's own lines."""
    watching = Watching()
    watching.see(records([line, f"12: {line}", f"\x1b[1m{line}\x1b[0m"]))
    assert watching.findings == {}
    assert watching.outcome.progress.last_step is None


def test_the_whole_catalogue_printed_into_a_log_is_no_evidence() -> None:
    lines = [line for name in home._names() for line in home._read(name).splitlines()]
    watching = Watching()
    watching.see(records(lines))
    causes = [found.signature for found in watching.findings.values() if found.role.value in ("root", "candidate")]
    assert causes == []
    assert watching.outcome.progress.last_step is None


def test_a_job_with_our_name_in_its_paths_is_still_watched() -> None:
    watching = Watching()
    watching.see(records(['  File "/home/user/rekindle/lab/trainer.py", line 3, in train', ERROR]))
    assert watching.found("cuda.ecc").count == 1


def test_every_locator_is_as_the_table_says() -> None:
    """What the code does by itself is what `tables/locators.json` tells."""
    examples = {place.id: place.example for place in catalogue().locators}
    assert clean(examples["L01"]).said.task == 37
    assert clean(examples["L02"]).said.local_rank == 3
    assert clean(examples["L03"]).said.rank == 5
    assert clean(examples["L11"]).said.address == "10.4.1.22"
    assert clean(examples["L12"]).said.host == "gpu-07"
    assert clean(examples["L13"]).said.at is not None
    assert clean(examples["L15"]).text == "text"
