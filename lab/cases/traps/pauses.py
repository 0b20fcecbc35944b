"""Which silences are no hangs? The job works, but it makes no step that anybody could see."""

from lab.cases.case import Act, Case, OnSlurm
from lab.cases.traps.making import job, simulated, speaks, trap
from lab.simulate.play import Fault

EVALUATION = 1800.0  # trap 7
SAVE = 1500.0
COMPILE_STEP, COMPILE_FACTOR = 40.0, 30.0  # the first step takes 20 minutes
INDEX = 2100.0  # longer than the 1,800 s of a start
PULL = 1500.0
LOAD = 900.0
LAST_EVALUATION, LAST_SAVE = 2400.0, 2700.0  # longer than the 1,800 s after which a job that is done is idle
BETWEEN = 1700.0  # shorter than the 1,800 s of a start

PAUSES: tuple[Case, ...] = (
    trap(
        "long-evaluation",
        "30 minutes of evaluation between two steps, with a line at its start",
        "the job says that it evaluates, and goes on afterwards",
        simulated(
            job(
                Fault(
                    "pause",
                    step=31,
                    lines=("Evaluating on 163840 samples",),
                    seconds=EVALUATION,
                    after=(" validation loss at iteration 30 | lm loss value: 3.101E+00 | lm loss PPL: 2.2E+01 |",),
                )
            ),
            seconds=2160,
        ),
        slurm=OnSlurm(
            orders=({"kind": "pause", "phase": "evaluation", "seconds": 30, "step": 25, "all": True},), seconds=75
        ),
        representative=True,
        trap=7,
    ),
    trap(
        "long-save",
        "a checkpoint that takes 25 minutes to write",
        "the job says that it saves, and the checkpoint is complete in the end",
        simulated(
            job(
                Fault(
                    "pause",
                    step=36,
                    lines=("saving checkpoint at iteration      35 to /ckpt/train in torch_dist format",),
                    seconds=SAVE,
                    after=(
                        "  successfully saved checkpoint from iteration      35 to /ckpt/train [ t 1/8, p 1/1 ]",
                    ),
                )
            ),
            seconds=1860,
        ),
        slurm=OnSlurm(
            orders=({"kind": "pause", "phase": "checkpoint", "seconds": 30, "step": 25, "all": True},), seconds=75
        ),
        trap=7,
    ),
    trap(
        "compile-first-step",
        "the first step compiles: it takes 30 times as long as the others, 20 minutes",
        "compilation belongs to the first step of every attempt",
        simulated(
            job(
                Fault("pause", step=1, lines=("> compiling the model ...",), seconds=COMPILE_STEP * COMPILE_FACTOR),
                step_seconds=COMPILE_STEP,
            ),
            seconds=1620,
        ),
        slurm=OnSlurm(
            orders=({"kind": "pause", "phase": "compile", "seconds": 40, "step": 1, "all": True},), seconds=75
        ),
        representative=True,
        trap=7,
    ),
    trap(
        "index-build",
        "35 minutes in which rank 0 builds the index of the data and all others wait",
        "the job says that it builds, and no rhythm is known yet",
        simulated(
            job(
                Fault(
                    "pause",
                    step=1,
                    lines=(
                        " > WARNING: could not find index map files, building the indices on rank 0 ...",
                        " > building shuffle index with split [0, 310000000) and [310000000, 320000000) ...",
                    ),
                    seconds=INDEX,
                    after=(" > elasped time to build and save shuffle-idx mapping (seconds): 2099.201",),
                )
            ),
            seconds=2310,
        ),
        trap=7,
    ),
    trap(
        "slow-start",
        "25 minutes of container pull and imports before the first line of training",
        "a start may take 1,800 s (defaults.md)",
        simulated(job(speaks("alike_start"), startup_seconds=PULL), seconds=1740),
    ),
    trap(
        "slow-load",
        "a requeue by the owner, then 15 minutes to load the checkpoint",
        "the job says that it loads, and the requeue was wanted",
        simulated(
            job(startup_seconds=LOAD),
            acts=(Act("foreign_requeue", ("0",), on_step=25),),
            seconds=2100,
        ),
        trap=7,
    ),
    trap(
        "log-every-50-steps",
        "gradient accumulation, and only every 50th step is logged: a line each 12.5 minutes",
        "the job is as regular as a clock; its rhythm is slow",
        simulated(job(speaks("every_fifty"), steps=0, checkpoint_every=0, step_seconds=15.0), seconds=3030),
    ),
    trap(
        "buffered-output",
        "standard output comes in bursts of 40 lines each 8 minutes",
        "a buffer holds lines back; every burst shows that the steps were made in time",
        simulated(job(speaks("bursts"), steps=0, checkpoint_every=0), seconds=1470),
    ),
    trap(
        "watcher-job",
        "a job that trains nothing and is silent for an hour: a controller of Rekindle itself",
        "there never was a step that could be missing, and nobody judges itself",
        simulated(job(speaks("watcher"), steps=0, checkpoint_every=0, name="rekindle-controller"), seconds=3720),
        trap=2,
    ),
    trap(
        "suspended",
        "an administrator suspends the job for 10 minutes",
        "a suspended job is silent on purpose",
        simulated(
            job(),
            acts=(Act("suspend", ("0",), on_step=30), Act("unsuspend", ("0",), at=780)),
            seconds=930,
        ),
    ),
    trap(
        "last-evaluation",
        "training is done, then 40 minutes of evaluation with a line at its start; then the job ends",
        "the job says that it evaluates, and ends well",
        simulated(
            job(
                Fault(
                    "pause",
                    step=41,
                    lines=(
                        "[after training is done] datetime: 2026-05-01 10:00:00 ",
                        "Evaluating on 163840 samples",
                    ),
                    seconds=LAST_EVALUATION,
                    after=(" validation loss at the end of training | lm loss value: 3.101E+00 |",),
                ),
                steps=40,
            ),
            seconds=2790,
        ),
        trap=7,
    ),
    trap(
        "last-save",
        "training is done, then the last checkpoint takes 45 minutes to write; then the job ends",
        "the job says that it saves, and the checkpoint is complete in the end",
        simulated(
            job(
                Fault(
                    "pause",
                    step=36,
                    lines=(
                        "`Trainer.fit` stopped: `max_steps=35` reached.",
                        "saving checkpoint at iteration      35 to /ckpt/train in torch_dist format",
                    ),
                    seconds=LAST_SAVE,
                    after=(
                        "  successfully saved checkpoint from iteration      35 to /ckpt/train [ t 1/8, p 1/1 ]",
                    ),
                ),
                steps=35,
                checkpoint_every=0,
            ),
            seconds=3000,
        ),
        trap=7,
    ),
    trap(
        "second-training",
        "the first training of a job is done; 28 minutes of set-up later its second one begins",
        "the job says that it builds, and trains on afterwards",
        simulated(
            job(
                Fault(
                    "pause",
                    step=31,
                    lines=(
                        "[after training is done] datetime: 2026-05-01 10:00:00 ",
                        "> building train, validation, and test datasets ...",
                    ),
                    seconds=BETWEEN,
                )
            ),
            seconds=2400,
        ),
        trap=7,
    ),
)
