"""Do lines become findings that are few, honest and the same again?"""

import pytest

from detectors.catalogue.catalogue import catalogue
from detectors.catalogue.crash import (
    CAUSES_KEPT,
    EVIDENCE_KEPT,
    NAMED_AT_MOST,
    OCCURRENCES_KEPT,
    PER_SIGNATURE,
    VICTIMS_KEPT,
)
from detectors.catalogue.fingerprints import Normaliser, fingerprint
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.catalogue.records import LINE_LIMIT
from detectors.catalogue.role import Role
from schedulers.states import JobState
from tests.detectors.catalogue.building import Watching, at, context, look, records, step_line, unstamped_steps

ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
TRACEBACK = "Traceback (most recent call last):"
TAKING_DOWN = "[rank{0}]: To avoid data inconsistency, we are taking the entire process down."


def test_a_finding_says_what_where_and_when() -> None:
    watching = Watching()
    watching.see(unstamped_steps(1, 25, 0, 1))
    watching.see(records([f"[2026-05-01 10:00:29,500] gpu-02: [rank9]: {ECC}", f"gpu-02: {ECC}"], seconds=30))
    found = watching.found("cuda.ecc")
    assert (found.kind, found.layer, found.role) == (AnomalyKind.CRASH, Layer.HARDWARE_GPU, Role.ROOT)
    assert (found.happened_at, found.basis, found.step, found.count) == (at(29.5), "line", 25, 2)
    assert found.evidence[0].offset == 0
    assert found.evidence[0].rank == 9
    assert found.confidence == 0.97
    assert found.sentence == "Uncorrectable ECC memory error on a GPU on gpu-02, 2 times."
    assert len(found.fingerprint) == 64
    assert len(found.key) <= 128


def test_a_line_without_a_stamp_is_dated_by_its_read() -> None:
    watching = Watching()
    watching.see(records([ECC], seconds=30))
    assert (watching.found("cuda.ecc").happened_at, watching.found("cuda.ecc").basis) == (at(30), "file")


def test_the_earliest_stamp_counts_where_ranks_die_at_different_moments() -> None:
    watching = Watching()
    lines = [f"[rank{rank}]: [2026-05-01 10:00:{second:02d},0] {ECC}" for rank, second in ((3, 9), (1, 4), (2, 7))]
    watching.see(records(lines, seconds=10))
    assert watching.found("cuda.ecc").happened_at == at(4)
    assert watching.found("cuda.ecc").ranks == (1, 2, 3)


def test_a_cascade_of_512_ranks_is_one_finding() -> None:
    watching = Watching()
    watching.see(records([TAKING_DOWN.format(rank) for rank in range(512)]))
    found = watching.found("pg.taking_down")
    assert found.count == 512
    assert len(found.ranks) == NAMED_AT_MOST
    assert len(found.evidence) == EVIDENCE_KEPT
    assert found.role is Role.SECONDARY


def test_a_quota_is_found_in_front_of_its_cascade() -> None:
    """Fixture 12: a quota error, then 500 aborts with clocks 3 s apart."""
    lines = ["[rank0]: OSError: [Errno 122] Disk quota exceeded"]
    for rank in range(500):
        lines.append(
            f"[rank{rank}]: [2026-05-01 09:59:{57 + rank % 3},0] NCCL communicator was aborted on rank {rank}."
        )
    watching = Watching()
    watching.see(records(lines, seconds=1))
    causes = [found for found in watching.findings.values() if found.role in (Role.ROOT, Role.CANDIDATE)]
    assert [found.signature for found in causes] == ["fs.edquot"]
    assert watching.found("pg.comm_aborted").count == 500


def words(number: int) -> str:
    """A word without digits, so that no token replaces it."""
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


def test_findings_of_one_signature_are_bounded() -> None:
    watching = Watching()
    watching.see(records([f"ValueError: {words(n)} is wrong" for n in range(500)]))
    assert len(watching.findings) == PER_SIGNATURE
    assert sum(found.count for found in watching.findings.values()) == 500


def test_a_flood_of_victims_leaves_causes_their_room() -> None:
    victims = [e.example for e in catalogue().signatures if e.is_fault and e.role in (Role.SECONDARY, Role.CONFIRM)]
    causes = [e.example for e in catalogue().signatures if e.is_fault and e.role in (Role.ROOT, Role.CANDIDATE)]
    watching = Watching()
    watching.see(records(victims))
    watching.see(records([ECC]))
    assert watching.found("cuda.ecc").role is Role.ROOT
    watching.see(records(causes))
    roles = [found.role in (Role.ROOT, Role.CANDIDATE) for found in watching.findings.values()]
    assert (roles.count(True), roles.count(False)) == (CAUSES_KEPT, VICTIMS_KEPT)
    assert watching.states["crash"]["beyond"] > 0


def test_what_was_found_before_is_given_again_only_with_new_lines() -> None:
    watching = Watching()
    assert len(watching.see(records([ECC])).findings) == 1
    assert watching.see(records(["nothing"], seconds=1)).findings == ()
    assert watching.see(records([ECC], seconds=2)).findings[0].count == 2


def test_a_huge_line_is_kept_short() -> None:
    watching = Watching()
    watching.see(records([f"{ECC} {'x' * 10_000_000}"]))
    assert len(watching.found("cuda.ecc").evidence[0].line) <= 500
    late = Watching()
    late.see(records([f"{'x' * LINE_LIMIT} {ECC}"]))
    assert late.findings == {}


SAME_AGAIN: list[tuple[str, str, str]] = [
    ("another rank", f"[rank3]: {ECC}", f"[rank61]: {ECC}"),
    ("another host", f"gpu-01: {ECC}", f"gpu-04: {ECC}"),
    (
        "another process",
        "RuntimeError: DataLoader worker (pid 12345) is killed by signal: Killed.",
        "RuntimeError: DataLoader worker (pid 999) is killed by signal: Killed.",
    ),
    (
        "another folder",
        "OSError: [Errno 116] Stale file handle: '/lustre/a/ckpt/iter_0004200/__3_0.distcp'",
        "OSError: [Errno 116] Stale file handle: '/lustre/b/ckpt/iter_0009100/__7_1.distcp'",
    ),
    (
        "other sizes",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity "
        "of 79 GiB",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 1 has a total "
        "capacity of 39 GiB",
    ),
    (
        "another peer",
        "gpu-01:983:1261 [3] NCCL WARN NET/IB: Got completion from peer 10.4.1.22<55921> with status=12 opcode=0",
        "gpu-02:77:99 [0] NCCL WARN NET/IB: Got completion from peer 10.4.9.1<41210> with status=12 opcode=0",
    ),
    (
        "another GPU, other words",
        "NVRM: Xid (PCI:0000:38:00): 13, pid=1, Graphics SM Warp Exception on (GPC 9, TPC 1, SM 1): Out Of Range",
        "NVRM: Xid (PCI:0000:c6:00): 13, pid=2, Graphics Exception: ESR 0x546fb0=0x11f000e 0x546fb4=0x24",
    ),
]


@pytest.mark.parametrize(("one", "other"), [c[1:] for c in SAME_AGAIN], ids=[c[0] for c in SAME_AGAIN])
def test_the_same_again_has_the_same_fingerprint(one: str, other: str) -> None:
    first, second = Watching(), Watching(context(nodes=("gpu-02", "gpu-04")))
    first.see(records([one]))
    second.see(records([other], seconds=77))
    assert {f.fingerprint for f in first.findings.values()} == {f.fingerprint for f in second.findings.values()}


DIFFERENT: list[tuple[str, list[str], list[str]]] = [
    (
        "another module",
        ["ModuleNotFoundError: No module named 'apex'"],
        ["ModuleNotFoundError: No module named 'flash_attn'"],
    ),
    ("another code", ["NVRM: Xid (PCI:0000:38:00): 79, x"], ["NVRM: Xid (PCI:0000:38:00): 48, x"]),
    (
        "another status",
        ["NET/IB: Got completion from peer 10.4.1.22<1> with status=12"],
        ["NET/IB: Got completion from peer 10.4.1.22<1> with status=13"],
    ),
    (
        "another place",
        ["Traceback (most recent call last):", '  File "a.py", line 1, in f', "ValueError: x"],
        ["Traceback (most recent call last):", '  File "a.py", line 1, in g', "ValueError: x"],
    ),
    ("another phase", [ECC], [step_line(1), ECC]),
    (
        "another shape",
        ["shape '[1, 2, 3]' is invalid for input of size 7"],
        ["shape '[1, 2]' is invalid for input of size 7"],
    ),
]


@pytest.mark.parametrize(("one", "other"), [c[1:] for c in DIFFERENT], ids=[c[0] for c in DIFFERENT])
def test_something_else_has_another_fingerprint(one: list[str], other: list[str]) -> None:
    first, second = Watching(), Watching()
    first.see(records(one))
    second.see(records(other))
    ours = {f.fingerprint for f in first.findings.values()}
    assert ours
    assert not ours & {f.fingerprint for f in second.findings.values()}


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("worker 12 of gpu-03 died", "worker # of <host> died"),
        ("gpu-03.cluster.local:4711", "<host>:#"),
        ("at 0x7f00ab in 0000:c6:00.0", "at <hex> in <pci>"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id <uuid>"),
        ("peer 10.4.1.22<55921> gone", "peer <ip> gone"),
        ("[Errno 28] No space left on device: '/a/b/c.bin'", "[Errno 28] No space left on device: 'c.bin'"),
        ("exited with exit code 137   twice", "exited with exit code 137 twice"),
        ("loss 1.5e-3 flash_attn_2_cuda", "loss # flash_attn_#_cuda"),
    ],
)
def test_what_changes_from_run_to_run_is_replaced(text: str, plain: str) -> None:
    assert Normaliser({"gpu-03"})(text) == plain


def test_a_fingerprint_keeps_its_parts_apart() -> None:
    assert fingerprint("a", "b", "c") != fingerprint("a", "bc", "")


ENDS: list[tuple[str, JobState, int | None, int | None, str, Layer, Role]] = [
    ("an error code", JobState.FAILED, 1, None, "slurm.state.failed", Layer.UNKNOWN, Role.CONFIRM),
    ("an unknown code", JobState.FAILED, 77, None, "slurm.state.failed", Layer.UNKNOWN, Role.CONFIRM),
    ("killed, as a shell says it", JobState.FAILED, 137, None, "slurm.state.signal", Layer.UNKNOWN, Role.CANDIDATE),
    ("killed, as Slurm says it", JobState.FAILED, 0, 9, "slurm.state.signal", Layer.UNKNOWN, Role.CANDIDATE),
    ("aborted: look earlier", JobState.FAILED, 134, None, "slurm.state.failed", Layer.UNKNOWN, Role.CONFIRM),
    ("told to end", JobState.FAILED, 0, 15, "slurm.state.failed", Layer.UNKNOWN, Role.CONFIRM),
    ("asked not to restart", JobState.FAILED, 93, None, "slurm.state.stopped", Layer.APPLICATION, Role.ROOT),
    ("command not found", JobState.FAILED, 127, None, "slurm.state.command", Layer.USER, Role.CANDIDATE),
    ("a lost node", JobState.NODE_FAIL, 0, 9, "slurm.state.node_fail", Layer.HARDWARE_HOST, Role.ROOT),
    (
        "a node that did not boot",
        JobState.BOOT_FAIL,
        None,
        None,
        "slurm.state.boot_fail",
        Layer.HARDWARE_HOST,
        Role.ROOT,
    ),
    ("out of memory", JobState.OUT_OF_MEMORY, 0, 125, "slurm.state.oom", Layer.SYSTEM_MEMORY, Role.ROOT),
]


@pytest.mark.parametrize(
    ("state", "code", "signal", "name", "layer", "role"), [c[1:] for c in ENDS], ids=[c[0] for c in ENDS]
)
def test_the_end_is_a_finding(
    state: JobState, code: int | None, signal: int | None, name: str, layer: Layer, role: Role
) -> None:
    watching = Watching(context(state=state, ended_at=at(50), exit_code=code, exit_signal=signal))
    watching.see([], seconds=60)
    (found,) = watching.findings.values()
    assert (found.signature, found.layer, found.role) == (name, layer, role)
    assert (found.key, found.basis, found.happened_at, found.nodes) == (f"state:{state.value}", "state", at(50), ())
    assert watching.see([], seconds=70).findings == ()


@pytest.mark.parametrize(
    "state",
    [
        JobState.RUNNING,
        JobState.COMPLETED,
        JobState.CANCELLED,
        JobState.TIMEOUT,
        JobState.DEADLINE,
        JobState.PREEMPTED,
        JobState.REQUEUED,
        JobState.GONE,
        JobState.UNKNOWN,
    ],
)
def test_what_is_no_failure_gives_no_finding(state: JobState) -> None:
    """Trap 22."""
    watching = Watching(context(state=state, ended_at=at(50), exit_code=1))
    watching.see([], seconds=60)
    assert watching.findings == {}


def dead(lines: list[str]) -> Watching:
    watching = Watching()
    watching.see(records(lines))
    return watching


def test_a_burst_of_one_gpu_is_one_finding() -> None:
    """Fixture 4: 17 lines of XID 13 and an illegal memory access, both of the application."""
    burst = [
        "gpu-01: NVRM: Xid (PCI:0000:38:00): 13, pid='<unknown>', Graphics SM Warp Exception on"
        f" (GPC {n % 8}, TPC 1, SM 1)"
        for n in range(17)
    ]
    watching = dead([*burst, "RuntimeError: CUDA error: an illegal memory access was encountered"])
    assert watching.found("xid.13").count == 17
    assert {f.layer for f in watching.findings.values()} == {Layer.APPLICATION}
    assert {f.role for f in watching.findings.values()} == {Role.CANDIDATE}


def test_the_cleaning_up_after_a_kill_is_no_cause() -> None:
    """Fixture 5 and trap 10: XID 45 on every GPU of a killed job."""
    lines = [
        f"gpu-0{1 + n // 8}: NVRM: Xid (PCI:0000:{n:02x}:00): 45, pid=1234, name=python, Ch 00000010"
        for n in range(32)
    ]
    found = dead(lines).found("xid.45")
    assert (found.role, found.count) == (Role.SECONDARY, 32)


def test_an_import_error_names_the_hosts_that_show_it() -> None:
    """Fixture 6: one host or all of them is the difference between a host's fault and the job's."""
    line = "ModuleNotFoundError: No module named 'flash_attn'"
    assert dead([f"gpu-03: {line}"]).found("py.import").nodes == ("gpu-03",)
    everywhere = dead([f"gpu-0{n}: {line}" for n in range(1, 5)]).found("py.import")
    assert everywhere.nodes == ("gpu-01", "gpu-02", "gpu-03", "gpu-04")
    assert everywhere.count == 4


def test_memory_of_a_gpu_is_told_with_its_step() -> None:
    """Fixture 8: before the first step on every rank, or at step 4,000 on one."""
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    early = dead([f"[rank{rank}]: {oom}" for rank in range(8)]).found("cuda.oom")
    assert (early.step, early.count, len(early.ranks)) == (None, 8, 8)
    late = Watching()
    late.see(unstamped_steps(3990, 11, 0, 1))
    late.see(records([f"[rank5]: {oom}"], seconds=20))
    assert (late.found("cuda.oom").step, late.found("cuda.oom").ranks) == (4000, (5,))


def test_killed_alone_proves_nothing() -> None:
    """Fixture 9."""
    found = dead(["srun: error: gpu-02: task 5: Killed"]).found("slurm.task_killed")
    assert (found.layer, found.role) == (Layer.UNKNOWN, Role.CANDIDATE)
    assert found.confidence <= 0.5
    with_kernel = dead(
        [
            "srun: error: gpu-02: task 5: Killed",
            "May  1 10:00:00 gpu-02 kernel: Memory cgroup out of memory: Killed process 123 (python) "
            "total-vm:210GB",
        ]
    )
    assert with_kernel.found("kernel.oom").nodes == ("gpu-02",)
    assert with_kernel.found("kernel.oom").layer is Layer.SYSTEM_MEMORY


def test_the_lines_of_a_hang_give_what_the_search_for_a_culprit_needs() -> None:
    """Fixture 1: six ranks waited in the collective, two were told and had completed all they had enqueued."""
    own = look(
        "failure detected by watchdog at work sequence id: 78 PG status: last enqueued work: 79, last "
        "completed work: 77"
    ).fault
    told = look(
        "Received a dump signal due to a collective timeout from  rank 1 and we will try our best to dump"
        " the debug info. Last enqueued NCCL work: 77, last completed NCCL work: 77."
    ).fault
    assert own is not None
    assert told is not None
    assert (own.words["seq"], own.words["enq"], own.words["done"]) == ("78", "79", "77")
    assert (told.words["enq"], told.words["done"]) == ("77", "77")
    assert {own.role, told.role} == {Role.SECONDARY}
    assert own.signature.anomaly_kind is AnomalyKind.HANG


def test_reporters_of_one_peer_are_listed() -> None:
    """Fixtures 2 and 3: many hosts report one peer; a port error of the reporter may be healed later."""
    nodes = tuple(f"gpu-{n:02d}" for n in range(1, 64))
    watching = Watching(context(nodes=nodes))
    watching.see(
        records(
            [
                f"{node}:1:2 [0] NCCL WARN NET/IB: Got completion from peer 10.4.1.22<1> with status=12 opcode=0"
                for node in nodes
            ]
        )
    )
    found = watching.found("nccl.ib.completion")
    assert (found.count, found.role, len(found.nodes)) == (63, Role.CANDIDATE, NAMED_AT_MOST)
    healed = dead(
        [
            "gpu-01:12:88 [0] NCCL WARN NET/IB : mlx5_3:1 Got async event : port error",
            "gpu-01:12:88 [0] NCCL WARN NET/IB : mlx5_3:1 Got async event : port active",
        ]
    )
    assert [found.signature for found in healed.findings.values()] == ["nccl.ib.port_error"]


@pytest.mark.parametrize(
    ("line", "signature", "role"),
    [
        ("OSError: [Errno 30] Read-only file system: '/tmp/ckpt/iter_5.pt'", "fs.erofs", Role.ROOT),
        ("OSError: [Errno 28] No space left on device: '/dev/shm/arena'", "fs.shm_full", Role.ROOT),
    ],
    ids=["read-only", "full"],
)
def test_a_broken_file_system_is_no_race_of_temporary_files(line: str, signature: str, role: Role) -> None:
    assert dead([f"[rank3]: {line}"]).found(signature).role is role


def test_a_fault_injected_on_purpose_is_marked() -> None:
    line = "<0>[ 3098.275469] Kernel panic - not syncing: Test panic triggered by crash_test module"
    assert "injected on purpose" in dead([line]).found("kernel.panic").sentence


def test_warnings_of_one_host_are_no_crash() -> None:
    found = dead(
        ["gpu-01: mlx5_port_module_event:1131:(pid 0): Port module event[error]: module 0, High Temperature"]
    )
    assert found.found("kernel.mlx5_temp").kind is AnomalyKind.EARLY_WARNING


def test_a_report_that_healthy_jobs_print_too_is_no_finding() -> None:
    line = "| MnRtt/Rnk: 1.2ms/3 | MxRtt/Rnk: 9.9ms/61 | MnEtpt/Rnk: 212.10TF/61 | MxEtpt/Rnk: 401.77TF/8"
    assert dead([line]).findings == {}


WATCHDOG = (
    "[rank0]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE,"
    " Timeout(ms)=600000) ran for 600060 milliseconds before timing out."
)


def test_a_hang_that_was_only_said_is_over_when_the_job_trains_on() -> None:
    watching = Watching()
    watching.see(unstamped_steps(1, 25, 0, 1))
    watching.see(records([WATCHDOG], seconds=30))
    found = watching.found("pg.watchdog_timeout")
    assert (found.kind, found.role, found.step) == (AnomalyKind.HANG, Role.SECONDARY, 25)
    watching.see(unstamped_steps(26, 2, 31, 1))
    assert watching.ended == []
    watching.see(unstamped_steps(28, 2, 33, 1))
    assert watching.ended == [found.key]
    watching.see(unstamped_steps(30, 5, 35, 1))
    assert watching.ended == [found.key]


def test_what_broke_stays_broken_when_the_job_trains_on() -> None:
    watching = Watching()
    watching.see(records([step_line(1), ECC, *[step_line(n) for n in range(2, 30)]], every=1))
    assert watching.ended == []


NAN = " iteration {0:8d}/  500000 | consumed samples: 1 | elapsed time per iteration (ms): 1.0 | grad norm: 0.4 |"


def test_three_losses_in_a_row_that_are_no_numbers() -> None:
    """Fixture 7: a Megatron line without its loss is one point; a zero counter is nothing."""
    zero = step_line(1, rest=" number of nan iterations:   0 |")
    watching = Watching()
    watching.see(records([zero, NAN.format(2), NAN.format(3)], every=1))
    assert watching.findings == {}
    watching.see(records([NAN.format(4)], seconds=3))
    found = watching.findings["nan:2"]
    assert (found.kind, found.step, found.count, len(found.evidence)) == (AnomalyKind.NAN, 2, 3, 3)
    watching.see(records([NAN.format(5)], seconds=4))
    assert list(watching.findings) == ["nan:2"]
    watching.see(records([step_line(6)], seconds=5))
    assert watching.ended == ["nan:2"]
    watching.see(records([NAN.format(n) for n in (7, 8, 9)], seconds=6, every=1))
    assert list(watching.findings) == ["nan:2", "nan:7"]


@pytest.mark.parametrize(
    "lines",
    [
        [step_line(1), NAN.format(2), step_line(3), NAN.format(4), NAN.format(5), step_line(6)],
        [NAN.format(n) + " number of skipped iterations:  10 |" for n in range(1, 6)],
        ["Epoch 0:   0%|          | 1/1000 [00:30<8:20:00, 30.00s/it, v_num=0, train_loss=nan]"] * 9,
    ],
    ids=["never three in a row", "the loss scale is searched", "the same step drawn again"],
)
def test_losses_that_are_no_alarm(lines: list[str]) -> None:
    watching = Watching()
    watching.see(records(lines, every=1))
    assert watching.findings == {}


def test_losses_of_a_trainer_that_tells_no_step() -> None:
    line = "{'loss': 'nan', 'grad_norm': 'nan', 'learning_rate': '2e-05', 'epoch': '0.01'}"
    watching = Watching()
    watching.see(records([line] * 3, every=1))
    (found,) = watching.findings.values()
    assert (found.kind, found.step) == (AnomalyKind.NAN, None)


def test_what_was_survived_and_comes_again_is_a_finding_of_its_own() -> None:
    watching = Watching()
    watching.see(unstamped_steps(1, 10, 0, 10))
    watching.see(records([f"n1: {ECC}"], seconds=101))
    watching.see(unstamped_steps(11, 90, 110, 10))
    watching.see(records([f"n2: {ECC}"] * 2, seconds=1100))
    early, late = (found for found in watching.findings.values() if found.signature == "cuda.ecc")
    assert (early.step, early.count, early.happened_at) == (10, 1, at(101))
    assert (late.step, late.count, late.happened_at) == (100, 2, at(1100))
    assert early.fingerprint == late.fingerprint


def test_how_often_it_is_survived_does_not_fill_the_memory() -> None:
    watching = Watching()
    for turn in range(20):
        watching.see(unstamped_steps(1 + turn * 10, 10, turn * 100, 10))
        watching.see(records([ECC], seconds=turn * 100 + 99))
    kept = [found for found in watching.findings.values() if found.signature == "cuda.ecc"]
    assert len(kept) == OCCURRENCES_KEPT
    assert (kept[-1].step, kept[-1].happened_at) == (200, at(1999))
    assert sum(found.count for found in kept) == 20


def test_ranks_that_are_two_steps_apart_are_no_second_occurrence() -> None:
    watching = Watching()
    watching.see(unstamped_steps(1, 10, 0, 0.1))
    watching.see(records([f"[rank1]: {ECC}"], seconds=2))
    watching.see(unstamped_steps(11, 2, 3, 0.1))
    watching.see(records([f"[rank2]: {ECC}"], seconds=5))
    assert watching.found("cuda.ecc").ranks == (1, 2)


def test_an_exception_about_something_optional_is_an_exception() -> None:
    """Words by which a warning is known for one take nothing from a line that begins with an error's class."""
    for line in (
        "ValueError: FlashAttention is not installed",
        "RuntimeError: the gradients are not finite (error_if_nonfinite)",
        "RuntimeError: skipping 3 shards of 2",
    ):
        assert [found.role for found in dead([line]).findings.values()] == [Role.CANDIDATE], line
    assert not dead(["WARNING: flash_attn is not installed"]).findings


def test_errors_in_samples_of_the_data_are_no_errors() -> None:
    for line in (
        'sample 0: "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB is seen often"',
        "text: Kernel panic - not syncing is what it says then",
        "[rank0]: answer[3] = 'NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus'",
    ):
        assert not dead([line]).findings, line


def test_what_turned_out_to_be_no_cause_makes_room_in_the_same_turn() -> None:
    """However lines are cut into turns: room is counted by what findings are, not by what they were."""
    causes = [
        e.example for e in catalogue().signatures if e.role is Role.ROOT and e.group in ("cuda", "gpu", "host")
    ]
    lines = ["KeyError: 'cache'", "During handling of the above exception, another exception occurred:", ECC]
    lines = [TRACEBACK, lines[0], "", lines[1], "", TRACEBACK, lines[2], *causes]
    whole, single = Watching(), Watching()
    whole.see(records(lines))
    for record in records(lines):
        single.see([record])
    assert sum(found.role in (Role.ROOT, Role.CANDIDATE) for found in whole.findings.values()) == CAUSES_KEPT
    assert sorted(whole.findings) == sorted(single.findings)
