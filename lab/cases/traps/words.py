"""Which lines sound like a failure and are none? Healthy jobs that print them, and go on."""

from lab.cases.case import Case, OnSlurm
from lab.cases.traps.making import job, prints, simulated, speaks, trap
from lab.simulate.play import Fault

SECONDS = 330.0
GOES_ON = "the lines belong to a healthy job, which makes its steps before and after them (attribution.md 5)"


def _alike(name: str, text: str, says: str, step: int = 25, **more: object) -> Case:
    script = simulated(job(speaks(text, step=step), checkpoint_every=10), seconds=SECONDS)
    slurm = OnSlurm(orders=(prints(text),), seconds=60)
    return trap(name, says, GOES_ON, script, slurm=slurm, **more)  # type: ignore[arg-type]


WORDS: tuple[Case, ...] = (
    _alike(
        "start-up-chatter",
        "alike_start",
        "argument dumps, probing, start-up races and warnings that hold error, timeout, nan, refused",
        step=1,
        short=("simulated",),
        representative=True,
    ),
    _alike("network-chatter", "alike_network", "events of the fabric that heal or only inform, at level WARN"),
    _alike("hardware-chatter", "alike_hardware", "XID to be watched, corrected errors, a killed monitoring agent"),
    _alike("storage-chatter", "alike_storage", "retries, telemetry that fails, saves at level WARNING"),
    _alike("number-chatter", "alike_numbers", "zero counters, fp16 overflows, one nan, names of metrics"),
    _alike("printed-advice", "alike_advice", "help texts and stack frames that name errors"),
    _alike(
        "generated-samples",
        "alike_samples",
        "a model that generates texts about CUDA errors, XID and crashes",
        short=("simulated",),
    ),
    _alike("corrected-errors", "corrected", "hundreds of corrected ECC and PCIe errors in a minute"),
    _alike("port-back", "port_flap", "a port of the network fails and is active again two seconds later"),
    trap(
        "retries-succeed",
        "a read that fails, is tried again for 100 s, and succeeds",
        "the library says that it retries, and it succeeds",
        simulated(job(speaks("retries", step=30)), seconds=540),
        slurm=OnSlurm(orders=(prints("retries", pace=0.08),), seconds=60),
        short=("simulated",),
    ),
    trap(
        "polls-of-ras",
        "NCCL's RAS is asked every 15 s, and finds a rank a few operations late each time",
        "ranks are never quite in step: the counters rise from poll to poll",
        simulated(job(speaks("polled", step=30)), seconds=SECONDS),
        slurm=OnSlurm(orders=(prints("polled", pace=0.2),), seconds=60),
    ),
    trap(
        "one-nan",
        "the loss of a single step is nan",
        "one point is no divergence: three in a row are needed (B57)",
        simulated(job(Fault("nan", step=30, until=30)), seconds=SECONDS),
        slurm=OnSlurm(orders=({"kind": "nan", "step": 20, "until": 20, "all": True},), seconds=60),
    ),
    trap(
        "zero-counters",
        "every progress line ends with 'number of nan iterations: 0'",
        "a counter that stays at zero counts nothing (B01)",
        simulated(
            job(
                Fault(
                    "lines",
                    step=30,
                    lines=(" number of nan iterations:   0 | number of skipped iterations:   0 |",) * 20,
                )
            ),
            seconds=SECONDS,
        ),
    ),
    trap(
        "loss-scale-overflows",
        "fp16 loss scaling overflows five times while it looks for its scale",
        "the scaler skips a step and halves its scale, as it is meant to (B10)",
        simulated(
            job(
                *(
                    Fault(
                        "lines",
                        step=3 + place,
                        lines=(
                            f"[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: {1 << 32 - place}, "
                            f"reducing to {1 << 31 - place}",
                        ),
                    )
                    for place in range(5)
                ),
                dialect="deepspeed",
            ),
            seconds=SECONDS,
        ),
    ),
)
