"""Who speaks, and which rank runs where?"""

from collections.abc import Sequence

import pytest

from detectors.catalogue.cleaning import NOTHING
from detectors.catalogue.locating import Places, numbers
from detectors.catalogue.records import Record
from tests.detectors.catalogue.building import NODES, START, Watching, context, records

ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
XID = "NVRM: Xid (PCI:0000:c6:00): 79, pid=1, GPU has fallen off the bus."


def told(lines: Sequence[str], nodes: Sequence[str] = NODES) -> Watching:
    watching = Watching(context(nodes=nodes))
    watching.see(records(lines))
    return watching


SPEAKERS: list[tuple[str, str, tuple[str, ...]]] = [
    ("NCCL's prefix", "gpu-02:983:1261 [3] NCCL WARN NET/IB : Unable to open device mlx5_2", ("gpu-02",)),
    (
        "NCCL's prefix behind a stamp",
        "2026-05-01 10:00:00 gpu-02:983:1 [3] NCCL WARN Call to ibv_open_device failed",
        ("gpu-02",),
    ),
    (
        "NCCL's prefix behind a launcher's label",
        "gpu-02: gpu-02:983:1 [3] NCCL WARN Call to ibv_open_device failed",
        ("gpu-02",),
    ),
    (
        "NCCL's prefix behind a tag of mpirun",
        "[1,8]<stdout>:gpu-02:983:1 [3] NCCL WARN Call to ibv_open_device failed",
        ("gpu-02",),
    ),
    (
        "UCX's prefix",
        "[1790000000.120001] [gpu-02:33110:a]  ib_md.c:293 UCX  ERROR ibv_reg_mr(address=0x7f) failed: Bad address",
        ("gpu-02",),
    ),
    (
        "UCX's prefix without a time",
        "[gpu-02:33110:0:33110] ib_mlx5_log.c:177  UCX  ERROR Transport retry count exceeded on mlx5_0:1/IB",
        ("gpu-02",),
    ),
    ("Open MPI's prefix", "[gpu-02:11363] *** An error occurred in MPI_Allreduce", ("gpu-02",)),
    ("a host that ssh cannot reach", "ssh: connect to host gpu-04 port 22: No route to host", ("gpu-04",)),
    ("syslog", f"May  1 10:00:00 gpu-03 kernel: {XID}", ("gpu-03",)),
    ("syslog with its domain", f"May  1 10:00:00 gpu-03.cluster.local kernel: {XID}", ("gpu-03",)),
    ("syslog, ISO", f"2026-05-01T10:00:00.123456+00:00 gpu-03 kernel: {XID}", ("gpu-03",)),
    ("a label", f"gpu-04: {XID}", ("gpu-04",)),
    ("a stranger's label", f"head-01: {XID}", ()),
    ("nobody", XID, ()),
    ("the words of srun", "srun: error: gpu-02: task 5: Out Of Memory", ("gpu-02",)),
    ("a list of srun", "srun: error: Node failure on gpu-[01,03]", ("gpu-01", "gpu-03")),
    (
        "a launch failure",
        "srun: error: Task launch for StepId=1.0 failed on node gpu-04: Communication failure",
        ("gpu-04",),
    ),
    ("a resiliency launcher's node", "GPU health check failed for node gpu-02_123_0: unhealthy GPU.", ("gpu-02",)),
    (
        "a rank monitor",
        "[2026-05-01 10:00:00] [WARNING] [RankMonitorServer123@gpu-03:5] [Cycle 2] Did not get initial heartbeat."
        " Waited 180.00 seconds.",
        ("gpu-03",),
    ),
    (
        "the node of a cancelled step is the first of the allocation, not the culprit",
        "slurmstepd: error: *** STEP 7.0 ON gpu-01 CANCELLED AT 2026-05-01T10:00:00 DUE TO NODE FAILURE, "
        "SEE SLURMCTLD LOG",
        (),
    ),
]


@pytest.mark.parametrize(("line", "nodes"), [c[1:] for c in SPEAKERS], ids=[c[0] for c in SPEAKERS])
def test_a_line_names_nodes_of_the_attempt(line: str, nodes: tuple[str, ...]) -> None:
    (found,) = told([line]).findings.values()
    assert found.nodes == nodes


def test_a_forged_node_is_never_named() -> None:
    found = told(["srun: error: Node failure on victim-99", "srun: error: Node failure on gpu-01"]).findings
    assert {node for finding in found.values() for node in finding.nodes} == {"gpu-01"}


def test_without_a_node_list_names_are_believed_but_must_be_names() -> None:
    assert told(["srun: error: Node failure on gpu-77"], nodes=()).found("slurm.node_failure_on").nodes == (
        "gpu-77",
    )
    assert told(["srun: error: Node failure on $(reboot)"], nodes=()).found("slurm.node_failure_on").nodes == ()


def test_a_bomb_of_a_node_list_is_bounded() -> None:
    found = told(["srun: error: Node failure on gpu-[1-999999999][1-999999999]"]).found("slurm.node_failure_on")
    assert found.nodes == ()


MAP = "gpu-03:983:1261 [1] NCCL INFO comm 0x55f0aa rank 9 nranks 16 cudaDev 1 busId 9d000 - Init COMPLETE"
BLOCK = ["  host      : gpu-02.cluster.local", "  rank      : 5 (local_rank: 1)"]
SOURCES: list[tuple[str, list[str], int, str | None]] = [
    ("NCCL's start", [MAP], 9, "gpu-03"),
    ("a torchrun block", BLOCK, 5, "gpu-02"),
    ("one task of srun", ["srun: error: gpu-04: task 13: Exited with exit code 1"], 13, "gpu-04"),
    ("tasks of srun", ["srun: error: gpu-02: tasks 4-7: Killed"], 6, "gpu-02"),
    ("a block of srun tells the others", ["srun: error: gpu-02: tasks 4-7: Killed"], 13, "gpu-04"),
    ("one task tells nothing of others", ["srun: error: gpu-02: task 5: Killed"], 13, None),
    ("tasks that are no block tell nothing of others", ["srun: error: gpu-02: tasks 1,5,9: Killed"], 13, None),
    (
        "a block that another line refutes tells nothing",
        ["srun: error: gpu-02: tasks 4-7: Killed", "srun: error: gpu-01: task 9: Killed"],
        13,
        None,
    ),
    ("nothing", [], 5, None),
]


@pytest.mark.parametrize(("lines", "rank", "host"), [c[1:] for c in SOURCES], ids=[c[0] for c in SOURCES])
def test_a_rank_is_found_on_its_host(lines: list[str], rank: int, host: str | None) -> None:
    watching = told([*lines, f"[rank{rank}]: {ECC}"])
    assert watching.found("cuda.ecc").nodes == ((host,) if host else ())
    assert watching.found("cuda.ecc").ranks == (rank,)


def test_the_map_survives_between_turns_and_is_told() -> None:
    watching = Watching()
    watching.see(records([MAP]))
    watching.see(records([f"[rank9]: {ECC}"], seconds=5))
    assert watching.found("cuda.ecc").nodes == ("gpu-03",)
    assert watching.outcome.rank_hosts == {9: "gpu-03"}


def test_only_the_largest_communicator_names_global_ranks() -> None:
    small = MAP.replace("rank 9 nranks 16", "rank 0 nranks 2").replace("gpu-03", "gpu-04")
    assert told([small, MAP, small]).outcome.rank_hosts == {9: "gpu-03"}


def test_a_gpu_of_a_host_is_a_rank() -> None:
    watching = told([MAP, "gpu-03:983:1261 [1] NCCL WARN Cuda failure 'uncorrectable ECC error encountered'"])
    assert watching.found("cuda.ecc").ranks == (9,)
    assert watching.found("cuda.ecc").nodes == ("gpu-03",)


def test_one_node_is_the_host_of_every_rank() -> None:
    assert told([f"3: {ECC}"], nodes=("gpu-01",)).found("cuda.ecc").nodes == ("gpu-01",)


def test_the_file_of_a_node_or_task_names_it() -> None:
    watching = Watching()
    line = "OSError: [Errno 5] Input/output error"
    watching.see([Record("job_gpu-03.log", 0, line, START, host="gpu-03", rank=9)])
    assert watching.found("fs.eio").ranks == (9,)
    assert watching.found("fs.eio").nodes == ("gpu-03",)


def test_an_address_is_a_host_once_nccl_has_told_it() -> None:
    lines = [
        "gpu-02:983:983 [3] NCCL INFO Bootstrap : Using bond0:10.4.1.22<0>",
        f"(WorkerDict pid=81123, ip=10.4.1.22) {ECC}",
    ]
    assert told(lines).found("cuda.ecc").nodes == ("gpu-02",)


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("32-39,41", [32, 33, 34, 35, 36, 37, 38, 39, 41]),
        ("{61}", [61]),
        ("5, 13", [5, 13]),
        ("", []),
        ("none", []),
    ],
)
def test_numbers_of_ranks(text: str, ranks: list[int]) -> None:
    assert numbers(text) == ranks


def test_ranks_named_by_one_line_are_bounded() -> None:
    assert len(numbers("0-9999999")) == 64
    assert len(numbers(",".join(str(n) for n in range(1000)))) == 64


@pytest.mark.parametrize(
    ("line", "group"),
    [
        ("[PG ID 0 PG GUID 0(default_pg) Rank 14] text", "0/default_pg"),
        ("[rank2]:[E602 x.cpp:2268] [PG ID 1 PG GUID 1 Rank 2]  failure", "1/1"),
        ("[PG 0 (default_pg) Rank 12] text", "0/default_pg"),
        ("[PG 3 Rank 12] text", "3/"),
        ("[Rank 12] text", None),
    ],
)
def test_the_process_group_is_told(line: str, group: str | None) -> None:
    record = Record("job.log", 0, line, START)
    assert Places({}, NODES).speaker(line, NOTHING, record).group == group


def test_the_map_is_bounded() -> None:
    places = Places({}, NODES)
    for rank in range(20_000):
        places.learn(rank, "gpu-01")
    assert len(places.hosts) == 8192
