"""Is what every start meets again told from what may pass?"""

import pytest

from detectors.attribution.action import VerdictAction
from detectors.catalogue.layer import Layer
from tests.detectors.diagnosing.test_folding import STEP, judged

LASTING = {
    "a module": "ModuleNotFoundError: No module named 'grouped_gemm'",
    "an option of argparse": "pretrain.py: error: argument --data: expected one argument",
    "an option of click": "Error: No such option: --batchsize",
    "a setting of hydra": "Could not override 'model.hidden'.",
    "sizes of the parallel plan": "AssertionError: hidden size (30) must be divisible by tensor parallel size (8)",
    "sizes of the batch": "RuntimeError: world_size (7) is not divisible by tensor_model_parallel_size 2",
    "shapes": "RuntimeError: The size of tensor a (5) must match the size of tensor b (7) at dimension 1",
    "channels": "RuntimeError: Given groups=1, weight of size [64, 3, 7, 7], expected input[8, 1, 9, 9] to have 3",
    "gradients": "RuntimeError: Trying to backward through the graph a second time",
    "a checkpoint of another model": "RuntimeError: Error(s) in loading state_dict for DecoderModel:",
    "a checkpoint of another optimizer": "ValueError: loaded state dict has a different number of parameter groups",
    "a quota told by Python": "OSError: [Errno 122] Disk quota exceeded: '/scratch/train/out'",
    "a quota told by a shell command": "tee: /scratch/train/out.log: Disk quota exceeded",
    "a gated model": "OSError: You are trying to access a gated repo.",
    "no credentials": "botocore.exceptions.NoCredentialsError: Unable to locate credentials",
    "credentials refused": "botocore.exceptions.ClientError: An error occurred (AccessDenied) when calling the "
    "GetObject operation: Access Denied",
    "a model that does not exist": "OSError: ./base is not a local folder and is not a valid model identifier",
    "a file without an error number": "FileNotFoundError: Couldn't find any data file at /data/corpus.",
    "a file": "FileNotFoundError: [Errno 2] No such file or directory: '/data/train_text_document.idx'",
    "the program itself": "python3: can't open file '/opt/train/pretrain.py': [Errno 2] No such file or directory",
    "a command": "slurmstepd: error: execve(): torchrun: No such file or directory",
    "rights": "PermissionError: [Errno 13] Permission denied: '/data/others/corpus.bin'",
    "other GPUs": "RuntimeError: CUDA error: no kernel image is available for execution on the device",
    "an image": "slurmstepd: error: pyxis: image file not found: /images/train.sqsh",
    "the program's text": "NameError: name 'micro_batch' is not defined",
}
PASSING = {
    "a port in use": "RuntimeError: The server socket has failed to listen on any local network address. port: "
    "29500, useIpv6: true, code: -98, name: EADDRINUSE, message: address already in use",
    "a hub that is busy": "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests",
    "an error that nobody knows": "RuntimeError: the router lost a token",
    "a file of the node's own folder": "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/pymp-x/l-1'",
}


@pytest.mark.parametrize("line", LASTING.values(), ids=LASTING)
def test_what_every_start_meets_again_is_stopped_at_its_first_proof(line: str) -> None:
    _found, diagnosis = judged(
        ["Traceback (most recent call last):", '  File "pretrain.py", line 1, in main', line]
    )
    assert diagnosis.judgement.action is VerdictAction.STOP
    assert diagnosis.judgement.layer.domain in ("application", "data", "storage", "scheduler")


@pytest.mark.parametrize("line", PASSING.values(), ids=PASSING)
def test_what_may_pass_is_restarted(line: str) -> None:
    _found, diagnosis = judged([line])
    assert diagnosis.judgement.action is not VerdictAction.STOP


def test_a_missing_file_after_steps_is_restarted_once() -> None:
    lines = [STEP.format(n) for n in range(1, 30)]
    _found, diagnosis = judged([*lines, LASTING["a file"]])
    assert diagnosis.judgement.action is VerdictAction.RESTART


def test_an_error_that_nobody_knows_on_every_rank_before_the_first_step_is_the_programs() -> None:
    _found, diagnosis = judged([f"[rank{rank}]: {PASSING['an error that nobody knows']}" for rank in range(8)])
    judgement = diagnosis.judgement
    assert (judgement.action, judgement.layer) == (VerdictAction.STOP, Layer.APPLICATION)
    assert "weight.all_before_a_step" in {rule.id for rule in judgement.rules if rule.fired}


@pytest.mark.parametrize("ranks", [(5,), (2, 5), (0,)], ids=["one", "two of many", "the first alone"])
def test_of_some_ranks_it_is_restarted(ranks: tuple[int, ...]) -> None:
    lines = [f"[rank{rank}]: {PASSING['an error that nobody knows']}" for rank in ranks]
    assert judged(lines)[1].judgement.action is VerdictAction.RESTART


def test_after_steps_every_rank_is_restarted_too() -> None:
    lines = [STEP.format(n) for n in range(1, 30)]
    lines += [f"[rank{rank}]: {PASSING['an error that nobody knows']}" for rank in range(8)]
    assert judged(lines)[1].judgement.action is VerdictAction.RESTART
