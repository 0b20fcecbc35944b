"""Are the texts steady, about the right hosts, and in our own words?"""

import re

import pytest

from detectors.catalogue.catalogue import catalogue
from lab.texts import BREAKING, GROUPS, cascades, gpu, network
from lab.texts.struck import SKEW_SECONDS, Struck
from lab.texts.texts import TEXTS

LONGEST_LINE = 16_384  # bytes, as a play allows
MOST_LINES = 1_000
AT = 1_790_000_000.0
OURS = tuple(name for group in BREAKING for name in group)
CASCADES = tuple(cascades.TEXTS)
SPEAKS = re.compile(r"\bw\d{3}\b")


def struck(nodes: int = 8, gpus: int = 8, rank: int = 37) -> Struck:
    """Rank 37 of 64, on the fifth node."""
    names = tuple(f"w{number:03d}" for number in range(nodes))
    return Struck(names, gpus, names[rank // gpus], rank, rank % gpus, 41_234, 77, AT)


def said(name: str, where: Struck) -> list[str]:
    return [spoken.line for spoken in TEXTS[name](where)]


def test_no_two_texts_have_one_name() -> None:
    assert len(TEXTS) == sum(len(group) for group in GROUPS)


@pytest.mark.parametrize("name", OURS)
def test_a_text_says_the_same_again(name: str) -> None:
    assert TEXTS[name](struck()) == TEXTS[name](struck())


@pytest.mark.parametrize("name", OURS)
def test_a_text_is_told_in_the_order_of_time(name: str) -> None:
    times = [spoken.after_seconds for spoken in TEXTS[name](struck())]
    assert times == sorted(times)
    assert times[0] >= 0


@pytest.mark.parametrize("name", OURS)
def test_no_line_is_an_example_of_the_catalogue(name: str) -> None:
    known = catalogue()
    examples = {
        line.strip()
        for entry in (*known.signatures, *known.derived, *known.lookalikes)
        for line in entry.example.splitlines()
        if line.strip()
    }
    bare = {re.sub(r"^(?:\[rank\d+\]:|w\d{3}:|\d+:)", "", line).strip() for line in said(name, struck())}
    # These are whole lines of programs without anything that could differ.
    fixed = {
        "Traceback (most recent call last):",
        "Root Cause (first observed failure):",
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory "
        "(shm).",
        "RuntimeError: CUDA error: uncorrectable ECC error encountered",
        "RuntimeError: CUDA error: unspecified launch failure",
        "RuntimeError: CUDA error: unknown error",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below "
        "might be incorrect.",
    }
    assert not (bare - fixed) & examples


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("where", [struck(), struck(2, 1, 1), struck(2, 2, 0)], ids=["8x8", "2x1", "2x2"])
def test_a_text_speaks_only_of_the_nodes_of_the_job(name: str, where: Struck) -> None:
    named = {found for line in said(name, where) for found in SPEAKS.findall(line)}
    assert named <= set(where.nodes)


@pytest.mark.parametrize("name", [*gpu.TEXTS, "machine_check", "disk_error", "read_only", "kernel_panic"])
def test_the_kernel_of_the_struck_node_speaks(name: str) -> None:
    named = {found for line in said(name, struck()) for found in SPEAKS.findall(line)}
    assert named == {"w004"}


@pytest.mark.parametrize("name", CASCADES)
@pytest.mark.parametrize("nodes", [8, 64])
def test_a_cascade_fits_into_a_play(name: str, nodes: int) -> None:
    where = struck(nodes, 8, 37 if nodes == 8 else 301)
    lines = said(name, where)
    assert nodes * 7 < len(lines) < MOST_LINES
    assert max(len(line.encode()) for line in lines) < LONGEST_LINE


def test_the_clocks_of_a_cascade_are_seconds_apart() -> None:
    where = struck(64, 8, 301)
    skews = {host: where.skew(host) for host in where.nodes}
    assert max(skews.values()) > 4
    assert min(skews.values()) < -4
    assert all(abs(skew) <= SKEW_SECONDS for skew in skews.values())
    stamps = [line.split()[1] for line in said("cascade_silent_rank", where) if line.startswith("[rank")]
    assert stamps != sorted(stamps)


def test_a_silent_rank_says_nothing_and_everybody_else_does() -> None:
    where = struck()
    speakers = {
        int(found[1]) for line in said("cascade_silent_rank", where) if (found := re.match(r"\[rank(\d+)\]", line))
    }
    assert speakers == set(range(64)) - {37}


def test_the_rank_behind_completed_all_it_enqueued() -> None:
    own = [line for line in said("cascade_rank_behind", struck()) if line.startswith("[rank37]")]
    assert len(own) == 1
    assert re.search(r"enqueued NCCL work: (\d+), last completed NCCL work: \1\.", own[0])


def test_a_dead_peer_is_named_by_several_hosts_and_says_nothing() -> None:
    where = struck()
    errors = [line for line in said("completion_errors", where) if "ERR(12)" in line]
    reporters = {line.split(":")[0] for line in errors}
    assert len(reporters) == network.REPORTERS
    assert where.host not in reporters
    assert all(f"peer {where.address(where.host)}<" in line for line in errors)
    assert any(
        f"{where.host}:" in line and f"Using ib0:{where.address(where.host)}<0>" in line
        for line in said("completion_errors", where)
    )
