"""The table of standstills of the reference (attribution 6.3, A to K), each from its lines to its verdict."""

import sys

from detectors.attribution.action import VerdictAction
from detectors.attribution.judgement import Judgement
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from tests.detectors.reference.reading import (
    GUID,
    caught,
    culprits,
    excluded,
    init_map,
    judged,
    own,
    step,
    told_of,
    torch,
)


def hang(*groups: list[str] | str) -> Judgement:
    """Eight ranks on eight hosts stand still after step 77."""
    lines = [*init_map(), step(77, 700)]
    for group in groups:
        lines += [group] if isinstance(group, str) else group
    judgement = judged(lines)
    assert judgement.kind is AnomalyKind.HANG
    assert excluded(judgement) == () and judgement.action is VerdictAction.RESTART, "lines alone leave nobody out"
    return judgement


def owns(*ranks: int, **told: int) -> list[str]:
    return [line for rank in ranks for line in own(rank, **told)]  # type: ignore[arg-type]


def test_case_a_one_had_completed_all_and_never_joined() -> None:
    judgement = hang(owns(*range(7)), told_of(7))
    assert (culprits(judgement), judgement.layer, judgement.confidence) == (("gpu-08",), Layer.APPLICATION, 0.9)
    spread = hang(owns(*range(5)), told_of(6), told_of(7), told_of(5))
    assert spread.layer is Layer.APPLICATION and spread.confidence == 0.7


def test_case_b_one_is_silent() -> None:
    judgement = hang(owns(*range(7)))
    assert (culprits(judgement), judgement.layer, judgement.confidence) == (("gpu-08",), Layer.HARDWARE_HOST, 0.85)


def test_case_c_all_wait_at_the_same_place() -> None:
    judgement = hang(owns(*range(8)))
    assert culprits(judgement) == ()
    assert (judgement.layer, judgement.confidence) == (Layer.HARDWARE_NETWORK, 0.75)


def test_case_d_one_waits_in_another_collective() -> None:
    judgement = hang(owns(*range(7)), own(7, op="_ALLGATHER_BASE"))
    assert (culprits(judgement), judgement.layer, judgement.confidence) == (("gpu-08",), Layer.APPLICATION, 0.85)
    size = hang(owns(*range(7)), own(7, size=16))
    assert (culprits(size), size.layer) == (("gpu-08",), Layer.APPLICATION)


def test_case_e_one_has_enqueued_less() -> None:
    judgement = hang(owns(*range(7)), told_of(7, enq=70, done=69))
    assert (culprits(judgement), judgement.layer, judgement.confidence) == (("gpu-08",), Layer.APPLICATION, 0.85)


def test_case_f_a_root_that_is_ahead_is_nobody_to_blame() -> None:
    judgement = hang(own(0, seq=80, enq=83, done=79), owns(*range(1, 7)), told_of(7))
    assert culprits(judgement) == ("gpu-08",), "a broadcast's root may finish its send first"


def test_case_g_one_watchdog_is_stuck_itself() -> None:
    stuck = (
        f"{GUID.format(4)} ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in "
        "monitoring enqueued collectives. This typically indicates a NCCL/CUDA API (e.g., CudaEventDestroy) hang "
        "blocking the watchdog"
    )
    judgement = hang(owns(*(rank for rank in range(8) if rank != 4)), torch(4, 12, stuck))
    assert (culprits(judgement), judgement.layer, judgement.confidence) == (("gpu-05",), Layer.SYSTEM_DRIVER, 0.75)


def test_case_h_a_barrier_names_who_is_missing() -> None:
    judgement = hang("[rank0]: RuntimeError: Rank 0: Ranks 5 failed to pass monitoredBarrier in 30000 ms")
    assert culprits(judgement) == ("gpu-06",)


def test_case_i_the_group_that_stood_still_first_is_asked() -> None:
    inner = []
    for rank in range(3):
        group = f"[PG ID 3 PG GUID 5(tensor) Rank {rank}]"
        inner += [torch(rank, 400, f"{group} {caught(9, 'ALLREDUCE')}")]
        counts = "last enqueued work: 10, last completed work: 8"
        inner += [
            torch(rank, 400, f"{group}  failure detected by watchdog at work sequence id: 9 PG status: {counts}")
        ]
    inner.append(told_of(3, enq=8, done=8, group="[PG ID 3 PG GUID 5(tensor) Rank 3]"))
    judgement = hang(inner, owns(*(rank for rank in range(8) if rank != 7)), told_of(7))
    assert culprits(judgement) == ("gpu-04",), "and not who is missed in the outer group"


def test_case_j_log_lines_alone_show_case_c() -> None:
    """Which rank is only *scheduled* stands in dumps; without them the lines of J are those of C."""
    lines = [line for rank in range(8) for line in own(rank)]
    dumps = [
        torch(rank, 8, f"{GUID.format(rank)} ProcessGroupNCCL preparing to dump debug info.") for rank in range(8)
    ]
    judgement = hang(lines, dumps)
    assert (culprits(judgement), judgement.layer) == ((), Layer.HARDWARE_NETWORK)


def test_case_k_rank_0_with_the_store_is_silent() -> None:
    lost = (
        'Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with '
        "error: Failed to recv, got 0 bytes. Connection was likely closed. Did the remote server shutdown or crash?"
    )
    judgement = hang(
        [torch(rank, 8, f"{GUID.format(rank)} {lost}") for rank in range(1, 8)], owns(1, 2, 3, 4, 5, 6, 7)
    )
    assert (culprits(judgement), judgement.layer, judgement.confidence) == (("gpu-01",), Layer.HARDWARE_HOST, 0.8)


def test_every_case_of_the_table_has_its_test() -> None:
    names = [name for name in vars(sys.modules[__name__]) if name.startswith("test_case_")]
    assert {name.split("_")[2] for name in names} == set("abcdefghijk")
