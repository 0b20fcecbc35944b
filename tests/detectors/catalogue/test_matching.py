"""Does every example match its own signature, and no line that must not?"""

import pytest

from detectors.catalogue import linear
from detectors.catalogue.catalogue import Lookalike, catalogue
from detectors.catalogue.entries import Signature, has
from detectors.catalogue.hits import Hit
from detectors.catalogue.looking import MARKS
from detectors.catalogue.matching import matcher
from detectors.catalogue.role import Role
from tests.detectors.catalogue.building import look

CAUSES = (Role.ROOT, Role.CANDIDATE)
STRONGER = {
    "shell.killed": "slurm.task_killed",
    "xid.generic": "xid.79",
    "xid.bare": "xid.48",
    "xid.previous": "xid.149",
    "proc.sigbus": "slurm.task_signal",
    "nccl.cuda_failure": "cuda.launch_failure",
    "pg.dump_prep": "pg.heartbeat_kill",
    "pg.thread_exc": "cuda.ecc",
    "slurm.task_signal": "slurm.task_killed",
}
"""Entries whose own example says more at a second look, or has a stronger signature as well."""


@pytest.mark.parametrize("entry", catalogue().signatures, ids=lambda entry: entry.id)
def test_an_example_is_what_the_catalogue_says(entry: Signature) -> None:
    assert has(entry, entry.example)
    match = look(entry.example)
    expected = catalogue().signature(STRONGER.get(entry.id, entry.id))
    if not expected.is_fault:
        assert entry.id in {hit.signature.id for hit in match.others}
        return
    assert match.fault is not None
    assert match.fault.signature == expected
    assert match.fault.role is expected.role


@pytest.mark.parametrize(
    ("entry", "line"),
    [(entry, line) for entry in catalogue().signatures for line in entry.must_not],
    ids=lambda value: value.id if isinstance(value, Signature) else value[:40],
)
def test_a_line_that_must_not_match_does_not(entry: Signature, line: str) -> None:
    match = look(line)
    assert entry.id not in {hit.signature.id for hit in match.others}
    if match.fault is not None:
        assert match.fault.signature.id != entry.id or match.fault.role not in CAUSES


@pytest.mark.parametrize("alike", catalogue().lookalikes, ids=lambda alike: alike.id)
def test_a_look_alike_is_no_cause(alike: Lookalike) -> None:
    assert linear.Exact(alike.pattern).search(linear.encoded(alike.example)) is not None
    match = look(alike.example)
    if alike.mode == "tag":
        assert match.fault is not None
        assert (match.fault.role, match.fault.tags) == (Role.ROOT, (alike.id,))
    else:
        assert match.fault is None or match.fault.role not in CAUSES


def test_look_alikes_are_needed() -> None:
    """Without them at least these lines would be causes: the table is not for show."""
    alone = {
        alike.id
        for alike in catalogue().lookalikes
        if any(
            has(entry, alike.example) and entry.is_fault and entry.role in CAUSES
            for entry in catalogue().signatures
        )
    }
    assert {"B14", "B37", "B41", "B42", "B44", "B57", "B61", "B65", "B66"} <= alone


@pytest.mark.parametrize(("winner", "loser"), catalogue().precedence, ids=lambda name: name)
def test_the_loser_gives_way(winner: str, loser: str) -> None:
    """On every example that has both, the winner or one above it is named and the loser is not."""
    for entry in catalogue().signatures:
        match = look(entry.example)
        names = {hit.signature.id for hit in match.others} | ({match.fault.signature.id} if match.fault else set())
        if not winner.endswith("*") and has_named(winner, entry.example) and has_named(loser, entry.example):
            assert loser not in names, entry.example


def has_named(name: str, line: str) -> bool:
    known = catalogue().signature(name)
    return bool(known.pattern) and has(known, line)


LOOKED_AT_TWICE: list[tuple[str, str, str, Role]] = [
    ("a fatal code", "NVRM: Xid (PCI:0000:c6:00): 79, pid=1, GPU has fallen off the bus.", "xid.79", Role.ROOT),
    ("a victim's code", "NVRM: Xid (PCI:0000:3b:00): 45, pid=1234, name=python, Ch 10", "xid.45", Role.SECONDARY),
    ("an unknown code", "NVRM: Xid (PCI:0000:3b:00): 999, pid=1234, what is this", "xid.1", Role.CANDIDATE),
    (
        "this end of a link",
        "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 0x00000000)",
        "xid.nvlink5",
        Role.ROOT,
    ),
    (
        "the other end of a link (fixture 11: sub-code 33)",
        "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Link Fatal XC0 i0 Link 08 (0x021005c6 0x00000000 "
        "0x00000000)",
        "xid.nvlink5.peer",
        Role.ROOT,
    ),
    (
        "a link taken down by software",
        "NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_DOWN Link Fatal XC0 i0 Link 08 (0x00f005c6 0x00000000 "
        "0x00000000)",
        "xid.nvlink5.software",
        Role.CANDIDATE,
    ),
    (
        "a link that corrects itself",
        "NVRM: Xid (PCI:0018:01:00): 145, RLW_RXPIPE Non-fatal XC0 i0 Link 08 (0x004505c6 0x00000001)",
        "xid.nvlink5.noise",
        Role.SECONDARY,
    ),
    (
        "a recovery action that is over",
        "NVRM: Xid (PCI:0000:01:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
        "",
        Role.NONE,
    ),
    ("a port that comes back", "NIC device mlx5_3: Port state changed from 1: DOWN to 4: ACTIVE.", "", Role.NONE),
    ("a task that was killed", "srun: error: gpu-12: tasks 32-39: Killed", "slurm.task_killed", Role.CANDIDATE),
    ("a task told to end", "srun: error: gpu-12: tasks 32-39: Terminated", "slurm.task_ended", Role.SECONDARY),
    (
        "a task that crashed",
        "srun: error: gpu-12: task 3: Segmentation fault (core dumped)",
        "slurm.task_signal",
        Role.CANDIDATE,
    ),
    ("an interpreter told to abort", "Fatal Python error: Aborted", "py.aborted", Role.SECONDARY),
    (
        "flushed work is never a cause",
        "gpu-01:983:1261 [3] NCCL WARN NET/IB : Got completion from peer 10.4.1.22<55921> with status=5 "
        "opcode=0 len=0",
        "nccl.ib.flush",
        Role.SECONDARY,
    ),
    (
        "an unplugged port at boot",
        "<6>[    2.962781] mlx5_core 0000:41:00.1: Port module event: module 1, Cable unplugged",
        "kernel.mlx5_link",
        Role.SECONDARY,
    ),
    (
        "a port unplugged later",
        "<6>[86400.962781] mlx5_core 0000:41:00.1: Port module event: module 1, Cable unplugged",
        "kernel.mlx5_link",
        Role.CANDIDATE,
    ),
    ("a task that ended well", "srun: error: gpu-12: task 3: Exited with exit code 0", "", Role.NONE),
    (
        "advice in the same text as the error",
        "RuntimeError: CUDA error: uncorrectable NVLink error detected during the execution\\nCUDA kernel "
        "errors might"
        " be asynchronously reported at some other API call",
        "cuda.nvlink_unc",
        Role.ROOT,
    ),
    (
        "the error inside the watchdog's message",
        "[PG 0 (default_pg) Rank 12] Process group watchdog thread terminated with exception: CUDA error:"
        " an illegal memory access was encountered",
        "cuda.illegal_access",
        Role.CANDIDATE,
    ),
]


@pytest.mark.parametrize(
    ("line", "name", "role"), [case[1:] for case in LOOKED_AT_TWICE], ids=[case[0] for case in LOOKED_AT_TWICE]
)
def test_a_second_look(line: str, name: str, role: Role) -> None:
    fault = look(line).fault
    if not name:
        assert fault is None
        return
    assert fault is not None
    assert (fault.signature.id, fault.role) == (name, role)


def test_no_look_alike_hides_the_end_of_a_traceback() -> None:
    line = "ImportError: cannot import name 'flash_attn_func'; falling back is not possible"
    assert look(line).fault is None
    closing = look(line, closing=True).fault
    assert closing is not None
    assert closing.signature.id == "py.import"


def test_advice_stays_advice_also_at_the_end_of_a_traceback() -> None:
    line = "Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."
    assert look(line, closing=True).fault is None


@pytest.mark.parametrize(
    ("pattern", "opened"),
    [
        ("a.{0,400}b", "a.*b"),
        ("a[^\\n]{0,60}?b", "a.*?b"),
        (r"a\.{0,3}b", r"a\.{0,3}b"),
        (r"a\d{1,9}b", r"a\d{1,9}b"),
    ],
)
def test_only_fillers_are_opened(pattern: str, opened: str) -> None:
    assert linear.widened(pattern) == opened


def test_words_of_any_alphabet_are_caught_whole() -> None:
    caught = look("Training cycle #3 made NO progress: 4200 → 4200 (0 iterations, need 1).").fault
    assert isinstance(caught, Hit)
    assert caught.words == {"c": "3", "a": "4200", "b": "4200"}
    named = look("ModuleNotFoundError: No module named 'wärme_模块'").fault
    assert isinstance(named, Hit)
    assert named.words["m"] == "No module named 'wärme_模块'"


@pytest.mark.parametrize("line", ["", "\x00\x00", "\ud800 lone", "é" * 9000, "\x1b[", "\r\r\r", "{" * 16384])
def test_odd_text_matches_nothing_and_breaks_nothing(line: str) -> None:
    assert look(line).fault is None


def test_marks_are_no_symptoms() -> None:
    assert {name for name, _ in MARKS} == {"traceback", "rank_map", "address"}
    match = look("Traceback (most recent call last):")
    assert (match.fault, match.others, match.marks) == (None, (), frozenset({"traceback"}))


def test_one_matcher_serves_the_process() -> None:
    assert matcher() is matcher()
