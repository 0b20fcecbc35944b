"""Is a cascade judged by its first lines, without losing who spoke or when the job moved?"""

import io
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from detectors.attribution.action import VerdictAction
from detectors.catalogue.kind import AnomalyKind
from detectors.catalogue.layer import Layer
from detectors.diagnosing.accounting import Told
from detectors.diagnosing.blocks import blocks
from detectors.diagnosing.folding import REPETITIONS, Found, fold
from detectors.diagnosing.judging import Diagnosis, diagnose
from detectors.diagnosing.merging import Merger, Stream
from detectors.diagnosing.sifting import Clock
from schedulers.states import JobState

TIME_LIMIT = "slurmstepd: error: *** JOB 7 ON gpu-003 CANCELLED AT 2026-05-01T10:00:00 DUE TO TIME LIMIT ***"
NOW = datetime(2026, 11, 29, tzinfo=UTC)
RANKS, TIMES = 64, 40
ROOT = "gpu-003: RuntimeError: CUDA error: uncorrectable ECC error encountered"
VICTIM = (
    "{0}: [rank{0}]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:2356, remote process"
    " exited or there was a network error, NCCL version 2.20.5"
)
TIMED_OUT = (
    "[rank{0}]:[E501 10:30:00.000000000 ProcessGroupNCCL.cpp:616] [Rank {0}] Watchdog caught collective operation"
    " timeout: WorkNCCL(SeqNum=78, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for 600029"
    " milliseconds before timing out."
)
STEP = "[2026-05-01 10:{0:02d}:00] iteration {0}/ 100 | consumed samples: {0} | lm loss: 2.1E+00 |"


def judged(lines: Sequence[str], size: int = 65_536, told: Told | None = None) -> tuple[Found, Diagnosis]:
    """What is found in the lines of one file, and the verdict."""
    stream = io.BufferedReader(io.BytesIO(("\n".join(lines) + "\n").encode()))
    merger = Merger([Stream("job.log", 0, blocks(stream, size), Clock(NOW, 0.0, NOW))], None, True)
    found = fold(merger, told or Told(), ())
    return found, diagnose(found, told or Told())


def test_a_cascade_blames_its_first_line_and_says_that_it_stopped_counting() -> None:
    lines = [STEP.format(n) for n in range(30)] + [ROOT]
    lines += [VICTIM.format(rank) for _time in range(TIMES) for rank in range(RANKS)]
    found, diagnosis = judged(lines)
    assert [one.host for one in diagnosis.judgement.implicated if one.role == "culprit"] == ["gpu-003"]
    assert found.passed_over == RANKS * (TIMES - REPETITIONS)


def test_every_rank_of_a_hang_is_heard() -> None:
    found, diagnosis = judged([TIMED_OUT.format(rank) for _time in range(TIMES) for rank in range(RANKS)])
    assert diagnosis.judgement.kind is AnomalyKind.HANG
    assert {row["rank"] for row in found.witnesses["waits"]} == set(range(RANKS))


def test_the_same_line_counts_again_when_the_job_has_moved() -> None:
    early = [STEP.format(1), *[TIMED_OUT.format(0)] * 2 * REPETITIONS]
    found, _diagnosis = judged([*early, *map(STEP.format, range(2, 20)), TIMED_OUT.format(0)])
    (hang,) = found.findings.values()
    assert (hang.count, found.passed_over) == (REPETITIONS + 1, REPETITIONS)


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        pytest.param([ROOT], JobState.GONE, id="a cause: it is over, and nobody knows how"),
        pytest.param([VICTIM.format(1)], JobState.GONE, id="victims alone"),
        pytest.param([TIMED_OUT.format(1)], JobState.RUNNING, id="a hang"),
        pytest.param([STEP.format(1)], JobState.RUNNING, id="steps"),
        pytest.param(
            [
                ROOT,
                "slurmstepd: error: *** JOB 7 ON gpu-003 CANCELLED AT 2026-05-01T10:00:00 DUE TO TIME LIMIT ***",
            ],
            JobState.TIMEOUT,
            id="a time limit, whatever came before",
        ),
        pytest.param(
            [ROOT, "slurmstepd: error: *** STEP 7.0 ON gpu-003 CANCELLED AT 2026-05-01T10:00:00 ***"],
            JobState.GONE,
            id="a step that was cancelled because a task had failed",
        ),
    ],
)
def test_the_end_that_nobody_told_is_taken_from_the_text(lines: Sequence[str], state: JobState) -> None:
    _found, diagnosis = judged(lines)
    assert diagnosis.facts.attempt.state is state
    assert diagnosis.assumed is (state is not JobState.RUNNING)


def test_without_the_scheduler_no_rank_is_placed_by_the_order_of_the_hosts() -> None:
    lines = [
        "srun: error: gpu-01: tasks 0-7: Exited with exit code 1",
        "srun: error: gpu-07: tasks 48-55: Exited with exit code 1",
        "[rank9]: RuntimeError: CUDA error: uncorrectable ECC error encountered",
    ]
    found, diagnosis = judged(lines)
    ecc = next(one for one in found.findings.values() if one.signature == "cuda.ecc")
    assert ecc.nodes == ()
    assert 9 not in dict(diagnosis.facts.ranks)


HANDLED = ["Traceback (most recent call last):", '  File "ds.py", line 30, in read', "ValueError: no image"]
BARE = " iteration {0:8d}/     100 | consumed samples: {0} | lm loss: 2.1E+00 |"


def test_what_a_text_trains_on_after_is_nothing() -> None:
    _found, diagnosis = judged([*HANDLED, *map(BARE.format, range(1, 6))])
    assert diagnosis.nothing
    assert not diagnosis.assumed


def test_where_a_process_ended_afterwards_the_order_of_lines_proves_nothing() -> None:
    """Steps that a program had kept back stand behind its traceback."""
    ended = "srun: error: gpu-003: task 3: Exited with exit code 1"
    _found, diagnosis = judged([*HANDLED, *map(BARE.format, range(1, 6)), ended])
    assert diagnosis.judgement.signature == "py.valueerror"


def test_what_is_survived_once_may_be_fatal_later() -> None:
    steps = [STEP.format(n) for n in range(60)]
    said = [HANDLED[0], HANDLED[1], "[2026-05-01 10:{0:02d}:30] ValueError: no image"]
    early, late = ([*said[:2], said[2].format(at)] for at in (10, 59))
    found, diagnosis = judged([*steps[:11], *early, *steps[11:], *late])
    assert diagnosis.judgement.signature == "py.valueerror"
    assert len(found.findings) == 2


@pytest.mark.parametrize(
    "line",
    [
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 2 (pid: 11922) of"
        " binary: /opt/conda/bin/python",
        "[2024-03-04 10:11:13,002] [ERROR] [launch.py:322:sigkill_handler] ['python', 'a.py'] exits with return"
        " code = 1",
    ],
    ids=["torchrun", "DeepSpeed"],
)
def test_what_a_launcher_saw_fail_has_failed(line: str) -> None:
    _found, diagnosis = judged([line])
    assert (diagnosis.nothing, diagnosis.facts.attempt.state) == (False, JobState.GONE)
    assert diagnosis.judgement.layer is Layer.UNKNOWN


def test_a_corrupt_heap_says_nothing_of_communication() -> None:
    _found, diagnosis = judged(["malloc(): corrupted top size"])
    assert (diagnosis.nothing, diagnosis.judgement.layer) == (False, Layer.UNKNOWN)


def test_an_error_inside_another_one_is_the_cause() -> None:
    lines = [
        "CheckpointException: CheckpointException ranks:dict_keys([0, 1])",
        "RuntimeError: Missing key in checkpoint state_dict: optimizer.state.head.exp_avg.",
    ]
    _found, diagnosis = judged(lines)
    assert diagnosis.judgement.signature == "user.checkpoint"
    assert judged(lines[:1])[1].judgement.signature == "ckpt.exc"


def test_a_kernel_line_without_a_stamp_names_its_host() -> None:
    line = "worker-3 kernel: NVRM: Xid (PCI:0000:5e:00): 79, pid=2240, name=python3, GPU has fallen off the bus."
    _found, diagnosis = judged([line])
    assert [one.host for one in diagnosis.judgement.implicated if one.role == "culprit"] == ["worker-3"]
    _found, diagnosis = judged([line.replace("worker-3", "the")])
    assert not diagnosis.judgement.implicated


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: DataLoader worker (pid(s) 411948) exited unexpectedly",
        "/var/spool/slurm/job474/slurm_script: line 31:  6521 Killed   python -u train.py",
    ],
)
def test_a_process_that_is_gone_is_an_end_and_no_cause(line: str) -> None:
    _found, diagnosis = judged([STEP.format(n) for n in range(30)] + [line])
    assert (diagnosis.nothing, diagnosis.assumed) == (False, True)
    assert diagnosis.judgement.layer is Layer.UNKNOWN
    assert diagnosis.judgement.action is VerdictAction.RESTART


def test_a_process_that_is_gone_is_nothing_to_a_job_that_trains_on() -> None:
    gone = "RuntimeError: DataLoader worker (pid(s) 411948) exited unexpectedly"
    _found, diagnosis = judged(
        [*(STEP.format(n) for n in range(30)), gone, *(STEP.format(n) for n in range(30, 60))]
    )
    assert diagnosis.nothing
