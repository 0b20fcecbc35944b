"""How does an attempt die of itself, and what does its log say of it?

Message formats are facts of the NVIDIA driver, NCCL, PyTorch and Slurm; the words stand in the same order in which
those programs write them.
"""

import signal

from lab.dialects.dialect import bus
from lab.simulate.effects import Ended, Hung, failed, killed
from lab.simulate.faults.blow import Beat, Blow, Kind, exit_of_task
from lab.simulate.times import stamp
from lab.texts.struck import Struck
from lab.texts.texts import TEXTS

SIGNALLED = 128  # a shell's exit code of a child that died of signal n is 128 + n
LAUNCH_SECONDS = 10.0  # MessageTimeout: until srun gives up on a node that does not answer
LAUNCH_CODE = 233  # srun's exit code then (observed; sacct shows it as 105:0)


def _ecc(blow: Blow) -> list[Beat]:
    node, rank, gpu, process = blow.node, blow.rank, blow.gpu, blow.process
    says = f"{node}: [rank{rank}]:"
    error = "CUDA error: uncorrectable ECC error encountered"
    first = (
        f"{node}: NVRM: Xid (PCI:0000:{bus(gpu)}:00): 48, pid={process}, name=python, "
        "An uncorrectable double bit error (DBE) has been detected on GPU in the framebuffer.",
        f"{node}: NVRM: Xid (PCI:0000:{bus(gpu)}:00): 63, pid={process}, name=python, "
        "Row Remapper: New row marked for remapping, reset gpu to activate.",
        "",
        f"{node}:{process}:{process + 66} [{gpu}] enqueue.cc:1549 NCCL WARN "
        "Cuda failure 'uncorrectable ECC error encountered'",
        f"{says} Traceback (most recent call last):",
        f'{says}   File "pretrain_gpt.py", line 307, in <module>',
        f"{says}     pretrain(train_valid_test_datasets_provider, model_provider, forward_step)",
        f'{says}   File "megatron/training/training.py", line 1371, in train_step',
        f"{says}     losses_reduced = forward_backward_func(",
        f"{says} RuntimeError: {error}",
        f"{says} CUDA kernel errors might be asynchronously reported at some other API call, "
        "so the stacktrace below might be incorrect.",
        f"{says} For debugging consider passing CUDA_LAUNCH_BLOCKING=1",
    )
    return [Beat(0, first), exit_of_task(blow, "Exited with exit code 1", failed(1))]


def _exit(blow: Blow) -> list[Beat]:
    code = blow.fault.exit_code
    return [Beat(0, blow.fault.lines), exit_of_task(blow, f"Exited with exit code {code}", failed(code))]


def _end(blow: Blow, code: int) -> Beat:
    """One task ends with `code`, or died of a signal when that is above 128, and srun ends the others."""
    how = _signal_word(code - SIGNALLED) if code > SIGNALLED else ""
    return exit_of_task(blow, how or f"Exited with exit code {code}", failed(code))


def _signal_word(number: int) -> str:
    """What srun prints for a task that died of it: `Killed`, `Segmentation fault`, … "" for no signal."""
    try:
        return signal.strsignal(number) or ""
    except ValueError:
        return ""


def _signal(blow: Blow) -> list[Beat]:
    """Above 128 a task died of it; else the batch script itself did, of which nobody says a word (observed)."""
    code = blow.fault.exit_code
    if code > SIGNALLED:
        return [Beat(0, blow.fault.lines), _end(blow, code)]
    return [Beat(0, blow.fault.lines, killed(code))]


def _oom(blow: Blow) -> list[Beat]:
    step = f"StepId={blow.stage.number}.0"
    lines = (
        *blow.fault.lines,
        f"slurmstepd-{blow.node}: error: Detected 1 oom-kill event(s) in {step}. "
        "Some of your processes may have been killed by the cgroup out-of-memory handler.",
    )
    end = Ended("OUT_OF_MEMORY", 0, 125, "OutOfMemory")
    return [Beat(0, lines), exit_of_task(blow, "Out Of Memory", end)]


def _text(blow: Blow) -> list[Beat]:
    """Each line at its time, then the end that the fault asks for."""
    stage, fault = blow.stage, blow.fault
    struck = Struck(stage.nodes, stage.gpus, blow.node, blow.rank, blow.gpu, blow.process, stage.number, blow.at)
    beats, before = [], 0.0
    for spoken in sorted(TEXTS[fault.text](struck), key=lambda one: one.after_seconds):
        beats.append(Beat(max(spoken.after_seconds - before, 0.0), (spoken.line,)))
        before = max(spoken.after_seconds, before)
    if fault.ends == "failed":
        return [*beats, _end(blow, fault.exit_code)]
    return [*beats, Beat(0, (), Hung())] if fault.ends == "hang" else beats


def _launch_failure(blow: Blow) -> list[Beat]:
    """The step cannot be started on one node (observed, with its daemon gone)."""
    stage, node, failure = blow.stage, blow.node, "Communication connection failure"
    first = stage.nodes[0]
    others = [
        f"srun: error: {other}: tasks {place * stage.gpus}-{(place + 1) * stage.gpus - 1}: Killed"
        for place, other in enumerate(stage.nodes)
        if other != node and stage.gpus > 1
    ]
    lines = (
        *blow.fault.lines,
        f"srun: error: Task launch for StepId={stage.number}.0 failed on node {node}: {failure}",
        f"srun: error: Application launch failed: {failure}",
        "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.",
        f"slurmstepd-{first}: error: *** STEP {stage.number}.0 ON {first} CANCELLED "
        f"AT {stamp(blow.at + LAUNCH_SECONDS)} ***",
        *others,
    )
    return [Beat(LAUNCH_SECONDS, lines, failed(LAUNCH_CODE))]


CRASHES: dict[str, Kind] = {
    "ecc": _ecc,
    "exit": _exit,
    "sigkill": lambda blow: [Beat(0, blow.fault.lines), _end(blow, SIGNALLED + signal.SIGKILL)],
    "silent_exit": lambda blow: [Beat(0, (), failed(blow.fault.exit_code))],
    "oom": _oom,
    "text": _text,
    "signal": _signal,
    "launch_failure": _launch_failure,
}
