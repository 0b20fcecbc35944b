"""The twelve fixtures of the reference (attribution, section 10.3), each from its lines to its verdict."""

import re
import sys

import pytest

from detectors.attribution.action import VerdictAction
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from schedulers.states import JobState
from tests.detectors.reference.reading import (
    EIGHT,
    aborts,
    again,
    at,
    completion,
    culprits,
    excluded,
    init_map,
    job,
    judged,
    own,
    read,
    step,
    told_of,
    torch,
    traceback,
)

RESTART, EXCLUDE, STOP = VerdictAction.RESTART, VerdictAction.RESTART_EXCLUDE, VerdictAction.STOP
MANY = tuple(f"gpu-{number:02d}" for number in range(1, 65))


def test_fixture_01_the_launcher_blames_the_wrong_one_of_eight_ranks() -> None:
    lines = [*init_map(), step(77, 900)]
    for rank in range(6):
        lines += own(rank)
    lines += [told_of(6), told_of(7)]
    lines += [
        "[rank3]: RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer "
        "[10.4.0.8]:41210",
        "E0501 10:29:58.000000 1234 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -6) "
        "local_rank: 7 (pid: 4242) of binary: /usr/bin/python",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
        "Root Cause (first observed failure):",
        "  time      : 2026-05-01_10:29:58",
        "  host      : gpu-08",
        "  rank      : 7 (local_rank: 7)",
        "  exitcode  : -6 (pid: 4242)",
    ]
    judgement = judged(lines)
    assert (judgement.kind, judgement.layer) == (AnomalyKind.HANG, Layer.APPLICATION)
    assert culprits(judgement) == ("gpu-07", "gpu-08"), "the two that were only told"
    assert excluded(judgement) == () and judgement.action is RESTART


def test_fixture_02_all_hosts_report_one() -> None:
    lines = [*init_map(MANY), step(50, 20), *(completion(host, 17) for host in MANY if host != "gpu-17")]
    alone = judged(lines, job(MANY))
    assert (culprits(alone), alone.layer, alone.action) == (("gpu-17",), Layer.HARDWARE_NETWORK, EXCLUDE)
    lost = judged([*lines, "srun: error: Node failure on gpu-17"], job(MANY, state=JobState.NODE_FAIL))
    assert (culprits(lost), lost.layer, lost.action) == (("gpu-17",), Layer.HARDWARE_HOST, EXCLUDE)
    assert lost.signature.startswith("slurm."), "the lost node is the cause, the connections are its victims"


def test_fixture_03_one_host_reports_nine_after_its_port_failed() -> None:
    event = "gpu-05:990:1990 [0] transport/net_ib.cc:92 NCCL WARN NET/IB : mlx5_0:1 Got async event : port"
    lines = [
        *init_map(MANY),
        step(50, 20),
        f"{event} error",
        *(completion("gpu-05", peer) for peer in range(9, 18)),
    ]
    down = judged(lines, job(MANY))
    assert (culprits(down), down.layer, down.action) == (("gpu-05",), Layer.HARDWARE_NETWORK, EXCLUDE)
    back = judged([*lines, f"{event} active"], job(MANY))
    assert excluded(back) == () and back.action is RESTART


def burst(pci: str) -> list[str]:
    """Seventeen lines of XID 13, and what the program makes of it."""
    says = "13, pid=4242, name=python, Graphics SM Warp Exception on (GPC 0, TPC 1, SM 0)"
    line = f"gpu-03 kernel: NVRM: Xid (PCI:{pci}): {says}"
    error = "RuntimeError: CUDA error: an illegal memory access was encountered"
    return [*init_map(), step(50, 20), *[f"{at(9):%Y-%m-%dT%H:%M:%S}Z {line}"] * 17, *traceback(2, error)]


def test_fixture_04_a_burst_of_xid_13() -> None:
    first = judged(burst("0000:3b:00"))
    assert (first.layer, first.action, excluded(first)) == (Layer.APPLICATION, RESTART, ())
    other_gpu = again(read(burst("0000:9d:00")).facts, first)
    assert (other_gpu.layer, excluded(other_gpu)) == (Layer.APPLICATION, ())
    same_gpu = again(read(burst("0000:3b:00")).facts, first)
    assert (same_gpu.action, excluded(same_gpu)) == (EXCLUDE, ("gpu-03",))


def test_fixture_05_xid_45_after_our_own_kill_is_no_incident() -> None:
    lines = [
        *init_map(),
        step(50, 8),
        "slurmstepd: error: *** JOB 7001 ON gpu-01 CANCELLED AT 2026-05-01T10:29:55 ***",
    ]
    for number, host in enumerate(EIGHT):
        says = f"NVRM: Xid (PCI:0000:{number + 16:x}:00): 45, pid=4242, name=python, Ch 00000008"
        lines.append(f"{at(2):%Y-%m-%dT%H:%M:%S}Z {host} kernel: {says}")
    judgement = judged(lines, job(state=JobState.CANCELLED, word="CANCELLED"))
    assert judgement.action is VerdictAction.NONE and culprits(judgement) == ()
    assert judgement.layer is Layer.SCHEDULER


def test_fixture_06_a_missing_module_on_one_host_and_on_all() -> None:
    error = "ModuleNotFoundError: No module named 'flash_attn'"
    one = judged([*init_map(MANY), *traceback(8, error), *aborts(range(64))], job(MANY))
    assert (excluded(one), one.action) == (("gpu-09",), EXCLUDE)
    lines = [*init_map(MANY), *(line for rank in range(64) for line in traceback(rank, error))]
    everywhere = judged(lines, job(MANY))
    assert (excluded(everywhere), everywhere.action) == ((), STOP)


MEGATRON = (
    " [2026-05-01 10:{0:02d}:00.123456] iteration {0:8d}/  500000 | consumed samples: {0:12d} | elapsed time per "
    "iteration (ms): 60000.0 | learning rate: 1.500000E-04 | global batch size:   256 |{1} loss scale: 1.0 | grad "
    "norm: 0.412 | number of skipped iterations:   0 | number of nan iterations:   {2} |"
)


def test_fixture_07_zero_nan_iterations_are_nothing_and_a_line_without_a_loss_is_a_point() -> None:
    alive = job(state=JobState.RUNNING, ended_at=None, exit_code=None, exit_signal=None, until=at(60 * 10))
    good = [MEGATRON.format(number, " lm loss: 2.104561E+00 |", 0) for number in range(1, 20)]
    healthy = read(good, alive)
    assert healthy.nothing and not healthy.facts.symptoms
    without = [MEGATRON.format(number, "", 1) for number in range(20, 23)]
    assert read([*good, *without[:2]], alive).nothing, "one point proves nothing, and two do not either"
    assert [one.kind for one in read([*good, *without], alive).facts.symptoms] == [AnomalyKind.NAN]


def test_fixture_08_no_gpu_memory_at_the_start_and_later() -> None:
    error = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 79.15 GiB in total"
    start = judged([*init_map(), *(line for rank in range(8) for line in traceback(rank, error))])
    assert (start.action, start.layer, excluded(start)) == (STOP, Layer.APPLICATION, ())
    steps = [step(number, 4100 - number) for number in (1, 2, 3998, 3999, 4000)]
    later = judged([*init_map(), *steps, *traceback(5, error), *aborts(range(8))])
    assert (later.action, later.layer, excluded(later)) == (RESTART, Layer.APPLICATION, ())


def test_fixture_09_killed_and_a_foreign_job_out_of_memory() -> None:
    killed = ["srun: error: gpu-03: task 2: Killed"]
    alone = judged([*init_map(), step(50, 20), *killed])
    assert (alone.layer, excluded(alone), alone.action) == (Layer.UNKNOWN, (), RESTART)
    constraint = (
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0-1,"
        "oom_memcg=/slurm/uid_1/job_{0},task_memcg=/slurm/uid_1/job_{0}/step_0,task=python,pid=991,uid=1000"
    )
    line = f"{at(9):%Y-%m-%dT%H:%M:%S}Z gpu-03 kernel: {constraint}"
    foreign = judged([*init_map(), step(50, 20), line.format(9999), *killed])
    assert (foreign.layer, excluded(foreign), foreign.action) == (Layer.UNKNOWN, (), RESTART)
    assert any(rule.id == "memory.foreign" and rule.fired for rule in foreign.rules)
    ours = judged([*init_map(), step(50, 20), line.format(7001), *killed])
    assert ours.signature.startswith("kernel.oom")


FAILURE = (
    "Traceback (most recent call last):",
    '  File "/opt/train/loop.py", line 141, in step',
    "    loss = model(batch)",
    "RuntimeError: CUDA error: uncorrectable ECC error encountered",
)
ZOO = {
    "nothing": "{0}",
    "srun -l": "2: {0}",
    "srun -l, padded": "  2: {0}",
    "torchrun --tee": "[default0]:{0}",
    "torchrun with a role": "[trainer0]: {0}",
    "global rank": "[rank2]: {0}",
    "srun -l and torchrun": "2: [default0]:{0}",
    "srun -l and global rank": "2: [rank2]: {0}",
    "container runtime": "2026-05-01T10:29:51.123456789Z stderr F {0}",
    "container runtime and torchrun": "2026-05-01T10:29:51.123456789Z stderr F [default0]:{0}",
    "Ray": "(TrainWorker pid=812, ip=10.4.0.3) {0}",
    "coloured Ray": "\x1b[36m(TrainWorker pid=812, ip=10.4.0.3)\x1b[0m {0}",
    "resiliency launcher": "[infra 2]: 2026-05-01 10:29:51,123 [ERROR] [gpu-03] [workload:2(0) infra:2(0)] {0}",
    "colour": "\x1b[31m{0}\x1b[0m",
    "progress bar": "Training:  10%|#         | 50/500\r{0}",
    "coloured progress bar under srun -l": "2: Training:  10%|#         | 50/500\r\x1b[31m{0}\x1b[0m",
}


@pytest.mark.parametrize("prefix", ZOO.values(), ids=list(ZOO))
def test_fixture_10_the_same_failure_through_all_prefixes(prefix: str) -> None:
    """What a prefix says of the speaker may name its host; beside that the verdict is equal."""
    plain = judged([*init_map(), step(50, 20), *FAILURE, *aborts(range(8))])
    judgement = judged([*init_map(), step(50, 20), *map(prefix.format, FAILURE), *aborts(range(8))])
    for one in (plain, judgement):
        assert (one.kind, one.layer, one.signature) == (AnomalyKind.CRASH, Layer.HARDWARE_GPU, "cuda.ecc")
    assert judgement.fingerprint == plain.fingerprint
    tells = any(word in prefix for word in ("2: ", "[rank2]", "10.4.0.3", "gpu-03"))
    assert culprits(judgement) == (("gpu-03",) if tells else ())
    assert judgement.action is (EXCLUDE if tells else RESTART)


def test_fixture_11_the_other_end_of_a_link() -> None:
    line = (
        "gpu-03 kernel: NVRM: Xid (PCI:0018:01:00): 149, NETIR_LINK_EVT Link Fatal XC0 i0 Link 08 "
        "(0x021005c6 0x00000000 0x00000000)"
    )
    judgement = judged([*init_map(), step(50, 20), f"{at(9):%Y-%m-%dT%H:%M:%S}Z {line}", *aborts(range(8))])
    assert judgement.layer is Layer.HARDWARE_NVLINK
    assert "gpu-03" not in excluded(judgement), "the line says that the other end is the source"


def test_fixture_12_a_quota_before_a_cascade_with_wrong_clocks() -> None:
    error = "OSError: [Errno 122] Disk quota exceeded: '/scratch/ckpt/step_50/shard_00002.pt'"
    told = [torch(2, 9, "checkpoint not written"), *traceback(2, error)]
    cascade = [line for number in range(500) for line in aborts([number % 8], 12 - number % 7)]
    judgement = judged([*init_map(), step(50, 60), *told, *cascade])
    assert (judgement.signature, judgement.action, excluded(judgement)) == ("fs.edquot", STOP, ())


def test_every_fixture_of_the_reference_has_its_test() -> None:
    names = [name for name in vars(sys.modules[__name__]) if name.startswith("test_fixture_")]
    assert {int(re.findall(r"\d+", name)[0]) for name in names} == set(range(1, 13))
