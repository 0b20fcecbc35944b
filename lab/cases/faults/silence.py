"""Which jobs run on and train no more?"""

from functools import partial

from lab.cases.case import Case, Did, Truth
from lab.cases.faults.making import (
    SILENCE_SECONDS,
    STRIKE,
    fault,
    job,
    names,
    on_slurm,
    order,
    simulated,
    told_by_others,
)
from lab.simulate.play import Fault

_fault = partial(fault, "silence")
RESTART = (Did.RESTART,)
NOBODY = "silence alone names nobody: once more on the same nodes, and no node is excluded"
QUIET = ("unknown", "framework.comm")
SLURM_STEP = 24  # of a job on a real Slurm: its rhythm is known
CASCADE_STEP, CASCADE_STEP_SECONDS, CASCADE_SECONDS = 24, 25.0, 920.0

LEFT_ALONE = (Did.NONE, Did.ASK)
DONE = "its work is done: a restart would bring nothing, and who ends it is for a person to say"
DONE_STEPS = 40
IDLE_SECONDS = 2400.0  # its 40 steps, and more than the half hour after which it is idle


def _hang(**more: int | str) -> Fault:
    return Fault("hang", step=STRIKE, attempt=0, **more)  # type: ignore[arg-type]


def _watchdogs(what: str, node: int, gpu: int) -> tuple[Fault, Fault]:
    """The watchdogs speak after two minutes and abort their processes."""
    return told_by_others(what, CASCADE_STEP, node=node, gpu=gpu, exit_code=134)


SILENCE: tuple[Case, ...] = (
    _fault(
        "stopped-rank-0",
        "rank 0 is stopped by SIGSTOP: all others wait for it",
        Truth("hang", QUIET, False, RESTART, NOBODY),
        simulated(job(_hang(node=0, gpu=0)), seconds=SILENCE_SECONDS),
        slurm=on_slurm(order("sigstop", rank=0, step=SLURM_STEP), seconds=110, training={"steps": 60}),
        short=("simulated",),
        representative=True,
    ),
    _fault(
        "stopped-other-rank",
        "another rank is stopped by SIGSTOP",
        Truth("hang", QUIET, False, RESTART, NOBODY),
        simulated(job(_hang(node=1), dialect="deepspeed", step_seconds=2.0), seconds=360),
        slurm=on_slurm(order("sigstop", step=SLURM_STEP), seconds=110, training={"steps": 60}),
    ),
    _fault(
        "held-interpreter",
        "one rank holds the lock of its interpreter and never joins the collective",
        Truth("hang", ("application", *QUIET), False, RESTART, NOBODY),
        simulated(job(_hang(node=1, gpu=4), dialect="torchtitan"), seconds=SILENCE_SECONDS),
        slurm=on_slurm(order("hold_gil", step=SLURM_STEP), seconds=110, training={"steps": 60}),
        representative=True,
    ),
    _fault(
        "late-for-the-collective",
        "one rank sleeps before a collective for hours",
        Truth("hang", ("application", *QUIET), False, RESTART, NOBODY),
        simulated(job(_hang(node=0, gpu=1), dialect="huggingface", step_seconds=10.0), seconds=640),
        slurm=on_slurm(order("sleep", step=SLURM_STEP, seconds=3600), seconds=110, training={"steps": 60}),
    ),
    _fault(
        "endless-loop-that-prints",
        "one rank turns in a loop and prints a line every five seconds; no step is made",
        Truth(
            "hang",
            ("application", *QUIET),
            False,
            RESTART,
            "a log that is alive is no progress: steps are, and none came",
        ),
        simulated(
            job(
                Fault(
                    "spin",
                    step=STRIKE,
                    attempt=0,
                    lines=("retrying to balance the experts, still 1 token over",),
                    seconds=5.0,
                ),
                dialect="composer",
            ),
            seconds=SILENCE_SECONDS,
        ),
        slurm=on_slurm(order("spin", step=SLURM_STEP), seconds=110, training={"steps": 60}),
        representative=True,
    ),
    _fault(
        "same-step-again-and-again",
        "the line of the last step is printed every ten seconds, and its number does not rise",
        Truth("hang", ("application", *QUIET), False, RESTART, "a step number that does not rise is no progress"),
        simulated(job(Fault("reprint", step=STRIKE, attempt=0, seconds=10.0)), seconds=SILENCE_SECONDS),
    ),
    _fault(
        "stuck-data-loader",
        "the data loader of one rank gives no more batches",
        Truth("hang", ("data", *QUIET), False, RESTART, NOBODY),
        simulated(job(_hang(node=1, gpu=7), dialect="nemo"), seconds=SILENCE_SECONDS),
        slurm=on_slurm(order("stuck_loader", step=SLURM_STEP), seconds=110, training={"steps": 60}),
    ),
    _fault(
        "cascade-without-one-rank-64",
        "63 watchdogs of 64 speak, with clocks seconds apart; the one that is silent is the culprit (PyTorch 2.6)",
        Truth(
            "hang",
            ("hardware.host",),
            True,
            RESTART,
            "the silent rank holds up all others; without a witness on its host the first restart excludes nobody",
        ),
        simulated(
            job(*_watchdogs("cascade_silent_rank", 6, 3), nodes=8, step_seconds=CASCADE_STEP_SECONDS),
            seconds=CASCADE_SECONDS,
            node_names=names("hgx", 10),
        ),
        short=("simulated",),
    ),
    _fault(
        "cascade-one-behind-512",
        "512 watchdogs with clocks seconds apart; one rank has enqueued no more than it completed (PyTorch 2.4)",
        Truth(
            "hang",
            ("application", "data", "system.filesystem"),
            True,
            RESTART,
            "the rank that never joined is the culprit, stuck on its CPU: hardware is not excluded for that",
        ),
        simulated(
            job(*_watchdogs("cascade_rank_behind", 41, 2), nodes=64, step_seconds=CASCADE_STEP_SECONDS),
            seconds=CASCADE_SECONDS,
            node_names=names("r", 70),
        ),
    ),
    _fault(
        "cascade-interpreter-held-32",
        "32 watchdogs; the rank that never joined says that its interpreter does not answer",
        Truth("hang", ("application",), True, RESTART, "the rank that never joined is stuck in the program"),
        simulated(
            job(*_watchdogs("cascade_interpreter_held", 2, 5), nodes=4, step_seconds=CASCADE_STEP_SECONDS),
            seconds=CASCADE_SECONDS,
        ),
    ),
    _fault(
        "cascade-naming-nobody-64",
        "all 64 watchdogs speak of the same collective: the counters name nobody",
        Truth(
            "hang",
            ("hardware.network", "hardware.nvlink"),
            False,
            RESTART,
            "everybody has joined: the fabric or a kernel is stuck, nobody is named: once more on the same nodes",
        ),
        simulated(
            job(*_watchdogs("cascade_nobody", 0, 0), nodes=8, step_seconds=CASCADE_STEP_SECONDS),
            seconds=CASCADE_SECONDS,
            node_names=names("hgx", 10),
        ),
    ),
    _fault(
        "cascade-not-begun-16",
        "all 16 watchdogs speak of the same collective; an analysis of the dumps shows whose GPU has not begun it",
        Truth(
            "hang",
            ("hardware.gpu", "application"),
            True,
            RESTART,
            "a GPU that is stuck before the collective holds up the others; excluded only when it comes again",
        ),
        simulated(
            job(*_watchdogs("cascade_not_begun", 1, 3), step_seconds=CASCADE_STEP_SECONDS),
            seconds=CASCADE_SECONDS,
        ),
    ),
    _fault(
        "cascade-other-collective-16",
        "16 watchdogs; one rank waits in another collective than all others at the same place",
        Truth(
            "hang",
            ("application",),
            False,
            RESTART,
            "ranks that call different collectives are the program's mistake",
        ),
        simulated(
            job(*_watchdogs("cascade_other_collective", 1, 6), step_seconds=CASCADE_STEP_SECONDS),
            seconds=CASCADE_SECONDS,
        ),
    ),
    _fault(
        "cascade-watchdog-stuck-32",
        "one rank's own watchdog is blocked in a call of the driver; 31 others wait for it",
        Truth(
            "hang",
            ("system.driver",),
            True,
            RESTART,
            "a call of the driver blocks on that rank's host, which is excluded only when it comes again",
        ),
        simulated(
            job(*_watchdogs("cascade_watchdog_stuck", 3, 0), nodes=4, step_seconds=CASCADE_STEP_SECONDS),
            seconds=CASCADE_SECONDS,
            node_names=names("node", 6),
        ),
    ),
    _fault(
        "done-and-stays",
        "training ends as it should, and the job stays: a process that was left behind holds both nodes",
        Truth("idle", (), False, LEFT_ALONE, DONE),
        simulated(job(Fault("hang", step=DONE_STEPS + 1, attempt=0), steps=DONE_STEPS), seconds=IDLE_SECONDS),
    ),
)
